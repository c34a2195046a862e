"""Regression metrics: MAE, MSE, RMSE, Pearson correlation, and the mean of a loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modkit.metric.base import Names, alias, register
from modkit.metric.pooled import Average, PooledMetric
from modkit.metric.statistics import BatchError, Moments, OutputSum, PairMoments
from modkit.metric.traced import TracedMetric


@register
class MAE(TracedMetric):
    """Mean absolute error, averaged over batches of equal weight.

    Shapes:
        labels and outputs: broadcast against each other; (N,) is treated as (N, 1).

    >>> metric = mx.metric.MAE()
    >>> metric.update([mx.nd.array([1.0, 3.0])], [mx.nd.array([1.5, 2.0])])
    >>> metric.get()
    ('mae', 0.75)
    """

    def __init__(self, name: str = "mae", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names, BatchError(1))


@register
class MSE(TracedMetric):
    """Mean squared error. Shapes: see `MAE`.

    >>> metric = mx.metric.MSE()
    >>> metric.update([mx.nd.array([1.0, 3.0])], [mx.nd.array([1.5, 2.0])])
    >>> metric.get()
    ('mse', 0.625)
    """

    def __init__(self, name: str = "mse", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names, BatchError(2))


@register
class RMSE(TracedMetric):
    """Root mean squared error of each batch, averaged. Shapes: see `MAE`.

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

    def __add__(self, other: _Pooled) -> _Pooled:
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


def _pooled(batch: Moments) -> _Pooled:
    """The moments of a batch."""
    count, label_at, label_mean, pred_at, pred_mean, *second = (each.item() for each in batch)
    return _Pooled(count, label_at + label_mean, pred_at + pred_mean, *second)


@register
@alias("pearsonr")
class PearsonCorrelation(PooledMetric):
    """Pearson's correlation of labels and outputs.

    Shapes:
        labels and outputs: equal, any.

    Differs: `get_global` and `reset_local` also work with ``average="micro"``.

    Args:
        average: ``"macro"``, the mean over updates, or ``"micro"``, over all samples.

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
        super().__init__(name, output_names, label_names, PairMoments(), average=average)

    def _empty(self) -> _Pooled:
        return _Pooled()

    def _fold(self, update: Sequence[Moments]) -> None:
        for each in update:
            self._add_pool(_pooled(each), 1)

    def score(self, pool: _Pooled) -> float:
        """Pearson's coefficient; NaN if one side has zero variance."""
        scale = math.sqrt(pool.label_var) * math.sqrt(pool.pred_var)
        return float(np.clip(pool.covar / scale, -1.0, 1.0)) if scale else math.nan


@register
class Loss(TracedMetric):
    """Mean of the outputs, which are losses; labels are ignored.

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
