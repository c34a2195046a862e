"""Metrics of numbers: errors, correlation, and the mean of a loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from modkit.metric.base import Average, Names, alias, check_average, register
from modkit.metric.rules import Error, Moments, PairMoments, Total
from modkit.metric.traced import TracedMetric


@register
class MAE(TracedMetric):
    """Mean absolute error; every batch counts the same, whatever its size.

    Shapes:
        labels and outputs: alike after broadcasting, (N,) being taken as (N, 1).

    Args:
        name: shown in logs.
        output_names: which outputs to take; default all.
        label_names: which labels to take; default all.
    """

    def __init__(self, name: str = "mae", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names, Error(1))


@register
class MSE(TracedMetric):
    """Mean squared error. Shapes and arguments as `MAE`."""

    def __init__(self, name: str = "mse", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names, Error(2))


@register
class RMSE(TracedMetric):
    """Mean of every batch's root of the mean squared error. Shapes and arguments as `MAE`."""

    def __init__(self, name: str = "rmse", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names, Error(2, root=True))


@dataclass
class _Pooled:
    """Moments of all samples so far, in Python floats."""

    count: int = 0
    label_mean: float = 0.0
    pred_mean: float = 0.0
    label_var: float = 0.0
    pred_var: float = 0.0
    covar: float = 0.0

    def add(self, batch: Moments) -> _Pooled:
        """These and a batch's together (the parallel form of Welford's sums)."""
        size = int(batch.count)
        total = self.count + size
        if not size:
            return self
        x = batch.label_at.item() + batch.label_mean.item() - self.label_mean
        y = batch.pred_at.item() + batch.pred_mean.item() - self.pred_mean
        weight = self.count * size / total
        return _Pooled(
            total,
            self.label_mean + x * size / total,
            self.pred_mean + y * size / total,
            self.label_var + batch.label_var.item() + x * x * weight,
            self.pred_var + batch.pred_var.item() + y * y * weight,
            self.covar + batch.covar.item() + x * y * weight,
        )

    @property
    def correlation(self) -> float:
        """Pearson's; NaN where one side does not vary."""
        scale = math.sqrt(self.label_var) * math.sqrt(self.pred_var)
        return min(1.0, max(-1.0, self.covar / scale)) if scale else math.nan


@register
@alias("pearsonr")
class PearsonCorrelation(TracedMetric):
    """Pearson's correlation of labels and outputs.

    Shapes:
        labels and outputs: the same, any.

    Differs: with ``average="micro"``, `get_global` and `reset_local` work too.

    Args:
        name: shown in logs.
        output_names: which outputs to take; default all.
        label_names: which labels to take; default all.
        average: ``"macro"``, the mean over updates, or ``"micro"``, over all samples.
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
        """Forget everything."""
        self._pooled = [_Pooled(), _Pooled()]
        super().reset()

    def reset_local(self) -> None:
        """Forget what `get` shows; keep what `get_global` shows."""
        super().reset_local()
        self._pooled[0] = _Pooled()

    def _fold(self, update: Sequence[Moments]) -> None:
        for each in update:
            self._fold_moments(each)

    def _fold_moments(self, each: Moments) -> None:
        if self.average == "macro":
            self._add(_Pooled().add(each).correlation, 1)
            return
        self._pooled = [pooled.add(each) for pooled in self._pooled]
        for totals, pooled in zip((self._local, self._global), self._pooled, strict=True):
            totals.count += 1
            totals.total = pooled.correlation * totals.count


@register
class Loss(TracedMetric):
    """Mean of the outputs, which are losses; labels are not looked at.

    Args:
        name: shown in logs.
        output_names: which outputs to take; default all.
        label_names: which labels to take; default all.
    """

    def __init__(self, name: str = "loss", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names, Total())


@register
class Torch(Loss):
    """The same as `Loss`, by another name."""

    def __init__(self, name: str = "torch", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """The same as `Loss`, by another name."""

    def __init__(self, name: str = "caffe", output_names: Names = None, label_names: Names = None):
        super().__init__(name, output_names, label_names)
