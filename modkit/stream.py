"""The seed, and the stream of random keys that it starts."""

from __future__ import annotations

import threading
from typing import Any

import jax
import numpy as np

from modkit.context import Context
from modkit.errors import ParameterError

_lock = threading.Lock()
_seed = 0
_count = 0


def seed(seed_state: int, ctx: Any = "all") -> None:
    """Start the random stream anew.

    Args:
        seed_state: any integer; its low 32 bits are used.
        ctx: a context or ``"all"``, taken for MXNet's sake: a stream depends on the operator's
            name and the replica's index, not on the device.

    Raises:
        ParameterError: ``seed_state`` is no integer.
        NameNotFoundError: ``ctx`` is neither.
    """
    global _seed, _count
    if not isinstance(seed_state, int | np.integer):
        raise ParameterError(f"seed: got {seed_state!r}, expected an integer")
    if ctx != "all":
        Context(ctx)
    with _lock:
        _seed, _count = int(seed_state) & 0xFFFFFFFF, 0


def draw() -> np.ndarray:
    """The next key as two uint32: the seed and how many were drawn. An argument for programs."""
    global _count
    with _lock:
        _count += 1
        return np.array([_seed, _count & 0xFFFFFFFF], np.uint32)


def as_key(words: Any) -> jax.Array:
    """A JAX key from the two numbers that `draw` gives. Works inside a traced function."""
    return jax.random.wrap_key_data(words, impl="threefry2x32")
