"""Resizing, cropping, padding and rotation of images as NumPy arrays, (H, W, C)."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from modkit.errors import ShapeError, expect
from modkit.ops.image import taps as kernels

_BORDERS = ("constant", "edge", "symmetric", "wrap", "reflect")
"""NumPy's names of OpenCV's border types 0 to 4."""


DRAWN = 10
"""The code of an interpolation that is drawn."""


def drawn_interp(interp: int, draws: np.random.Generator | None) -> int:
    """The code, or in place of `DRAWN` one from 0 to 4."""
    return interp if interp != DRAWN or draws is None else int(draws.integers(5))


def chosen_interp(interp: int, before: Sequence[int], after: Sequence[int]) -> int:
    """The interpolation of a code: 9 chooses by the sizes, 10 at random, others are as they are."""
    if interp == DRAWN:
        return random.randint(0, 4)
    if interp != 9:
        return interp
    if all(b > a for a, b in zip(before, after, strict=True)):
        return kernels.CUBIC
    shrinks = all(b < a for a, b in zip(before, after, strict=True))
    return kernels.AREA if shrinks else kernels.LINEAR


def resized(image: np.ndarray, height: int, width: int, interp: int) -> np.ndarray:
    """The image (H, W, C) with another height and width.

    Codes of ``interp``: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos; see
    `modkit.ops.image.taps`.
    """
    rows, columns, channels = image.shape
    levels = image.dtype == np.uint8
    how = kernels.resizing((rows, columns), (height, width), channels, interp, levels)
    if how.bits:  # in lines of numbers, which NumPy changes faster than pixels of three
        lines = image.reshape(rows, columns * channels, 1)
        made = kernels.in_fixed_point(
            lines, how.rows, _of_channels(how.columns, channels), how.bits
        )
        return made.reshape(height, width, channels)
    ties_to_even = levels and interp != kernels.NEAREST and not how.upward
    for axis, (index, weight) in enumerate((how.rows, how.columns)):
        if len(index) == image.shape[axis]:
            continue
        if interp == kernels.NEAREST:
            image = image.take(index[:, 0], axis)
            continue
        line = (-1, 1, 1) if axis == 0 else (1, -1, 1)
        parts = [
            image.take(at, axis) * w.reshape(line) for at, w in zip(index.T, weight.T, strict=True)
        ]
        image = functools.reduce(np.add, parts)
    return np.rint(image) if ties_to_even else image


def of_size(image: np.ndarray, height: int, width: int, interp: int) -> np.ndarray:
    """The image (H, W, C) resized, of the same type; ``interp`` may be 9 or 10, too."""
    code = chosen_interp(interp, image.shape[:2], (height, width))
    return as_dtype(resized(image, height, width, code), image.dtype)


def _of_channels(taps: kernels.Taps, channels: int) -> kernels.Taps:
    """Taps of pixels of a row, for rows flattened to (W * channels,)."""
    numbers = taps.positions[:, np.newaxis] * channels + np.arange(channels)[:, np.newaxis]
    return kernels.Taps(
        numbers.reshape(-1, taps.positions.shape[1]), taps.weights.repeat(channels, 0)
    )


def as_dtype(image: np.ndarray, dtype: Any) -> np.ndarray:
    """The image as another type: whole numbers are rounded and clipped."""
    if image.dtype == dtype:
        return image
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        image = np.clip(np.floor(image + np.float32(0.5)), limits.min, limits.max)
    return image.astype(dtype)


def bordered(
    image: np.ndarray, margins: Sequence[tuple[int, int]], kind: int, value: Any
) -> np.ndarray:
    """The image with pixels added on its sides.

    Args:
        image: (H, W, C).
        margins: pixels above and below, left and right.
        kind: 0 constant, 1 edges repeated, 2 mirrored with the edge, 3 wrapped, 4 mirrored.
        value: of constant pixels, one or one a channel.

    Raises:
        ParameterError: another kind.
    """
    expect(kind in range(len(_BORDERS)), "copyMakeBorder: type", kind, "0 to 4")
    if kind != 0:
        modes: Any = _BORDERS[kind]
        return np.pad(image, (*margins, (0, 0)), mode=modes)
    (top, bottom), (left, right) = margins
    height, width, channels = image.shape
    made = np.empty((height + top + bottom, width + left + right, channels), image.dtype)
    made[:] = as_dtype(np.asarray(value, np.float64), image.dtype)
    made[top : top + height, left : left + width] = image
    return made


def rotated(images: np.ndarray, degrees: np.ndarray, zoom_in: bool, zoom_out: bool) -> np.ndarray:
    """Images rotated about their centres, bilinearly, with zeros beyond their edges.

    Args:
        images: (N, C, H, W), float32.
        degrees: (N,), counter-clockwise.
        zoom_in: enlarge so that no zeros show.
        zoom_out: shrink so that nothing is cut off.
    """
    count, _, height, width = images.shape
    if degrees.shape != (count,):
        raise ShapeError(f"imrotate: got {degrees.size} angles for {count} images")
    y, x = np.mgrid[:height, :width].astype(np.float32)
    y, x = y - (height - 1) / 2, x - (width - 1) / 2
    made = np.zeros_like(images)
    for at, angle in enumerate(np.deg2rad(degrees)):
        c, s = math.cos(angle), math.sin(angle)
        factor = _zoom(height, width, c, s, zoom_in, zoom_out)
        down = (x * s + y * c) * factor + (height - 1) / 2
        right = (x * c - y * s) * factor + (width - 1) / 2
        made[at] = _sampled(images[at], down, right)
    return made


def _zoom(height: int, width: int, c: float, s: float, zoom_in: bool, zoom_out: bool) -> float:
    """The factor of distances from the centre."""
    if not (zoom_in or zoom_out):
        return 1.0
    tall = abs(width * s / height) + abs(c)
    wide = abs(height * s / width) + abs(c)
    return max(tall, wide) if zoom_out else 1 / max(tall, wide)


def _sampled(image: np.ndarray, down: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Bilinear samples of (C, H, W) at positions; zero outside."""
    height, width = image.shape[1:]
    top, left = np.floor(down).astype(np.int64), np.floor(right).astype(np.int64)
    total = np.zeros((image.shape[0], *down.shape), np.float32)
    for i in (0, 1):
        for j in (0, 1):
            row, column = top + i, left + j
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            weight = (1 - np.abs(down - row)) * (1 - np.abs(right - column)) * inside
            values = image[:, np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]
            total += values * weight.astype(np.float32)
    return total


def warped(image: np.ndarray, matrix: np.ndarray, height: float, width: float, fill: float) -> Any:
    """The image (H, W, C) under a linear map about the point (W / 2, H / 2), bilinearly; float32.

    The matrix (2, 2) maps (x, y) of the image to those of the result; ``fill`` is beyond its edges.
    ``height`` and ``width`` are cut to whole pixels, one at least, and place the centre before.
    """
    y, x = np.mgrid[: max(1, int(height)), : max(1, int(width))].astype(np.float32)
    back = np.linalg.inv(matrix)
    x, y = x - width / 2, y - height / 2  # not of its middle: as MXNet has it
    right = back[0, 0] * x + back[0, 1] * y + image.shape[1] / 2
    down = back[1, 0] * x + back[1, 1] * y + image.shape[0] / 2
    planes = np.moveaxis(image.astype(np.float32), 2, 0) - fill
    return np.moveaxis(_sampled(planes, down, right), 0, 2) + fill
