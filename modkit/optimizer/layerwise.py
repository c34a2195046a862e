"""Optimizers whose rate depends on the norms of a layer's weight and gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from modkit.errors import ParameterError
from modkit.ops import update_rules as formulas
from modkit.optimizer.base import register
from modkit.optimizer.fused import Rule, RuleOptimizer
from modkit.optimizer.sgd import SGDRule


@dataclass(frozen=True)
class LAMBRule(Rule):
    """`modkit.ops.update_rules.lamb_phase1` and ``lamb_phase2``."""

    columns = ("lr", "wd", "rescale_grad", "t")

    beta1: float
    beta2: float
    epsilon: float
    lower_bound: float | None
    upper_bound: float | None
    bias_correction: bool
    clip_gradient: float | None

    def init(self, weight: Any) -> Any:
        """Mean and variance."""
        return jnp.zeros_like(weight), jnp.zeros_like(weight)

    def update(self, weight: Any, grad: Any, state: Any, hyper: Any, key: Any) -> Any:
        """One step."""
        del key
        direction, *state = formulas.lamb_phase1(
            weight,
            grad,
            *state,
            t=hyper["t"],
            beta1=self.beta1,
            beta2=self.beta2,
            epsilon=self.epsilon,
            bias_correction=self.bias_correction,
            wd=hyper["wd"],
            rescale_grad=hyper["rescale_grad"],
            clip_gradient=self.clip_gradient,
        )
        weight = formulas.lamb_phase2(
            weight,
            direction,
            formulas.norm(weight),
            formulas.norm(direction),
            lr=hyper["lr"],
            lower_bound=self.lower_bound,
            upper_bound=self.upper_bound,
        )
        return weight, tuple(state)


@register
class LAMB(RuleOptimizer):
    """Adam's direction, scaled to the norm of the weight.

    ``d = m̂/(√v̂ + ε) + wd·w``, ``w ← w − lr·(|w|/|d|)·d``.

    Args:
        learning_rate: the rate.
        beta1: decay of the mean.
        beta2: decay of the second moment.
        epsilon: ``ε``.
        lower_bound: least value taken for ``|w|``.
        upper_bound: largest value taken for ``|w|``.
        bias_correction: correct the moments for having started at 0.
        kwargs: see `Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction
        self.aggregate_num = 45

    def rule(self) -> Rule:
        """The rule of one parameter."""
        return LAMBRule(
            self.beta1,
            self.beta2,
            self.epsilon,
            self.lower_bound,
            self.upper_bound,
            bool(self.bias_correction),
            self.clip_gradient or None,
        )

    def _columns(
        self, indices: Sequence[Any], rates: np.ndarray, decays: np.ndarray, counts: np.ndarray
    ) -> Sequence[Any]:
        del indices
        return rates, decays, self.rescale_grad, counts


@dataclass(frozen=True)
class LARSRule(Rule):
    """SGD whose rate is scaled by ``η·|w| / (|g| + wd·|w| + ε)`` where ``adapt`` is 1."""

    columns = ("lr", "wd", "rescale_grad", "adapt", "correction")
    master_first = False

    momentum: float
    eta: float
    eps: float
    clip_gradient: float | None

    def init(self, weight: Any) -> Any:
        """The velocity, or ``None`` without momentum."""
        return jnp.zeros_like(weight) if self.momentum else None

    def update(self, weight: Any, grad: Any, state: Any, hyper: Any, key: Any) -> Any:
        """One step."""
        del key
        wd = hyper["wd"]
        of_weight = formulas.norm(weight)
        of_grad = formulas.norm(grad * hyper["rescale_grad"])
        scaled = (hyper["adapt"] > 0) & (of_weight > 0) & (of_grad > 0)
        under = jnp.where(scaled, of_grad + wd * of_weight + self.eps, jnp.ones_like(of_grad))
        ratio = jnp.where(scaled, self.eta * of_weight / under, jnp.ones_like(under))
        fixed = {
            "lr": hyper["lr"] * ratio,
            "wd": wd,
            "rescale_grad": hyper["rescale_grad"],
            "clip_gradient": self.clip_gradient,
        }
        if state is None:
            return formulas.sgd(weight, grad, **fixed), None
        momentum = self.momentum * hyper["correction"]
        return formulas.sgd_mom(weight, grad, state, momentum=momentum, **fixed)


@register
class LARS(RuleOptimizer):
    """SGD with a rate for each layer, ``lr·η·|w| / (|g| + wd·|w| + ε)``.

    Parameters whose names end in ``gamma``, ``beta`` or ``bias`` keep the plain rate.

    Args:
        momentum: ``μ``.
        lazy_update: of no effect here, since gradients are dense.
        eta: ``η``.
        eps: ``ε``.
        momentum_correction: scale ``μ`` by the new rate over the last one, when it changes.
        kwargs: see `Optimizer`.

    Differs: in MXNet the correction reaches only the parameters that are updated by the first
    call after a change of the rate (the first four, or the first one); here all of them.
    """

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.momentum_correction = momentum_correction
        self.lazy_update = lazy_update
        self.aggregate_num = 4
        self.eta = eta
        self.eps = eps
        self.skip = 0
        self.last_lr: float | None = None
        self.cur_lr: float | None = None
        self._cur_update = -1

    def rule(self) -> Rule:
        """The rule of one parameter."""
        return LARSRule(self.momentum, self.eta, self.eps, self.clip_gradient or None)

    def _decays(self, name: str) -> bool:
        return name.endswith("_weight")

    def _columns(
        self, indices: Sequence[Any], rates: np.ndarray, decays: np.ndarray, counts: np.ndarray
    ) -> Sequence[Any]:
        del counts
        return rates, decays, self.rescale_grad, self._adapted(indices), self._correction()

    def _adapted(self, indices: Sequence[Any]) -> np.ndarray:
        """1 for the parameters whose rate is scaled, else 0; made anew when names changed."""
        made = self._multiplier_cache.get("adapted")
        if made is not None and made[0] == indices and made[1] == self.idx2name:
            return made[2]
        names = [str(self.idx2name.get(i, i)) for i in indices]
        adapted = np.array([not n.endswith(("gamma", "beta", "bias")) for n in names], np.float64)
        self._multiplier_cache["adapted"] = (indices, dict(self.idx2name), adapted)
        return adapted

    def _correction(self) -> float:
        """The present rate over the one of the step before."""
        lr = self._rate()
        if self.num_update != self._cur_update:
            self._cur_update = self.num_update
            self.last_lr, self.cur_lr = lr if self.cur_lr is None else self.cur_lr, lr
        if not self.momentum_correction or not self.last_lr:
            return 1.0
        return (self.cur_lr or 0.0) / self.last_lr


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
