"""Likelihood metrics: cross-entropy and perplexity."""

from __future__ import annotations

import math
from typing import Any

from modkit.metric.base import Names, alias, register
from modkit.metric.statistics import LogLoss, Surprisal
from modkit.metric.traced import TracedMetric


@register
class Perplexity(TracedMetric):
    """``exp`` of the mean surprisal ``-log(p[label])``.

    Shapes:
        labels: any shape of N elements; outputs: N x C elements, with the classes on ``axis``.

    Args:
        ignore_label: a label that is excluded from the mean, or ``None``.
        axis: the axis of the classes.

    >>> metric = mx.metric.Perplexity(ignore_label=None)
    >>> metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0.5, 0.5], [0.5, 0.5]])])
    >>> round(metric.get()[1], 4)
    2.0

    Differs: a NaN in a row with the label that is excluded does not count; in MXNet the perplexity
    is NaN then.
    """

    def __init__(
        self,
        ignore_label: float | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Names = None,
        label_names: Names = None,
    ):
        self.ignore_label, self.axis = ignore_label, axis
        kept = {"ignore_label": ignore_label} | ({} if axis == -1 else {"axis": axis})
        super().__init__(name, output_names, label_names, Surprisal(ignore_label, axis), **kept)

    def _value_of(self, total: Any, count: Any) -> Any:
        return math.exp(total / count) if count else math.nan


@register
@alias("ce")
class CrossEntropy(TracedMetric):
    """Mean cross-entropy, ``-log(p[label] + eps)``, of probabilities.

    Shapes:
        labels: (N,) classes; a negative one counts from the last class; outputs: (N, C).

    Differs: for outputs on a device, a label outside of -C ... C - 1, or NaN, raises when the value
    is read, because `update` does not read arrays that are still being computed.

    Args:
        eps: added to the probability, so that the logarithm is finite.

    >>> metric = mx.metric.CrossEntropy()
    >>> metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0.5, 0.5], [0.5, 0.5]])])
    >>> round(metric.get()[1], 4)
    0.6931
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "cross-entropy",
        output_names: Names = None,
        label_names: Names = None,
    ):
        self.eps = eps
        super().__init__(name, output_names, label_names, LogLoss(eps), eps=eps)


@register
@alias("nll_loss")
class NegativeLogLikelihood(CrossEntropy):
    """`CrossEntropy` under another name.

    >>> metric = mx.metric.NegativeLogLikelihood()
    >>> metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0.5, 0.5], [0.5, 0.5]])])
    >>> round(metric.get()[1], 4)
    0.6931
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "nll-loss",
        output_names: Names = None,
        label_names: Names = None,
    ):
        super().__init__(eps, name, output_names, label_names)
