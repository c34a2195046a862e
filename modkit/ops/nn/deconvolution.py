"""Transposed convolution over one to three spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import ShapeError
from modkit.ops.nn.convolution import Geometry, Layout, Tuning, add_bias, check_groups
from modkit.ops.nn.layout import fits_kernel, per_axis, spatial_axes
from modkit.ops.parameters import Attrs, Inert, Shape, Size
from modkit.ops.partial_shapes import check_shape
from modkit.ops.registry import op

Deconvolve = Callable[[jax.Array, jax.Array, Geometry, Shape, int], jax.Array]
"""A grouped transposed cross-correlation, with positions added at the far ends."""


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


def _deconv_margins(
    size: int, kernel: int, stride: int, dilate: int, pad: int, adj: int, target: int
) -> tuple[int, int]:
    """Positions cut from both ends, and positions added at the far end, of one axis.

    A ``target`` size decides both; what it cuts is even where it can be, and the odd position stays
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


def deconv_geometry(data: Shape, attrs: Attrs) -> tuple[Geometry, Shape]:
    """The geometry and ``adj``, with what follows from ``target_shape``."""
    kernel = attrs["kernel"]
    geometry = Geometry.of(data, attrs, "Deconvolution")
    adj = per_axis(attrs["adj"], kernel, 0, "Deconvolution: adj")
    wanted = attrs["target_shape"] or ()
    wanted = wanted[: len(kernel)] if any(wanted) else ()
    target = per_axis(wanted, kernel, 0, "Deconvolution: target_shape")
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


def deconvolution_by(
    deconvolve: Deconvolve,
    data: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    **attrs: Any,
) -> jax.Array:
    """`deconvolution` with any form of the transpose."""
    check_shape("Deconvolution", "weight", weight, _deconv_params(data.shape, **attrs)["weight"])
    geometry, added = deconv_geometry(data.shape, attrs)
    result = deconvolve(data, weight, geometry, added, attrs["num_group"])
    return add_bias(result, bias, geometry.layout)


@op(
    "Deconvolution",
    precision=("data", "weight"),
    costly=True,
    slow_in_loops=True,
    params=_deconv_params,
    fits=fits_kernel("stride", "dilate", "pad", "adj"),
    when={"bias": lambda attrs: not attrs["no_bias"]},
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
    target_shape: Shape | None = (),
    num_filter: Size,
    num_group: Size = 1,
    workspace: Inert[int] = 512,
    no_bias: bool = True,
    cudnn_tune: Inert[Tuning] = None,
    cudnn_off: Inert[bool] = False,
    layout: Layout = None,
) -> jax.Array:
    """Transposed convolution: what the gradient of a `convolution` in its data computes.

    Each spatial size becomes ``stride (size - 1) + dilate (kernel - 1) + 1 - 2 pad + adj``.

    Args:
        weight, kernel, dilate, num_filter, num_group, workspace, cudnn_tune, cudnn_off, layout: see
            `Convolution`.
        bias: one value for each output channel; absent with ``no_bias``, which is the default.
        stride: how much space grows, default 1 each.
        pad: positions cut from both ends, default 0 each.
        adj: positions added at the far end, less than ``stride``.
        target_shape: spatial sizes wanted, in place of ``pad`` and ``adj``; further ones have no
            effect, and neither have zeros alone.

    Shapes:
        data: (N, C, *space), or as ``layout`` says.
        weight: (C, num_filter / num_group, *kernel), in the order of ``layout`` with N as C.
        bias: (num_filter,).
        returns: (N, num_filter, *space), or as ``layout`` says.

    Differs: MXNet runs channels-last layouts and three spatial axes on GPUs only. With ``dilate``
    its result on CPUs is not what its own gradient belongs to; this one is.
    """
    attrs = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "layout": layout}
    attrs |= {"adj": adj, "target_shape": target_shape}
    attrs |= {"num_filter": num_filter, "num_group": num_group}
    return deconvolution_by(deconvolve, data, weight, bias, **attrs)
