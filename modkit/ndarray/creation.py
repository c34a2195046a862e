"""Creation of arrays, and other functions of ``mx.nd`` that are not operators."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.context import Context
from modkit.errors import DTypeError, ParameterError, ShapeError, expect
from modkit.ndarray import sparse
from modkit.ndarray.indexing import cast
from modkit.ndarray.ndarray import NDArray, _as_context, from_jax, invoke, new, require_array
from modkit.ndarray.ndarray import array as dense_array
from modkit.ndarray.storage import new_cell, placed_on, under_way, x64_for
from modkit.ndarray.tape import tracked
from modkit.ops.dtypes import dtype_name
from modkit.ops.parameters import parse_value
from modkit.ops.registry import get_op
from modkit.util import is_np_shape


def _made(value: np.ndarray, ctx: Context | None, out: NDArray | None = None) -> NDArray:
    if out is not None:
        out._set(value)
        return out
    return new(value, _as_context(ctx))


def _values(what: str, make: Callable[..., np.ndarray], *args: Any) -> np.ndarray:
    """Call a function of NumPy; its errors become modkit's."""
    try:
        return make(*args)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise ParameterError(f"{what}: got {', '.join(map(repr, args))}: {error}") from error


def _numbers(op_name: str, **given: Any) -> list[Any]:
    """Parameters of an operator, read from their text as MXNet does: no 5.0 for an integer.

    Raises:
        ParameterError: one cannot be read.
    """
    kinds, name = get_op(op_name).types, op_name.removeprefix("_")
    return [
        value
        if type(value) is kinds[n]
        else parse_value(str(value), kinds[n], where=f"{name}: {n}")
        for n, value in given.items()
    ]


def _as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    sizes: list[Any] = [shape]
    if isinstance(shape, Iterable) and not isinstance(shape, str):
        sizes = list(shape)
    if not all(isinstance(s, int | np.integer) and s >= 0 for s in sizes):
        raise ShapeError(f"got the shape {shape!r}, expected sizes that are integers from 0")
    return tuple(int(s) for s in sizes)


def _as_full_shape(name: str, shape: Any) -> tuple[int, ...]:
    """A shape; without NumPy's shapes ShapeError for no axis, or a size of 0, unknown there."""
    sizes = _as_shape(_numbers("_zeros", shape=shape)[0] if isinstance(shape, str) else shape)
    if not is_np_shape() and (not sizes or 0 in sizes):
        raise ShapeError(
            f"{name}: got the shape {shape!r}, expected sizes of 1 or more; `with "
            "mx.np_shape():` allows 0 and ()"
        )
    return sizes


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """A new array from a list, NumPy array, ``jax.Array`` or NDArray.

    Args:
        source_array: the values to copy. A sparse array, of SciPy too, gives a sparse one.
        ctx: device; default the current one.
        dtype: default that of an NDArray, ``jax.Array`` or sparse array, else float32.

    Raises:
        DTypeError: it cannot become an array of ``dtype``.
    """
    make = sparse.array if sparse.is_sparse(source_array) else dense_array
    return make(source_array, ctx, dtype)


def _target(
    what: str, shape: tuple[int, ...], dtype: Any, kwargs: Mapping[str, Any]
) -> NDArray | None:
    """The argument ``out``; ``name`` says nothing to arrays.

    Raises:
        ParameterError: there are other arguments.
        DTypeError: ``out`` has another type.
        ShapeError: ``out`` has another shape.
    """
    if unknown := kwargs.keys() - {"out", "name"}:
        raise ParameterError(f"{what}: no parameter {min(unknown)!r}; more arguments are out, name")
    out, kind = kwargs.get("out"), dtype_name(dtype or "float32")
    if out is not None and dtype_name(out.dtype) != kind:
        raise DTypeError(f"{what}: out: got {dtype_name(out.dtype)}, expected {kind}")
    if out is not None and out.shape != shape:
        raise ShapeError(f"{what}: out: got shape {out.shape}, expected {shape}")
    return out


def full(
    shape: int | Sequence[int],
    val: float,
    ctx: Context | None = None,
    dtype: Any = "float32",
    out: NDArray | None = None,
) -> NDArray:
    """An array of ``shape`` filled with ``val``, or ``out``, which keeps its own shape.

    Raises:
        ShapeError: there are no sizes; ``np_shape`` allows that.
    """
    sizes = _as_shape(shape) or _as_full_shape("full", shape)
    sizes = sizes if out is None else out.shape
    return _filled(sizes, val, ctx, dtype, out)


