"""Ranges of tensors over calibration data: extremes, or thresholds of least KL divergence."""

from __future__ import annotations

import abc
import logging
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from modkit.base import py_str
from modkit.errors import ModkitError, ParameterError
from modkit.ndarray import NDArray, array
from modkit.ndarray import contrib as nd_contrib

BINS = 8001
"""Bins of a histogram about 0."""

_MOST_BINS = 8 * BINS
"""A histogram that would need more gets wider bins: thresholds are searched in quadratic time."""

Ranges = dict[str, tuple[Any, Any]]
"""Ends of the range of each tensor: numbers, or arrays of one."""

_LOG = logging.getLogger(__name__)


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


class _Collector(abc.ABC):
    """Statistics of each tensor, batch by batch; the base of the two collectors."""

    def __init__(
        self, include_layer: Collection[str] | None = None, logger: logging.Logger | None = None
    ):
        self.include_layer = include_layer
        self.logger = logger or _LOG

    def collect(self, name: str | bytes, arr: NDArray) -> None:
        """Add a tensor of a batch; ModkitError if not finite. ``name`` may be bytes."""
        name = py_str(name)
        if (self.include_layer is None or name in self.include_layer) and arr.size:
            numbers = arr.asnumpy()
            low, high = float(numbers.min()), float(numbers.max())
            check_ranges({name: (low, high)})
            self.logger.debug("%s: %d numbers from %g to %g", name, numbers.size, low, high)
            self._add(name, numbers, low, high)

    @abc.abstractmethod
    def _add(self, name: str, numbers: np.ndarray, low: float, high: float) -> None:
        """Add a tensor's numbers, which lie between ``low`` and ``high``."""


class LayerOutputMinMaxCollector(_Collector):
    """Minimum and maximum of each tensor, in ``min_max_dict``. ``collect`` is a monitor's callback.

    Args:
        quantized_dtype: kept as an attribute, as in MXNet; extremes are those of float32.
        include_layer: tensors to look at; ``None`` for all.
    """

    def __init__(
        self,
        quantized_dtype: str,
        include_layer: Collection[str] | None = None,
        logger: logging.Logger | None = None,
    ):
        super().__init__(include_layer, logger)
        self.quantized_dtype = quantized_dtype
        self.min_max_dict: dict[str, tuple[float, float]] = {}

    def _add(self, name: str, numbers: np.ndarray, low: float, high: float) -> None:
        known = self.min_max_dict.get(name, (low, high))
        self.min_max_dict[name] = min(low, known[0]), max(high, known[1])


class LayerHistogramCollector(_Collector):
    """Histogram of each tensor, in ``hist_dict``. ``collect`` is a monitor's callback.

    Args:
        num_bins: bins of a tensor's first batch.
        include_layer, logger: see `LayerOutputMinMaxCollector`.
    """

    def __init__(
        self,
        num_bins: int = BINS,
        include_layer: Collection[str] | None = None,
        logger: logging.Logger | None = None,
    ):
        super().__init__(include_layer, logger)
        self.num_bins = num_bins
        self.hist_dict: dict[str, Histogram] = {}

    def _add(self, name: str, numbers: np.ndarray, low: float, high: float) -> None:
        bound = max(abs(low), abs(high))
        if name in self.hist_dict:
            self.hist_dict[name] = combine_histogram(
                self.hist_dict[name], numbers, low, high, bound
            )
            return
        counts, edges = np.histogram(numbers, self.num_bins, (-bound, bound))
        self.hist_dict[name] = Histogram(counts, edges, low, high, bound)


def _unsigned(low: float, quantized_dtype: str) -> bool:
    return low >= 0 and quantized_dtype in ("auto", "uint8")


def get_optimal_threshold(
    hist_data: Histogram | tuple[Any, ...], quantized_dtype: str, num_quantized_bins: int = 255
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """The threshold whose quantized histogram diverges least from a tensor's own.

    Args:
        hist_data: counts of an odd number of bins, edges, smallest and largest number, and the
            end of the bins.
        quantized_dtype: with ``"auto"`` or ``"uint8"`` a tensor without negative numbers has twice
            the levels, and one more.
        num_quantized_bins: levels of int8.

    Returns:
        The smallest and the largest number, threshold and KL divergence, arrays of one element.
    """
    counts, edges, low, high, _ = hist_data
    if _unsigned(low, quantized_dtype):
        num_quantized_bins = 2 * num_quantized_bins + 1
    found = nd_contrib.calibrate_entropy(
        array(counts, dtype="float32"),
        array(edges, dtype="float32"),
        num_quantized_bins=num_quantized_bins,
    )
    threshold, divergence = (each.asnumpy() for each in found)
    return low, high, threshold, divergence


def get_optimal_thresholds(
    hist_dict: Mapping[str, Histogram | tuple[Any, ...]],
    quantized_dtype: str,
    num_quantized_bins: int = 255,
    logger: logging.Logger | None = None,
) -> Ranges:
    """The range of each tensor that `get_optimal_threshold` finds.

    Arguments are those of `get_optimal_threshold`, with histograms by name; MXNet empties
    ``hist_dict``. With ``"auto"`` or ``"uint8"`` ranges without negative numbers start at 0.
    """
    ranges: Ranges = {}
    for name, each in hist_dict.items():
        low, high, bound, divergence = get_optimal_threshold(
            each, quantized_dtype, num_quantized_bins
        )
        ranges[name] = (0 if _unsigned(low, quantized_dtype) else -bound, bound)
        (logger or _LOG).debug(
            "%s: %g to %g, threshold %g, KL divergence %g", name, low, high, bound[0], divergence[0]
        )
    return ranges


def smooth_distribution(p: np.ndarray, eps: float = 1e-4) -> np.ndarray:
    """A distribution with ``eps`` in its empty bins, which the others give in equal parts.

    Args:
        p: weights of 0 or more.
        eps: weight of a bin that is empty.

    Raises:
        ParameterError: a bin would be left without weight.
    """
    empty = p == 0
    given = eps * empty.sum() / max(p.size - empty.sum(), 1)
    smooth = np.where(empty, eps, p - given).astype("float32")
    if empty.all() or given >= 1 or (smooth <= 0).any():
        raise ParameterError(
            f"quantization: eps: got {eps} for a distribution with {empty.sum()} of {p.size} bins "
            f"empty, expected one that leaves each of the others some weight"
        )
    return smooth


def check_ranges(ranges: Ranges) -> None:
    """Raise ModkitError, which names the tensor, for ranges that are not finite."""
    for name, (low, high) in ranges.items():
        if not np.isfinite(np.hstack([low, high])).all():
            raise ModkitError(
                f"quantization: tensor {name!r} has the range {low} to {high} over the calibration "
                "data, expected finite numbers; check data and parameters"
            )
