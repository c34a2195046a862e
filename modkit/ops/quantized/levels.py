"""Ranges, levels and rounding of 8-bit values: those of oneDNN in MXNet 1.9.1.

A quantized array comes with two arrays of one element, the ends of its range. An int8 array stands
for ``q max(|min|, |max|) / 127.5``, an uint8 array for ``q max(|min|, |max|) / 255.5``: there is no
offset. Sums of products are int32, whose range says what 2**31 - 1 would be in units of 1/127 and
1/255.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import DTypeError, ParameterError, ShapeError
from modkit.ops.dtype_inference import Inferred
from modkit.ops.registry import op

HALF = {"int8": 127.5, "uint8": 255.5}
"""Levels of a range, with the half that rounds to the last one."""

FULL = {"int8": 127, "uint8": 255}
"""The largest level of a type."""

INT32 = 2147483647

Range = tuple[jax.Array, jax.Array]
Quantized = tuple[jax.Array, jax.Array, jax.Array]
"""Levels, and the ends of their range."""

QUANTIZED = "output", "min_output", "max_output"
"""Names of the outputs of a quantized operator."""


def quantized(name: str, **fields: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`op` of the name ``_contrib_<name>``, with a range among its outputs."""
    fields = {"outputs": QUANTIZED, **fields}
    return op(f"_contrib_{name}", precision="float32", **fields)


def with_ranges(ins: Sequence[Any], given: list[str | None], made: str | None) -> Inferred:
    """Types of inputs and outputs, of which the ends of ranges, the last ones, are float32."""
    return [*given, *["float32"] * (len(ins) - len(given))], [made, "float32", "float32"]


def width(low: Any, high: Any) -> jax.Array:
    """The larger magnitude of a range's ends, as a scalar."""
    return jnp.maximum(jnp.abs(jnp.ravel(low)[0]), jnp.abs(jnp.ravel(high)[0]))


def is_calibrated(low: float | None, high: float | None) -> bool:
    """Whether parameters give a range; ParameterError where they give one end without the other."""
    if (low is None) != (high is None):
        raise ParameterError(
            f"got min_calib_range={low} and max_calib_range={high}, expected both or neither"
        )
    return low is not None and high is not None


def extent(operator: str, data: jax.Array) -> Range:
    """The smallest and the largest number; NaN is left out, in favour of what else is there.

    Raises:
        ShapeError: there is no number.
    """
    if not data.size:
        raise ShapeError(
            f"{operator}: got data of shape {data.shape}, which has no range; give min_calib_range "
            "and max_calib_range"
        )
    numbers, most = ~jnp.isnan(data), jnp.finfo(data.dtype).max
    return (data.min(where=numbers, initial=most), data.max(where=numbers, initial=-most))


def ends(low: Any, high: Any) -> Range:
    """A range as two arrays of one element. No gradient."""
    low, high = jax.lax.stop_gradient((jnp.float32(low), jnp.float32(high)))
    return jnp.reshape(low, (1,)), jnp.reshape(high, (1,))


def values(data: jax.Array, low: Any, high: Any) -> jax.Array:
    """The numbers that a quantized array stands for, in float32."""
    return data.astype(jnp.float32) * (width(low, high) / HALF[str(data.dtype)])


def rounded(x: jax.Array, dtype: str) -> jax.Array:
    """Levels of a type, halves to even; for NaN the last of int8 and the first of uint8."""
    low, high = (-128, FULL[dtype]) if dtype == "int8" else (0, FULL[dtype])
    near = jnp.where(jnp.isnan(x), high if dtype == "int8" else low, jnp.rint(x))
    return jnp.clip(near, low, high).astype(dtype)


def check_types(operator: str, arrays: dict[str, jax.Array], types: Sequence[str]) -> None:
    """Raise DTypeError, which names the array and the types, for arrays of other types."""
    for name, array in arrays.items():
        if str(array.dtype) not in types:
            raise DTypeError(
                f"{operator}: {name}: got type {array.dtype}, expected {' or '.join(types)}; "
                "quantize_v2 makes such arrays of float32"
            )


EIGHT_BITS = ("int8", "uint8")
