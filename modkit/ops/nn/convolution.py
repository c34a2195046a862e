"""Convolution over one to three spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
from jax import lax

from modkit.errors import ParameterError, ShapeError
from modkit.ops.nn.layout import fits_kernel, per_axis, resolve, spatial_axes
from modkit.ops.parameters import Attrs, Inert, Shape, Size
from modkit.ops.partial_shapes import check_shape
from modkit.ops.registry import op

Layout = Literal["NCW", "NCHW", "NCDHW", "NHWC", "NDHWC"] | None

Tuning = Literal["fastest", "limited_workspace", "off"] | None

Pads = tuple[tuple[int, int], ...]


class Moves(NamedTuple):
    """Stride, dilation and padding of each spatial axis; padding may be negative."""

    stride: Shape
    dilate: Shape
    pads: Pads

    def only(self, axes: slice) -> Moves:
        """Of some of the axes."""
        return Moves(self.stride[axes], self.dilate[axes], self.pads[axes])

    def counts(self, space: Shape, kernel: Shape) -> Shape:
        """The number of output positions along each spatial axis."""
        each = zip(space, kernel, *self, strict=True)
        return tuple((n + sum(p) - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in each)

    def spans(self, counts: Shape, kernel: Shape) -> Shape:
        """The smallest spatial sizes that give this output size."""
        each = zip(counts, kernel, *self, strict=True)
        return tuple((n - 1) * s + d * (k - 1) + 1 - sum(p) for n, k, s, d, p in each)


def add_bias(data: jax.Array, bias: jax.Array | None, layout: str) -> jax.Array:
    """One value added to each channel, where there is a bias; it may be of a wider type."""
    if bias is None:
        return data
    wide = data + bias.reshape([-1 if letter == "C" else 1 for letter in layout])
    return wide.astype(data.dtype)


class Geometry(NamedTuple):
    """The geometry of a convolution: layout, and stride, dilation and padding of each axis."""

    layout: str
    stride: Shape
    dilate: Shape
    pad: Shape

    @classmethod
    def of(cls, data: Shape, attrs: Attrs, operator: str) -> Geometry:
        """From the operator's parameters, with the defaults filled in."""
        kernel = attrs["kernel"]
        made = cls(
            layout=resolve(attrs["layout"], data, len(kernel), operator),
            stride=per_axis(attrs["stride"], kernel, 1, f"{operator}: stride"),
            dilate=per_axis(attrs["dilate"], kernel, 1, f"{operator}: dilate"),
            pad=per_axis(attrs["pad"], kernel, 0, f"{operator}: pad"),
        )
        if min((*kernel, *made.stride, *made.dilate), default=1) < 1:
            raise ParameterError(
                f"{operator}: got kernel {kernel}, stride {made.stride}, dilate {made.dilate}, "
                "expected 1 or more"
            )
        return made

    def channels(self, data: Shape) -> int:
        """The channels of data of this layout."""
        return data[self.layout.index("C")]

    def weight_shape(self, kernel: Shape, first: int, second: int) -> Shape:
        """The weight's shape: ``first`` stands where the layout has N, ``second`` where C."""
        sizes = dict(zip((c for c in self.layout if c in "DHW"), kernel, strict=True))
        sizes |= {"N": first, "C": second}
        return tuple(sizes[letter] for letter in self.layout)

    def moves(self, adj: Shape = ()) -> Moves:
        """Without the layout; ``adj`` zeros less are padded at the far ends."""
        less = adj or (0,) * len(self.pad)
        pads = tuple((pad, pad - n) for pad, n in zip(self.pad, less, strict=True))
        return Moves(self.stride, self.dilate, pads)


def by_xla(
    data: jax.Array, weight: jax.Array, moves: Moves, groups: int = 1, layout: str = "NHWC"
) -> jax.Array:
    """Cross-correlation in XLA's own form, in any layout; the weight has N read as outputs."""
    return lax.conv_general_dilated(
        data,
        weight,
        window_strides=moves.stride,
        padding=moves.pads,
        rhs_dilation=moves.dilate,
        dimension_numbers=(layout, layout.replace("C", "I").replace("N", "O"), layout),
        feature_group_count=groups,
    )


Convolve = Callable[[jax.Array, jax.Array, Geometry, int], jax.Array]
"""Cross-correlation of data with a weight in a number of groups, as the geometry says."""


