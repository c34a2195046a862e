"""JAX's loops, which stay loops in traces for NumPy, where `jax.disable_jit` would unroll them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax import lax

from modkit.interpreter.tracing import is_for_numpy


def _kept(loop: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(loop)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not is_for_numpy():  # so that a user's own `jax.disable_jit` shows each step
            return loop(*args, **kwargs)
        with jax.disable_jit(False):
            return loop(*args, **kwargs)

    return run


fori_loop = _kept(lax.fori_loop)
map_rows = _kept(lax.map)
scan = _kept(lax.scan)
while_loop = _kept(lax.while_loop)
