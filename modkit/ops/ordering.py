"""Sorting, and the largest or smallest few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError
from modkit.ops.arithmetic import convert
from modkit.ops.reduce import reduced_axes
from modkit.ops.registry import DType, op


def _order(data: Any, axis: int, is_ascend: bool) -> Any:
    """The places of the elements in order; equal ones in the order in which they stand."""
    return jnp.argsort(jax.lax.stop_gradient(data), axis, stable=True, descending=not is_ascend)


def _lay_out(name: str, data: Any, axis: int | None) -> tuple[Any, int]:
    """The array to sort and the axis: the flat array if ``axis`` is ``None``."""
    if axis is None:
        return data.reshape(-1), 0
    return data, reduced_axes(name, data.ndim, (axis,))[0]


@op("sort", outputs=("output0",))
def sort(data: Any, *, axis: int | None = -1, is_ascend: bool = True) -> Any:
    """The elements in order along ``axis``, or all in one row if it is ``None``."""
    array, at = _lay_out("sort", data, axis)
    return jnp.take_along_axis(array, _order(array, at, is_ascend), at)


@op("argsort")
def argsort(
    data: Any, *, axis: int | None = -1, is_ascend: bool = True, dtype: DType = "float32"
) -> Any:
    """Where the elements stand that ``sort`` would put in order.

    Differs: equal elements keep their order; MXNet's order of more than 16 equal ones is any.
    """
    array, at = _lay_out("argsort", data, axis)
    return convert(_order(array, at, is_ascend), dtype)


def _topk_types(ins: Sequence[str | None], attrs: Mapping[str, Any]) -> Any:
    outs = {
        "value": [ins[0]],
        "mask": [ins[0]],
        "indices": [attrs["dtype"]],
        "both": [ins[0], attrs["dtype"]],
    }
    return list(ins), outs[attrs["ret_typ"]]


def _topk_names(attrs: Mapping[str, Any]) -> Sequence[str]:
    return ("output0", "output1") if attrs["ret_typ"] == "both" else ("output",)


@op("topk", outputs=_topk_names, dtypes=_topk_types)
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
        data: the array.
        axis: where to look; ``None`` is the flat array.
        k: how many.
        ret_typ: the values, their ``indices``, ``both``, or a ``mask`` of the shape of ``data``
            with ones where they stand.
        is_ascend: the smallest ones, smallest first.
        dtype: element type of the indices.

    Raises:
        ParameterError: there are not so many.

    Differs: of equal elements the first ones are taken; MXNet's choice among many is any.
    """
    array, at = _lay_out("topk", data, axis)
    size = array.shape[at]
    if k > size:
        raise ParameterError(f"topk: got k={k}, expected at most {size}, the size along the axis")
    places = jax.lax.slice_in_dim(_order(array, at, is_ascend), 0, k if k > 0 else size, axis=at)
    if ret_typ == "mask":
        zeros = jnp.zeros_like(array)
        return jnp.put_along_axis(zeros, places, 1, at, inplace=False).reshape(data.shape)
    if ret_typ == "indices":
        return convert(places, dtype)
    values = jnp.take_along_axis(array, places, at)
    return values if ret_typ == "value" else (values, convert(places, dtype))
