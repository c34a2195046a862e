"""From float32 to 8 bits and back, and from int32 sums to 8 bits."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.ops.dtype_inference import Inferred
from modkit.ops.floating import require_floating
from modkit.ops.parameters import Attrs
from modkit.ops.partial_shapes import like_first
from modkit.ops.quantized.levels import (
    EIGHT_BITS,
    FULL,
    HALF,
    INT32,
    Quantized,
    check_types,
    ends,
    extent,
    is_calibrated,
    rounded,
    values,
    width,
    with_ranges,
)
from modkit.ops.registry import op

_to_levels = functools.partial(
    op,
    precision="float32",
    partial=like_first((1,), (1,)),
    outputs=("output0", "output1", "output2"),
)


def _type_of(out_type: str, low: float | None, high: float | None) -> str:
    """The type that ``out_type`` means: uint8 for ``"auto"`` where the calibrated range allows."""
    if out_type != "auto":
        return out_type
    return "uint8" if low is not None and low >= 0 and high is not None else "int8"


def _type_from(attrs: Attrs) -> str:
    limits = attrs.get("min_calib_range"), attrs.get("max_calib_range")
    return _type_of(attrs["out_type"], *limits)


def _calibrated(
    operator: str, numbers: jax.Array, out_type: str, low: float | None, high: float | None
) -> tuple[str, Any, Any]:
    """The type of the levels, and their range: the calibrated one, or that of the numbers."""
    least, most = (low, high) if is_calibrated(low, high) else extent(operator, numbers)
    return _type_of(out_type, low, high), least, most


def _floats_to_levels(ins: Sequence[str | None], attrs: Attrs) -> Inferred:
    return with_ranges(ins, [], _type_from(attrs))


@_to_levels("_contrib_quantize", dtypes=_floats_to_levels)
def quantize(
    data: jax.Array,
    min_range: jax.Array,
    max_range: jax.Array,
    *,
    out_type: Literal["int8", "uint8"] = "uint8",
) -> Quantized:
    """The levels nearest to numbers, for a range given by arrays. No gradient.

    Args:
        min_range, max_range: ends of the range.
        out_type: uint8 is for numbers of 0 and more; smaller ones become 0.

    Shapes:
        data: any.
        min_range, max_range: (1,).
        returns: as ``data``, and the range, two of (1,): symmetric for int8.
    """
    require_floating(data, "_contrib_quantize")
    bound = width(min_range, max_range)
    levels = rounded(data * (FULL[out_type] / bound), out_type)
    if out_type == "int8":
        return levels, *ends(-bound, bound)
    return levels, *ends(jnp.ravel(min_range)[0], jnp.ravel(max_range)[0])


@_to_levels("_contrib_quantize_v2", dtypes=_floats_to_levels)
def quantize_v2(
    data: jax.Array,
    *,
    out_type: Literal["int8", "uint8", "auto"] = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> Quantized:
    """The levels nearest to numbers, for a calibrated range or the one that they have. No gradient.

    Args:
        out_type: uint8 is for numbers of 0 and more; smaller ones become 0. ``"auto"`` is uint8
            where the calibrated range has no negative numbers, else int8.
        min_calib_range: the range's lower end; default the smallest number.
        max_calib_range: its upper end; default the largest.

    Shapes:
        data: any.
        returns: as ``data``, and the range, two of (1,): symmetric for int8.

    Raises:
        ShapeError: ``data`` is empty, and there is no calibrated range.
    """
    require_floating(data, "_contrib_quantize_v2")
    given = min_calib_range, max_calib_range
    dtype, low, high = _calibrated("_contrib_quantize_v2", data, out_type, *given)
    bound = width(low, high)
    levels = rounded(data.astype(jnp.float32) * (HALF[dtype] / bound), dtype)
    return (levels, *(ends(-bound, bound) if dtype == "int8" else ends(low, high)))


@op(
    "_contrib_dequantize",
    precision="float32",
    partial=like_first((1,), (1,)),
    dtypes=lambda ins, attrs: ([ins[0], "float32", "float32"], ["float32"]),
)
def dequantize(
    data: jax.Array,
    min_range: jax.Array,
    max_range: jax.Array,
    *,
    out_type: Literal["float32"] = "float32",
) -> jax.Array:
    """The numbers that levels stand for. No gradient.

    Args:
        data: levels, int8 or uint8.
        min_range, max_range: ends of the range.
        out_type: float32.

    Shapes:
        data: any.
        min_range, max_range: (1,).
        returns: as ``data``.

    Raises:
        DTypeError: ``data`` is of another type.
    """
    check_types("_contrib_dequantize", {"data": data}, EIGHT_BITS)
    return jax.lax.stop_gradient(values(data, min_range, max_range)).astype(out_type)


@_to_levels(
    "_contrib_requantize",
    dtypes=lambda ins, attrs: with_ranges(ins, ["int32"], _type_from(attrs)),
)
def requantize(
    data: jax.Array,
    min_range: jax.Array,
    max_range: jax.Array,
    *,
    out_type: Literal["int8", "uint8", "auto"] = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> Quantized:
    """Sums of products as levels of 8 bits, for a calibrated range or the one that they have.

    Args:
        data: sums, int32.
        min_range: the lower end of their range: what -(2**31 - 1) would be.
        max_range: its upper end.
        out_type: as in `quantize_v2`.
        min_calib_range: the lower end of the result's range; default that of the numbers.
        max_calib_range: its upper end.

    Shapes:
        data: any.
        min_range, max_range: (1,).
        returns: as ``data``, and the range, two of (1,): symmetric for int8.

    Raises:
        DTypeError: ``data`` is of another type.
    """
    check_types("_contrib_requantize", {"data": data}, ("int32",))
    numbers = data.astype(jnp.float32) * (width(min_range, max_range) / INT32)
    given = min_calib_range, max_calib_range
    dtype, low, high = _calibrated("_contrib_requantize", numbers, out_type, *given)
    bound = width(low, high)
    levels = rounded(numbers * (FULL[dtype] / bound), dtype)
    return (levels, *(ends(-bound, bound) if dtype == "int8" else ends(0.0, bound)))
