"""Batch statistics of metrics: pure functions of one label and one output array.

A statistic is a frozen dataclass, so equal ones share one compiled kernel. It returns a few small
arrays, which the host adds up (a float32 total stops growing at 2^24, a Python number does not).
Traced code cannot raise, so labels that are not a class are counted in ``bad``; the host raises.
Arrays of NumPy are computed by NumPy, with the same edges: no compilation, no transfer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ShapeError
from modkit.interpreter import convert


class Mean(NamedTuple):
    """A sum, its number of samples, and the number of labels that are not a class."""

    total: Any
    count: Any
    bad: Any


class CheckedMean(NamedTuple):
    """A `Mean`, row and value of the first label that is not a class, and the number of classes."""

    total: Any
    count: Any
    bad: Any
    row: Any
    label: Any
    classes: Any


class Classes(NamedTuple):
    """True and predicted class of each sample, both (N,) int32."""

    label: Any
    pred: Any


class Moments(NamedTuple):
    """Sample count, means and centred second moments of labels and outputs.

    The mean of the labels is ``label_at + label_mean``, where ``label_at`` is the first label:
    shifting by it makes the variance of constant labels exactly zero. Likewise the outputs.
    """

    count: Any
    label_at: Any
    label_mean: Any
    pred_at: Any
    pred_mean: Any
    label_var: Any
    pred_var: Any
    covar: Any


@dataclass(frozen=True)
class Statistic:
    """Base class: ``statistic(label, pred)`` returns a named tuple of small arrays."""

    needs_label: ClassVar[bool] = True

    def __call__(self, label: Any, pred: Any) -> Any:
        """The statistic of one batch."""
        raise NotImplementedError


@dataclass(frozen=True)
class Hits(Statistic):
    """Number of samples whose arg-max along ``axis`` is the label."""

    axis: int = 1

    def __call__(self, label: Any, pred: Any) -> Mean:
        """Count the hits; XLA compares with the label's own score, which is faster than arg-max."""
        _check_classes(label, pred, self.axis)
        if label.shape == pred.shape:
            hits = whole(label) == whole(pred)
        elif _module(pred) is np:
            best = pred.argmax(self.axis)
            hits = whole(label).reshape(best.shape) == best
        else:
            hits = _is_argmax(whole(label), jnp.moveaxis(pred, self.axis, -1))
        return _mean(_number(hits), label.size)


@dataclass(frozen=True)
class TopKHits(Statistic):
    """Number of samples whose label is among the ``top_k`` largest outputs.

    Ties are resolved in favour of the higher class index. NaN is larger than all numbers, as
    NumPy sorts it.
    """

    top_k: int

    def __call__(self, label: Any, pred: Any) -> Mean:
        label = whole(label).reshape(-1)
        if pred.ndim > 2:
            raise ShapeError(f"outputs have shape {pred.shape}, expected (N, C) or (N,)")
        _check_sizes(label, pred, len(pred))
        if pred.ndim == 1:
            return _mean(_number(label == whole(pred)), label.size)
        classes = pred.shape[1]
        if self.top_k > classes:
            raise ShapeError(
                f"top_k is {self.top_k}, but outputs of shape {pred.shape} have {classes} classes"
            )
        xp = _module(pred)
        index = _clipped(label, classes)
        own = pred[xp.arange(label.size), index][:, None]
        lost, own_lost = xp.isnan(pred), xp.isnan(own)
        equal = (pred == own) | (lost & own_lost)
        ahead = (pred > own) | (lost & ~own_lost) | (equal & (xp.arange(classes) > index[:, None]))
        hit = (ahead.sum(axis=1) < self.top_k) & (label == index)
        return _mean(_number(hit), label.size)


