"""Ranges of tensors over calibration data: extremes, or thresholds of least KL divergence."""

from __future__ import annotations

import abc
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from modkit.base import py_str
from modkit.errors import ModkitError
from modkit.ndarray import NDArray, array
from modkit.ndarray import contrib as nd_contrib

BINS = 8001
"""Bins of a histogram about 0."""

_MOST_BINS = 8 * BINS
"""A histogram that would need more gets wider bins: thresholds are searched in quadratic time."""

LEVELS = 255

Ranges = dict[str, tuple[float, float]]


class Histogram(NamedTuple):
    """Counts in equal bins from ``-threshold`` to ``threshold``, and the extremes."""

    counts: np.ndarray
    edges: np.ndarray
    low: float
    high: float
    threshold: float


def combine_histogram(
    old_hist: Histogram | tuple[Any, ...],
    arr: np.ndarray,
    new_min: float,
    new_max: float,
    new_th: float,
) -> Histogram:
    """A histogram with more numbers; bins of the same width are added where they lie outside.

    Where these would be too many, as after a batch of zeros, the bins become wider.

    Args:
        old_hist: counts, edges, smallest and largest number, and the end of the bins.
        arr: more numbers.
        new_min: the smallest of them.
        new_max: the largest of them.
        new_th: the larger magnitude of both.
    """
    counts, edges, low, high, threshold = old_hist
    extremes = min(low, new_min), max(high, new_max)
    if new_th <= threshold:
        more, _ = np.histogram(arr, len(counts), (-threshold, threshold))
        return Histogram(counts + more, edges, *extremes, threshold)
    step = 2 * threshold / len(counts)
    if 2 * new_th > step * _MOST_BINS:
        total, wider = np.histogram(arr, BINS, (-new_th, new_th))
        at = np.clip(np.digitize((edges[1:] + edges[:-1]) / 2, wider) - 1, 0, BINS - 1)
        np.add.at(total, at, counts)
        return Histogram(total, wider, *extremes, new_th)
    beside = int((new_th - threshold) // step + 1)
    wide = threshold + beside * step
    total, edges = np.histogram(arr, len(counts) + 2 * beside, (-wide, wide))
    total[beside : len(total) - beside] += counts
    return Histogram(total, edges, *extremes, wide)


def _extremes(name: str, numbers: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest number of a tensor of one batch.

    Raises:
        ModkitError: a number is not finite.
    """
    low, high = float(numbers.min()), float(numbers.max())
    check_ranges({name: (low, high)})
    return low, high


class _Collector(abc.ABC):
    """Statistics of each tensor, batch by batch; the base of the two collectors."""

    def __init__(self, names: Collection[str] | None = None):
        self._names = names
        self._found: dict[str, Any] = {}

    def collect(self, name: str | bytes, values: NDArray) -> None:
        """Read one tensor of one batch; a callback of an executor gets its name as bytes."""
        name = py_str(name)
        if (self._names is None or name in self._names) and values.size:
            numbers = values.asnumpy()
            self._add(name, numbers, *_extremes(name, numbers))

    @abc.abstractmethod
    def _add(self, name: str, numbers: np.ndarray, low: float, high: float) -> None:
        """Add a tensor's numbers, which lie between ``low`` and ``high``."""


class MinMaxCollector(_Collector):
    """Minimum and maximum of each tensor. ``collect`` is a monitor's callback.

    Args:
        names: tensors to look at; ``None`` for all.
    """

    def _add(self, name: str, numbers: np.ndarray, low: float, high: float) -> None:
        del numbers
        known = self._found.get(name, (low, high))
        self._found[name] = min(low, known[0]), max(high, known[1])

    def ranges(self, quantized_dtype: str) -> Ranges:
        """The range of each tensor."""
        del quantized_dtype
        return dict(self._found)


class HistogramCollector(_Collector):
    """Histogram of each tensor. ``collect`` is a monitor's callback.

    Args:
        names: tensors to look at; ``None`` for all.
    """

    def _add(self, name: str, numbers: np.ndarray, low: float, high: float) -> None:
        bound = max(abs(low), abs(high))
        if name in self._found:
            self._found[name] = combine_histogram(self._found[name], numbers, low, high, bound)
            return
        counts, edges = np.histogram(numbers, BINS, (-bound, bound))
        self._found[name] = Histogram(counts, edges, low, high, bound)

    def ranges(self, quantized_dtype: str) -> Ranges:
        """The range of each tensor whose quantized histogram diverges least from its own."""
        return {name: _best_range(each, quantized_dtype) for name, each in self._found.items()}


def _best_range(histogram: Histogram, quantized_dtype: str) -> tuple[float, float]:
    unsigned = histogram.low >= 0 and quantized_dtype in ("auto", "uint8")
    levels = 2 * LEVELS + 1 if unsigned else LEVELS
    counts, edges = (array(x, dtype="float32") for x in histogram[:2])
    threshold, _ = nd_contrib.calibrate_entropy(counts, edges, num_quantized_bins=levels)
    bound = float(threshold.asscalar())
    return (0.0, bound) if unsigned else (-bound, bound)


def check_ranges(ranges: Ranges) -> None:
    """Refuse ranges of tensors that hold what is not finite.

    Raises:
        ModkitError: naming the tensor.
    """
    for name, (low, high) in ranges.items():
        if not np.isfinite([low, high]).all():
            raise ModkitError(
                f"quantization: tensor {name!r} has the range {low} to {high} over the calibration "
                "data, expected finite numbers; check data and parameters"
            )
