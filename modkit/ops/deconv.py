"""Transposed convolution over one to three spatial axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import ShapeError
from modkit.ops.conv import (
    INERT,
    Geometry,
    Layout,
    add_bias,
    check_groups,
    check_weight,
    of_images,
)
from modkit.ops.conv_last import deconvolve_last, for_layout
from modkit.ops.layout import per_axis, spatial_axes
from modkit.ops.platforms import on_cpus
from modkit.ops.registry import Shape, Size, op


def deconvolve(
    data: jax.Array, weight: jax.Array, geometry: Geometry, adj: Shape, groups: int
) -> jax.Array:
    """The transpose of a convolution in its data: sizes grow by the stride.

    Shapes:
        data: as the layout says, with C channels.
        weight: the layout with N read as C and C as outputs / groups.
        returns: as the layout says.
    """
    layout, stride, dilate, pad = geometry
    space = spatial_axes(layout)
    reach = [d * (weight.shape[i] - 1) for d, i in zip(dilate, space, strict=True)]

    def by_xla(data: jax.Array, weight: jax.Array) -> jax.Array:
        channel = layout.index("C")
        split = weight.reshape(groups, -1, *weight.shape[1:])
        gathered = jnp.moveaxis(split, 0, channel)
        sizes = [*gathered.shape[:channel], -1, *gathered.shape[channel + 2 :]]
        return lax.conv_general_dilated(
            data,
            lax.rev(gathered.reshape(sizes), space),
            window_strides=(1,) * len(space),
            padding=[(r - p, r - p + a) for r, p, a in zip(reach, pad, adj, strict=True)],
            lhs_dilation=stride,
            rhs_dilation=dilate,
            dimension_numbers=(layout, layout.replace("C", "O").replace("N", "I"), layout),
            feature_group_count=groups,
        )

    def last(data: jax.Array, weight: jax.Array) -> jax.Array:
        return deconvolve_last(data, weight, geometry.moves(adj), groups)

    return on_cpus(for_layout(last, layout), by_xla)(data, weight)


def _deconv_margins(
    size: int, kernel: int, stride: int, dilate: int, pad: int, adj: int, target: int
) -> tuple[int, int]:
    """Cells cut from both ends, and cells given back at the far end, of one axis.

    A ``target`` size decides both; what it cuts is even where it can be, and the odd cell stays
    at the far end.
    """
    if not target:
        if adj >= stride:
            raise ShapeError(f"Deconvolution: adj: got {adj}, expected less than stride {stride}")
        return pad, adj
    full = stride * (size - 1) + dilate * (kernel - 1) + 1
    if target > full:
        raise ShapeError(
            f"Deconvolution: target_shape: got {target}, expected at most {full} for data of "
            f"size {size} with kernel {kernel}, stride {stride}, dilate {dilate}"
        )
    return (full - target + 1) // 2, (full - target) % 2


def _deconv_geometry(data: Shape, attrs: Mapping[str, Any]) -> tuple[Geometry, Shape]:
    """The geometry and ``adj``, with what follows from ``target_shape``."""
    kernel = attrs["kernel"]
    geometry = Geometry.of(data, attrs, "Deconvolution")
    adj = per_axis(attrs["adj"], kernel, 0, "Deconvolution: adj")
    target = per_axis(attrs["target_shape"], kernel, 0, "Deconvolution: target_shape")
    sizes = [data[i] for i in spatial_axes(geometry.layout)]
    each = zip(sizes, kernel, *geometry[1:], adj, target, strict=True)
    margins = [_deconv_margins(*numbers) for numbers in each]
    return geometry._replace(pad=tuple(p for p, _ in margins)), tuple(a for _, a in margins)


def _deconv_params(data: Shape, **attrs: Any) -> Mapping[str, Shape]:
    geometry = Geometry.of(data, attrs, "Deconvolution")
    channels, filters = geometry.channels(data), attrs["num_filter"]
    check_groups(channels, attrs, "Deconvolution")
    weight = geometry.weight_shape(attrs["kernel"], channels, filters // attrs["num_group"])
    return {"weight": weight, "bias": (filters,)}


def _deconvolution_last(
    data: jax.Array, weight: jax.Array, bias: jax.Array | None = None, **attrs: Any
) -> jax.Array:
    """`deconvolution` of (N, H, W, C) data with (C, kh, kw, num_filter / num_group) weights."""
    geometry, adj = _deconv_geometry(data.shape, {**attrs, "layout": "NHWC"})
    result: Any = deconvolve_last(data, weight, geometry.moves(adj), attrs["num_group"])
    return add_bias(result, bias, geometry.layout)


@op(
    "Deconvolution",
    params=_deconv_params,
    when={"bias": lambda attrs: not attrs["no_bias"]},
    inert=INERT | {"workspace": (int, 512)},
    channels_last=of_images(_deconvolution_last),
)
def deconvolution(
    data: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    adj: Shape = (),
    target_shape: Shape = (),
    num_filter: Size,
    num_group: Size = 1,
    no_bias: bool = True,
    layout: Layout = None,
) -> jax.Array:
    """Transposed convolution: what the gradient of a `convolution` in its data computes.

    Each spatial size becomes ``stride (size - 1) + dilate (kernel - 1) + 1 - 2 pad + adj``.

    Args:
        data: the input.
        weight: the kernels.
        bias: one value for each output channel; absent with ``no_bias``, which is the default.
        kernel: sizes: (w,), (h, w) or (d, h, w).
        stride: how much space grows, default 1 each.
        dilate: distances of the kernel's cells, default 1 each.
        pad: cells cut from both ends, default 0 each.
        adj: cells added at the far end, less than ``stride``.
        target_shape: spatial sizes wanted, in place of ``pad`` and ``adj``.
        num_filter: output channels.
        num_group: groups of channels that do not see each other.
        no_bias: leave the bias out.
        layout: axes of the data, default channels first (NCW, NCHW, NCDHW).

    Shapes:
        data: (N, C, *space), or as ``layout`` says.
        weight: (C, num_filter / num_group, *kernel), in the order of ``layout`` with N as C.
        bias: (num_filter,).
        returns: (N, num_filter, *space), or as ``layout`` says.

    Differs: MXNet runs channels-last layouts and three spatial axes on GPUs only. With ``dilate``
    its result on CPUs is not what its own gradient belongs to; this one is. On CPUs an infinite
    value or NaN in one group may make NaN in others here.
    """
    attrs = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "layout": layout}
    attrs |= {"adj": adj, "target_shape": target_shape}
    attrs |= {"num_filter": num_filter, "num_group": num_group}
    check_weight(weight, _deconv_params(data.shape, **attrs), "Deconvolution")
    geometry, cells = _deconv_geometry(data.shape, attrs)
    result = deconvolve(data, weight, geometry, cells, num_group)
    return add_bias(result, bias, geometry.layout)
