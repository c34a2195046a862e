"""Metrics as traceable functions of all labels and outputs; equal ones share one program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from modkit.metric.base import count_mismatch
from modkit.metric.packed import pack
from modkit.metric.statistics import Statistic

TracedFunction = Callable[[Sequence[Any], Sequence[Any]], Any]
"""A traceable function of labels and outputs."""


@dataclass(frozen=True)
class Pairwise:
    """A statistic of each pair of label and output."""

    statistic: Statistic

    def __call__(self, labels: Sequence[Any], preds: Sequence[Any]) -> tuple[Any, ...]:
        if not self.statistic.needs_label:
            labels = [None] * len(preds)
        elif len(labels) != len(preds):
            raise count_mismatch(len(labels), len(preds))
        return tuple(pack(self.statistic(y, p)) for y, p in zip(labels, preds, strict=True))


@dataclass(frozen=True)
class Combined:
    """The tuple of several functions of the same labels and outputs."""

    parts: tuple[TracedFunction, ...]

    def __call__(self, labels: Sequence[Any], preds: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(part(labels, preds) for part in self.parts)


@dataclass(frozen=True)
class Selected:
    """A function of the labels and outputs at given positions."""

    label_at: tuple[int, ...] | None
    output_at: tuple[int, ...] | None
    part: TracedFunction

    def __call__(self, labels: Sequence[Any], preds: Sequence[Any]) -> Any:
        labels = labels if self.label_at is None else [labels[i] for i in self.label_at]
        preds = preds if self.output_at is None else [preds[i] for i in self.output_at]
        return self.part(labels, preds)


def select(
    label_at: tuple[int, ...] | None, output_at: tuple[int, ...] | None, part: TracedFunction
) -> TracedFunction:
    """``part`` applied to a selection of labels and outputs; ``None`` selects all."""
    return part if label_at is None and output_at is None else Selected(label_at, output_at, part)


def positions(wanted: Any, given: Sequence[str] | None) -> tuple[int, ...] | None:
    """The indices of the names ``wanted`` in ``given``; ``None``, which selects all, stays.

    Raises:
        KeyError: a name is missing.
    """
    if wanted is None:
        return None
    where = {name: at for at, name in enumerate(given or ())}
    return tuple(where[name] for name in ([wanted] if isinstance(wanted, str) else wanted))
