"""Regression metrics: MAE, MSE, RMSE, Pearson correlation, and the mean of a loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from modkit.metric.base import Average, Names, alias, check_average, register
from modkit.metric.statistics import BatchError, Moments, OutputSum, PairMoments
from modkit.metric.traced import TracedMetric


@register
class MAE(TracedMetric):
    """Mean absolute error, averaged over batches of equal weight.

    Shapes:
        labels and outputs: broadcast against each other; (N,) is treated as (N, 1).

    Args:
        name: shown in logs.
        output_names: outputs to use; default: all.
        label_names: labels to use; default: all.

    >>> import modkit as mx
    >>> metric = mx.metric.MAE()
    >>> metric.update([mx.nd.array([1.0, 3.0])], [mx.nd.array([1.5, 2.0])])
    >>> metric.get()
    ('mae', 0.75)
    """

    def __init__(self, name: str = "mae", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names, BatchError(1))


@register
class MSE(TracedMetric):
    """Mean squared error. Shapes and arguments: see `MAE`.

    >>> import modkit as mx
    >>> metric = mx.metric.MSE()
    >>> metric.update([mx.nd.array([1.0, 3.0])], [mx.nd.array([1.5, 2.0])])
    >>> metric.get()
    ('mse', 0.625)
    """

    def __init__(self, name: str = "mse", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names, BatchError(2))


@register
class RMSE(TracedMetric):
    """Root mean squared error of each batch, averaged. Shapes and arguments: see `MAE`.

    >>> import modkit as mx
    >>> metric = mx.metric.RMSE()
    >>> metric.update([mx.nd.array([1.0, 3.0])], [mx.nd.array([2.0, 2.0])])
    >>> metric.get()
    ('rmse', 1.0)
    """

    def __init__(self, name: str = "rmse", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names, BatchError(2, root=True))


@dataclass
class _Pooled:
    """Moments of all samples so far, as Python floats."""

    count: int = 0
    label_mean: float = 0.0
    pred_mean: float = 0.0
    label_var: float = 0.0
    pred_var: float = 0.0
    covar: float = 0.0

    def add(self, batch: Moments) -> _Pooled:
        """The moments including a batch."""
        return self.joined(
            _Pooled(
                int(batch.count),
                batch.label_at.item() + batch.label_mean.item(),
                batch.pred_at.item() + batch.pred_mean.item(),
                batch.label_var.item(),
                batch.pred_var.item(),
                batch.covar.item(),
            )
        )

    def joined(self, other: _Pooled) -> _Pooled:
        """The moments of both (parallel form of Welford's algorithm)."""
        size, total = other.count, self.count + other.count
        if not size:
            return self
        x, y = other.label_mean - self.label_mean, other.pred_mean - self.pred_mean
        weight = self.count * size / total
        return _Pooled(
            total,
            self.label_mean + x * size / total,
            self.pred_mean + y * size / total,
            self.label_var + other.label_var + x * x * weight,
            self.pred_var + other.pred_var + y * y * weight,
            self.covar + other.covar + x * y * weight,
        )

    @property
    def correlation(self) -> float:
        """Pearson's coefficient; NaN if one side has zero variance."""
        scale = math.sqrt(self.label_var) * math.sqrt(self.pred_var)
        return min(1.0, max(-1.0, self.covar / scale)) if scale else math.nan


@register
@alias("pearsonr")
class PearsonCorrelation(TracedMetric):
    """Pearson's correlation of labels and outputs.

    Shapes:
        labels and outputs: equal, any.

    Differs: `get_global` and `reset_local` also work with ``average="micro"``.

    Args:
        name, output_names, label_names: see `EvalMetric`.
        average: ``"macro"``, the mean over updates, or ``"micro"``, over all samples.

    >>> import modkit as mx
    >>> metric = mx.metric.PearsonCorrelation()
    >>> metric.update([mx.nd.array([1.0, 2.0, 3.0])], [mx.nd.array([2.0, 4.0, 6.0])])
    >>> round(metric.get()[1], 6)
    1.0
    """

    def __init__(
        self,
        name: str = "pearsonr",
        output_names: Names = None,
        label_names: Names = None,
        average: Average = "macro",
    ):
        check_average(average)
        self.average = average
        self._pooled = [_Pooled(), _Pooled()]
        kept = {} if average == "macro" else {"average": average}
        super().__init__(name, output_names, label_names, PairMoments(), **kept)

    def reset(self) -> None:
        """Clear the local and the global totals."""
        self._pooled = [_Pooled(), _Pooled()]
        super().reset()

    def reset_local(self) -> None:
        """Clear the local totals of `get`; keep the global ones of `get_global`."""
        super().reset_local()
        self._pooled[0] = _Pooled()

    def merge(self, state: Mapping[str, Any]) -> None:
        """See `EvalMetric.merge`."""
        super().merge(state)
        if self.average == "micro":
            others = [_Pooled(**pooled) for pooled in state["_pooled"]]
            self._pooled = [a.joined(b) for a, b in zip(self._pooled, others, strict=True)]
            self._score(0)

    def _fold(self, update: Sequence[Moments]) -> None:
        for each in update:
            self._fold_moments(each)

    def _fold_moments(self, each: Moments) -> None:
        if self.average == "macro":
            self._add(_Pooled().add(each).correlation, 1)
            return
        self._pooled = [pooled.add(each) for pooled in self._pooled]
        self._score(1)

    def _score(self, more: int) -> None:
        """Set the totals from the moments, after ``more`` updates."""
        for totals, pooled in zip((self._local, self._global), self._pooled, strict=True):
            totals.count += more
            totals.total = pooled.correlation * totals.count


@register
class Loss(TracedMetric):
    """Mean of the outputs, which are losses; labels are ignored.

    Args:
        name, output_names, label_names: see `EvalMetric`.

    >>> import modkit as mx
    >>> metric = mx.metric.Loss()
    >>> metric.update([mx.nd.array([0.0, 0.0])], [mx.nd.array([1.5, 2.5])])
    >>> metric.get()
    ('loss', 2.0)
    """

    def __init__(self, name: str = "loss", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names, OutputSum())


@register
class Torch(Loss):
    """`Loss` under another name."""

    def __init__(self, name: str = "torch", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """`Loss` under another name."""

    def __init__(self, name: str = "caffe", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names)
