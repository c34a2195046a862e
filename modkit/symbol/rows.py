"""Weights of which a graph reads some rows only: their gradients are row-sparse."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from modkit.ops.sparse_values import by_row, keeps_zeros, picks_rows
from modkit.ops.storage import ROWS

_ROWS = SimpleNamespace(stype=ROWS)


class RowSource(NamedTuple):
    """The variable with the numbers of the rows that are read of a weight.

    Attributes:
        name: of the variable.
        numbers: whether it holds row numbers; else it is a factor, whose columns are stored.
    """

    name: str
    numbers: bool


def row_sources(steps: Sequence[Any], heads: Collection[int]) -> dict[str, RowSource]:
    """For each weight of which only rows are read, the variable that says which.

    The variable is the left factor of ``dot``, which names rows where it is a csr array, or the
    row numbers of an ``Embedding`` with ``sparse_grad``. In between may be operators that keep
    zeros, and sums within rows.

    Args:
        steps: the nodes of a lowered graph, in topological order.
        heads: numbers of the nodes that are outputs.
    """
    readers: dict[int, list[tuple[Any, int, int]]] = {}
    for number, step in enumerate(steps):
        for at, (source, _) in enumerate(step.inputs):
            readers.setdefault(source, []).append((step, at, number))

    def found(number: int) -> set[RowSource | None]:
        """The variables that say which rows of a node are read; ``None`` for all rows."""
        if number in heads:
            return {None}
        return set().union(*(_read(*reader) for reader in readers.get(number, ())))

    def _read(step: Any, at: int, number: int) -> set[RowSource | None]:
        op, attrs = step.op, step.attrs
        if op.name == "dot" and at == 1:
            whole = attrs["transpose_a"] or attrs["transpose_b"]
            return {None if whole else _variable(steps, step.inputs[0][0])}
        if at == 1 and picks_rows(op, attrs):
            source = steps[step.inputs[0][0]]
            return {None if source.op else RowSource(source.name, numbers=True)}
        if len(step.inputs) == 1 and (keeps_zeros(op, _ROWS, attrs) or by_row(op, 2, attrs)):
            return found(number)
        return {None}

    sources = {s.name: found(i) for i, s in enumerate(steps) if s.op is None and i in readers}
    return {n: each for n, all_ in sources.items() for each in all_ if each and len(all_) == 1}


def _variable(steps: Sequence[Any], number: int) -> RowSource | None:
    """The variable that a node is made of by operators that keep zeros."""
    step = steps[number]
    while step.op is not None:
        if len(step.inputs) != 1 or not keeps_zeros(step.op, _ROWS, step.attrs):
            return None
        step = steps[step.inputs[0][0]]
    return RowSource(step.name, numbers=False)