@dataclass(frozen=True)
class BinaryCounts(Statistic):
    """True and false positives and negatives of class 1: (5,) tp, fp, fn, tn, bad.

    ``bad`` is 1 where the labels have more than two values.
    """

    def __call__(self, label: Any, pred: Any) -> Any:
        """Count the samples of each cell of the 2x2 confusion matrix."""
        if pred.ndim < 2:
            raise ShapeError(f"outputs have shape {pred.shape}, expected (N, C)")
        predicted = pred.argmax(axis=1)
        if label.shape != predicted.shape:
            _check_sizes(label, pred, len(pred))
        label, predicted = whole(label).reshape(-1), predicted.reshape(-1) == 1
        positive = label == 1
        both, positives, marked = map(_number, (positive & predicted, positive, predicted))
        low, high = label.min(initial=2**31 - 1), label.max(initial=-(2**31))
        bad = ((label != low) & (label != high)).any()
        xp = _module(pred)
        false = marked - both, positives - both
        cells = both, *false, label.size - both - sum(false), bad
        return xp.stack([xp.asarray(cell, np.int32) for cell in cells])


@dataclass(frozen=True)
class ClassPairs(Statistic):
    """The classes themselves: the confusion matrix may grow and is kept on the host."""

    def __call__(self, label: Any, pred: Any) -> Classes:
        """Both as flat int32 classes; the arg-max of ``pred`` along axis 1 if shapes differ."""
        _check_classes(label, pred, 1)
        if label.shape != pred.shape:
            pred = pred.argmax(axis=1)
        return Classes(whole(label).reshape(-1), whole(pred).reshape(-1))


@dataclass(frozen=True)
class LogLoss(Statistic):
    """Sum of ``-log(p[label] + eps)``. A negative label counts from the last class."""

    eps: float = 1e-12

    def __call__(self, label: Any, pred: Any) -> Mean | CheckedMean:
        """Sum over the samples; labels outside of the classes are counted in ``bad``."""
        label, xp = whole(label).reshape(-1), _module(pred)
        if pred.ndim < 2:
            raise ShapeError(f"outputs have shape {pred.shape}, expected (N, C)")
        _check_sizes(label, pred, len(pred))
        bad = (label >= pred.shape[1]) | (label < -pred.shape[1])
        prob = _real(pred[xp.arange(len(label)), xp.where(bad, 0, label)])
        mean = _mean(-xp.log(prob + self.eps).sum(), len(label), _number(bad))
        if not len(label):
            return mean
        # `argmax` takes 1 us more in a program on a CPU.
        left = xp.where(bad, np.arange(len(label), 0, -1, dtype=np.int32), 0).max()
        row = (len(label) - left) % len(label)
        first = (row, label[row], pred.shape[1])
        return CheckedMean(*mean, *(xp.asarray(x, np.int32) for x in first))


@dataclass(frozen=True)
class Surprisal(Statistic):
    """Sum of ``-log(max(p[label], 1e-10))`` over the labels that are not ``ignore_label``.

    Labels outside of the classes are clipped.
    """

    ignore_label: float | None
    axis: int = -1

    def __call__(self, label: Any, pred: Any) -> Mean:
        _check_axis(pred, self.axis)
        classes = pred.shape[self.axis]
        if label.size * classes != math.prod(pred.shape):
            raise _misfit(label, pred, f" with the classes on axis {self.axis}")
        label, xp = label.reshape(-1), _module(pred)
        if self.axis not in (-1, pred.ndim - 1):
            pred = xp.moveaxis(pred, self.axis, -1)
        prob = pred.reshape(-1, classes)[xp.arange(label.size), _clipped(whole(label), classes)]
        loss = -xp.log(xp.maximum(_real(prob), 1e-10))
        if self.ignore_label is None:
            return _mean(loss.sum(), label.size)
        keep = label != self.ignore_label
        return _mean(xp.where(keep, loss, 0).sum(), _number(keep))


@dataclass(frozen=True)
class BatchError(Statistic):
    """The mean of ``abs(error) ** power``, or its square root; a batch is one instance."""

    power: int
    root: bool = False

    def __call__(self, label: Any, pred: Any) -> Mean:
        """Broadcast, with (N,) as (N, 1), and take the mean."""
        label, pred = (_real(x)[:, None] if x.ndim == 1 else _real(x) for x in (label, pred))
        try:
            error = abs(label - pred)
        except (TypeError, ValueError) as cause:
            raise _misfit(label, pred) from cause
        mean = (error if self.power == 1 else error**self.power).mean()
        return _mean(_module(pred).sqrt(mean) if self.root else mean, 1)


