"""LBSGD: SGD with gradient accumulation over several batches and a rate warm-up."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from modkit.errors import one_of
from modkit.ndarray import NDArray
from modkit.optimizer.base import register
from modkit.optimizer.layerwise import NormSGDRule
from modkit.optimizer.rule_optimizer import RuleOptimizer
from modkit.optimizer.update_rules import UpdateRule


@dataclass(frozen=True)
class LBSGDRule(NormSGDRule):
    """SGD; with ``adapt``, the rate is scaled by a ratio of norms clipped to [0.01, 100]."""

    adapt: bool

    def update(self, weight: Any, grad: Any, state: Any, hyper: Any) -> Any:
        rate = hyper["lr"]
        if self.adapt:
            weight_norm2, grad_norm2 = self._weight_squares(weight, hyper), self._squares(grad)
            ratio = jnp.sqrt(weight_norm2 / (grad_norm2 + hyper["wd"] * weight_norm2 + 1e-18))
            rate = rate * jnp.clip(ratio, 0.01, 100)
        return self._step(weight, grad, state, hyper, rate, self.momentum)


@register
class LBSGD(RuleOptimizer):
    """SGD for large batches: the rate warms up from ``lr`` to ``batch_scale·lr``.

    Gradients are accumulated over ``batch_scale`` updates; the last of them applies their mean.

    Differs: MXNet keeps the first gradient as an alias of the array that the next one overwrites,
    so that a module's update counts the later one twice.

    Args:
        momentum: ``μ``.
        multi_precision: see `Optimizer`.
        warmup_strategy: curve of the rate multiplier, from 1: ``"linear"``, ``"power2"`` or
            ``"sqrt"``; or ``"lars"`` for a ratio of the norms of weight and gradient.
        batch_scale: number of accumulated batches.
        updates_per_epoch: batches in an epoch.
        num_epochs: accepted for compatibility; MXNet does not use it either.

    >>> update = mx.optimizer.get_updater(mx.optimizer.LBSGD(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.9 0.8]
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
        curves = ("linear", "power2", "sqrt", "lars")
        one_of("LBSGD: warmup_strategy", warmup_strategy, curves)
        logging.info("Running Large-Batch SGD Algorithm")
        logging.info(
            "(Batch_scale=%f, warmup_epochs=%d, warmup_strategy=%s, updates_per_epoch=%d)",
            batch_scale, warmup_epochs, warmup_strategy, updates_per_epoch,
        )  # fmt: skip
        self.momentum, self.warmup_strategy = momentum, warmup_strategy
        self.warmup_epochs, self.batch_scale = warmup_epochs, batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.lbmult: float = 1
        self.cumgrads: dict[Any, dict[str, Any]] = {}
        self.adaptive = False
        self.admult = 1

    def rule(self) -> UpdateRule:
        """The rule of one parameter, applied when the accumulated batch is complete."""
        adapt = self.warmup_strategy == "lars"
        return LBSGDRule(self.momentum, self.clip_gradient or None, adapt, lazy=True)

    def tree_rule(self, names: Sequence[str] | None = None) -> Any:
        """The update of all parameters; ``None`` if gradients are accumulated over calls."""
        return None if self.batch_scale > 1 else super().tree_rule(names)

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """The velocity; for a 16-bit weight under ``multi_precision`` ``(velocity, float32 copy)``.

        `create_state_multi_precision` returns the copy first.
        """
        if not self.is_low(weight):
            return super().create_state(index, weight)
        master = weight.astype("float32")
        return super().create_state(index, master), master

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Accumulate the gradient; update if it completes the large batch."""
        if isinstance(weight, NDArray) and self.is_low(weight):
            velocity, master = state
            self.update(index, master, grad.astype("float32"), velocity)
            weight._set(master.astype(weight.dtype))
            return
        if self.batch_scale <= 1:
            super().update(index, weight, grad, state)
            return
        kept = self.cumgrads.get(index) or {"cum_grad": 0, "num_cums": self.init_updates}
        before, count = kept["cum_grad"], kept["num_cums"] + 1
        total = grad + before if isinstance(before, NDArray) else grad.copy()  # may have rows
        complete = count % self.batch_scale == 0
        self.cumgrads[index] = {"cum_grad": 0 if complete else total, "num_cums": count}
        if not complete:
            self._get_lr(index)  # a user's schedule counts its calls
            self._update_count(index)
            return
        self.lbmult = self._warmup_multiplier(count)
        super().update(index, weight, total / self.batch_scale, state)
        self.lbmult = 1

    def _warmup_multiplier(self, count: int) -> float:
        """The multiplier of the rate after ``count`` batches."""
        last = self.warmup_epochs * self.updates_per_epoch
        curves = {"linear": 1.0, "power2": 2.0, "sqrt": 0.5}
        if self.warmup_strategy not in curves:
            return 1.0
        if count >= last:
            return float(self.batch_scale)
        return 1.0 + (self.batch_scale - 1) * (count / last) ** curves[self.warmup_strategy]

    def hyper(self, indices: Sequence[Any]) -> np.ndarray:
        """As in `RuleOptimizer`; as in MXNet, a rate is that before its parameter is counted."""
        table = np.empty((len(indices), len(self._columns)), np.float32)
        with self._uncounted_on_error():
            for row, index in zip(table, indices, strict=True):
                row[:] = self._get_lr(index) * self.lbmult, self._get_wd(index), self.rescale_grad
                self._update_count(index)
        return table
