"""Operators in a form of their own on CPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax

Form = Callable[..., jax.Array]


def on_cpus(form: Form, elsewhere: Form) -> Form:
    """A function of arrays that computes ``form`` on CPUs and ``elsewhere`` on other devices.

    So do its gradients, which need the arguments and nothing else. There is no forward mode.
    """

    @jax.custom_vjp
    def chosen(*args: jax.Array) -> jax.Array:
        return lax.platform_dependent(*args, cpu=form, default=elsewhere)

    def forward(*args: jax.Array) -> tuple[jax.Array, Any]:
        return chosen(*args), args

    def backward(args: Any, head: jax.Array) -> Any:
        return lax.platform_dependent(args, head, cpu=_pull(form), default=_pull(elsewhere))

    chosen.defvjp(forward, backward)
    return chosen


def _pull(form: Form) -> Callable[[Any, jax.Array], Any]:
    return lambda args, head: jax.vjp(form, *args)[1](head)
