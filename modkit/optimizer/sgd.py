"""Gradient descent variants: SGD, NAG, Signum, SGLD, DCASGD, and a test optimizer."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ParameterError
from modkit.ops.update import formulas
from modkit.optimizer.base import register
from modkit.optimizer.rule_optimizer import RuleOptimizer
from modkit.optimizer.update_rules import FormulaRule, UpdateRule, zeros


def _beside(w: Any, g: Any, mom: Any, **numbers: Any) -> Any:
    """SGD after the momentum was set to 0: the velocity stays as it is, as in MXNet."""
    return formulas.sgd(w, g, **numbers), mom


_ending_by_rows = functools.partial(formulas.sgd_mom, momentum=0.0)
"""The same for rows, whose velocities are those of their last step."""


@register
class SGD(RuleOptimizer):
    """Gradient descent with momentum: ``v ← μ·v − lr·(clip(rescale·g) + wd·w)``, ``w ← w + v``.

    The rate is inside the velocity, which therefore still contains the old rate after a change
    (in ``optax.sgd`` it is outside).

    Args:
        momentum: ``μ``.
        lazy_update: a row-sparse gradient updates its rows and their velocities, and no others.

    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.9 0.8]
    """

    direct = True
    lists_rates = True
    _shared: ClassVar[Any] = {"lazy": "lazy_update", "master_first": False}
    _formula, _fields = staticmethod(formulas.sgd_mom), {**_shared, "start": zeros}
    _unless = "momentum", formulas.sgd, {
        **_shared, "of_state": _beside, "of_state_by_rows": _ending_by_rows,
    }  # fmt: skip
    _numbers = ("momentum",)

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any):
        super().__init__(**kwargs)
        self.momentum, self.lazy_update = momentum, lazy_update
        self.aggregate_num = 4


@register
class ccSGD(SGD):
    """`SGD` under its old name."""


def _nag_of_rows(w: Any, g: Any, mom: Any, *, lr: Any, wd: Any, **numbers: Any) -> Any:
    """The velocity decays by the weight before the update."""
    new, velocity = formulas.nag_mom(w, g, mom, lr=lr, wd=wd, **numbers)
    return new, velocity + lr * wd * (new - w)


_nag_ending = functools.partial(formulas.nag_mom, momentum=0.0)
"""NAG after the momentum was set to 0."""


@register
class NAG(RuleOptimizer):
    """Nesterov's accelerated gradient.

    ``w ← w + μ²·v − (1+μ)·lr·(G + wd·w)``, then ``v ← μ·v − lr·(G + wd·w)``, with
    ``G = clip(rescale·g)``.

    The velocity decays by the new weight; that of a row-sparse weight, as in MXNet, by the weight
    before the update.

    Args:
        momentum: ``μ``.

    >>> update = mx.optimizer.get_updater(mx.optimizer.NAG(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.9 0.8]
    """

    direct = True
    _formula = staticmethod(formulas.nag_mom)
    _fields: ClassVar[Any] = {
        "start": zeros, "master_first": False, "formula_of_rows": _nag_of_rows,
    }  # fmt: skip
    _unless = (
        "momentum", formulas.sgd, {"lazy": True, "master_first": False, "of_state": _nag_ending},
    )  # fmt: skip
    _numbers = ("momentum",)

    def __init__(self, momentum: float = 0.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.momentum = momentum

    def rule(self) -> UpdateRule | None:
        """See `RuleOptimizer.rule`; it is lazy without momentum, but not with velocities."""
        found = super().rule()
        if self.momentum:
            self._derived["velocities"] = True
        elif "velocities" in self._derived and isinstance(found, FormulaRule):
            found = dataclasses.replace(found, lazy=False)
        return found


_signum_ending = functools.partial(formulas.signum, momentum=0.0)
"""Signum after the momentum was set to 0."""


@register
class Signum(RuleOptimizer):
    """Steps of size ``lr`` along the sign of the gradient's running mean.

    Args:
        momentum: decay of the mean; 0 for the sign of the gradient itself.
        wd_lh: decoupled weight decay: ``w ← (1 − lr·wd_lh)·w − ...``.

    Differs: ``wd_lh`` also works without momentum; MXNet fails.

    >>> update = mx.optimizer.get_updater(mx.optimizer.Signum(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.9 0.9]
    """

    _formula, _fields = staticmethod(formulas.signum), {"start": zeros}
    _unless = ("momentum", formulas.signsgd, {"of_state": _signum_ending})

    def __init__(
        self,
        learning_rate: float | None = 0.01,
        momentum: float = 0.9,
        wd_lh: float = 0.0,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum, self.wd_lh = momentum, wd_lh


@dataclass(frozen=True)
class SGLDRule(UpdateRule):
    """Half a step of SGD plus Gaussian noise of variance ``lr``."""

    takes_key = True

    clip_gradient: float | None

    def update(self, weight: Any, grad: Any, state: Any, hyper: Any) -> Any:
        if hyper["key"] is None:
            raise ParameterError("SGLD: needs a random key, got None; pass key= to update")
        lr = hyper["lr"]
        grad = formulas.rescaled(grad, hyper["rescale_grad"], self.clip_gradient)
        noise = jax.random.normal(hyper["key"], weight.shape, weight.dtype) * jnp.sqrt(lr)
        return weight - lr / 2 * (grad + hyper["wd"] * weight) + noise, state


@register
class SGLD(RuleOptimizer):
    """Langevin dynamics: ``w ← w − lr/2·(clip(rescale·g) + wd·w) + N(0, lr)``."""

    def _adjust(self, columns: dict[str, Any], indices: Sequence[Any]) -> None:
        if (lowest := np.min(columns["lr"], initial=0)) < 0:
            raise ParameterError(
                f"SGLD: learning rate: got {lowest}, expected one from 0: it is the variance of "
                "the noise"
            )

    def rule(self) -> UpdateRule:
        """The update rule of one parameter."""
        return SGLDRule(self.clip_gradient)


@register
class DCASGD(RuleOptimizer):
    """Asynchronous SGD with delay compensation.

    ``w ← w − lr·(G + wd·w + λ·G²·(w − w_previous))``, with ``G = clip(rescale·g)``.

    Args:
        momentum: decay of the velocity.
        lamda: ``λ``.

    Differs: momentum works for weights of any size; MXNet fails for more than one element.

    >>> update = mx.optimizer.get_updater(mx.optimizer.DCASGD(learning_rate=0.1))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.array([1, 2]), weight)
    >>> print(weight.asnumpy().round(4))
    [0.9 0.8]
    """

    _formula = staticmethod(formulas.dcasgd)
    _fields: ClassVar[Any] = {"start": lambda weight: (zeros(weight), jnp.copy(weight))}
    _unless = "momentum", formulas.dcasgd, {"start": lambda weight: (None, jnp.copy(weight))}
    _clips_to_zero = True

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.weight_previous: dict[Any, Any] = {}
        self.lamda = lamda


@dataclass(frozen=True)
class TestRule(UpdateRule):
    """``w ← w + rescale·g``; the state is the new weight, in float32."""

    elementwise = True
    __test__ = False
    columns = ("rescale_grad",)

    def init(self, weight: Any) -> Any:
        """Zeros."""
        return np.zeros(weight.shape, np.float32)

    def update(self, weight: Any, grad: Any, state: Any, hyper: Any) -> Any:
        weight = weight + hyper["rescale_grad"] * grad
        return weight, weight.astype(state.dtype)


@register
class Test(RuleOptimizer):
    """A test optimizer, which adds the rescaled gradient to the weight."""

    __test__ = False
    _columns = TestRule.columns
    _order = ("t",)

    def rule(self) -> UpdateRule:
        """The update rule of one parameter."""
        return TestRule()
