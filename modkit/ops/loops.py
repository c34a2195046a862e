"""JAX's loops, which stay loops where `jax.disable_jit` unrolls them: in traces for NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax import lax


def _kept(loop: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(loop)
    def run(*args: Any, **kwargs: Any) -> Any:
        with jax.disable_jit(False):
            return loop(*args, **kwargs)

    return run


fori_loop = _kept(lax.fori_loop)
map_rows = _kept(lax.map)
scan = _kept(lax.scan)
while_loop = _kept(lax.while_loop)
