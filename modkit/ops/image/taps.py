"""Resampling weights along one axis, in the conventions of OpenCV's ``resize``."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from modkit.errors import ParameterError

NEAREST, LINEAR, CUBIC, AREA, LANCZOS = range(5)
"""Codes of interpolations in MXNet: OpenCV's."""
_EXACT = 5
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
    interp = LINEAR if interp == _EXACT else interp
    if interp not in range(5):
        raise ParameterError(
            f"interp: got {interp}, expected 0 (nearest), 1 (linear), 2 (cubic), 3 (area) or 4 "
            "(Lanczos)"
        )
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
