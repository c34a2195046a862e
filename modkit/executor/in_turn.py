"""Large programs on a CPU begin when the one before has ended."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import jax

from modkit.heap import Heap, Room

LARGE = 32 << 20
"""Bytes of scratch memory. Less fits beside that of the run before."""

_under_way: list[jax.Array] = []
"""The smallest result of the run that was begun last."""


def in_turn(form: Any, heap: Heap) -> Callable[..., Any]:
    """A compiled form as it is, or `InTurn` where it takes much scratch memory."""
    try:
        needs = form.memory_analysis()
        scratch, made = needs.temp_size_in_bytes, needs.output_size_in_bytes
    except (AttributeError, NotImplementedError, jax.errors.JaxRuntimeError):
        return form  # JAX cannot tell what it needs, so it is run as any other
    return form if scratch < LARGE else InTurn(form, heap.room(scratch, made))


class InTurn:
    """A compiled form that waits for the run before, and finds its scratch memory free.

    A CPU gives a run its scratch memory before that of the run before is free again, if it waits
    already: two blocks would take turns. A training step needs what the step before has made, so
    only the time that it takes to begin one is lost. Large steps of several modules wait for each
    other too.

    Args:
        form: the compiled form.
        room: for its scratch memory.
    """

    def __init__(self, form: Callable[..., Any], room: Room):
        self._form, self._room = form, room

    def __call__(self, *args: Any) -> Any:
        """The results of the form."""
        with contextlib.suppress(IndexError, RuntimeError):
            # A result that is gone, or that failed, is told to who reads it.
            _under_way.pop().block_until_ready()
        self._room.make()
        results = self._form(*args)
        _under_way.append(min(jax.tree.leaves(results), key=lambda each: each.nbytes))
        return results