def _filled(sizes: tuple[int, ...], val: float, ctx: Any, dtype: Any, out: Any = None) -> NDArray:
    kind = jnp.dtype(dtype_name(dtype or "float32"))
    number = _values("full", lambda fill: cast(fill, kind), val)  # around, as in other writes
    return _made(_values("full", np.full, sizes, number, kind), ctx, out)


def zeros(
    shape: int | Sequence[int],
    ctx: Context | None = None,
    dtype: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> NDArray:
    """An array of zeros; with ``stype`` ``"csr"`` or ``"row_sparse"`` a sparse one.

    Raises:
        ShapeError: there are no sizes, or one of 0.
    """
    sizes = _as_full_shape("zeros", shape)
    if stype is None or stype == "default":
        return _filled(sizes, 0, ctx, dtype, _target("zeros", sizes, dtype, kwargs))
    return sparse.zeros(stype, sizes, ctx, dtype)


def ones(
    shape: int | Sequence[int], ctx: Context | None = None, dtype: Any = None, **kwargs: Any
) -> NDArray:
    """An array of ones.

    Raises:
        ShapeError: there are no sizes, or one of 0.
    """
    sizes = _as_full_shape("ones", shape)
    return _filled(sizes, 1, ctx, dtype, _target("ones", sizes, dtype, kwargs))


def empty(
    shape: int | Sequence[int], ctx: Context | None = None, dtype: Any = None, stype: Any = None
) -> NDArray:
    """An array to be written to; modkit fills it with zeros."""
    if stype is None or stype == "default":
        return _filled(_as_shape(shape), 0, ctx, dtype)
    return zeros(shape, ctx, dtype, stype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: Any = None,
    ctx: Context | None = None,
    dtype: Any = "float32",
) -> NDArray:
    """Numbers from ``start`` up to ``stop`` by ``step``, each ``repeat`` times.

    Raises:
        ParameterError: there is no such number, as no array is empty without NumPy's shapes.
    """
    start, stop, step, repeat = _numbers(
        "_arange", start=start, stop=stop, step=step, repeat=repeat
    )
    if stop is None:
        start, stop = 0, start
    kind = jnp.dtype(dtype_name(dtype or "float32"))
    values = _values("arange", np.arange, start, stop, step)
    if repeat < 0 or not ((values.size and repeat) or is_np_shape()):
        raise ParameterError(
            f"arange: got start={start}, stop={stop}, step={step}, repeat={repeat}, expected at "
            "least one number from start to stop"
        )
    if jnp.issubdtype(kind, jnp.integer):
        # MXNet truncates start and step to integers, but not the count.
        values = int(start) + int(step) * np.arange(len(values))
    return _made(np.repeat(values, repeat).astype(kind), ctx)


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Context | None = None,
    dtype: Any = "float32",
) -> NDArray:
    """``num`` evenly spaced numbers between ``start`` and ``stop``."""
    start, stop, num, endpoint = _numbers(
        "_linspace", start=start, stop=stop, num=num, endpoint=endpoint
    )
    values = _values("linspace", np.linspace, start, stop, num, endpoint)
    return _made(values.astype(jnp.dtype(dtype_name(dtype or "float32"))), ctx)


def eye(
    N: int, M: int = 0, k: int = 0, ctx: Context | None = None, dtype: Any = None, **kwargs: Any
) -> NDArray:
    """A matrix with ones on a diagonal.

    Args:
        M: number of columns; 0: as many.
        k: the diagonal's distance from the main one, to the upper right.
        ctx: device; default the current one.
        dtype: default float32.
        **kwargs: ``out``, an array to write to; ``name``, which is not read.

    Raises:
        ParameterError: a size or ``k`` is not a whole number, or there is no such parameter.
        DTypeError: ``out`` has another type.
        ShapeError: ``out`` has another shape.
    """
    kind = jnp.dtype(dtype_name(dtype or "float32"))
    N, M, k = _numbers("_eye", N=N, M=M, k=k)
    value = _values("eye", np.eye, N, M if M > 0 else N, k, kind)
    return _made(value, ctx, _target("eye", value.shape, kind, kwargs))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """Join arrays along ``axis``.

    Raises:
        ParameterError: one is no NDArray, or their types differ.
        ShapeError: there are none, or their other sizes differ.
    """
    expect(isinstance(arrays, list | tuple), "concatenate", type(arrays), "a list of arrays")
    if not arrays:
        raise ShapeError("concatenate: got no arrays, expected at least one")
    for at, each in enumerate(arrays):
        require_array(f"concatenate: arrays[{at}]", each)
    if len({a.dtype for a in arrays}) > 1:
        kinds = ", ".join(dtype_name(a.dtype) for a in arrays)
        raise ParameterError(f"concatenate: got {kinds}, expected one type; astype(...) makes it")
    if not always_copy and len(arrays) == 1:
        return arrays[0]
    if tracked(arrays):
        return invoke(get_op("Concat"), arrays, {"dim": axis})
    home = arrays[0].ctx
    on_host = all(a.ctx._is_cpu for a in arrays)
    values = [a._cell.host() if on_host else a._cell.peek() for a in arrays]
    with x64_for(*(v.dtype for v in values)):
        try:
            if all(isinstance(v, np.ndarray) for v in values):
                return NDArray(new_cell(np.concatenate(values, axis), home, aliased=False), home)
            return from_jax(
                jnp.concatenate([placed_on(v, home.jax_device) for v in values], axis), home
            )
        except (TypeError, ValueError) as error:
            shapes = ", ".join(str(a.shape) for a in arrays)
            raise ShapeError(f"concatenate: shapes {shapes} differ outside axis {axis}") from error


