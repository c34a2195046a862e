"""JAX's loops, which stay loops in traces for NumPy, where `jax.disable_jit` would unroll them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import lax

from modkit.errors import DTypeError, ShapeError
from modkit.interpreter.tracing import is_for_numpy
from modkit.ops.dtypes import dtype_name


def _inlining(part: Any) -> Any:
    """A function of a loop, with JAX's own compiled functions inlined; other parts as they are."""
    if not callable(part):
        return part

    def run(*args: Any) -> Any:
        with jax.disable_jit():
            return part(*args)

    return run


def _kept(loop: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(loop)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not is_for_numpy():  # so that a user's own `jax.disable_jit` shows each step
            return loop(*args, **kwargs)
        with jax.disable_jit(False):
            return loop(*map(_inlining, args), **kwargs)

    return run


fori_loop = _kept(lax.fori_loop)
map_rows = _kept(lax.map)
scan = _kept(lax.scan)
while_loop = _kept(lax.while_loop)


def require_rows(what: str, arrays: Sequence[Any]) -> None:
    """Raise ShapeError unless the arrays of a loop have as many rows each."""
    counts = [len(x) for x in arrays]
    if len(set(counts)) > 1:
        raise ShapeError(f"{what}: got {counts} rows, expected {counts[0]} in each")


def require_alike(what: str, old: Sequence[Any], new: Sequence[Any]) -> tuple[Any, ...]:
    """``new``, a step's arrays; ShapeError or DTypeError unless they are like ``old``."""
    for i, (a, b) in enumerate(zip(old, new, strict=True)):
        if a.shape != b.shape:
            raise ShapeError(f"{what} {i}: got shape {b.shape}, expected {a.shape}")
        if a.dtype != b.dtype:
            got, expected = dtype_name(b.dtype), dtype_name(a.dtype)
            raise DTypeError(f"{what} {i}: got {got}, expected {expected}; cast it in the body")
    return tuple(new)
