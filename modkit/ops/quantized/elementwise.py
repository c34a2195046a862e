"""Sums, products and concatenation of 8-bit arrays of different ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError
from modkit.ops.dtype_inference import Inferred
from modkit.ops.parameters import Attrs, Shape
from modkit.ops.quantized.levels import (
    EIGHT_BITS,
    FULL,
    HALF,
    INT32,
    QUANTIZED,
    check_types,
    ends,
    is_calibrated,
    quantized,
    rounded,
    values,
    width,
    with_ranges,
)


def _types(ins: Sequence[str | None], attrs: Attrs) -> Inferred:
    calibrated = is_calibrated(attrs["min_calib_range"], attrs["max_calib_range"])
    given, made = with_ranges(ins, list(ins[:2]), "int8" if calibrated else "int32")
    return given, ["float32"] if attrs.get("enable_float_output") else made


def _params(data: Shape, **attrs: Any) -> dict[str, Shape]:
    ranges = dict.fromkeys(("lhs_min", "lhs_max", "rhs_min", "rhs_max"), (1,))
    return {"rhs": data, **ranges}


def _check(operator: str, lhs: jax.Array, rhs: jax.Array) -> None:
    check_types(operator, {"lhs": lhs, "rhs": rhs}, EIGHT_BITS)
    if lhs.shape != rhs.shape:
        raise ShapeError(f"{operator}: got shapes {lhs.shape} and {rhs.shape}, expected one shape")


@quantized("quantized_elemwise_add", params=_params, gradient="refused", dtypes=_types)
def quantized_elemwise_add(
    lhs: jax.Array,
    rhs: jax.Array,
    lhs_min: jax.Array,
    lhs_max: jax.Array,
    rhs_min: jax.Array,
    rhs_max: jax.Array,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The sum of two arrays of levels: in int8 for a calibrated range, else in int32.

    Args:
        lhs, rhs: levels, int8 or uint8.
        lhs_min, lhs_max, rhs_min, rhs_max: ends of their ranges.
        min_calib_range, max_calib_range: ends of the result's range.

    Shapes:
        lhs, rhs: one shape.
        returns: as they are, and the range, two of (1,).

    Raises:
        DTypeError: an array is of another type.
        ShapeError: the shapes differ.

    Differs: uint8 and int8 can be added; MXNet 1.9.1 takes the uint8 levels for 0 there.
    """
    _check("_contrib_quantized_elemwise_add", lhs, rhs)
    numbers = values(lhs, lhs_min, lhs_max) + values(rhs, rhs_min, rhs_max)
    if is_calibrated(min_calib_range, max_calib_range):
        scale = HALF["int8"] / width(min_calib_range, max_calib_range)
        return rounded(numbers * scale, "int8"), *ends(min_calib_range, max_calib_range)
    bound = width(lhs_min, lhs_max) + width(rhs_min, rhs_max)
    # A share of 1 would overflow: float32 rounds 2**31 - 1 up.
    share = jnp.clip(numbers / bound, -1, 1 - 2**-24)
    return (share * INT32).astype(jnp.int32), *ends(-bound, bound)


@quantized(
    "quantized_elemwise_mul",
    params=_params,
    outputs=lambda attrs: QUANTIZED[:1] if attrs["enable_float_output"] else QUANTIZED,
    dtypes=_types,
)
def quantized_elemwise_mul(
    lhs: jax.Array,
    rhs: jax.Array,
    lhs_min: jax.Array,
    lhs_max: jax.Array,
    rhs_min: jax.Array,
    rhs_max: jax.Array,
    *,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
) -> Any:
    """The product of two arrays of levels: in int8 for a calibrated range, else in int32.

    Args:
        lhs, rhs: levels, int8.
        lhs_min, lhs_max, rhs_min, rhs_max, min_calib_range, max_calib_range: see
            `quantized_elemwise_add`.
        enable_float_output: the result is float32, and its range is no output.

    Shapes:
        lhs, rhs: one shape.
        returns: as they are, and the range, two of (1,).

    Raises:
        DTypeError: an array is of another type.
        ShapeError: the shapes differ.
    """
    name = "_contrib_quantized_elemwise_mul"
    _check(name, lhs, rhs)
    check_types(name, {"lhs": lhs, "rhs": rhs}, ("int8",))
    numbers = values(lhs, lhs_min, lhs_max) * values(rhs, rhs_min, rhs_max)
    if enable_float_output:
        return jax.lax.stop_gradient(numbers)
    if is_calibrated(min_calib_range, max_calib_range):
        # Toward zero, as in MXNet 1.9.1.
        whole = jnp.trunc(numbers * (HALF["int8"] / width(min_calib_range, max_calib_range)))
        levels = jnp.clip(whole, -128, 127).astype(jnp.int8)
        return levels, *ends(min_calib_range, max_calib_range)
    unit = width(lhs_min, lhs_max) / FULL["int8"] * width(rhs_min, rhs_max) / FULL["int8"]
    whole = lhs.astype(jnp.int32) * rhs.astype(jnp.int32)
    return whole, *ends(-unit * INT32, unit * INT32)


def _joined_names(attrs: Attrs) -> list[str]:
    count = attrs["num_args"]
    ranges = [f"arg{i}_{end}" for i in range(count) for end in ("min", "max")]
    return [f"arg{i}" for i in range(count)] + ranges


def _joined_types(ins: Sequence[str | None], attrs: Attrs) -> Inferred:
    count = attrs["num_args"]
    found = list(ins[:count])
    joined = "uint8" if all(t == "uint8" for t in found) else "int8"
    return with_ranges(ins, found, None if None in found else joined)


@quantized("quantized_concat", variadic="num_args", names=_joined_names, dtypes=_joined_types)
def quantized_concat(*data: jax.Array, dim: int = 1) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Arrays of levels joined along an axis, in the range that holds all of theirs.

    Args:
        data: arrays of levels, then the lower and the upper end of each one's range.

    Shapes:
        data: arrays that differ along ``dim`` at most; then (1,) each.
        returns: the joined array, uint8 where all are, else int8; and its range, two of (1,).

    Raises:
        DTypeError: an array is of another type.
        ParameterError: there are not three inputs for each array.
        ShapeError: an end of a range is not of one element.
    """
    name = "_contrib_quantized_concat"
    count = len(data) // 3
    if not count or len(data) != 3 * count:
        raise ParameterError(
            f"{name}: got {len(data)} inputs, expected num_args arrays and two ends of a range "
            "for each"
        )
    arrays, lows, highs = data[:count], data[count::2], data[count + 1 :: 2]
    check_types(name, {f"arg{i}": array for i, array in enumerate(arrays)}, EIGHT_BITS)
    if wrong := [x.shape for x in data[count:] if x.shape != (1,)]:
        raise ShapeError(f"{name}: got an end of a range of shape {wrong[0]}, expected (1,)")
    joined = "uint8" if all(a.dtype == "uint8" for a in arrays) else "int8"
    low = jnp.min(jnp.concatenate([jnp.ravel(x) for x in lows]))
    high = jnp.max(jnp.concatenate([jnp.ravel(x) for x in highs]))
    whole = width(low, high)
    moved = [
        # one factor, so that the middle between two levels stays there
        rounded(
            a.astype("float32") * (width(x, y) / whole * (HALF[joined] / HALF[str(a.dtype)])),
            joined,
        )
        for a, x, y in zip(arrays, lows, highs, strict=True)
    ]
    return jnp.concatenate(moved, dim), *ends(low, high)
