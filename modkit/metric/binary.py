"""Counts of class 1 against the rest, and their scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from modkit.metric.statistics import BinaryCounts
from modkit.metric.traced import LabelError


def precision(tp: float, fp: float, fn: float, tn: float) -> float:
    """The part of the positive predictions that are right; 0 without any."""
    return tp / (tp + fp) if tp + fp else 0.0


def recall(tp: float, fp: float, fn: float, tn: float) -> float:
    """The part of class 1 that is found; 0 without any."""
    return tp / (tp + fn) if tp + fn else 0.0


def fscore(*counts: float) -> float:
    """The harmonic mean of `precision` and `recall`; 0 where it is undefined."""
    one, other = precision(*counts), recall(*counts)
    return float(2 * one * other / (one + other)) if one + other else 0.0


def matthews(tp: float, fp: float, fn: float, tn: float) -> float:
    """Matthews correlation coefficient; 0 where it is undefined."""
    edges = (tp + fp, tp + fn, tn + fp, tn + fn)
    return float(tp * tn - fp * fn) / math.sqrt(math.prod(float(e or 1) for e in edges))


def check_binary(where: str, more_than_two: Any) -> None:
    """Raise LabelError for a batch whose labels have more than two values."""
    if more_than_two:
        raise LabelError(
            f"{where}: the labels of a batch have more than two values, expected two classes, 1 "
            "and another; use PCC for more"
        )


_VALUES: dict[str, Callable[..., Any]] = {
    "true_positives": lambda tp, fp, fn, tn: tp,
    "false_positives": lambda tp, fp, fn, tn: fp,
    "false_negatives": lambda tp, fp, fn, tn: fn,
    "true_negatives": lambda tp, fp, fn, tn: tn,
    "total_examples": lambda *counts: sum(counts),
    "precision": precision,
    "recall": recall,
    "fscore": fscore,
}


class BinaryMetrics:
    """MXNet's ``_BinaryClassificationMetrics``: counts since the last reset, and since the first.

    Attributes are ``precision``, ``recall``, ``fscore``, ``total_examples``, ``true_positives``,
    ``false_positives``, ``false_negatives`` and ``true_negatives``, and each with ``global_``
    before it.

    Args:
        pools: both counts; those of a metric are changed in place.
    """

    def __init__(self, pools: list[Any] | None = None):
        self._pools = [np.zeros(4)] * 2 if pools is None else pools

    def __getattr__(self, name: str) -> Any:
        value = _VALUES.get(name.removeprefix("global_"))
        if value is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return value(*map(int, self._pools[name.startswith("global_")]))

    def matthewscc(self, use_global: bool = False) -> float:
        """`matthews` of the counts."""
        return matthews(*self._pools[use_global].tolist())

    def update_binary_stats(self, label: Any, pred: Any) -> None:
        """Count a batch; LabelError if its labels have more than two values."""
        *counts, more_than_two = BinaryCounts()(np.asarray(label), np.asarray(pred))
        check_binary("update_binary_stats", more_than_two)
        self._pools[:] = [pool + counts for pool in self._pools]

    def local_reset_stats(self) -> None:
        """Forget the counts that are not global."""
        self._pools[0] = np.zeros(4)

    def reset_stats(self) -> None:
        """Forget all counts."""
        self._pools[:] = [np.zeros(4)] * 2


class PresentMetrics:
    """A descriptor: the counts of a metric; an attribute of an instance comes before it."""

    def __get__(self, metric: Any, owner: type) -> Any:
        return self if metric is None else BinaryMetrics(metric._present_pools())
