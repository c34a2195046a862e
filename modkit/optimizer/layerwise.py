"""Layer-wise adaptive rates, from the norms of weight and gradient: LAMB, LARS."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np

from modkit.ops.update import formulas
from modkit.optimizer.base import register
from modkit.optimizer.rule_optimizer import RuleOptimizer
from modkit.optimizer.update_rules import NormRule, UpdateRule, zeros


@dataclass(frozen=True)
class LAMBRule(NormRule):
    """`modkit.ops.update.formulas.lamb`. State: mean and variance."""

    arrays = 2
    columns = ("lr", "wd", "rescale_grad", "t")

    numbers: tuple[tuple[str, Any], ...]

    def update(self, weight: Any, grad: Any, state: Any, hyper: Any) -> Any:
        numbers = {**dict(self.numbers), **hyper}
        new, *state = formulas.lamb(weight, grad, *state, norm=self._norm, **numbers)
        return new, tuple(state)


@register
class LAMB(RuleOptimizer):
    """Adam's direction, scaled to the norm of the weight.

    ``d = m̂/(√v̂ + ε) + wd·w``, ``w ← w − lr·(|w|/|d|)·d``.

    Args:
        beta1: decay of the mean.
        beta2: decay of the second moment.
        epsilon: ``ε``.
        lower_bound: lower bound on ``|w|``.
        upper_bound: upper bound on ``|w|``.
        bias_correction: apply Adam's bias correction to the moments.

    >>> update = mx.optimizer.get_updater(mx.optimizer.LAMB(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.9 0.9]
    """

    direct = True
    _columns = LAMBRule.columns

    def __init__(
        self,
        learning_rate: float | None = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon, self.lower_bound = beta1, beta2, epsilon, lower_bound
        self.upper_bound, self.bias_correction = upper_bound, bias_correction
        self.aggregate_num = 45

    def rule(self) -> UpdateRule:
        """The update rule of one parameter."""
        names = ("beta1", "beta2", "epsilon", "lower_bound", "upper_bound", "bias_correction")
        numbers = [(name, getattr(self, name)) for name in names]
        return LAMBRule((*numbers, ("clip_gradient", self.clip_gradient or None)))


@dataclass(frozen=True)
class NormSGDRule(NormRule):
    """The base of rules that are SGD at a rate scaled by norms; the state is the velocity."""

    momentum: float
    clip_gradient: float | None
    lazy: bool = field(default=False, kw_only=True)

    def init(self, weight: Any) -> Any:
        """The velocity, or ``None`` without momentum."""
        return zeros(weight) if self.momentum else None

    def _step(self, weight: Any, grad: Any, state: Any, hyper: Any, lr: Any, momentum: Any) -> Any:
        fixed = {
            "lr": lr.astype(weight.dtype),
            "wd": hyper["wd"],
            "rescale_grad": hyper["rescale_grad"],
            "clip_gradient": self.clip_gradient,
        }
        if state is None:
            return formulas.sgd(weight, grad, **fixed), None
        return formulas.sgd_mom(weight, grad, state, momentum=momentum, **fixed)


@dataclass(frozen=True)
class LARSRule(NormSGDRule):
    """SGD with the rate scaled by ``η·|w| / (|g| + wd·|w| + ε)`` where ``adapt`` is 1."""

    columns = ("lr", "wd", "rescale_grad", "adapt", "correction")
    master_first = False

    eta: float
    eps: float

    def update(self, weight: Any, grad: Any, state: Any, hyper: Any) -> Any:
        weight_norm = jnp.sqrt(self._weight_squares(weight, hyper))
        grad_norm = self._norm(grad) * hyper["rescale_grad"]
        scaled = (hyper["adapt"] > 0) & (weight_norm > 0) & (grad_norm != 0)
        divisor = jnp.where(scaled, grad_norm + hyper["wd"] * weight_norm + self.eps, 1)
        ratio = jnp.where(scaled, self.eta * weight_norm / divisor, 1)
        momentum = self.momentum * hyper["correction"]
        return self._step(weight, grad, state, hyper, hyper["lr"] * ratio, momentum)


@register
class LARS(RuleOptimizer):
    """SGD with a rate for each layer, ``lr·η·|w| / (|g| + wd·|w| + ε)``.

    Parameters whose names end in ``gamma``, ``beta`` or ``bias`` have the rate ``lr``.

    Args:
        momentum: ``μ``.
        lazy_update: a row-sparse gradient updates its rows and their velocities, and no others.
        eta: ``η``.
        eps: ``ε``.
        momentum_correction: scale ``μ`` by the ratio of new to old rate when the rate changes.

    Differs: MXNet applies the correction only to the parameters of the first update call after a
    change of the rate (the first four, or the first one); here it applies to all.

    >>> update = mx.optimizer.get_updater(mx.optimizer.LARS(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.9999 0.9999]
    """

    direct = True
    lists_rates = True
    _columns = LARSRule.columns

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
        self.momentum, self.momentum_correction = momentum, momentum_correction
        self.lazy_update = lazy_update
        self.aggregate_num = 4
        self.eta, self.eps = eta, eps
        self.skip = 0
        self.last_lr: float | None = None
        self.cur_lr: float | None = None
        self._cur_update = -1

    def rule(self) -> UpdateRule:
        """The update rule of one parameter."""
        clip, lazy = self.clip_gradient or None, bool(self.lazy_update)
        return LARSRule(self.momentum, clip, self.eta, self.eps, lazy=lazy)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """See `Optimizer.__setstate__`; MXNet does not save when the rates were noted."""
        super().__setstate__({"_cur_update": state["num_update"], **state})

    def _decays(self, name: str) -> bool:
        return name.endswith("_weight")

    def _adjust(self, columns: dict[str, Any], indices: Sequence[Any]) -> None:
        columns["adapt"], columns["correction"] = self._adapted(indices), self._correction()

    def _adapted(self, indices: Sequence[Any]) -> np.ndarray:
        """1 for the parameters with a scaled rate, else 0; cached until names change."""
        cached = self._derived.get("adapted")
        if cached is not None and cached[0] == indices and cached[1] == self.idx2name:
            return cached[2]
        names = [str(self.idx2name.get(i, i)) for i in indices]
        adapted = np.array([not n.endswith(("gamma", "beta", "bias")) for n in names], np.float64)
        self._derived["adapted"] = (indices, dict(self.idx2name), adapted)
        return adapted

    def _present_rate(self) -> float:
        """See `Optimizer._present_rate`; notes the first rate of a step."""
        lr = super()._present_rate()
        if self.num_update != self._cur_update:
            self._cur_update = self.num_update
            self.last_lr, self.cur_lr = lr if self.cur_lr is None else self.cur_lr, lr
        return lr

    @contextlib.contextmanager
    def _uncounted_on_error(self) -> Iterator[None]:
        """See `Optimizer._uncounted_on_error`; the noted rates are those from before, too."""
        noted = self._cur_update, self.last_lr, self.cur_lr
        try:
            with super()._uncounted_on_error():
                yield
        except BaseException:
            self._cur_update, self.last_lr, self.cur_lr = noted
            raise

    def _correction(self) -> float:
        """The current rate divided by the rate of the step before."""
        if not self.momentum_correction or not self.last_lr:
            return 1.0
        return (self.cur_lr or 0.0) / self.last_lr
