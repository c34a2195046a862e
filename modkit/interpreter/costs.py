"""The number of calls that NumPy runs of a program before XLA compiles it.

It follows from sizes and counts, never from time, so that a program gives the same bits twice.
"""

from __future__ import annotations

import math

CALL_S = 40e-6
"""The time of a compiled call of an operator."""

TREE_CALL_S = 60e-6
"""That of a compiled program of trees of arrays, some on the host."""

NODE_S = 10e-6
"""The time of a node of a tape besides NumPy's."""

MANY_STEPS = 400
"""Programs of more steps are not NumPy's: they are compiled at once."""

MOST_NODES = 48
"""Larger graphs are not traced for NumPy: the disk cache may hold their programs, untraced."""

MOST_UPDATED = 2
"""Longer lists of parameters take NumPy longer than a compiled update: they are not traced."""

_DRAW_S = 0.2
"""The time in which XLA compiles the cipher of a random number."""

_NEW = 64
"""Most calls of a tape that run node by node: by then tracing it as one program has paid."""


def compilation_s(steps: int, draws: int = 0) -> float:
    """The time in which XLA compiles a program of so many steps and draws of random numbers."""
    return 0.03 + 0.002 * steps + _DRAW_S * draws


def calls_of_program(cost_s: float, compiling_s: float, call_s: float) -> float:
    """All calls where a compiled one takes as long; else those that take as long as compiling."""
    return math.inf if cost_s <= call_s else compiling_s // cost_s


def calls_of_tape(cost_s: float, steps: int) -> float:
    """Calls of a structure node by node; one that is no program of NumPy's waits until it pays."""
    pays = compilation_s(steps) // cost_s if cost_s else _NEW
    return pays if steps > MANY_STEPS else min(pays, _NEW)