def moveaxis(tensor: NDArray, source: Any, destination: Any) -> NDArray:
    """Move axes to other positions; the rest keep their order.

    Raises:
        ParameterError: an axis is not there or named twice, or the numbers of axes differ.
    """
    try:
        axes = np.moveaxis(np.empty(range(tensor.ndim)), source, destination).shape
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"moveaxis: got source {source!r} and destination {destination!r} for an array with "
            f"{tensor.ndim} axes, expected distinct axes: {error}"
        ) from error
    return invoke(get_op("transpose"), (tensor,), {"axes": axes})


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write the one-hot rows of ``indices`` into ``out``; zeros for an index outside.

    Raises:
        ParameterError: one of them is no NDArray.
    """
    require_array("onehot_encode: indices", indices)
    require_array("onehot_encode: out", out)
    rows = indices.asnumpy().astype(np.int64)
    out._set((rows[..., None] == np.arange(out.shape[1])).astype(np.float32))
    return out


def from_numpy(ndarray: np.ndarray, zero_copy: bool = True) -> NDArray:
    """An array of the same values and type.

    Args:
        zero_copy: require contiguous memory and make ``ndarray`` read-only, as MXNet does, which
            shares the memory then.

    Raises:
        ParameterError: something else than an array of NumPy.
        ShapeError: ``zero_copy`` and memory that is not C-contiguous.

    Differs: it always copies; with ``zero_copy`` MXNet's array shares the memory.
    """
    expected = "a numpy.ndarray; mx.nd.array(...) takes lists"
    expect(isinstance(ndarray, np.ndarray), "from_numpy", type(ndarray), expected)
    if zero_copy:
        if not ndarray.flags["C_CONTIGUOUS"]:
            raise ShapeError(
                "from_numpy: the array is not C-contiguous: pass np.ascontiguousarray(a), or "
                "zero_copy=False"
            )
        ndarray.flags["WRITEABLE"] = False
    return dense_array(ndarray, dtype=ndarray.dtype)


def from_dlpack(dlpack: Any) -> NDArray:
    """An array from an object that supports DLPack; an NDArray shares its value with the result."""
    if isinstance(dlpack, NDArray):
        return NDArray(dlpack._cell, dlpack.context)
    return from_jax(jnp.from_dlpack(dlpack))


def to_dlpack_for_read(data: NDArray) -> Any:
    """The array itself, which supports DLPack (``from_dlpack`` accepts it)."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> Any:
    """The array itself, which supports DLPack; see `NDArray.to_dlpack_for_write`."""
    return data.to_dlpack_for_write()


def waitall() -> None:
    """Wait for all pending work on every device, for timing: JAX orders the work itself.

    Raises the error of a computation that has failed, or of a call whose values were refused; one
    error a call, and none that a read has raised before.

    Differs: each read of a refused result raises; MXNet raises once, and then reads memory that
    nothing wrote. An error whose arrays are gone is not raised. Recorded calls on variables, calls
    of sparse arrays, ``Custom`` and executors raise at once, and so do writes to a part of a
    refused result.
    """
    while left := [w for w in under_way if w.unfinished]:  # running work may create more work
        for work in left:
            work.run()
    values = jax.live_arrays()
    if jax.default_backend() != "cpu":
        with contextlib.suppress(RuntimeError):  # JAX runs without its CPU backend
            values += jax.live_arrays("cpu")
    for value in values:
        try:
            value.block_until_ready()
        except RuntimeError:
            if not value.is_deleted():  # else another thread has just donated it to a step
                raise
    jax.effects_barrier()
