"""Functions with one implementation for CPUs and another for other devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax

from modkit.interpreter.reverse import CustomVjp
from modkit.ops.own_gradient import gradient_of

Form = Callable[..., jax.Array]


def on_cpus(form: Form, elsewhere: Form) -> Form:
    """A function of arrays that computes ``form`` on CPUs and ``elsewhere`` on other devices.

    Its gradients are chosen likewise. Their residuals are the arguments. Forward-mode
    differentiation is not supported.
    """

    @CustomVjp
    def chosen(*args: jax.Array) -> jax.Array:
        return lax.platform_dependent(*args, cpu=form, default=elsewhere)

    @gradient_of(chosen, slice(None))
    def _backward(args: Any, cotangent: jax.Array) -> Any:
        backwards = _pullback(form), _pullback(elsewhere)
        return lax.platform_dependent(args, cotangent, cpu=backwards[0], default=backwards[1])

    return chosen


def _pullback(form: Form) -> Callable[[Any, jax.Array], Any]:
    return lambda args, cotangent: jax.vjp(form, *args)[1](cotangent)
