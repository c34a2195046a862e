"""Convolution over one to three spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import jax
from jax import lax

from modkit.errors import ParameterError, ShapeError
from modkit.ops.layout import per_axis, resolve, spatial_axes
from modkit.ops.registry import Shape, Size, op

Layout = Literal["NCW", "NCHW", "NCDHW", "NHWC", "NDHWC"] | None

INERT = {
    "workspace": (int, 1024),
    "cudnn_tune": (Literal["fastest", "limited_workspace", "off"] | None, None),
    "cudnn_off": (bool, False),
}


def convolve(
    data: jax.Array,
    weight: jax.Array,
    *,
    layout: str,
    stride: Shape,
    dilate: Shape,
    pad: Shape,
    groups: int,
) -> jax.Array:
    """Cross-correlation of ``data`` with ``weight``.

    Shapes:
        data: as ``layout`` says, with C input channels.
        weight: ``layout`` with N read as the outputs and C as C / groups.
        returns: as ``layout`` says.
    """
    kernel = layout.replace("C", "I").replace("N", "O")
    return lax.conv_general_dilated(
        data,
        weight,
        window_strides=stride,
        padding=[(p, p) for p in pad],
        rhs_dilation=dilate,
        dimension_numbers=(layout, kernel, layout),
        feature_group_count=groups,
    )


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


def _channels_last(attrs: Mapping[str, Any]) -> Callable[..., Any] | None:
    if attrs["layout"] not in (None, "NCHW") or len(attrs["kernel"]) != 2:
        return None
    return _convolution_last


@jax.custom_vjp
def _product(data: jax.Array, weight: jax.Array) -> jax.Array:
    """``data @ weight.T``, with gradients that are products too, as is fastest on CPUs.

    The weight's gradient sums over all places of the data, for which XLA writes one of its two
    factors anew, with places last: the first one. So the one with fewer channels stands first.
    It is worth more than the copy itself where XLA drops barriers, since it then computes what
    stands first once more in that copy: in a residual network the sum of all gradients from above.

    Shapes:
        data: (N, H, W, C).
        weight: (num_filter, C).
        returns: (N, H, W, num_filter).
    """
    return lax.dot_general(data, weight, (((3,), (1,)), ((), ())))


def _product_forward(data: jax.Array, weight: jax.Array) -> tuple[jax.Array, tuple[Any, Any]]:
    return _product(data, weight), (data, weight)


def _product_backward(
    kept: tuple[jax.Array, jax.Array], head: jax.Array
) -> tuple[jax.Array, jax.Array]:
    data, weight = kept
    filters, channels = weight.shape
    places = (((0, 1, 2), (0, 1, 2)), ((), ()))
    if channels < filters:
        # Without the barrier XLA exchanges the factors again.
        weight_grad = lax.optimization_barrier(lax.dot_general(data, head, places)).T
    else:
        weight_grad = lax.dot_general(head, data, places)
    data_grad = lax.dot_general(head, weight, (((3,), (0,)), ((), ())))
    return data_grad.astype(data.dtype), weight_grad.astype(weight.dtype)


_product.defvjp(_product_forward, _product_backward)


def _convolution_last(
    data: jax.Array, weight: jax.Array, bias: jax.Array | None = None, **attrs: Any
) -> jax.Array:
    """`convolution` of (N, H, W, C) data with (num_filter, kh, kw, C / num_group) weights.

    A 1x1 convolution is a matrix product, see `_product`.

    Both the data and the gradient of the result are read twice, once in another order of axes.
    XLA would compute the layers before (BatchNorm and ReLU, or their gradients) anew in that order,
    which is slow. With barriers it computes them once, where `modkit.executor.compiler` has XLA
    keep them.
    """
    geometry = Geometry.of(data.shape, {**attrs, "layout": "NHWC"}, "Convolution")
    if tuple(attrs["kernel"]) == (1, 1) and not any(geometry.pad) and attrs["num_group"] == 1:
        down, right = geometry.stride
        seen = lax.optimization_barrier(data[:, ::down, ::right])
        result = _product(seen, weight[:, 0, 0])
    else:
        seen = lax.optimization_barrier(data)
        result = convolve(seen, weight, groups=attrs["num_group"], **geometry._asdict())
    return add_bias(lax.optimization_barrier(result), bias, geometry.layout)


@op(
    "Convolution",
    aliases=("Convolution_v1",),
    params=_conv_params,
    when={"bias": lambda attrs: not attrs["no_bias"]},
    inert=INERT,
    channels_last=_channels_last,
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

    Differs: MXNet runs channels-last layouts on GPUs only, and no 16-bit floats on CPUs.
    """
    attrs = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "layout": layout}
    attrs |= {"num_filter": num_filter, "num_group": num_group}
    check_weight(weight, _conv_params(data.shape, **attrs), "Convolution")
    geometry = Geometry.of(data.shape, attrs, "Convolution")
    _check_reach(data.shape, geometry, kernel)
    result = convolve(data, weight, groups=num_group, **geometry._asdict())
    return add_bias(result, bias, geometry.layout)
