"""The number of calls that NumPy runs of a program before XLA compiles it.

It follows from sizes and counts, never from time, so that a program gives the same bits twice.
"""

from __future__ import annotations

import math

_CALL_S = 60e-6
"""The time of a compiled call with an array on the host, whose transfer takes most of it."""

NODE_S = 10e-6
"""The time of a node of a tape besides NumPy's."""

MANY_STEPS = 400
"""The most steps of a program that NumPy runs."""

MOST_NODES = 48
"""The most nodes of a graph that is traced for NumPy; the disk cache finds the programs of larger
ones without a trace."""

MOST_UPDATED = 2
"""The most parameters of an update that NumPy runs; a compiled update of more is faster."""

_DRAW_S = 0.2
"""The time in which XLA compiles the cipher of a random number."""

_MOST_TAPE_CALLS = 64
"""The most calls of a tape that run node by node before it is traced as one program."""


def compilation_s(steps: int, draws: int = 0) -> float:
    """The time in which XLA compiles a program of so many steps and draws of random numbers."""
    return 0.03 + 0.002 * steps + _DRAW_S * draws


def calls_of_program(cost_s: float, compiling_s: float) -> float:
    """The calls of a program that NumPy runs.

    All, where one takes NumPy no longer than a compiled call; else as many as take as long as
    compiling.
    """
    return math.inf if cost_s <= _CALL_S else compiling_s // cost_s


def calls_of_tape(cost_s: float, steps: int) -> float:
    """The calls of a tape that run node by node: as many as take as long as compiling.

    They are at most `_MOST_TAPE_CALLS` where NumPy may run the tape as one program after them.
    """
    pays = compilation_s(steps) // cost_s if cost_s else _MOST_TAPE_CALLS
    return pays if steps > MANY_STEPS else min(pays, _MOST_TAPE_CALLS)
