"""Reductions: many elements to one, along axes or of whole arrays. The latter have shape (1,)."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import NotSupportedError, ParameterError, ShapeError
from modkit.interpreter.reverse import CustomJvp
from modkit.interpreter.tracing import where
from modkit.ops.dtype_inference import float32_result
from modkit.ops.elementwise.arithmetic import convert, in_float, is_whole, refuse_bool
from modkit.ops.elementwise.unary import magnitude
from modkit.ops.parameters import Attrs, Axes
from modkit.ops.partial_shapes import results
from modkit.ops.registry import op
from modkit.ops.stype import DENSE, PLAIN, ROWS, Storage


def reduced_axes(name: str, ndim: int, axis: Axes | None, exclude: bool = False) -> Axes:
    """The axes to reduce, from 0 and sorted.

    Args:
        name: the operator, for the error.
        axis: which; ``None`` or none at all is all of them.
        exclude: all but those.

    Raises:
        ShapeError: one is not there, or is named twice.

    >>> reduced_axes("sum", 4, (-1, 0)), reduced_axes("sum", 4, (1,), exclude=True)
    ((0, 3), (0, 2, 3))
    """
    if not axis:
        return tuple(range(ndim))
    outside = [a for a in axis if not -ndim <= a < ndim]
    chosen = {a % ndim for a in axis} if not outside else set()
    if outside or len(chosen) < len(axis):
        got = axis[0] if len(axis) == 1 else axis
        expected = "one" if len(axis) == 1 else "different ones"
        raise ShapeError(f"{name}: got axis {got}, expected {expected} in [-{ndim}, {ndim})")
    return tuple(a for a in range(ndim) if (a in chosen) != exclude)


def _sum(x: Any, axes: Axes, keepdims: bool) -> Any:
    if x.dtype == jnp.bool_:
        return jnp.any(x, axes, keepdims=keepdims)
    return jnp.sum(x, axes, dtype=x.dtype, keepdims=keepdims)


def _mean(x: Any, axes: Axes, keepdims: bool) -> Any:
    """The mean; of whole numbers, that of the (wrapped) sum, towards zero."""
    if x.dtype == jnp.bool_:
        return jnp.any(x, axes, keepdims=keepdims)
    if not is_whole(x.dtype):
        return jnp.mean(x, axes, keepdims=keepdims)
    total = _sum(x, axes, keepdims)
    working = total if total.dtype.itemsize == 8 else total.astype(jnp.int32)
    count = math.prod(x.shape[a] for a in axes)
    return jax.lax.div(working, jnp.full_like(working, count)).astype(x.dtype)


def _prod(x: Any, axes: Axes, keepdims: bool) -> Any:
    if x.dtype == jnp.bool_:
        return jnp.all(x, axes, keepdims=keepdims)
    return jnp.prod(x, axes, dtype=x.dtype, keepdims=keepdims)


def _without_nan(x: Any, value: int) -> Any:
    return x if is_whole(x.dtype) else where(x != x, value, x)


@functools.partial(CustomJvp, nondiff_argnums=(1, 2, 3))
def _extreme(x: Any, axes: Axes, keepdims: bool, which: str) -> Any:
    """The largest or smallest; NaN if there is one, which XLA's reduction on CPUs can lose."""
    if not all(x.shape[a] for a in axes):
        raise ShapeError(
            f"{which}: got data of shape {x.shape}, expected one element or more along the axes "
            f"{axes}; sum and prod are 0 and 1 without any"
        )
    found = (x.max if which == "max" else x.min)(axes, keepdims=keepdims)
    if is_whole(x.dtype):
        return found
    return where((x != x).any(axes, keepdims=keepdims), math.nan, found)


@_extreme.defjvp
def _extreme_jvp(axes: Axes, keepdims: bool, which: str, primals: Any, tangents: Any) -> Any:
    """Each of several equal extremes gets the whole gradient."""
    (x,), (dx,) = primals, tangents
    result = _extreme(x, axes, True, which)
    tangent = where(x == result, dx, 0).sum(axes, keepdims=keepdims)
    return result if keepdims else result.reshape(tangent.shape), tangent


_ROWS = [
    # name, aliases, function, what it computes
    ("sum", ("sum_axis", "_sparse_sum"), _sum, "The sum."),
    ("mean", ("_sparse_mean",), _mean, "The mean. Of whole numbers, cut off towards zero."),
    ("_square_sum", (), lambda x, *given: _sum(jnp.square(x), *given),
     "The sum of squares."),
    ("prod", (), _prod,
     "The product.\n\nDiffers: where an element is 0, MXNet's gradient for it is NaN; here it is "
     "the product of\nthe others."),
    ("nansum", (), lambda x, *given: _sum(_without_nan(x, 0), *given),
     "The sum of those that are not NaN."),
    ("nanprod", (), lambda x, *given: _prod(_without_nan(x, 1), *given),
     "The product of those that are not NaN; see ``prod``."),
    ("max", ("max_axis",), lambda *args: _extreme(*args, "max"),
     "The largest. Each of several largest ones gets the whole gradient."),
    ("min", ("min_axis",), lambda *args: _extreme(*args, "min"),
     "The smallest. Each of several smallest ones gets the whole gradient."),
]  # fmt: skip


def _by_row(stypes: Sequence[str], attrs: Attrs) -> str:
    of_rows = attrs["axis"] == (1,) and attrs["keepdims"] and not attrs["exclude"]
    return ROWS if stypes[0] == ROWS and of_rows else DENSE


