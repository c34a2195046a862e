"""Configuration of the tuning: the pieces that are on, and what each does to a program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from modkit.interpreter.tracing import is_for_numpy
from modkit.ops.entry import Op
from modkit.tuning.allocator import SMALL, fill_holes, give_back, keep_pages
from modkit.tuning.cpu.forms import FORMS, CpuForm
from modkit.tuning.in_flight import one_in_flight
from modkit.tuning.xla_options import options_for
from modkit.tuning_switch import active_pieces

_LONG_S = 1.0
"""Compilations that take longer leave much memory: 70,000 free blocks after ResNet-50."""


class Tuning:
    """The pieces of `modkit.tuning_switch` that are on; without its own a method does nothing."""

    def __init__(self, pieces: frozenset[str]):
        self.pieces = pieces

    def prepare_training(self, made: int) -> None:
        """Set up a CPU process for training a graph of ``made`` bytes; see `keep_pages`."""
        if "allocator" in self.pieces:
            keep_pages(made)

    def prepare_executor(self, made: int) -> None:
        """The same for an executor with gradients; small ones leave the process alone."""
        if made > SMALL:
            self.prepare_training(made)

    def after_compilation(self, seconds: float) -> None:
        """Take the free blocks of a long compilation out of the heap, and return their pages."""
        if "allocator" in self.pieces and seconds >= _LONG_S:
            fill_holes()
            give_back()

    def xla_options(self, read: Callable[[], str], platform: str) -> dict[str, str]:
        """Compiler options of XLA for a program; ``read`` returns its HLO text."""
        return options_for(read, platform) if "xla" in self.pieces else {}

    def one_in_flight(self, compiled: Callable[..., Any], platform: str) -> Callable[..., Any]:
        """A compiled training step; a large one waits until the previous step has ended."""
        return one_in_flight(compiled) if "turns" in self.pieces and platform == "cpu" else compiled

    def updates_apart(self, platform: str) -> bool:
        """Whether barriers keep gradients and numbers out of the kernels of updates.

        Kernels of equal arrays are then equal, and XLA for CPUs compiles equal ones once.
        """
        return "xla" in self.pieces and platform == "cpu"

    @property
    def rerolls(self) -> bool:
        """Whether repeated segments of a graph run as loops; see `modkit.symbol.reroll`."""
        return "loops" in self.pieces

    def form(self, op: Op) -> Callable[..., Any] | None:
        """The operator's function with a CPU form, for any device; ``None`` without CPU form.

        Its signature is that of the operator.
        """
        form = self._forms(op)
        return form and form.anywhere

    def channels_last(self, op: Op, attrs: Mapping[str, Any]) -> Callable[..., Any] | None:
        """The operator's CPU form for images with channels last; ``None`` without one."""
        form = self._forms(op)
        return form.channels_last(attrs) if form and form.channels_last else None

    def _forms(self, op: Op) -> CpuForm | None:
        """An operator's CPU forms; they are for XLA, and take NumPy more steps."""
        return FORMS.get(op.name) if "forms" in self.pieces and not is_for_numpy() else None


@functools.cache
def current() -> Tuning:
    """The process's tuning, by the environment at first; ParameterError for unknown words."""
    return Tuning(active_pieces())
