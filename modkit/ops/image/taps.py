"""Resampling weights along one axis, in the conventions of OpenCV's ``resize``."""

from __future__ import annotations

import functools
import operator
from typing import Any, NamedTuple

import numpy as np

from modkit.errors import expect

NEAREST, LINEAR, CUBIC, AREA, LANCZOS = range(5)
"""Codes of interpolations in MXNet: OpenCV's."""
EXACT = 5
"""OpenCV's code of linear interpolation without rounding of the weights."""

_CUBIC = -0.75
"""The free parameter of cubic convolution (Keys, 1981) that OpenCV takes."""


class Taps(NamedTuple):
    """Input positions that an output element reads, and their weights, (count, taps) each."""

    positions: np.ndarray
    weights: np.ndarray


@functools.lru_cache(maxsize=256)
def taps(size: int, count: int, interp: int, shrinks: bool) -> Taps:
    """The taps of an axis of ``size`` elements that becomes ``count``; edges are repeated.

    Args:
        size: elements before.
        count: elements after.
        interp: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos over 8.
        shrinks: whether no axis of the image grows; `AREA` is linear otherwise.

    Raises:
        ParameterError: ``interp`` is none of these.
    """
    interp = LINEAR if interp == EXACT else interp
    known = "0 (nearest), 1 (linear), 2 (cubic), 3 (area), 4 (Lanczos) or 5 (exact linear)"
    expect(interp in range(5), "interp", interp, known)
    scale = 1 / (count / size)  # as there: rounded so, `floor` may take the element before
    if interp == AREA and shrinks:
        return _area(size, count, scale)
    at = np.arange(count)
    if interp == NEAREST:
        first, weights = np.floor(at * scale), np.ones((count, 1))
    elif interp == AREA:
        first = np.floor(at * scale)
        part = np.maximum(at + 1 - (first + 1) / scale, 0)
        weights = _linear(part - np.floor(part))
    else:
        centre = ((at + 0.5) * scale - 0.5).astype(np.float32)
        first = np.floor(centre)
        kernel, before = {LINEAR: (_linear, 0), CUBIC: (_cubic, 1), LANCZOS: (_lanczos, 3)}[interp]
        weights, first = kernel(centre - first), first - before
    index = first[:, None].astype(np.int64) + np.arange(weights.shape[1])
    return Taps(np.clip(index, 0, size - 1), weights.astype(np.float32))


def _linear(part: np.ndarray) -> np.ndarray:
    return np.stack([1 - part, part], 1)


def _cubic(part: np.ndarray) -> np.ndarray:
    a = _CUBIC
    near = np.stack([part, 1 - part], 1)
    far = near + 1
    inner = ((a + 2) * near - (a + 3)) * near**2 + 1
    outer = a * (((far - 5) * far + 8) * far - 4)
    return np.stack([outer[:, 0], inner[:, 0], inner[:, 1], outer[:, 1]], 1)


def _lanczos(part: np.ndarray) -> np.ndarray:
    distance = part[:, None] - np.arange(-3, 5)
    weights = np.sinc(distance) * np.sinc(distance / 4)
    return weights / weights.sum(1, keepdims=True)


def _area(size: int, count: int, scale: float) -> Taps:
    """The share of each element in the interval that an output covers."""
    begin = np.arange(count)[:, None] * scale
    width = int(np.ceil(scale)) + 1
    index = np.floor(begin).astype(np.int64) + np.arange(width)
    inside = np.minimum(index + 1, begin + scale) - np.maximum(index, begin)
    weight = np.maximum(inside, 0) / scale
    return Taps(np.clip(index, 0, size - 1), weight.astype(np.float32))


class Resizing(NamedTuple):
    """A change of the size of images.

    Attributes:
        rows: taps of the height.
        columns: taps of the width.
        bits: of the weights in `in_fixed_point`; 0 where it does not compute the levels.
        upward: halves are rounded upward, otherwise to the even level.
    """

    rows: Taps
    columns: Taps
    bits: int
    upward: bool


def resizing(
    before: tuple[int, int], after: tuple[int, int], channels: int, interp: int, levels: bool
) -> Resizing:
    """The form that OpenCV chooses.

    Args:
        before: height and width of the images.
        after: those of the results.
        interp: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos over 8,
            5 exact linear.
        levels: whether elements are uint8.
    """
    shrinks = after[0] <= before[0] and after[1] <= before[1]
    halved = before == (2 * after[0], 2 * after[1])
    interp = AREA if halved and interp == LINEAR and levels else interp
    averages = interp == AREA and shrinks
    rows, columns = (taps(b, a, interp, shrinks) for b, a in zip(before, after, strict=True))
    fixed = levels and interp != NEAREST and not averages
    bits = (8 if interp == EXACT else 11) if fixed else 0
    return Resizing(rows, columns, bits, halved and channels in (1, 3, 4))


def in_fixed_point(data: Any, rows: Taps, columns: Taps, bits: int = 11) -> Any:
    """Levels of 8 bits with weights in fixed point, rounded as OpenCV rounds them.

    Args:
        data: (..., H, W, C), an array of NumPy's or JAX's.
        rows: the taps of H.
        columns: the taps of W.
        bits: of a weight, after the point: 11, or 8 for OpenCV's exact linear interpolation.
    """
    half = 1 << (2 * bits - 1)

    def products(x: Any, found: Taps, axis: int) -> list[Any]:
        weights = np.rint(found.weights * np.float32(1 << bits)).astype(np.int32)
        return [
            x.take(at, axis) * np.expand_dims(w, tuple(range(1, -axis)))
            for at, w in zip(found.positions.T, weights.T, strict=True)
        ]

    lines = functools.reduce(operator.add, products(data.astype(np.int32), columns, -2))
    linear = bits == 11 and rows.positions.shape[1] == 2
    if linear:  # what does not fit into 16 bits is cut off
        parts = [part >> 16 for part in products(lines >> 4, rows, -3)]
        made = (functools.reduce(operator.add, parts) + 2) >> 2
    else:
        total = functools.reduce(operator.add, products(lines, rows, -3)) + half
        made = total >> (2 * bits)
        if rows.positions.shape[1] == 4:  # cubic: halves to the even level, eight numbers at once
            wide = np.arange(np.prod(made.shape[-2:])).reshape(made.shape[-2:])
            halves = (total & (2 * half - 1)) == 0
            made = made - (halves & (wide < wide.size // 8 * 8)) * (made & 1)
    return made.clip(0, 255).astype(np.uint8)
