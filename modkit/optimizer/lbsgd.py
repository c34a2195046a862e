"""LBSGD: SGD for large batches, made of several small ones, with a rate that warms up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from modkit.errors import ParameterError
from modkit.optimizer.base import register
from modkit.optimizer.fused import Rule, RuleOptimizer
from modkit.optimizer.sgd import SGDRule


@dataclass(frozen=True)
class LBSGDRule(SGDRule):
    """SGD; with ``adapt``, the rate is scaled by a ratio of norms between 0.01 and 100."""

    master_first = True

    adapt: bool = False

    def update(self, weight: Any, grad: Any, state: Any, hyper: Any, key: Any) -> Any:
        """One step."""
        if self.adapt:
            of_weight = jnp.sum(jnp.square(weight))
            of_grad = jnp.sum(jnp.square(grad))
            ratio = jnp.sqrt(of_weight / (of_grad + hyper["wd"] * of_weight + 1e-18))
            hyper = {**hyper, "lr": hyper["lr"] * jnp.clip(ratio, 0.01, 100)}
        return super().update(weight, grad, state, hyper, key)


@register
class LBSGD(RuleOptimizer):
    """SGD for large batches: the rate warms up to ``batch_scale`` times itself.

    Gradients of ``batch_scale`` updates are added up; their mean is applied by the last of them.

    Args:
        momentum: ``μ``.
        multi_precision: see `Optimizer`.
        warmup_strategy: how the multiplier rises from 1: ``"linear"``, ``"power2"``, ``"sqrt"``;
            or ``"lars"`` for a ratio of the norms of weight and gradient.
        warmup_epochs: how long it rises.
        batch_scale: how many batches make a large one.
        updates_per_epoch: batches in an epoch.
        begin_epoch: the epoch at the start.
        num_epochs: taken for MXNet's sake; it changes nothing there either.
        kwargs: see `Optimizer`.
    """

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ):
        super().__init__(multi_precision=multi_precision, **kwargs)
        if warmup_strategy not in ("linear", "power2", "sqrt", "lars"):
            raise ParameterError(
                f"LBSGD: warmup_strategy: got {warmup_strategy!r}, "
                "expected 'linear', 'power2', 'sqrt' or 'lars'"
            )
        self.momentum = momentum
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.lbmult: float = 1
        self.cumgrads: dict[Any, dict[str, Any]] = {}
        self.adaptive = False
        self.admult = 1

    def rule(self) -> Rule:
        """The rule of one parameter, once its large batch is complete."""
        adapt = self.warmup_strategy == "lars"
        return LBSGDRule(self.momentum, self.clip_gradient or None, adapt)

    def tree_rule(self, names: Sequence[str] | None = None) -> Any:
        """The rule over all parameters; ``None`` where gradients of several calls are added up."""
        return None if self.batch_scale > 1 else super().tree_rule(names)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Add the gradient up; with the last one of a large batch, update."""
        if self.batch_scale <= 1:
            super().update(index, weight, grad, state)
            return
        kept = self.cumgrads.get(index) or {"cum_grad": 0, "num_cums": self.init_updates}
        total, count = grad + kept["cum_grad"], kept["num_cums"] + 1
        complete = count % self.batch_scale == 0
        self.cumgrads[index] = {"cum_grad": 0 if complete else total, "num_cums": count}
        if not complete:
            self._update_count(index)
            return
        self.lbmult = self._warm(count)
        super().update(index, weight, total / self.batch_scale, state)
        self.lbmult = 1

    def _warm(self, count: int) -> float:
        """The multiplier of the rate after ``count`` small batches."""
        last = self.warmup_epochs * self.updates_per_epoch
        curves = {"linear": 1.0, "power2": 2.0, "sqrt": 0.5}
        if self.warmup_strategy not in curves:
            return 1.0
        if count >= last:
            return float(self.batch_scale)
        return 1.0 + (self.batch_scale - 1) * (count / last) ** curves[self.warmup_strategy]

    def hyper(self, indices: Sequence[Any]) -> np.ndarray:
        """Count an update, as always; the rate of the first is the one before the count."""
        before = self._rate() * self._multiplier(indices[0], "lr_mult")
        table = super().hyper(indices)
        table[0, 0] = before
        table[:, 0] *= self.lbmult
        return table