def _register(name: str, aliases: Sequence[str], fn: Any, doc: str) -> None:
    def run(
        data: Any, *, axis: Axes | None = None, keepdims: bool = False, exclude: bool = False
    ) -> Any:
        axes = reduced_axes(name, data.ndim, axis, exclude)
        made = fn(data, axes, keepdims)
        return made if keepdims else jnp.atleast_1d(made)

    run.__name__ = name
    run.__doc__ = (
        f"{doc}\n\n"
        "Over the axes in ``axis``, all if there are none; with ``exclude``, over the others.\n\n"
        "Shapes:\n    returns: that of ``data`` without those axes, or with ``keepdims`` with 1 in "
        "their place;\n        else (1,) if none is left."
    )
    storage = Storage(_by_row, gradient="result") if name == "_square_sum" else PLAIN
    op(name, precision="float32", aliases=aliases, storage=storage)(run)


for _row in _ROWS:
    _register(*_row)


@op(
    "norm",
    precision="float32",
    aliases=("_sparse_norm",),
    dtypes=lambda ins, attrs: (list(ins), [attrs["out_dtype"] or ins[0]]),
)
def norm(
    data: Any,
    *,
    ord: int = 2,
    axis: Axes | None = None,
    out_dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
    keepdims: bool = False,
) -> Any:
    """The sum of magnitudes (``ord=1``) or the root of the sum of squares (``ord=2``).

    Differs: whole numbers are summed in floating point and cut off; MXNet's sum of them overflows.
    ``out_dtype`` works, where MXNet fails. The norm of booleans is whether one of them is true.

    Raises:
        ParameterError: another ``ord``.
    """
    if ord not in (1, 2):
        raise ParameterError(f"norm: got ord={ord}, expected 1 or 2")
    axes = reduced_axes("norm", data.ndim, axis)

    def compute(x: Any) -> Any:
        if ord == 1:
            return jnp.sum(magnitude(x), axes, keepdims=keepdims)
        wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        return jnp.sqrt(jnp.sum(wide * wide, axes, keepdims=keepdims)).astype(x.dtype)

    made = in_float(compute)(data)
    return convert(made if keepdims else jnp.atleast_1d(made), out_dtype or data.dtype)


def _arg_extreme(name: str, fn: Any, data: Any, axis: int | None, keepdims: bool) -> Any:
    refuse_bool(name, data)
    if axis is not None:
        reduced_axes(name, data.ndim, (axis,))
    return jnp.atleast_1d(fn(data, axis, keepdims=keepdims)).astype(data.dtype)


@op("argmax", precision="float32", gradient="zero")
def argmax(data: Any, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index of the maximum along ``axis``, or in the flat array; the first of equals.

    The result is of the type of ``data``.
    """
    return _arg_extreme("argmax", jnp.argmax, data, axis, keepdims)


@op("argmin", precision="float32", gradient="zero")
def argmin(data: Any, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """The index of the minimum along ``axis``, or in the flat array; the first of equals.

    The result is of the type of ``data``.
    """
    return _arg_extreme("argmin", jnp.argmin, data, axis, keepdims)


@op("argmax_channel", precision="float32", gradient="refused")
def argmax_channel(data: Any) -> Any:
    """The index of the maximum along axis 1.

    Shapes:
        data: (N, C, ...). returns: (N, ...).
    """
    return _arg_extreme("argmax_channel", jnp.argmax, data, 1, False)


@op("moments", precision="float32", outputs=("output0", "output1"))
def moments(data: Any, *, axes: Axes | None = None, keepdims: bool = False) -> Any:
    """Mean and variance over ``axes``.

    Raises:
        ParameterError: no axes are named.
    """
    if not axes:
        raise ParameterError(f"moments: got axes={axes}, expected at least one; name all for all")
    over = reduced_axes("moments", data.ndim, axes)
    mean = _mean(data, over, True)
    variance = _mean(jnp.square(data - mean), over, keepdims)
    return jnp.atleast_1d(mean.reshape(variance.shape)), jnp.atleast_1d(variance)


@op(
    "multi_sum_sq",
    precision="float32",
    variadic="num_arrays",
    dtypes=float32_result,
    gradient="refused",
)
def multi_sum_sq(*data: Any) -> Any:
    """The sum of squares of each array.

    Shapes:
        returns: (number of arrays,), of float32.
    """
    return jnp.stack([jnp.sum(jnp.square(a.astype(jnp.float32))) for a in data])


def _finite(name: str, arrays: Sequence[Any], init_output: bool) -> Any:
    if not init_output:
        raise NotSupportedError(
            f"{name}: init_output=False, which reads an older answer, needs out=, in a call on "
            "arrays; multiply the answers in graphs"
        )
    checks = [jnp.all(jnp.isfinite(a)) for a in arrays]
    return jnp.all(jnp.stack(checks)).astype(jnp.float32).reshape(1)


@op(
    "all_finite",
    precision="float32",
    dtypes=float32_result,
    partial=results((1,)),
    gradient="refused",
)
def all_finite(data: Any, *, init_output: bool = True) -> Any:
    """1 if no element is infinite or NaN, else 0.

    Args:
        init_output: ``False`` multiplies the answer by that in ``out``, which only calls on
            arrays have.

    Shapes:
        returns: (1,), of float32.
    """
    return _finite("all_finite", [data], init_output)


@op(
    "multi_all_finite",
    precision="float32",
    variadic="num_arrays",
    dtypes=float32_result,
    partial=results((1,)),
    gradient="refused",
)
def multi_all_finite(*data: Any, init_output: bool = True) -> Any:
    """1 if no element of any array is infinite or NaN, else 0.

    Args:
        init_output: ``False`` multiplies the answer by that in ``out``, which only calls on
            arrays have.

    Shapes:
        returns: (1,), of float32.
    """
    return _finite("multi_all_finite", data, init_output)
