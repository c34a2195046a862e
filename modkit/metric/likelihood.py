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
        name: shown in logs.
        output_names: outputs to use; default: all.
        label_names: labels to use; default: all.

    >>> import modkit as mx
    >>> metric = mx.metric.Perplexity(ignore_label=None)
    >>> metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0.5, 0.5], [0.5, 0.5]])])
    >>> round(metric.get()[1], 4)
    2.0
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

    def _value(self, total: Any, count: Any) -> Any:
        return math.exp(total / count) if count else math.nan


class _LogLikelihood(TracedMetric):
    """Mean of ``-log(p[label] + eps)``."""

    def __init__(self, eps: float, name: str, output_names: Names, label_names: Names):
        self.eps = eps
        super().__init__(name, output_names, label_names, LogLoss(eps), eps=eps)


@register
@alias("ce")
class CrossEntropy(_LogLikelihood):
    """Mean cross-entropy, ``-log(p[label] + eps)``, of probabilities.

    Shapes:
        labels: (N,) classes; a negative one counts from the last class; outputs: (N, C).

    Args:
        eps: added to the probability, so that the logarithm is finite.
        name: shown in logs.
        output_names: outputs to use; default: all.
        label_names: labels to use; default: all.

    >>> import modkit as mx
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
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_LogLikelihood):
    """`CrossEntropy` under another name.

    >>> import modkit as mx
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
