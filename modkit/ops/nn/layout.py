"""Layouts: letters for the batch, channel and spatial axes of an array."""

from __future__ import annotations

from collections.abc import Callable

from modkit.errors import ShapeError
from modkit.ops.parameters import Attrs, Shape

_CHANNEL_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def channel_first(spatial: int, operator: str) -> str:
    """The layout for so many spatial axes where none is given; ShapeError for other numbers."""
    if spatial not in _CHANNEL_FIRST:
        raise ShapeError(f"{operator}: got a kernel of {spatial} sizes, expected 1, 2 or 3")
    return _CHANNEL_FIRST[spatial]


def resolve(layout: str | None, shape: Shape, spatial: int, operator: str) -> str:
    """The layout of ``shape``: the given one, or channels first; ShapeError for other axes."""
    letters = layout or channel_first(spatial, operator)
    if len(letters) != spatial + 2:
        raise ShapeError(
            f"{operator}: layout {letters} has {len(letters) - 2} spatial axes and the kernel "
            f"{spatial}; give one of each number"
        )
    if len(shape) != len(letters):
        raise ShapeError(
            f"{operator}: got data of shape {shape}, expected {len(letters)} axes ({letters}) "
            f"for a kernel of {spatial} size{'s'[: spatial != 1]}{_advice(shape, spatial)}"
        )
    return letters


def _advice(shape: Shape, spatial: int) -> str:
    if len(shape) == spatial + 1:
        return "; is the axis of the batch, or of the channels, missing?"
    axes = len(shape) - 2
    return f"; for these data it has {axes}, such as {(3,) * axes}" if axes > 0 else ""


def spatial_axes(layout: str) -> tuple[int, ...]:
    """The axes that a kernel moves over.

    >>> spatial_axes("NHWC")
    (1, 2)
    """
    return tuple(i for i, letter in enumerate(layout) if letter in "DHW")


def with_channels_last(axis: int) -> int:
    """The position of axis ``axis`` of four after axis 1 was moved to the end.

    >>> [with_channels_last(axis) for axis in (0, 1, 2, 3, -3)]
    [0, 3, 1, 2, 3]
    """
    return (0, 3, 1, 2)[axis]


def per_axis(value: Shape | None, kernel: Shape, default: int, what: str) -> Shape:
    """A number for each axis of the kernel; ``()`` is ``default`` for all; else ShapeError."""
    if not value:
        return (default,) * len(kernel)
    if len(value) != len(kernel):
        raise ShapeError(
            f"{what}: got {value}, expected {len(kernel)} values as in kernel {kernel}"
        )
    return value


def fits_kernel(*names: str) -> Callable[[str, Attrs], None]:
    """`Op.fits` of operators with kernels: these parameters have a number for each of its axes."""

    def check(operator: str, attrs: Attrs) -> None:
        channel_first(len(attrs["kernel"]), operator)
        for name in names:
            per_axis(attrs[name], attrs["kernel"], 0, f"{operator}: {name}")

    return check
