"""Classification metrics: accuracy, top-k accuracy, F1, MCC and PCC."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from modkit.errors import expect
from modkit.metric.base import Names, alias, register
from modkit.metric.binary import PresentMetrics, check_binary, fscore, matthews
from modkit.metric.pooled import Average, PooledMetric
from modkit.metric.statistics import BinaryCounts, ClassPairs, Hits, TopKHits, whole
from modkit.metric.traced import LabelError, TracedMetric, as_host_array, in_host_memory


@register
@alias("acc")
class Accuracy(TracedMetric):
    """Fraction of samples whose predicted class is the label.

    Shapes:
        labels: any; outputs: the same shape, or with an additional class dimension at ``axis``.
            A label that is no class never is the arg-max; a fraction is cut off, as in MXNet.

    Args:
        axis: the axis of the classes.

    >>> metric = mx.metric.Accuracy()
    >>> metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0.3, 0.7], [0.4, 0.6]])])
    >>> metric.get()
    ('accuracy', 0.5)
    """

    def __init__(
        self,
        axis: int = 1,
        name: str = "accuracy",
        output_names: Names = None,
        label_names: Names = None,
    ):
        self.axis = axis
        super().__init__(name, output_names, label_names, Hits(axis), axis=axis)


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(TracedMetric):
    """Fraction of samples whose label is among the ``top_k`` largest outputs.

    Shapes:
        labels: (N,); outputs: (N, C), or classes (N,).

    Differs: ties are resolved in favour of the higher class index; in MXNet their order is
    unspecified. Outputs of one axis are classes; MXNet compares labels with the order that sorts
    these outputs.

    Args:
        top_k: number of classes, more than 1. The name becomes ``name_<top_k>``.

    >>> metric = mx.metric.TopKAccuracy(top_k=2)
    >>> metric.update([mx.nd.array([2, 0])], [mx.nd.array([[0.2, 0.5, 0.3], [0.1, 0.6, 0.3]])])
    >>> metric.get()
    ('top_k_accuracy_2', 0.5)
    """

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Names = None,
        label_names: Names = None,
    ):
        advice = "more than 1; use Accuracy for 1, mx.metric.TopKAccuracy(top_k=5) for 5"
        expect(top_k > 1, "TopKAccuracy: top_k", top_k, advice)
        self.top_k = top_k
        ending = f"_{top_k}"
        name = name if name.endswith(ending) else name + ending  # get_config() has it
        super().__init__(name, output_names, label_names, TopKHits(top_k), top_k=top_k)


class _Binary(PooledMetric):
    """Base of metrics computed from the counts (tp, fp, fn, tn) of class 1 against the rest."""

    def _empty(self) -> np.ndarray:
        return np.zeros(4)

    def _as_lists(self, labels: Any, preds: Any) -> tuple[list[Any], list[Any]]:
        labels, preds = super()._as_lists(labels, preds)
        for label in filter(in_host_memory, labels):  # labels on a device are checked when folded
            check_binary(self.name, np.unique(whole(as_host_array(label))).size > 2)
        return labels, preds

    def _fold(self, update: Sequence[Any]) -> None:
        check_binary(self.name, any(each[4] for each in update))
        counts = sum((each[:4].astype(np.float64) for each in update), np.zeros(4))
        self._add_pool(counts, int(counts.sum()))


@register
class F1(_Binary):
    """Harmonic mean of precision and recall of class 1.

    Shapes:
        labels: (N, ...), fractions are cut off; outputs: (N, C, ...), the predicted class is the
            arg-max.

    Differs: labels of more than two values on an accelerator raise when the value is read. Labels
    (N, 1) are N labels; MXNet compares each of them with all N outputs.

    Args:
        average: ``"macro"``, the mean of the scores of the updates, or ``"micro"``, the score
            of all samples together.

    Attributes:
        metrics: the counts with ``average="micro"``, such as ``f1.metrics.precision``; 0 else.

    >>> metric = mx.metric.F1()
    >>> metric.update([mx.nd.array([1, 0, 1])], [mx.nd.array([[0.3, 0.7], [0.4, 0.6], [0.1, 0.9]])])
    >>> metric.get()
    ('f1', 0.8)
    """

    def __init__(
        self,
        name: str = "f1",
        output_names: Names = None,
        label_names: Names = None,
        average: Average = "macro",
    ):
        super().__init__(name, output_names, label_names, BinaryCounts(), average=average)

    metrics = PresentMetrics()

    def score(self, pool: Any) -> float:
        """F1 of (tp, fp, fn, tn); 0 where it is undefined."""
        return fscore(*pool)


@register
class MCC(_Binary):
    """Matthews correlation coefficient of class 1 against the rest. Arguments: see `F1`.

    >>> metric = mx.metric.MCC()
    >>> outputs = mx.nd.array([[0.3, 0.7], [0.4, 0.6], [0.1, 0.9], [0.8, 0.2]])
    >>> metric.update([mx.nd.array([1, 0, 1, 0])], [outputs])
    >>> metric.get()
    ('mcc', 0.5773502691896258)
    """

    def __init__(
        self,
        name: str = "mcc",
        output_names: Names = None,
        label_names: Names = None,
        average: Average = "macro",
    ):
        super().__init__(name, output_names, label_names, BinaryCounts(), average=average)

    _metrics = PresentMetrics()

    def score(self, pool: Any) -> float:
        """The coefficient of (tp, fp, fn, tn); 0 where it is undefined."""
        return matthews(*map(float, pool))


@register
class PCC(PooledMetric):
    """Multi-class correlation coefficient, from the confusion matrix; for two classes, `MCC`.

    The matrix grows with the largest class index seen.

    Differs: with labels of more than one axis every element counts; MXNet counts equal pairs
    of a row once.

    Args:
        has_global_stats: `get_global` has separate totals.

    >>> metric = mx.metric.PCC()
    >>> outputs = mx.nd.array([[0.3, 0.7], [0.4, 0.6], [0.1, 0.9], [0.8, 0.2]])
    >>> metric.update([mx.nd.array([1, 0, 1, 0])], [outputs])
    >>> metric.get()
    ('pcc', 0.5773502691896258)
    """

    def __init__(
        self,
        name: str = "pcc",
        output_names: Names = None,
        label_names: Names = None,
        has_global_stats: bool = True,
    ):
        super().__init__(name, output_names, label_names, ClassPairs())
        self._has_global_stats = has_global_stats

    def _empty(self) -> np.ndarray:
        """A confusion matrix, with counts at ``[predicted, label]``."""
        return np.zeros((2, 2))

    def _joined(self, pool: np.ndarray, other: np.ndarray) -> Any:
        small, large = sorted((pool, other), key=len)
        joined = large.copy()
        joined[: len(small), : len(small)] += small
        return joined

    def _fold(self, update: Sequence[Any]) -> None:
        matrices = (self._matrix(each.label, each.pred) for each in update)
        self._add_pool(functools.reduce(self._joined, matrices, self._empty()), 1)

    def _matrix(self, label: np.ndarray, pred: np.ndarray) -> np.ndarray:
        if min(label.min(initial=0), pred.min(initial=0)) < 0:
            raise LabelError(f"{self.name}: got a negative class; remove such samples first")
        size = 1 + max(label.max(initial=0), pred.max(initial=0))
        matrix = np.zeros((size, size))
        np.add.at(matrix, (pred, label), 1)
        return matrix

    def score(self, pool: np.ndarray) -> float:
        """The correlation coefficient of a confusion matrix; NaN if a variance is zero."""
        total, by_pred, by_label = pool.sum(), pool.sum(axis=1), pool.sum(axis=0)
        covar = np.trace(pool) * total - by_pred @ by_label
        var_pred, var_label = (total**2 - by @ by for by in (by_pred, by_label))
        return float(covar / math.sqrt(var_pred * var_label)) if var_pred * var_label else math.nan
