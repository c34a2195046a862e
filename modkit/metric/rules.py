"""What a metric computes from one batch on the device: pure functions of a label and an output.

Every rule is a frozen dataclass, so equal rules share one compiled kernel. It returns a few small
numbers, which the host adds up (float32 totals stop growing at 2^24, integers do not). What cannot
be raised while traced, a label that is no class, is counted in ``bad`` and raised by the host.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError


class Mean(NamedTuple):
    """A sum, how many samples are in it, and how many labels were not a class."""

    total: Any
    count: Any
    bad: Any


class Classes(NamedTuple):
    """The class of each sample by label and by output, both (N,) int32."""

    label: Any
    pred: Any


class Moments(NamedTuple):
    """Size, means and centred second moments of labels and outputs.

    The mean of labels is ``label_at + label_mean``, with ``label_at`` one of them: labels that are
    all equal have a variance of exactly zero. Likewise the outputs.
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
class Rule:
    """Base of the rules: ``rule(label, pred)`` gives a named tuple of small arrays."""

    needs_label: ClassVar[bool] = True

    def __call__(self, label: Any, pred: Any) -> Any:
        """The numbers of one batch."""
        raise NotImplementedError


@dataclass(frozen=True)
class Hits(Rule):
    """How many samples have the label's class; the class is the arg-max along ``axis``."""

    axis: int = 1

    def __call__(self, label: Any, pred: Any) -> Mean:
        """Count the hits: labels that no other class is ahead of, which is quicker than arg-max."""
        _check_classes(label, pred, self.axis)
        if label.shape == pred.shape:
            hits = label.astype(jnp.int32) == pred.astype(jnp.int32)
        else:
            hits = _leads(label.astype(jnp.int32), jnp.moveaxis(pred, self.axis, -1))
        return _mean(hits.sum(dtype=jnp.int32), label.size)


@dataclass(frozen=True)
class TopHits(Rule):
    """How many samples have the label among the ``top_k`` greatest outputs.

    Where outputs are equal the later class counts as the greater.
    """

    top_k: int

    def __call__(self, label: Any, pred: Any) -> Mean:
        """Count the hits."""
        label = label.astype(jnp.int32).reshape(-1)
        if pred.ndim > 2:
            raise ShapeError(f"outputs have shape {pred.shape}, expected (N, C) or (N,)")
        _check_sizes(len(label), len(pred), label.shape, pred.shape)
        if pred.ndim == 1:
            return _mean((label == pred.astype(jnp.int32)).sum(dtype=jnp.int32), label.size)
        classes = pred.shape[1]
        if self.top_k > classes:
            raise ShapeError(f"top_k is {self.top_k}, but outputs of {pred.shape} have {classes}")
        index = jnp.clip(label, 0, classes - 1)[:, None]
        own = jnp.take_along_axis(pred, index, axis=1)
        ahead = (pred > own) | ((pred == own) & (jnp.arange(classes) > index))
        hit = (ahead.sum(axis=1) < self.top_k) & (label == index[:, 0])
        return _mean(hit.sum(dtype=jnp.int32), label.size)


@dataclass(frozen=True)
class BinaryCounts(Rule):
    """True and false positives and negatives of class 1: (5,) tp, fp, fn, tn, bad.

    ``bad`` is 1 where the labels have more than two values.
    """

    def __call__(self, label: Any, pred: Any) -> Any:
        """Count."""
        if pred.ndim < 2:
            raise ShapeError(f"outputs have shape {pred.shape}, expected (N, C): argmax is taken")
        label = label.astype(jnp.int32).reshape(-1)
        _check_sizes(len(label), len(pred), label.shape, pred.shape)
        yes, said = label == 1, pred.argmax(axis=1).reshape(-1) == 1
        cells = (yes & said, ~yes & said, yes & ~said, ~yes & ~said)
        low, high = label.min(initial=2**31 - 1), label.max(initial=-(2**31))
        bad = ((label != low) & (label != high)).any()
        return jnp.stack([c.sum(dtype=jnp.int32) for c in cells] + [bad.astype(jnp.int32)])


@dataclass(frozen=True)
class ClassPairs(Rule):
    """The classes themselves: the host keeps the confusion matrix, which may grow."""

    def __call__(self, label: Any, pred: Any) -> Classes:
        """Take the arg-max along axis 1 unless the shapes agree."""
        return Classes(*_classes(label, pred, 1))


@dataclass(frozen=True)
class LogProbability(Rule):
    """Sum of ``-log(p[label] + eps)``. A negative label counts from the last class."""

    eps: float = 1e-12

    def __call__(self, label: Any, pred: Any) -> Mean:
        """Sum."""
        label = label.astype(jnp.int32).reshape(-1)
        if pred.ndim < 2:
            raise ShapeError(f"outputs have shape {pred.shape}, expected (N, C)")
        _check_sizes(len(label), len(pred), label.shape, pred.shape)
        bad = (label >= pred.shape[1]) | (label < -pred.shape[1])
        prob = _real(pred)[jnp.arange(len(label)), jnp.where(bad, 0, label)]
        return _mean(-jnp.log(prob + self.eps).sum(), len(label), bad.sum(dtype=jnp.int32))


