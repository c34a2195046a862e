"""The Adam family, from running first and second moments: Adam, Adamax, Nadam, FTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modkit.ops.update import formulas
from modkit.optimizer.base import register
from modkit.optimizer.rule_optimizer import RuleOptimizer
from modkit.optimizer.update_rules import UpdateRule


@register
class Adam(RuleOptimizer):
    """``w ← w − lr·√(1−β₂ᵗ)/(1−β₁ᵗ)·m / (√v + ε)``.

    ``ε`` is added before the bias correction (in ``optax.adam``, after it), and the weight decay
    is part of the gradient.

    Args:
        beta1: decay of the mean ``m``.
        beta2: decay of the second moment ``v``.
        epsilon: ``ε``.
        lazy_update: a row-sparse gradient updates its rows and their moments, and no others.

    >>> update = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.9 0.9]
    """

    _formula, _fields = staticmethod(formulas.adam), {"arrays": 2, "lazy": "lazy_update"}

    def __init__(
        self,
        learning_rate: float | None = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon, self.lazy_update = beta1, beta2, epsilon, lazy_update

    def _adjust(self, columns: dict[str, Any], indices: Sequence[Any]) -> None:
        rates, counts = columns["lr"], columns["t"]
        columns["lr"] = rates * np.sqrt(1 - self.beta2**counts) / (1 - self.beta1**counts)


@register
class Adamax(RuleOptimizer):
    """``w ← w − lr/(1−β₁ᵗ)·m/u`` with the decayed maximum ``u ← max(β₂·u, |g|)``.

    Args:
        beta1: decay of the mean ``m``.
        beta2: decay of ``u``.

    >>> update = mx.optimizer.get_updater(mx.optimizer.Adamax(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.9 0.9]
    """

    _formula, _fields = staticmethod(formulas.adamax), {"arrays": 2}
    _clips_to_zero = True

    def __init__(
        self,
        learning_rate: float | None = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2 = beta1, beta2

    def _adjust(self, columns: dict[str, Any], indices: Sequence[Any]) -> None:
        columns["lr"] = columns["lr"] / (1 - self.beta1 ** columns["t"])


@register
class Nadam(RuleOptimizer):
    """Adam with Nesterov momentum and the schedule ``μₜ = β₁·(1 − 0.5·0.96^(t·decay))``.

    As in MXNet, the running product of ``μ`` is shared by all parameters and advances with the
    update of each parameter, not once a step.

    Args:
        beta1: decay of the mean.
        beta2: decay of the second moment.
        epsilon: added to the divisor.
        schedule_decay: ``decay``.

    >>> update = mx.optimizer.get_updater(mx.optimizer.Nadam(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.8944 0.8944]
    """

    _formula, _fields = staticmethod(formulas.nadam), {"arrays": 2}
    _clips_to_zero = True
    _columns = (*UpdateRule.columns, "grad_scale", "mean_scale", "var_scale")

    def __init__(
        self,
        learning_rate: float | None = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def _adjust(self, columns: dict[str, Any], indices: Sequence[Any]) -> None:
        counts = columns["t"]
        now = self.beta1 * (1 - 0.5 * 0.96 ** (counts * self.schedule_decay))
        following = self.beta1 * (1 - 0.5 * 0.96 ** ((counts + 1) * self.schedule_decay))
        product = self.m_schedule * np.cumprod(now)
        if len(product):
            self.m_schedule = float(product[-1])
        columns["grad_scale"] = (1 - now) / (1 - product)
        columns["mean_scale"] = following / (1 - product * following)
        columns["var_scale"] = 1 / (1 - self.beta2**counts)


@register
class FTML(RuleOptimizer):
    """Follow the moving leader.

    ``d ← (1−β₁ᵗ)/lr·(√(v/(1−β₂ᵗ)) + ε)``, ``z ← β₁·z + (1−β₁)·g − (d − β₁·d_previous)·w``,
    ``w ← −z/d``.

    Args:
        beta1: decay of ``z``.
        beta2: decay of the second moment ``v``.
        epsilon: ``ε``.

    >>> update = mx.optimizer.get_updater(mx.optimizer.FTML(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.9 0.9]
    """

    _formula, _fields = staticmethod(formulas.ftml), {"arrays": 3}
    _columns = (*UpdateRule.columns, "t")

    def __init__(
        self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
