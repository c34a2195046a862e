"""Deformable convolution: kernel taps at learned positions, with or without learned weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ShapeError
from modkit.ops.nn.convolution import Geometry, add_bias, check_groups
from modkit.ops.parameters import Attrs, Inert, Shape, Size
from modkit.ops.partial_shapes import check_shape
from modkit.ops.registry import op

_Layout = Literal["NCW", "NCHW", "NCDHW"] | None


def _shapes(operator: str, data: Shape, attrs: Attrs) -> dict[str, Shape]:
    """Shapes of the inputs that go with ``data``, and ``space``, the spatial sizes of the output.

    Raises:
        ShapeError: data or kernel are not of two spatial axes, or groups do not divide channels.
    """
    kernel, parts = attrs["kernel"], attrs["num_deformable_group"]
    if len(data) != 4 or len(kernel) != 2:
        raise ShapeError(
            f"{operator}: got data {data} and kernel {kernel}, expected (N, C, H, W) and "
            "(height, width)"
        )
    geometry = Geometry.of(data, attrs, operator)
    check_groups(data[1], attrs, operator)
    if data[1] % parts:
        raise ShapeError(
            f"{operator}: got {data[1]} channels of the data, expected a multiple of "
            f"num_deformable_group={parts}"
        )
    space = geometry.moves().counts(data[2:], kernel)
    if min(space) < 1:
        raise ShapeError(
            f"{operator}: the kernel {kernel} is larger than the padded data {data}; pad more or "
            "take a smaller kernel"
        )
    taps, filters = math.prod(kernel), attrs["num_filter"]
    return {
        "offset": (data[0], 2 * parts * taps, *space),
        "mask": (data[0], parts * taps, *space),
        "weight": (filters, data[1] // attrs["num_group"], *kernel),
        "bias": (filters,),
        "space": space,
    }


def _schema(operator: str) -> Callable[..., Any]:
    """The decorator that registers one of the two operators."""
    return op(
        operator,
        precision="float32",
        costly=True,
        like=_Settings,
        params=lambda data, **attrs: _shapes(operator, data, attrs),
        when={"bias": lambda attrs: not attrs["no_bias"]},
    )


def _sides(at: jax.Array, size: int, fading: bool) -> list[tuple[jax.Array, jax.Array]]:
    """The two neighbours of points along an axis, and their weights.

    Points outside 0 .. size have weights 0, and those behind the last pixel read that; with
    ``fading`` the image goes on with zeros.
    """
    low = lax.stop_gradient(jnp.floor(at))
    far = at - low
    near = low.astype(jnp.int32)
    found = []
    for place, weight in ((near, 1 - far), (near + 1, far)):
        inside = (place >= 0) & (place < size) if fading else (at >= 0) & (at < size)
        found.append((jnp.clip(place, 0, size - 1), jnp.where(inside, weight, 0)))
    return found


def _sampled(
    data: jax.Array, offset: jax.Array, geometry: Geometry, kernel: Shape, parts: int, fading: bool
) -> jax.Array:
    """The values that each tap of the kernel reads, by bilinear interpolation.

    Shapes:
        data: (N, C, H, W).
        offset: (N, 2 parts taps, h, w).
        returns: (N, parts, taps, h, w, C / parts).
    """
    count, channels, height, width = data.shape
    space, taps = offset.shape[2:], math.prod(kernel)
    moved = offset.reshape(count, parts, taps, 2, *space)
    rows, columns = (
        np.arange(k)[:, None] * dilate + np.arange(n) * stride - pad
        for k, n, dilate, stride, pad in zip(
            kernel, space, geometry.dilate, geometry.stride, geometry.pad, strict=True
        )
    )
    down = np.repeat(rows, kernel[1], 0)[:, :, None]
    across = np.tile(columns, (kernel[0], 1))[:, None, :]
    y = moved[:, :, :, 0] + down.astype(offset.dtype)
    x = moved[:, :, :, 1] + across.astype(offset.dtype)
    pixels = data.reshape(count, parts, channels // parts, height, width).transpose(0, 1, 3, 4, 2)
    image = np.arange(count)[:, None, None, None, None]
    part = np.arange(parts)[:, None, None, None]
    total: Any = 0.0
    for row, v in _sides(y, height, fading):
        for column, w in _sides(x, width, fading):
            total = total + (v * w)[..., None] * pixels[image, part, row, column]
    return total


@dataclass(frozen=True, kw_only=True)
class _Settings:
    """Parameters of both operators."""

    kernel: Shape
    stride: Shape = ()
    dilate: Shape = ()
    pad: Shape = ()
    num_filter: Size
    num_group: Size = 1
    num_deformable_group: Size = 1
    workspace: Inert[int] = 1024
    no_bias: bool = False


def _convolve(
    operator: str,
    data: jax.Array,
    offset: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None,
    mask: jax.Array | None,
    attrs: Attrs,
) -> jax.Array:
    expected = _shapes(operator, data.shape, attrs)
    inputs = {"offset": offset, "weight": weight, "bias": bias, "mask": mask}
    for name, array in inputs.items():
        if array is not None:
            check_shape(operator, name, array, expected[name])
    kernel, groups = attrs["kernel"], attrs["num_group"]
    geometry = Geometry.of(data.shape, attrs, operator)
    count, channels = data.shape[:2]
    parts, fading = attrs["num_deformable_group"], mask is not None
    found = _sampled(data, offset, geometry, kernel, parts, fading)
    if mask is not None:
        found = found * mask.reshape(found.shape[:-1])[..., None]
    # (N, parts, taps, h, w, C / parts) to (N, groups, C / groups, taps, h, w)
    columns = found.transpose(0, 1, 5, 2, 3, 4)
    taps = channels // groups, math.prod(kernel)
    columns = columns.reshape(count, groups, *taps, *expected["space"])
    kernels = weight.reshape(groups, -1, *taps)
    out = jnp.einsum("ngcthw,gfct->ngfhw", columns, kernels)
    out = out.reshape(count, attrs["num_filter"], *expected["space"]).astype(data.dtype)
    return add_bias(out, bias, "NCHW")


@_schema("_contrib_DeformableConvolution")
def deformable_convolution(
    data: jax.Array,
    offset: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    *,
    layout: _Layout = None,
    **given: Any,
) -> jax.Array:
    """Convolution whose kernel taps are moved by ``offset`` (Dai et al., 2017).

    A tap reads by bilinear interpolation; 0 outside the image, without interpolation at its border.

    Args:
        offset: shift down and across of each tap of each group, at each output position.
        bias: one value for each output channel; absent with ``no_bias``.
        kernel: (height, width).
        stride, dilate, pad, num_filter, num_group, no_bias: see `Convolution`.
        num_deformable_group: groups of channels with offsets of their own.
        layout: ``"NCHW"``, which is the default.

    Shapes:
        data: (N, C, H, W).
        offset: (N, 2 num_deformable_group height width, h, w).
        weight: (num_filter, C / num_group, height, width).
        bias: (num_filter,).
        returns: (N, num_filter, h, w), sizes as in Convolution.

    Raises:
        ShapeError: an array has another shape, or groups do not divide the channels.
    """
    attrs, name = {**vars(_Settings(**given)), "layout": layout}, "_contrib_DeformableConvolution"
    return _convolve(name, data, offset, weight, bias, None, attrs)


@_schema("_contrib_ModulatedDeformableConvolution")
def modulated_deformable_convolution(
    data: jax.Array,
    offset: jax.Array,
    mask: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    *,
    im2col_step: Inert[int] = 64,
    layout: _Layout = None,
    **given: Any,
) -> jax.Array:
    """`deformable_convolution` whose taps are multiplied by ``mask`` (Zhu et al., 2019).

    Outside the image lie zeros, with which taps at its border interpolate.

    Args:
        data, offset, weight, bias, kernel, stride, dilate, pad, num_filter, num_group, no_bias,
            layout: see `DeformableConvolution`.
        mask: factor of each tap of each group, at each output position.
        num_deformable_group: groups of channels with offsets and factors of their own.

    Shapes:
        data: (N, C, H, W).
        offset: (N, 2 num_deformable_group height width, h, w).
        mask: (N, num_deformable_group height width, h, w).
        weight: (num_filter, C / num_group, height, width).
        bias: (num_filter,).
        returns: (N, num_filter, h, w), sizes as in Convolution.

    Raises:
        ShapeError: an array has another shape, or groups do not divide the channels.
    """
    attrs = {**vars(_Settings(**given)), "layout": layout}
    name = "_contrib_ModulatedDeformableConvolution"
    return _convolve(name, data, offset, weight, bias, mask, attrs)
