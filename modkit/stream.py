"""The global random stream: a seed and a counter, from which keys are derived."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from modkit import fork
from modkit.context import Context
from modkit.errors import expect

UNUSED = np.zeros(2, np.uint32)
"""Key data for programs that draw no random numbers."""
UNUSED.flags.writeable = False


class _Own(threading.local):
    """A thread's generator, and the state with which a stream begins."""

    def __init__(self) -> None:
        bits = np.random.Philox(key=[0, 0])
        self.generator, self.state = np.random.Generator(bits), bits.state


_own = _Own()

_lock = fork.lock()
_seed = 0
_count = 0


def seed(seed_state: int, ctx: Any = "all") -> None:
    """Seed the random stream and reset its counter.

    Args:
        seed_state: any integer; its low 32 bits are used.
        ctx: a context or ``"all"``, accepted for compatibility: random numbers depend on the
            operator's name and the replica's index, not on the device.

    Raises:
        ParameterError: ``seed_state`` is not an integer.
        NameNotFoundError: ``ctx`` is not a context.
    """
    global _seed, _count
    expect(isinstance(seed_state, int | np.integer), "seed", seed_state, "an integer")
    if ctx != "all":
        Context(ctx)
    with _lock:
        _seed, _count = int(seed_state) & 0xFFFFFFFF, 0


def position() -> tuple[int, int]:
    """The seed and the counter."""
    with _lock:
        return _seed, _count


def move_to(position: tuple[int, int]) -> None:
    """Set seed and counter to a result of `position`."""
    global _seed, _count
    with _lock:
        _seed, _count = position


def draw(numbers: Sequence[int] = ()) -> np.ndarray:
    """The next key data, uint32: seed, counter, and then ``numbers``.

    An argument of compiled programs.
    """
    global _count
    with _lock:
        _count += 1
        return np.array([_seed, _count & 0xFFFFFFFF, *numbers], np.uint32)


def generator() -> np.random.Generator:
    """This thread's NumPy generator, at the start of the stream of the next key data."""
    _own.state["state"]["key"][:] = draw()
    _own.generator.bit_generator.state = _own.state
    return _own.generator


def as_key(key_data: Any) -> jax.Array:
    """A JAX key from the key data of `draw`; traceable."""
    return jax.random.wrap_key_data(key_data[:2], impl="threefry2x32")


def numbers_of(key_data: Any) -> Any:
    """The ``numbers`` in key data of `draw`; traceable."""
    return key_data[2:]
