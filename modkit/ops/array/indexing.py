"""Elements by index: ``take``, ``batch_take``, ``pick``, ``one_hot``; writes and masks by index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from modkit import interpreter
from modkit.errors import NotSupportedError, ParameterError, ShapeError, expect
from modkit.ops.dtype_inference import first_by_default, first_decides
from modkit.ops.elementwise.arithmetic import convert
from modkit.ops.parameters import Attrs, DType
from modkit.ops.partial_shapes import Rule, Sizes, check_axis, merge
from modkit.ops.registry import op
from modkit.ops.stype import DENSE, Storage, if_csr


def whole(indices: Any) -> Any:
    """Indices as whole numbers: fractions are cut off, small and unsigned types widened."""
    kind = np.dtype(np.int64 if indices.dtype in (jnp.int64, jnp.uint64) else np.int32)
    if isinstance(indices, np.ndarray):
        return interpreter.quietly(interpreter.convert, indices, kind)  # as XLA: NaN is 0
    return indices.astype(kind)


def within(indices: jax.Array, size: int, mode: str) -> jax.Array:
    """Indices inside ``0 .. size - 1``; with ``raise``, those outside become ``size``."""
    at = whole(indices)
    if mode == "wrap":
        return at % size
    if mode == "raise":
        return jnp.where((at < 0) | (at >= size), size, at)
    return jnp.clip(at, 0, size - 1)


def _take_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    a, indices = ins
    if a is None or indices is None:
        return list(ins), list(outs)
    axis = check_axis("take", attrs["axis"], len(a))
    return list(ins), [merge("take", outs[0], (*a[:axis], *indices, *a[axis + 1 :]))]


def _check_indices(arrays: Sequence[Any], attrs: Attrs) -> None:
    """With ``mode="raise"``, raise ``IndexError`` for an index outside."""
    if attrs["mode"] != "raise":
        return
    a, indices = arrays
    size = a.shape[check_axis("take", attrs["axis"], a.ndim)]
    at = whole(np.asarray(indices))
    outside = at[(at < 0) | (at >= size)]
    if outside.size:
        raise IndexError(f"indices: got {outside.flat[0]}, expected 0 .. {size - 1}")


@op(
    "take",
    precision="float32",
    storage=Storage(lambda kinds, attrs: DENSE if attrs["axis"] else if_csr(kinds, attrs)),
    partial=_take_partial,
    dtypes=first_decides,
    check_values=_check_indices,
)
def take(
    a: jax.Array,
    indices: jax.Array,
    *,
    axis: int = 0,
    mode: Literal["clip", "raise", "wrap"] = "clip",
) -> jax.Array:
    """Slices of ``a`` along an axis, in the order of ``indices``.

    Args:
        indices: which slices; fractions are cut off.
        mode: an index outside is taken for the nearest (``clip``), counted round (``wrap``), or
            an error (``raise``).

    Shapes:
        a: any.
        indices: any.
        returns: ``a.shape`` with the sizes of ``indices`` in place of size ``axis``.

    Raises:
        IndexError: in an eager call with ``mode="raise"``, an index lies outside.
        ShapeError: there are indices into an axis without elements.

    Differs: a compiled graph cannot raise: with ``mode="raise"`` an index outside gives NaN, or the
    extreme number of a type that has no NaN.
    """
    axis = check_axis("take", axis, a.ndim)
    if not a.shape[axis] and indices.size:
        raise ShapeError(
            f"take: got indices of shape {indices.shape} from an axis without elements, axis "
            f"{axis} of shape {a.shape}, expected one element or more"
        )
    at = within(indices, a.shape[axis], mode)
    return jnp.take(a, at, axis, mode="fill" if mode == "raise" else "clip")


@op(
    "batch_take",
    precision="float32",
    dtypes=lambda ins, _: ([ins[0], "int32"], [ins[0]]),
    gradient="refused",
)
def batch_take(a: jax.Array, indices: jax.Array) -> jax.Array:
    """One element of each row: ``a[i, indices[i]]``; the nearest for an index outside.

    Shapes:
        a: (N, M); with more axes, N of them that the last one does not count.
        indices: any of N elements.
        returns: as ``indices``.

    Raises:
        ShapeError: ``a`` has one axis, or ``indices`` another number of elements.
    """
    rows = math.prod(a.shape[:-1])
    if a.ndim < 2 or indices.size != rows:
        raise ShapeError(
            f"batch_take: index: got shape {indices.shape} for data of shape {a.shape}, expected "
            f"{a.shape[:-1]} and two axes or more of data"
        )
    flat, at = a.reshape(rows, a.shape[-1]), indices.reshape(rows)
    made = _pick("batch_take", flat, at, axis=1, keepdims=False, mode="clip")
    return made.reshape(indices.shape)


def _pick(
    name: str, data: jax.Array, index: jax.Array, *, axis: int, keepdims: bool, mode: str
) -> jax.Array:
    axis = check_axis(name, axis, data.ndim)
    thin = (*data.shape[:axis], 1, *data.shape[axis + 1 :])
    flat = data.shape[:axis] + data.shape[axis + 1 :] or (1,)
    if index.shape not in (thin, flat):
        raise ShapeError(
            f"{name}: index: got shape {index.shape}, expected {flat} or {thin} "
            f"for data of shape {data.shape} and axis {axis}"
        )
    at = within(index, data.shape[axis], mode).reshape(thin)
    return jnp.take_along_axis(data, at, axis).reshape(thin if keepdims else flat)


def _pick_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    data, index = ins
    if data is None or attrs["axis"] is None:
        return list(ins), list(outs)
    axis = check_axis("pick", attrs["axis"], len(data))
    flat = (*data[:axis], *data[axis + 1 :]) or (1,)
    thin = (*data[:axis], 1, *data[axis + 1 :])
    if index is None or len(index) == len(flat):
        index = merge("pick", index, thin if index is not None and len(thin) == 1 else flat)
    return [data, index], [merge("pick", outs[0], thin if attrs["keepdims"] else flat)]


@op(
    "pick",
    precision="float32",
    aliases=("choose_element_0index",),
    partial=_pick_partial,
    dtypes=first_decides,
)
def pick(
    data: jax.Array,
    index: jax.Array,
    *,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
) -> jax.Array:
    """One element along an axis, for each place on the other axes.

    Args:
        index: which element; fractions are cut off.
        keepdims: keep the axis, 1 long.
        mode: an index outside is taken for the nearest (``clip``) or counted round (``wrap``).

    Shapes:
        data: any.
        index: ``data.shape`` without ``axis``, or with 1 there.
        returns: ``data.shape`` without ``axis``; with ``keepdims``, 1 there.

    Raises:
        ParameterError: there is no axis.
        ShapeError: ``index`` has another shape.
    """
    if axis is None:
        raise ParameterError("pick: axis: got None, expected the axis to pick along")
    return _pick("pick", data, index, axis=axis, keepdims=keepdims, mode=mode)


@op(
    "fill_element_0index",
    precision="float32",
    gradient="refused",
    dtypes=first_by_default,
)
def fill_element_0index(lhs: jax.Array, mhs: jax.Array, rhs: jax.Array) -> jax.Array:
    """A copy of ``lhs`` with ``mhs[i]`` at column ``rhs[i]`` of row i.

    Shapes:
        lhs: (N, M).
        mhs: (N,).
        rhs: (N,).
        returns: as ``lhs``.

    Raises:
        ShapeError: the shapes are others.
    """
    if lhs.ndim != 2 or mhs.shape != lhs.shape[:1] or rhs.shape != lhs.shape[:1]:
        raise ShapeError(
            f"fill_element_0index: got {lhs.shape}, {mhs.shape}, {rhs.shape}; "
            "expected (N, M), (N,), (N,)"
        )
    rows = jnp.arange(len(lhs), dtype=jnp.int32)
    return lhs.at[rows, whole(rhs)].set(mhs.astype(lhs.dtype))


@op("_contrib_boolean_mask", precision="float32", dtypes=first_decides, sized_by_values=True)
def boolean_mask(data: jax.Array, index: jax.Array, *, axis: int = 0) -> jax.Array:
    """The slices whose mask is not 0: not in compiled programs, which have the sizes of arrays.

    ``mx.nd.contrib.boolean_mask`` selects them in eager calls, and in graphs of `Symbol.bind`.

    Raises:
        NotSupportedError: always.

    Differs: a bound mask has a gradient of 0; MXNet 1.9.1 leaves what was in its array. An output
    with fewer rows than in the pass before ends there; in MXNet older rows follow.
    """
    raise NotSupportedError(
        f"_contrib_boolean_mask: got data {data.shape}, index {index.shape}, axis {axis}: the "
        "size of the result depends on values, and programs are compiled for sizes. Use "
        "where(index, data, 0) or SequenceMask in this graph"
    )


@op("one_hot", precision="float32", gradient="zero", partial=lambda ins, outs, attrs: (
    list(ins),
    [outs[0] if ins[0] is None else merge("one_hot", outs[0], (*ins[0], attrs["depth"]))],
))  # fmt: skip
def one_hot(
    indices: jax.Array,
    *,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DType = "float32",
) -> jax.Array:
    """A row for each index, ``on_value`` at its place and ``off_value`` elsewhere.

    Args:
        indices: places; one outside ``0 .. depth - 1``, or NaN, gives a row without ``on_value``.
        depth: how long a row is.
        on_value: the value at the place.
        off_value: all the others.

    Shapes:
        indices: any.
        returns: ``indices.shape`` and then ``depth``.
    """
    expect(depth >= 0, "one_hot: depth", depth, "0 or more")
    if jnp.issubdtype(indices.dtype, jnp.floating):
        indices = jnp.where(jnp.isnan(indices), -1, indices)  # which no place is
    hit = whole(indices)[..., None] == jnp.arange(depth, dtype=jnp.int32)
    return jnp.where(hit, *(convert(jnp.asarray(v), dtype) for v in (on_value, off_value)))
