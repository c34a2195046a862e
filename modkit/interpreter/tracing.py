"""Traces that NumPy is to run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax


class _Depth(threading.local):
    value = 0


_depth = _Depth()


@contextlib.contextmanager
def for_numpy() -> Iterator[None]:
    """A block that traces functions under `jax.jit` as their primitives, and CPU forms alone.

    A function of JAX's that is compiled by itself, such as `jax.numpy.where`, would be a jaxpr in
    the jaxpr: differentiating that takes twice the time, and JAX keeps each. `jax.disable_jit`
    also unrolls loops, except for those of `modkit.ops.loops`.
    """
    _depth.value += 1
    try:
        with jax.disable_jit():
            yield
    finally:
        _depth.value -= 1


def jaxpr_for_numpy(fn: Callable[..., Any], *args: Any) -> Any:
    """The jaxpr of a function for NumPy, and the structure of its results with their avals."""
    with for_numpy():
        return jax.make_jaxpr(fn, return_shape=True)(*args)


def is_for_numpy() -> bool:
    """Whether the present trace is one that NumPy is to run."""
    return _depth.value > 0
