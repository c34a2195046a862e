"""Weights of which a graph reads some rows only: their gradients are row-sparse."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp

from modkit.ops.array.indexing import whole
from modkit.ops.shape_inference import has_open_shape
from modkit.ops.sparse_values import by_row, keeps_zeros, plain
from modkit.ops.stype import ROWS

_MOST_NODES = 32
"""The most operators between inputs and row numbers: they are computed once more."""


class Factor(NamedTuple):
    """The variable that is a factor of a weight: its stored columns are the rows that are read."""

    name: str


class Lookups(NamedTuple):
    """The results that are row numbers of a weight.

    Attributes:
        entries: the results, as nodes and outputs.
        repeatable: whether they may be computed once more, before the graph runs.
    """

    entries: tuple[tuple[int, int], ...]
    repeatable: bool = True


RowSource = Factor | Lookups
"""The values with the numbers of the rows that are read of a weight."""


def rows_read(steps: Sequence[Any], source: RowSource, values: Mapping[str, Any]) -> Any:
    """The factor of a weight, or all row numbers that a graph looks up in it."""
    if isinstance(source, Factor):
        return values[source.name]
    known: dict[int, Sequence[Any]] = {}

    def outputs(number: int) -> Sequence[Any]:
        step = steps[number]
        if step.op is None:
            return (plain(values[step.name]),)
        if number not in known:
            known[number], _ = step.op.call([outputs(a)[b] for a, b in step.inputs], step.attrs)
        return known[number]

    return joined_numbers([outputs(a)[b] for a, b in source.entries])


def joined_numbers(arrays: Sequence[Any]) -> Any:
    """All row numbers of several arrays."""
    # As whole numbers: JAX joins int32 and float16 as float16, which holds few of them.
    return jnp.concatenate([whole(each).reshape(-1) for each in arrays])


def row_sources(
    steps: Sequence[Any], heads: Collection[int], computed: bool = True
) -> dict[str, RowSource]:
    """For each weight of which only rows are read, the values that say which.

    They are the left factor of ``dot``, which names rows where it is a csr array, or the row
    numbers of each ``Embedding`` with ``sparse_grad``. In between may be operators that keep
    zeros, and sums within rows.

    Args:
        steps: the nodes of a lowered graph, in topological order.
        heads: numbers of the nodes that are outputs.
        computed: whether results of operators are the same if they are computed once more.
    """
    readers: dict[int, list[tuple[Any, int, int]]] = {}
    for number, step in enumerate(steps):
        for at, (source, _) in enumerate(step.inputs):
            readers.setdefault(source, []).append((step, at, number))
    read: dict[int, set[RowSource | None]] = {}
    """Row sources by node number; ``None`` stands for all rows."""

    def read_by(step: Any, at: int, number: int) -> set[RowSource | None]:
        op, attrs = step.op, step.attrs
        if op.name == "dot" and at == 1:
            whole = attrs["transpose_a"] or attrs["transpose_b"]
            return {None if whole else _variable(steps, step.inputs[0][0])}
        if at == 1 and op.storage.picks_rows(attrs):
            entry = step.inputs[0]
            most = _MOST_NODES if computed else 0
            return {Lookups((entry,), _is_repeatable(steps, entry[0], most))}
        if len(step.inputs) == 1 and (keeps_zeros(op, ROWS, attrs) or by_row(op, 2, attrs)):
            return read[number]
        return {None}

    for number in reversed(range(len(steps))):  # readers first
        found = (read_by(*reader) for reader in readers.get(number, ()))
        read[number] = {None} if number in heads else set().union(*found)
    sources = {
        s.name: _joined(read[i]) for i, s in enumerate(steps) if s.op is None and i in readers
    }
    return {name: source for name, source in sources.items() if source is not None}


def _joined(sources: set[RowSource | None]) -> RowSource | None:
    """One source for all readers of a weight; ``None`` for all rows."""
    if len(sources) == 1:
        return next(iter(sources))
    lookups = [each for each in sources if isinstance(each, Lookups)]
    if len(lookups) < len(sources) or not lookups:
        return None
    repeatable = all(each.repeatable for each in lookups)
    return Lookups(tuple(sorted(e for each in lookups for e in each.entries)), repeatable)


def _is_repeatable(steps: Sequence[Any], number: int, most: int) -> bool:
    """Whether a node can be computed twice: by few operators, each a pure function."""
    nodes, waiting = set(), [number]
    while waiting:
        at = waiting.pop()
        op = steps[at].op
        if op is None or at in nodes:
            continue
        nodes.add(at)
        if len(nodes) > most or op.takes_key or op.takes_train or op.on_host or steps[at].aux:
            return False
        if steps[at].attrs.get("bodies") or has_open_shape(op, steps[at].attrs):
            return False
        waiting += [a for a, _ in steps[at].inputs]
    return True


def _variable(steps: Sequence[Any], number: int) -> Factor | None:
    """The variable that a node is made of by operators that keep zeros."""
    step = steps[number]
    while step.op is not None:
        if len(step.inputs) != 1 or not keeps_zeros(step.op, ROWS, step.attrs):
            return None
        step = steps[step.inputs[0][0]]
    return Factor(step.name)
