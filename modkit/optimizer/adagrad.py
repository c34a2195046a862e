"""Optimizers with accumulated squared gradients: AdaGrad, AdaDelta, RMSProp, Ftrl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modkit.errors import NotSupportedError
from modkit.ops.update import formulas
from modkit.optimizer.base import register
from modkit.optimizer.rule_optimizer import RuleOptimizer
from modkit.optimizer.update_rules import zeros


@register
class AdaGrad(RuleOptimizer):
    """``h ← h + g²``, ``w ← w − lr·(g/√(h + ε) + wd·w)``.

    As in MXNet, a parameter with a row-sparse gradient takes no ``wd``.

    Args:
        eps: ``ε``.

    >>> update = mx.optimizer.get_updater(mx.optimizer.AdaGrad(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.9 0.9]
    """

    _formula, _fields = staticmethod(formulas.adagrad), {"start": zeros, "lazy": True}
    _clips_to_zero = True

    def __init__(self, eps: float = 1e-7, **kwargs: Any):
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    @property
    def epsilon(self) -> float:
        """``ε``, as the formula names it."""
        return self.float_stable_eps

    def _check_rows(self, indices: Sequence[Any]) -> None:
        """See `Optimizer._check_rows`; NotSupportedError if one of the parameters decays."""
        for index in indices:
            if wd := self._get_wd(index):
                raise NotSupportedError(
                    f"AdaGrad: parameter {self.idx2name.get(index, index)!r} has a row-sparse "
                    f"gradient and wd={wd:g}, expected 0; set its wd_mult to 0, or make the "
                    "gradient dense: sparse_grad=False, no csr input"
                )


@register
class AdaDelta(RuleOptimizer):
    """``w ← w − √(E[Δ²] + ε)/√(E[g²] + ε)·g − wd·w``; there is no learning rate.

    Args:
        rho: decay of both running means.
        epsilon: ``ε``.

    >>> update = mx.optimizer.get_updater(mx.optimizer.AdaDelta())
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.99 0.99]
    """

    _formula, _fields = staticmethod(formulas.adadelta), {"arrays": 2}
    _clips_to_zero = True
    _columns = ("wd", "rescale_grad")
    _order = "wd", "t"

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Any):
        super().__init__(**kwargs)
        self.rho, self.epsilon = rho, epsilon


@register
class RMSProp(RuleOptimizer):
    """Gradients divided by their running root mean square.

    ``n ← γ₁·n + (1−γ₁)·g²``, ``w ← w − lr·g/√(n + ε)``; if ``centered``, Graves's version:
    ``Δ ← γ₂·Δ − lr·g/√(n − ḡ² + ε)``, ``w ← w + Δ``.

    Args:
        gamma1: decay of the running means.
        gamma2: momentum, if ``centered``.
        epsilon: ``ε``.
        centered: use Graves's version.
        clip_weights: updated weights are clipped to ``[-clip_weights, clip_weights]``.

    >>> update = mx.optimizer.get_updater(mx.optimizer.RMSProp(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.6838 0.6838]
    """

    _formula, _fields = staticmethod(formulas.rmsprop_alex), {"arrays": 3}
    _unless = "centered", formulas.rmsprop, {"arrays": 1}

    def __init__(
        self,
        learning_rate: float | None = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1, self.gamma2, self.centered, self.epsilon = gamma1, gamma2, centered, epsilon
        self.clip_weights = clip_weights


@register
class Ftrl(RuleOptimizer):
    """Follow the regularized leader: weights with ``|z| <= lamda1`` are 0.

    ``z ← z + g − (√(n + g²) − √n)·w/lr``, ``n ← n + g²``,
    ``w = (sign(z)·λ₁ − z) / ((β + √n)/lr + wd)``.

    A row-sparse gradient updates its rows alone where the weight is row-sparse too, and else all
    rows.

    Args:
        lamda1: ``λ₁``, the L1 penalty.
        learning_rate: the rate; without effect beside an ``lr_scheduler``, which keeps its own.
        beta: ``β``.

    >>> update = mx.optimizer.get_updater(mx.optimizer.Ftrl(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.4495 0.5997]
    """

    _formula, _fields = staticmethod(formulas.ftrl), {"arrays": 2, "lazy_rows": True}
    _order = "t", "wd", "lr"

    def __init__(
        self,
        lamda1: float = 0.01,
        learning_rate: float | None = 0.1,
        beta: float = 1,
        **kwargs: Any,
    ):
        if kwargs.get("lr_scheduler") is not None:
            learning_rate = None
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.lamda1, self.beta = lamda1, beta