@dataclass(frozen=True)
class Surprise(Rule):
    """Sum of ``-log(max(p[label], 1e-10))`` over the labels that are not ``ignore_label``.

    A label that is no class counts as the nearest one.
    """

    ignore_label: float | None
    axis: int = -1

    def __call__(self, label: Any, pred: Any) -> Mean:
        """Sum."""
        classes = pred.shape[self.axis]
        if label.size * classes != math.prod(pred.shape):
            raise ShapeError(
                f"labels of {label.shape} do not fit outputs of {pred.shape} "
                f"with the classes on axis {self.axis}"
            )
        label = label.reshape(-1)
        pred = jnp.moveaxis(_real(pred), self.axis, -1).reshape(-1, classes)
        index = jnp.clip(label.astype(jnp.int32), 0, classes - 1)
        loss = -jnp.log(jnp.maximum(pred[jnp.arange(label.size), index], 1e-10))
        if self.ignore_label is None:
            return _mean(loss.sum(), label.size)
        keep = label != self.ignore_label
        return _mean(jnp.where(keep, loss, 0).sum(), keep.sum(dtype=jnp.int32))


@dataclass(frozen=True)
class Error(Rule):
    """The mean error of a batch, which counts as one instance.

    Args:
        power: 1 for absolute, 2 for squared errors.
        root: take the square root of the mean.
    """

    power: int
    root: bool = False

    def __call__(self, label: Any, pred: Any) -> Mean:
        """Broadcast, (N,) being (N, 1), and take the mean."""
        label, pred = (_real(x)[:, None] if x.ndim == 1 else _real(x) for x in (label, pred))
        try:
            error = jnp.abs(label - pred)
        except (TypeError, ValueError) as cause:
            raise ShapeError(
                f"labels of {label.shape} do not fit outputs of {pred.shape}"
            ) from cause
        mean = (error**self.power).mean()
        return _mean(jnp.sqrt(mean) if self.root else mean, 1)


@dataclass(frozen=True)
class PairMoments(Rule):
    """What a correlation of labels and outputs is computed from."""

    def __call__(self, label: Any, pred: Any) -> Moments:
        """Sum, after a shift that keeps float32 exact where it matters."""
        if label.shape != pred.shape:
            raise ShapeError(f"labels have shape {label.shape}, but outputs {pred.shape}")
        x, y = _real(label).reshape(-1), _real(pred).reshape(-1)
        x_at, y_at = x[:1].sum(), y[:1].sum()
        x, y = x - x_at, y - y_at
        x_mean, y_mean = x.mean(), y.mean()
        x, y = x - x_mean, y - y_mean
        sums = (x * x).sum(), (y * y).sum(), (x * y).sum()
        return Moments(jnp.asarray(x.size, jnp.int32), x_at, x_mean, y_at, y_mean, *sums)


@dataclass(frozen=True)
class Total(Rule):
    """The sum of an output; there is no label."""

    needs_label: ClassVar[bool] = False

    def __call__(self, label: Any, pred: Any) -> Mean:
        """Sum."""
        del label
        return _mean(_real(pred).sum(), math.prod(pred.shape))


def _mean(total: Any, count: Any, bad: Any = 0) -> Mean:
    return Mean(total, jnp.asarray(count, jnp.int32), jnp.asarray(bad, jnp.int32))


def _real(x: Any) -> jax.Array:
    """``x`` as float32, or as float64 if it is that."""
    return jnp.asarray(x, jnp.float64 if x.dtype == jnp.float64 else jnp.float32)


def _leads(label: Any, pred: Any) -> Any:
    """Whether ``pred.argmax(-1)`` is the label: the first of the greatest, or the first NaN."""
    classes = pred.shape[-1]
    label = label.reshape(pred.shape[:-1])[..., None]
    index = jnp.clip(label, 0, classes - 1)
    own = jnp.take_along_axis(pred, index, axis=-1)
    before = jax.lax.broadcasted_iota(jnp.int32, pred.shape, pred.ndim - 1) < index
    ahead = ~jnp.where(before, pred < own, pred <= own)
    ahead = jnp.where(own == own, ahead, before & (pred != pred))
    return (label == index)[..., 0] & ~ahead.any(axis=-1)


def _check_classes(label: Any, pred: Any, axis: int) -> None:
    samples = pred.size
    if label.shape != pred.shape:
        if not -pred.ndim <= axis < pred.ndim:
            raise ShapeError(f"axis {axis} is not one of outputs of shape {pred.shape}")
        if not pred.shape[axis]:
            raise ShapeError(f"outputs of shape {pred.shape} have no class along axis {axis}")
        samples = pred.size // pred.shape[axis]
    _check_sizes(label.size, samples, label.shape, pred.shape)


def _classes(label: Any, pred: Any, axis: int) -> tuple[Any, Any]:
    """Both as flat int32 classes; the arg-max of ``pred`` unless the shapes agree."""
    _check_classes(label, pred, axis)
    if label.shape != pred.shape:
        pred = pred.argmax(axis=axis)
    return label.astype(jnp.int32).reshape(-1), pred.astype(jnp.int32).reshape(-1)


def _check_sizes(labels: int, preds: int, label_shape: Any, pred_shape: Any) -> None:
    if labels != preds:
        raise ShapeError(
            f"labels of shape {tuple(label_shape)} do not fit outputs of {tuple(pred_shape)}: "
            f"{labels} labels for {preds} outputs"
        )