def convolve(data: jax.Array, weight: jax.Array, geometry: Geometry, groups: int) -> jax.Array:
    """Cross-correlation of ``data`` with ``weight``.

    Shapes:
        data: as the layout says, with C input channels.
        weight: the layout with N read as the outputs and C as C / groups.
        returns: as the layout says.
    """
    return by_xla(data, weight, geometry.moves(), groups, geometry.layout)


def check_groups(channels: int, attrs: Attrs, operator: str) -> None:
    """Refuse groups that do not divide the channels on both sides."""
    for what, count in (("channels of the data", channels), ("num_filter", attrs["num_filter"])):
        if count % attrs["num_group"]:
            raise ShapeError(
                f"{operator}: got {count} for {what}, expected a multiple of "
                f"num_group={attrs['num_group']}"
            )


def _conv_params(data: Shape, **attrs: Any) -> Mapping[str, Shape]:
    geometry = Geometry.of(data, attrs, "Convolution")
    channels, filters = geometry.channels(data), attrs["num_filter"]
    check_groups(channels, attrs, "Convolution")
    weight = geometry.weight_shape(attrs["kernel"], filters, channels // attrs["num_group"])
    return {"weight": weight, "bias": (filters,)}


def check_reach(data: Shape, geometry: Geometry, kernel: Shape) -> None:
    """Refuse a kernel that is larger than the padded data."""
    space = spatial_axes(geometry.layout)
    each = zip(space, kernel, geometry.dilate, geometry.pad, strict=True)
    for axis, size, dilate, pad in each:
        reach = dilate * (size - 1) + 1
        if reach > data[axis] + 2 * pad:
            raise ShapeError(
                f"Convolution: the kernel reaches over {reach} (kernel {size}, dilate {dilate}) "
                f"and axis {axis} of the data has {data[axis]} with {pad} padded on each side; "
                "pad more or take a smaller kernel"
            )


def convolution_by(
    convolve: Convolve,
    data: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    **attrs: Any,
) -> jax.Array:
    """`convolution` with any form of the cross-correlation."""
    check_shape("Convolution", "weight", weight, _conv_params(data.shape, **attrs)["weight"])
    geometry = Geometry.of(data.shape, attrs, "Convolution")
    check_reach(data.shape, geometry, attrs["kernel"])
    return add_bias(convolve(data, weight, geometry, attrs["num_group"]), bias, geometry.layout)


@dataclass(frozen=True, kw_only=True)
class ConvolutionSettings:
    """Parameters of a convolution."""

    kernel: Shape
    stride: Shape = ()
    dilate: Shape = ()
    pad: Shape = ()
    num_filter: Size
    num_group: Size = 1
    workspace: Inert[int] = 1024
    no_bias: bool = False
    cudnn_tune: Inert[Tuning] = None
    cudnn_off: Inert[bool] = False
    layout: Layout = None


@op(
    "Convolution",
    like=ConvolutionSettings,
    precision=("data", "weight"),
    costly=True,
    slow_in_loops=True,  # LeNet, batch 64: 152 ms in a loop, 14 ms unrolled
    aliases=("Convolution_v1",),
    params=_conv_params,
    fits=fits_kernel("stride", "dilate", "pad"),
    when={"bias": lambda attrs: not attrs["no_bias"]},
)
def convolution(
    data: jax.Array, weight: jax.Array, bias: jax.Array | None = None, **given: Any
) -> jax.Array:
    """Convolution (cross-correlation) with ``num_filter`` kernels.

    Each spatial size becomes ``floor((size + 2 pad - dilate (kernel - 1) - 1) / stride) + 1``.

    Args:
        bias: one value for each output channel; absent with ``no_bias``.
        kernel: sizes: (w,), (h, w) or (d, h, w).
        stride: steps, default 1 each.
        dilate: distances of the kernel taps, default 1 each.
        pad: zeros on both sides, default 0 each.
        num_group: groups of channels that do not see each other.
        workspace, cudnn_tune, cudnn_off: no effect.
        layout: axes of the data, default channels first (NCW, NCHW, NCDHW).

    Shapes:
        data: (N, C, *space), or as ``layout`` says.
        weight: (num_filter, C / num_group, *kernel), in the order of ``layout`` with N as outputs.
        bias: (num_filter,).
        returns: (N, num_filter, *space), or as ``layout`` says.

    Differs: MXNet runs channels-last layouts on GPUs only, and no 16-bit floats on CPUs.
    """
    return convolution_by(convolve, data, weight, bias, **vars(ConvolutionSettings(**given)))
