"""An array in an open file: its description, its values, and statistics in bounded memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

_PIECE_ELEMENTS = 2**18


@dataclass(frozen=True)
class Stored:
    """An array in a file that is open.

    Attributes:
        dtype: name of its element type.
        storage: ``"default"``, or the kind of sparse array.
        size_bytes: in the file, uncompressed.
        values: reads the whole array.
        stream: reads it in pieces, in any order; ``None`` if ``values`` takes no more memory than
            the size of the file.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    storage: str
    size_bytes: int
    values: Callable[[], np.ndarray]
    stream: Callable[[], Iterator[np.ndarray]] | None = None

    def pieces(self) -> Iterator[np.ndarray]:
        """All elements, in arrays of one axis and a bounded size."""
        return self.stream() if self.stream else pieces_of(self.values())


@dataclass(frozen=True)
class Statistics:
    """Statistics of the finite elements of an array; ``None`` where it has none.

    Attributes:
        not_finite: number of elements that are infinite or NaN.
    """

    minimum: float | None
    maximum: float | None
    mean: float | None
    not_finite: int


def pieces_of(values: Any) -> Iterator[np.ndarray]:
    """The elements of an array, in arrays of one axis and a bounded size."""
    flat = np.asarray(values).reshape(-1)
    for begin in range(0, flat.size, _PIECE_ELEMENTS):
        yield flat[begin : begin + _PIECE_ELEMENTS]


def measure(pieces: Iterable[np.ndarray]) -> Statistics:
    """Statistics of the elements in some arrays, in float64.

    >>> measure([np.array([1, 3]), np.array([np.inf, 5])])
    Statistics(minimum=1.0, maximum=5.0, mean=3.0, not_finite=1)
    """
    least, most, mean = math.inf, -math.inf, 0.0
    count = not_finite = 0
    for piece in pieces:
        with np.errstate(invalid="ignore"):  # some NaN bit patterns warn
            values = piece.astype(np.float64)
        finite = values[np.isfinite(values)]
        not_finite += values.size - finite.size
        if finite.size:
            least, most = min(least, float(finite.min())), max(most, float(finite.max()))
            count += finite.size
            share = finite.size / count
            mean = mean * (1 - share) + _mean(finite) * share
    if not count:
        return Statistics(None, None, None, not_finite)
    return Statistics(least, most, mean, not_finite)


def _mean(values: np.ndarray) -> float:
    """The mean of finite numbers, whose plain sum may overflow."""
    scale = max(float(np.abs(values).max()), 1.0)
    return float((values / scale).mean() * scale)
