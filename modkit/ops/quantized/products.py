"""Convolution and affine map of 8-bit arrays, with exact sums in int32."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import NotSupportedError
from modkit.ops.dtype_inference import Inferred
from modkit.ops.nn.convolution import (
    ConvolutionSettings,
    Geometry,
    by_xla,
    check_groups,
    check_reach,
)
from modkit.ops.nn.layout import fits_kernel
from modkit.ops.parameters import Attrs, Shape, Size
from modkit.ops.partial_shapes import check_shape
from modkit.ops.quantized.levels import (
    EIGHT_BITS,
    FULL,
    HALF,
    INT32,
    Quantized,
    check_types,
    ends,
    quantized,
    width,
    with_ranges,
)

_EXACT = 2**24
"""Whole numbers up to here are exact in float32."""


def _types(ins: Sequence[str | None], attrs: Attrs) -> Inferred:
    return with_ranges(ins, [ins[0], *["int8"] * (1 if attrs["no_bias"] else 2)], "int32")


_WITH_BIAS: dict[str, Callable[[Mapping[str, Any]], bool]] = dict.fromkeys(
    ("bias", "min_bias", "max_bias"), lambda attrs: not attrs["no_bias"]
)


def _exactly(
    product: Callable[[jax.Array, jax.Array], jax.Array],
    data: jax.Array,
    weight: jax.Array,
    axes: tuple[int, int],
    taps: int,
) -> jax.Array:
    """A sum of products in int32, as float32 products of as many channels as are exact.

    XLA has fast products of floats on every device, and none of 8 bits on CPUs.

    Channels are on the two ``axes`` of ``data`` and ``weight``; each adds ``taps`` products.
    """
    most = max(_EXACT // (FULL[str(data.dtype)] * 128 * taps), 1)
    total: Any = 0
    for start in range(0, weight.shape[axes[1]], most):
        parts = [
            jax.lax.slice_in_dim(x, start, min(start + most, x.shape[axis]), axis=axis)
            for x, axis in zip((data, weight), axes, strict=True)
        ]
        found = product(*(part.astype(jnp.float32) for part in parts))
        total = total + jnp.rint(found).astype(jnp.int32)
    return total


def _check(name: str, data: jax.Array, weight: jax.Array, bias: jax.Array | None) -> None:
    check_types(name, {"data": data}, EIGHT_BITS)
    check_types(name, {"weight": weight} | ({} if bias is None else {"bias": bias}), ("int8",))


def _with_bias(
    sums: jax.Array, data_type: str, bias: jax.Array | None, ranges: Sequence[Any], rank: int
) -> Quantized:
    """The sums with the bias in their units, and their range.

    Args:
        sums: of products, int32.
        data_type: type of the levels that were multiplied with the weight's.
        bias: levels; ``None`` without one.
        ranges: lower and upper end of the ranges of data, weight and bias.
        rank: number of axes after the channels.
    """
    sides = width(*ranges[:2]), width(*ranges[2:4])
    if bias is not None:
        unit = sides[0] / HALF[data_type] * sides[1] / HALF["int8"]
        scale = width(*ranges[4:]) / HALF["int8"] / jnp.where(unit > 0, unit, 1)
        # A bias that exceeds the range of the sums saturates; float32 knows 24 bits of the room.
        room = INT32 - jnp.max(jnp.abs(sums).astype(jnp.float32), initial=0) * (1 + 2.0**-20) - 256
        whole = jnp.clip(jnp.rint(bias.astype(jnp.float32) * scale), -room, room)
        sums = sums + whole.astype(jnp.int32).reshape(-1, *[1] * rank)
    bound = sides[0] / FULL[data_type] * sides[1] / FULL["int8"] * INT32
    return sums, *ends(-bound, bound)


_RANGES: dict[str, Shape] = {
    f"{end}_{name}": (1,) for name in ("data", "weight", "bias") for end in ("min", "max")
}


def _conv_params(data: Shape, **attrs: Any) -> dict[str, Shape]:
    channels, filters = data[1], attrs["num_filter"]
    check_groups(channels, attrs, "_contrib_quantized_conv")
    weight = (filters, channels // attrs["num_group"], *attrs["kernel"])
    return {"weight": weight, "bias": (filters,), **_RANGES}


@quantized(
    "quantized_conv",
    like=ConvolutionSettings,
    costly=True,
    params=_conv_params,
    when=_WITH_BIAS,
    fits=fits_kernel("stride", "dilate", "pad"),
    dtypes=_types,
)
def quantized_conv(
    data: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    min_data: jax.Array | None = None,
    max_data: jax.Array | None = None,
    min_weight: jax.Array | None = None,
    max_weight: jax.Array | None = None,
    min_bias: jax.Array | None = None,
    max_bias: jax.Array | None = None,
    **given: Any,
) -> Quantized:
    """Convolution of 8-bit arrays; sums are int32.

    Args:
        data: levels, int8 or uint8.
        weight: levels, int8.
        bias: levels, int8; absent with ``no_bias``.
        min_data, max_data, min_weight, max_weight, min_bias, max_bias: ends of their ranges.
        kernel, stride, dilate, pad, num_filter, num_group, no_bias, layout: see `Convolution`;
            channels come first.

    Shapes:
        data: (N, C, *space).
        weight: (num_filter, C / num_group, *kernel).
        bias: (num_filter,).
        returns: (N, num_filter, *space), and its range, two of (1,).

    Raises:
        DTypeError: an array is of another type.
        NotSupportedError: a layout with channels last.

    Differs: the result is the convolution of the real numbers that the levels stand for. On CPUs,
        MXNet 1.9.1 refuses int8 data, and scales a bias and the range of uint8 data wrongly.
    """
    name = "_contrib_quantized_conv"
    _check(name, data, weight, bias)
    attrs = vars(ConvolutionSettings(**given))
    kernel, num_group, layout = attrs["kernel"], attrs["num_group"], attrs["layout"]
    if layout is not None and not layout.startswith("NC"):
        raise NotSupportedError(f"{name}: layout: got {layout}, expected channels first: NCHW")
    geometry = Geometry.of(data.shape, attrs, name)
    check_reach(data.shape, geometry, kernel)
    check_shape(name, "weight", weight, _conv_params(data.shape, **attrs)["weight"])
    split = data.reshape(data.shape[0], num_group, -1, *data.shape[2:])

    def product(data: jax.Array, weight: jax.Array) -> jax.Array:
        together = data.reshape(data.shape[0], -1, *data.shape[3:])
        return by_xla(together, weight, geometry.moves(), num_group, geometry.layout)

    sums = _exactly(product, split, weight, (2, 1), math.prod(kernel))
    ranges = min_data, max_data, min_weight, max_weight, min_bias, max_bias
    return _with_bias(sums, str(data.dtype), bias, ranges, len(kernel))


def _dense_params(data: Shape, **attrs: Any) -> dict[str, Shape]:
    fan_in = math.prod(data[1:]) if attrs["flatten"] else data[-1]
    return {"weight": (attrs["num_hidden"], fan_in), "bias": (attrs["num_hidden"],), **_RANGES}


@quantized(
    "quantized_fully_connected", costly=True, params=_dense_params, when=_WITH_BIAS, dtypes=_types
)
def quantized_fully_connected(
    data: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    min_data: jax.Array | None = None,
    max_data: jax.Array | None = None,
    min_weight: jax.Array | None = None,
    max_weight: jax.Array | None = None,
    min_bias: jax.Array | None = None,
    max_bias: jax.Array | None = None,
    *,
    num_hidden: Size,
    no_bias: bool = False,
    flatten: bool = True,
) -> Quantized:
    """Affine map of 8-bit arrays; sums are int32.

    Args:
        data, weight, bias, min_data, max_data, min_weight, max_weight, min_bias, max_bias: see
            `quantized_conv`.
        flatten: rows of the data are all its axes but the first; else its last axis.

    Shapes:
        data: (N, ...), taken as (N, K); with ``flatten=False`` (..., K).
        weight: (num_hidden, K).
        bias: (num_hidden,).
        returns: (N, num_hidden) or (..., num_hidden), and its range, two of (1,).

    Raises:
        DTypeError: an array is of another type.
        ShapeError: the weight is of another shape.
    """
    name = "_contrib_quantized_fully_connected"
    _check(name, data, weight, bias)
    found = _dense_params(data.shape, num_hidden=num_hidden, flatten=flatten)
    check_shape(name, "weight", weight, found["weight"])
    rows = data.reshape(data.shape[0], weight.shape[1]) if flatten else data
    sums = _exactly(lambda x, w: x @ w.T, rows, weight, (rows.ndim - 1, 1), 1)
    ranges = min_data, max_data, min_weight, max_weight, min_bias, max_bias
    return _with_bias(sums, str(data.dtype), bias, ranges, 0)
