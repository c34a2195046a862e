"""Optimizers of ``mx.optimizer.contrib``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from modkit.errors import NotSupportedError, ShapeError
from modkit.ops.update import formulas
from modkit.optimizer.base import register
from modkit.optimizer.rule_optimizer import RuleOptimizer
from modkit.optimizer.update_rules import UpdateRule


@dataclass(frozen=True)
class GroupAdaGradRule(UpdateRule):
    """`modkit.ops.update.formulas.group_adagrad`."""

    columns = ("lr", "rescale_grad")
    lazy = True

    eps: float
    clip_gradient: float | None

    def init(self, weight: Any) -> Any:
        """One accumulator for each row."""
        if weight.ndim != 2:
            raise ShapeError(
                f"GroupAdaGrad: got a weight of shape {weight.shape}, expected two dimensions; "
                "use AdaGrad for it"
            )
        return np.zeros((weight.shape[0], 1), weight.dtype)

    def by_rows(self) -> UpdateRule:
        """See `FormulaRule.by_rows`."""
        return self if self.clip_gradient != 0 else dataclasses.replace(self, clip_gradient=None)

    def update(self, weight: Any, grad: Any, state: Any, hyper: Any) -> Any:
        return formulas.group_adagrad(
            weight, grad, state, epsilon=self.eps, clip_gradient=self.clip_gradient, **hyper
        )


@register
class GroupAdaGrad(RuleOptimizer):
    """AdaGrad with one accumulator for each row: ``h ← h + mean(g²)``, ``w ← w − lr·g/√(h + ε)``.

    Args:
        eps: ``ε``.
        kwargs: see `Optimizer`; weight decay is not supported.

    >>> group = mx.optimizer.contrib.GroupAdaGrad(learning_rate=0.1)
    >>> update = mx.optimizer.get_updater(group)
    >>> weight = mx.nd.ones((2, 1))
    >>> update(0, mx.nd.array([[1], [2]]), weight)
    >>> print(weight.asnumpy().round(4))
    [[0.9]
     [0.9]]
    """

    _columns = GroupAdaGradRule.columns

    def __init__(self, eps: float = 1e-5, **kwargs: Any):
        super().__init__(**kwargs)
        self.float_stable_eps = eps
        self.rule()

    def rule(self) -> UpdateRule:
        """The update rule of one parameter; NotSupportedError with weight decay."""
        if self.wd:
            raise NotSupportedError(
                f"GroupAdaGrad: got wd={self.wd}, expected 0; put a penalty into the loss instead"
            )
        return GroupAdaGradRule(self.float_stable_eps, self.clip_gradient)
