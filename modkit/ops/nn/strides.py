"""Strides, dilation and padding of kernels."""

from __future__ import annotations

from typing import NamedTuple

from modkit.ops.registry import Shape

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
