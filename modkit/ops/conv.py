"""Convolution over one to three spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import jax

from modkit.errors import ParameterError, ShapeError
from modkit.ops.conv_last import convolve_last, covered_axes, for_layout
from modkit.ops.conv_whole import by_xla
from modkit.ops.layout import per_axis, resolve, spatial_axes
from modkit.ops.moves import Moves
from modkit.ops.platforms import on_cpus
from modkit.ops.registry import Shape, Size, op

Layout = Literal["NCW", "NCHW", "NCDHW", "NHWC", "NDHWC"] | None

INERT = {
    "workspace": (int, 1024),
    "cudnn_tune": (Literal["fastest", "limited_workspace", "off"] | None, None),
    "cudnn_off": (bool, False),
}


def add_bias(data: jax.Array, bias: jax.Array | None, layout: str) -> jax.Array:
    """One value added to each channel, where there is a bias; it may be of a wider type."""
    if bias is None:
        return data
    wide = data + bias.reshape([-1 if letter == "C" else 1 for letter in layout])
    return wide.astype(data.dtype)


class Geometry(NamedTuple):
    """How a kernel moves over data: the layout, and three numbers for each spatial axis."""

    layout: str
    stride: Shape
    dilate: Shape
    pad: Shape

    @classmethod
    def of(cls, data: Shape, attrs: Mapping[str, Any], operator: str) -> Geometry:
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
        """Without the layout; ``adj`` cells less are padded at the far ends."""
        less = adj or (0,) * len(self.pad)
        pads = tuple((pad, pad - n) for pad, n in zip(self.pad, less, strict=True))
        return Moves(self.stride, self.dilate, pads)


def convolve(data: jax.Array, weight: jax.Array, geometry: Geometry, groups: int) -> jax.Array:
    """Cross-correlation of ``data`` with ``weight``.

    Shapes:
        data: as the layout says, with C input channels.
        weight: the layout with N read as the outputs and C as C / groups.
        returns: as the layout says.
    """
    layout, moves = geometry.layout, geometry.moves()

    def plain(data: jax.Array, weight: jax.Array) -> jax.Array:
        return by_xla(data, weight, moves, groups, layout)

    if groups == 1 and data.ndim < 5 and not covered_axes(data, weight, layout, moves.pads):
        return plain(data, weight)

    def last(data: jax.Array, weight: jax.Array) -> jax.Array:
        return convolve_last(data, weight, moves, groups)

    return on_cpus(for_layout(last, layout), plain)(data, weight)


def check_groups(channels: int, attrs: Mapping[str, Any], operator: str) -> None:
    """Refuse groups that do not divide the channels on both sides."""
    for what, count in (("channels of the data", channels), ("num_filter", attrs["num_filter"])):
        if count % attrs["num_group"]:
            raise ShapeError(
                f"{operator}: got {count} for {what}, expected a multiple of "
                f"num_group={attrs['num_group']}"
            )


def check_weight(weight: jax.Array, found: Mapping[str, Shape], operator: str) -> None:
    """Refuse a weight of another shape than ``found["weight"]``."""
    if weight.shape != found["weight"]:
        raise ShapeError(
            f"{operator}: weight: got shape {weight.shape}, expected {found['weight']}"
        )


def _conv_params(data: Shape, **attrs: Any) -> Mapping[str, Shape]:
    geometry = Geometry.of(data, attrs, "Convolution")
    channels, filters = geometry.channels(data), attrs["num_filter"]
    check_groups(channels, attrs, "Convolution")
    weight = geometry.weight_shape(attrs["kernel"], filters, channels // attrs["num_group"])
    return {"weight": weight, "bias": (filters,)}


def _check_reach(data: Shape, geometry: Geometry, kernel: Shape) -> None:
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


def of_images(form: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Callable[..., Any] | None]:
    """``channels_last`` of an operator that has ``form`` for two spatial axes."""

    def chosen(attrs: Mapping[str, Any]) -> Callable[..., Any] | None:
        return form if attrs["layout"] in (None, "NCHW") and len(attrs["kernel"]) == 2 else None

    return chosen


def _convolution_last(
    data: jax.Array, weight: jax.Array, bias: jax.Array | None = None, **attrs: Any
) -> jax.Array:
    """`convolution` of (N, H, W, C) data with (num_filter, kh, kw, C / num_group) weights."""
    geometry = Geometry.of(data.shape, {**attrs, "layout": "NHWC"}, "Convolution")
    result = convolve_last(data, weight, geometry.moves(), attrs["num_group"])
    return add_bias(result, bias, geometry.layout)


@op(
    "Convolution",
    aliases=("Convolution_v1",),
    params=_conv_params,
    when={"bias": lambda attrs: not attrs["no_bias"]},
    inert=INERT,
    channels_last=of_images(_convolution_last),
)
def convolution(
    data: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: Size,
    num_group: Size = 1,
    no_bias: bool = False,
    layout: Layout = None,
) -> jax.Array:
    """Convolution (cross-correlation) with ``num_filter`` kernels.

    Each spatial size becomes ``floor((size + 2 pad - dilate (kernel - 1) - 1) / stride) + 1``.

    Args:
        data: the input.
        weight: the kernels.
        bias: one value for each output channel; absent with ``no_bias``.
        kernel: sizes: (w,), (h, w) or (d, h, w).
        stride: steps, default 1 each.
        dilate: distances of the kernel's cells, default 1 each.
        pad: zeros on both sides, default 0 each.
        num_filter: output channels.
        num_group: groups of channels that do not see each other.
        no_bias: leave the bias out.
        layout: axes of the data, default channels first (NCW, NCHW, NCDHW).

    Shapes:
        data: (N, C, *space), or as ``layout`` says.
        weight: (num_filter, C / num_group, *kernel), in the order of ``layout`` with N as outputs.
        bias: (num_filter,).
        returns: (N, num_filter, *space), or as ``layout`` says.

    Differs: MXNet runs channels-last layouts on GPUs only, and no 16-bit floats on CPUs. On CPUs an
    infinite value or NaN in one group may make NaN in others here.
    """
    attrs = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "layout": layout}
    attrs |= {"num_filter": num_filter, "num_group": num_group}
    check_weight(weight, _conv_params(data.shape, **attrs), "Convolution")
    geometry = Geometry.of(data.shape, attrs, "Convolution")
    _check_reach(data.shape, geometry, kernel)
    result = convolve(data, weight, geometry, num_group)
    return add_bias(result, bias, geometry.layout)
