"""Traces that NumPy is to run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax


class _Trace(threading.local):
    for_numpy = False


_trace = _Trace()


@contextlib.contextmanager
def for_numpy(is_so: bool = True) -> Iterator[None]:
    """A block that traces functions under `jax.jit` as their primitives, and CPU forms alone.

    With ``False``, a block of a trace for XLA, wherever it stands.

    A function of JAX's that is compiled by itself, such as `jax.numpy.where`, would be a jaxpr in
    the jaxpr: differentiating that takes twice the time, and JAX keeps each. `jax.disable_jit`
    also unrolls loops, except for those of `modkit.ops.loops`.
    """
    before, _trace.for_numpy = _trace.for_numpy, is_so
    try:
        with jax.disable_jit(is_so):
            yield
    finally:
        _trace.for_numpy = before


def jaxpr_for_numpy(fn: Callable[..., Any], *args: Any) -> Any:
    """The jaxpr of a function for NumPy, and the structure of its results with their avals."""
    with for_numpy():
        return jax.make_jaxpr(fn, return_shape=True)(*args)


def is_for_numpy() -> bool:
    """Whether the present trace is one that NumPy is to run."""
    return _trace.for_numpy
