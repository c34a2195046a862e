"""Sorting, and the largest or smallest few."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError
from modkit.interpreter.tracing import is_for_numpy
from modkit.ops.array.reduce import reduced_axes
from modkit.ops.elementwise.arithmetic import convert
from modkit.ops.parameters import Attrs, DType
from modkit.ops.registry import op

_FEW = 8
"""Among this many times the wanted elements or more, top_k is faster than a sort."""


def _keys(data: jax.Array) -> jax.Array:
    """32-bit whole numbers in the order of the elements: zeros are equal, NaN is last."""
    if data.dtype == jnp.uint32:
        return jax.lax.bitcast_convert_type(data ^ jnp.uint32(1 << 31), jnp.int32)
    if not jnp.issubdtype(data.dtype, jnp.floating):
        return data.astype(jnp.int32)
    wide = data.astype(jnp.float32)
    wide = jnp.where(jnp.isnan(wide), jnp.nan, jnp.where(wide == 0, 0, wide))
    return _mirrored(jax.lax.bitcast_convert_type(wide, jnp.int32))


def _mirrored(bits: jax.Array) -> jax.Array:
    """A float's bits as a whole number in the same order, or back."""
    return jnp.where(bits < 0, bits ^ 0x7FFFFFFF, bits)


def _indices_by_keys(rows: jax.Array, k: int, is_ascend: bool) -> jax.Array:
    """As `_indices_by_sort`, by the two orders that XLA has fast code for on CPUs.

    These are `top_k` of float32, and the sort of one array of whole numbers: key and index in one.
    JAX does not promise that `top_k` compares bits, by which numbers near zero and NaN have an
    order too: ``tests/ops/test_ordering.py`` checks the installed jaxlib.
    """
    keys = _keys(rows)
    if k * _FEW <= rows.shape[-1]:
        bits = _mirrored(~keys if is_ascend else keys)
        return jax.lax.top_k(jax.lax.bitcast_convert_type(bits, jnp.float32), k)[1]
    with jax.enable_x64(True):
        high = (keys if is_ascend else ~keys).astype(jnp.int64) << 32
        index = jax.lax.broadcasted_iota(jnp.int64, rows.shape, rows.ndim - 1)
        return jax.lax.sort(high | index)[..., :k].astype(jnp.int32)


def _indices_by_sort(rows: jax.Array, k: int, is_ascend: bool) -> jax.Array:
    order = jnp.argsort(rows if is_ascend else jnp.flip(rows, -1), stable=True)
    order = order if is_ascend else rows.shape[-1] - 1 - jnp.flip(order, -1)
    return order[..., :k].astype(jnp.int32)


def _indices(data: jax.Array, axis: int, is_ascend: bool, k: int | None = None) -> jax.Array:
    """The indices of the first ``k`` elements in order; equal ones in their original order."""
    rows = jnp.moveaxis(jax.lax.stop_gradient(data), axis, -1)
    attrs = {"k": rows.shape[-1] if k is None else k, "is_ascend": is_ascend}
    by_sort = functools.partial(_indices_by_sort, **attrs)
    if data.dtype.itemsize > 4 or is_for_numpy():
        indices = by_sort(rows)
    else:
        by_keys = functools.partial(_indices_by_keys, **attrs)
        indices = jax.lax.platform_dependent(rows, cpu=by_keys, default=by_sort)
    return jnp.moveaxis(indices, -1, axis)


def _lay_out(name: str, data: Any, axis: int | None) -> tuple[Any, int]:
    """The array to sort and the axis: the flat array if ``axis`` is ``None``."""
    if axis is None:
        return data.reshape(-1), 0
    return data, reduced_axes(name, data.ndim, (axis,))[0]


@op("sort", precision="float32", costly=True, outputs=("output0",))
def sort(data: Any, *, axis: int | None = -1, is_ascend: bool = True) -> Any:
    """The elements in order along ``axis``, or all in one row if it is ``None``."""
    array, at = _lay_out("sort", data, axis)
    return jnp.take_along_axis(array, _indices(array, at, is_ascend), at)


@op("argsort", precision="float32", costly=True, gradient="zero")
def argsort(
    data: Any, *, axis: int | None = -1, is_ascend: bool = True, dtype: DType = "float32"
) -> Any:
    """The indices of the elements in the order of ``sort``.

    Differs: equal elements keep their order; MXNet leaves it undefined for more than 16.
    """
    array, at = _lay_out("argsort", data, axis)
    return convert(_indices(array, at, is_ascend), dtype)


def _topk_types(ins: Sequence[str | None], attrs: Attrs) -> Any:
    outs = {
        "value": [ins[0]],
        "mask": [ins[0]],
        "indices": [attrs["dtype"]],
        "both": [ins[0], attrs["dtype"]],
    }
    return list(ins), outs[attrs["ret_typ"]]


def _topk_names(attrs: Attrs) -> Sequence[str]:
    names = {"both": ("output0", "output1"), "value": ("output0",)}
    return names.get(attrs["ret_typ"], ("output",))


@op(
    "topk",
    precision="float32",
    costly=True,
    outputs=_topk_names,
    dtypes=_topk_types,
    gradient=lambda attrs: "zero" if attrs["ret_typ"] in ("indices", "mask") else "derivative",
)
def topk(
    data: Any,
    *,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["value", "indices", "mask", "both"] = "indices",
    is_ascend: bool = False,
    dtype: DType = "float32",
) -> Any:
    """The ``k`` largest elements along ``axis``, largest first; all of them if ``k`` is below 1.

    Args:
        axis: where to look; ``None`` is the flat array.
        ret_typ: the values, their ``indices``, ``both``, or a ``mask`` of the shape of ``data``
            with ones where they stand.
        is_ascend: the smallest ones, smallest first.
        dtype: element type of the indices.

    Raises:
        ParameterError: there are not so many.

    Differs: of equal elements the first ones are taken; MXNet leaves the choice undefined.
    """
    array, at = _lay_out("topk", data, axis)
    size = array.shape[at]
    if k > size:
        raise ParameterError(f"topk: got k={k}, expected at most {size}, the size along the axis")
    indices = _indices(array, at, is_ascend, k if k > 0 else size)
    if ret_typ == "mask":
        zeros = jnp.zeros_like(array)
        return jnp.put_along_axis(zeros, indices, 1, at, inplace=False).reshape(data.shape)
    if ret_typ == "indices":
        return convert(indices, dtype)
    values = jnp.take_along_axis(array, indices, at)
    return values if ret_typ == "value" else (values, convert(indices, dtype))
