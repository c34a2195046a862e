"""Metrics of classes: accuracy, F1, and correlations of predicted with true classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modkit.errors import ParameterError
from modkit.metric.base import Average, Names, alias, check_average, register
from modkit.metric.rules import BinaryCounts, ClassPairs, Hits, TopHits
from modkit.metric.traced import LabelError, TracedMetric, at_hand, host_value


@register
@alias("acc")
class Accuracy(TracedMetric):
    """Share of samples whose class is the label.

    Shapes:
        labels: any; outputs: the same, or with the classes on ``axis`` besides.

    Args:
        axis: the axis of the classes.
        name: shown in logs.
        output_names: which outputs to take; default all.
        label_names: which labels to take; default all.
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
    """Share of samples whose label is among the ``top_k`` greatest outputs.

    Shapes:
        labels: (N,); outputs: (N, C).

    Differs: of equal outputs the later class counts as the greater; MXNet takes any of them.

    Args:
        top_k: how many; more than 1. The name becomes ``name_<top_k>``.
        name: shown in logs.
        output_names: which outputs to take; default all.
        label_names: which labels to take; default all.
    """

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Names = None,
        label_names: Names = None,
    ):
        if top_k <= 1:
            raise ParameterError(f"top_k: got {top_k}, expected more than 1; use Accuracy for 1")
        self.top_k = top_k
        ending = f"_{top_k}"
        name = name if name.endswith(ending) else name + ending  # get_config() already has it
        super().__init__(name, output_names, label_names, TopHits(top_k), top_k=top_k)


class _Binary(TracedMetric):
    """A score of the four counts tp, fp, fn and tn of class 1 against the rest."""

    score: Callable[[Any], float]

    def __init__(self, name: str, output_names: Names, label_names: Names, average: Average):
        check_average(average)
        self.average = average
        self._counts = np.zeros((2, 4))
        kept = {} if average == "macro" else {"average": average}
        super().__init__(name, output_names, label_names, BinaryCounts(), **kept)

    def reset(self) -> None:
        """Forget everything."""
        self._counts = np.zeros((2, 4))
        super().reset()

    def reset_local(self) -> None:
        """Forget what `get` shows; keep what `get_global` shows."""
        super().reset_local()
        self._counts[0] = 0

    def _listed(self, labels: Any, preds: Any) -> tuple[list[Any], list[Any]]:
        labels, preds = super()._listed(labels, preds)
        for label in filter(at_hand, labels):  # others are looked at when they are read
            self._refuse(np.unique(host_value(label)).size > 2)
        return labels, preds

    def _refuse(self, many: bool) -> None:
        if many:
            raise LabelError(
                f"{self.name}: the labels of a batch have more than two values; it takes two "
                "classes, 1 and another. Use PCC for more"
            )

    def _fold(self, update: Sequence[Any]) -> None:
        self._refuse(any(each[4] for each in update))
        counts = sum((each[:4].astype(np.float64) for each in update), np.zeros(4))
        if self.average == "macro":
            self._add(self.score(counts), 1)
            return
        self._counts += counts
        for totals, sums in zip((self._local, self._global), self._counts, strict=True):
            totals.count = int(sums.sum())
            totals.total = self.score(sums) * totals.count


@register
class F1(_Binary):
    """Harmonic mean of precision and recall of class 1.

    Shapes:
        labels: (N,); outputs: (N, C), the class being the arg-max.

    Args:
        name: shown in logs.
        output_names: which outputs to take; default all.
        label_names: which labels to take; default all.
        average: ``"macro"``, the mean of every update's score, or ``"micro"``, the score of
            all samples.
    """

    def __init__(
        self,
        name: str = "f1",
        output_names: Names = None,
        label_names: Names = None,
        average: Average = "macro",
    ):
        super().__init__(name, output_names, label_names, average)

    @staticmethod
    def score(counts: Any) -> float:
        """F1 of (tp, fp, fn, tn); 0 where it is not defined."""
        tp, fp, fn, _ = counts
        precision = tp / (tp + fp) if tp + fp else 0.0
        recall = tp / (tp + fn) if tp + fn else 0.0
        both = precision + recall
        return float(2 * precision * recall / both) if both else 0.0


@register
class MCC(_Binary):
    """Matthews correlation coefficient of class 1 against the rest. Arguments as `F1`."""

    def __init__(
        self,
        name: str = "mcc",
        output_names: Names = None,
        label_names: Names = None,
        average: Average = "macro",
    ):
        super().__init__(name, output_names, label_names, average)

    @staticmethod
    def score(counts: Any) -> float:
        """The coefficient of (tp, fp, fn, tn); 0 where it is not defined."""
        tp, fp, fn, tn = map(float, counts)
        edges = (tp + fp, tp + fn, tn + fp, tn + fn)
        return (tp * tn - fp * fn) / math.sqrt(math.prod(e or 1.0 for e in edges))


@register
class PCC(TracedMetric):
    """Correlation of many classes, from the confusion matrix; `MCC` for two.

    The matrix grows as greater classes appear.

    Differs: where labels have more than one axis, every element counts; MXNet counts equal pairs
    of a row once.

    Args:
        name: shown in logs.
        output_names: which outputs to take; default all.
        label_names: which labels to take; default all.
        has_global_stats: whether `get_global` has totals of its own.
    """

    def __init__(
        self,
        name: str = "pcc",
        output_names: Names = None,
        label_names: Names = None,
        has_global_stats: bool = True,
    ):
        self._matrices = np.zeros((2, 2, 2))
        super().__init__(name, output_names, label_names, ClassPairs())
        self._has_global_stats = has_global_stats

    def reset(self) -> None:
        """Forget everything; the matrix keeps its size."""
        self._matrices = np.zeros_like(self._matrices)
        super().reset()

    def reset_local(self) -> None:
        """Forget what `get` shows; keep what `get_global` shows."""
        super().reset_local()
        self._matrices[0] = 0

    def _fold(self, update: Sequence[Any]) -> None:
        for each in update:
            self._count(each.label, each.pred)
        both = zip((self._local, self._global), self._matrices, strict=True)
        for totals, matrix in both:
            totals.count += 1
            totals.total = _class_correlation(matrix) * totals.count

    def _count(self, label: np.ndarray, pred: np.ndarray) -> None:
        if min(label.min(initial=0), pred.min(initial=0)) < 0:
            raise LabelError(f"{self.name}: a class is negative; mask such samples out")
        size = 1 + max(label.max(initial=0), pred.max(initial=0))
        grow = max(0, size - self._matrices.shape[1])
        self._matrices = np.pad(self._matrices, ((0, 0), (0, grow), (0, grow)))
        for matrix in self._matrices:
            np.add.at(matrix, (pred, label), 1)


def _class_correlation(matrix: np.ndarray) -> float:
    """Of two indicator matrices, from how often classes ``[predicted, label]`` met."""
    total, by_pred, by_label = matrix.sum(), matrix.sum(axis=1), matrix.sum(axis=0)
    covar = np.trace(matrix) * total - by_pred @ by_label
    var_pred, var_label = (total**2 - by @ by for by in (by_pred, by_label))
    return float(covar / math.sqrt(var_pred * var_label)) if var_pred * var_label else math.nan