@dataclass(frozen=True)
class PairMoments(Statistic):
    """First and second moments of labels and outputs, for their correlation."""

    def __call__(self, label: Any, pred: Any) -> Moments:
        """The moments after a shift by the first element, which avoids cancellation in float32."""
        if label.shape != pred.shape:
            raise ShapeError(f"labels have shape {label.shape}, but outputs {pred.shape}")
        x, y = _real(label).reshape(-1), _real(pred).reshape(-1)
        x_at, y_at = x[:1].sum(), y[:1].sum()
        x, y = x - x_at, y - y_at
        x_mean, y_mean = x.mean(), y.mean()
        x, y = x - x_mean, y - y_mean
        sums = (x * x).sum(), (y * y).sum(), (x * y).sum()
        count = _module(pred).asarray(x.size, np.int32)
        return Moments(count, x_at, x_mean, y_at, y_mean, *sums)


@dataclass(frozen=True)
class OutputSum(Statistic):
    """The sum of an output; without a label."""

    needs_label: ClassVar[bool] = False

    def __call__(self, label: Any, pred: Any) -> Mean:
        return _mean(_real(pred).sum(), math.prod(pred.shape))


def _module(x: Any) -> Any:
    """The library that computes with an array: `numpy` with its own, else `jax.numpy`."""
    return np if isinstance(x, np.ndarray) else jnp


def _mean(total: Any, count: Any, bad: Any = 0) -> Mean:
    xp = jnp if any(isinstance(x, jnp.ndarray) for x in (total, count, bad)) else np
    return Mean(total, xp.asarray(count, np.int32), xp.asarray(bad, np.int32))


def _number(which: Any) -> Any:
    """The number of true elements."""
    if _module(which) is np:
        return np.int32(np.count_nonzero(which))
    return which.sum(dtype=jnp.int32)


OUTSIDE = np.iinfo(np.int32).min
"""NumPy's cast of numbers that int32 does not hold, as MXNet's metrics take NaN."""


def whole(x: Any) -> Any:
    """``x`` as int32, saturated; NaN is the least number, which is no class."""
    cut, xp = x.astype(np.int32), _module(x)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return cut
    if xp is np and (cut == OUTSIDE).any():
        cut = convert(x, cut.dtype)
    return xp.where(x != x, OUTSIDE, cut)


def _clipped(label: Any, classes: int) -> Any:
    """Labels as indices of classes: those outside are the first or the last."""
    xp = _module(label)
    return xp.minimum(xp.maximum(label, 0), classes - 1)


def _real(x: Any) -> Any:
    """``x`` as float32; float64 stays float64."""
    return x.astype(np.float64 if x.dtype == np.float64 else np.float32)


def _is_argmax(label: Any, pred: Any) -> Any:
    """Element-wise ``pred.argmax(-1) == label``: the first maximum, or the first NaN."""
    classes = pred.shape[-1]
    label = label.reshape(pred.shape[:-1])[..., None]
    index = _clipped(label, classes)
    own = jnp.take_along_axis(pred, index, axis=-1)
    before = jax.lax.broadcasted_iota(jnp.int32, pred.shape, pred.ndim - 1) < index
    ahead = ~jnp.where(before, pred < own, pred <= own)
    ahead = jnp.where(own == own, ahead, before & (pred != pred))
    return (label == index)[..., 0] & ~ahead.any(axis=-1)


def _check_axis(pred: Any, axis: int) -> None:
    if not -pred.ndim <= axis < pred.ndim:
        raise ShapeError(f"axis {axis} is out of range for outputs of shape {pred.shape}")


def _check_classes(label: Any, pred: Any, axis: int) -> None:
    samples = pred.size
    if label.shape != pred.shape:
        _check_axis(pred, axis)
        if not pred.shape[axis]:
            raise ShapeError(f"outputs of shape {pred.shape} have no classes along axis {axis}")
        samples = pred.size // pred.shape[axis]
    _check_sizes(label, pred, samples)


def _check_sizes(label: Any, pred: Any, samples: int) -> None:
    if label.size != samples:
        raise _misfit(label, pred, f": {label.size} labels for {samples} outputs")


def _misfit(label: Any, pred: Any, how: str = "") -> ShapeError:
    labels, outputs = tuple(label.shape), tuple(pred.shape)
    return ShapeError(f"labels of shape {labels} do not fit outputs of shape {outputs}{how}")
