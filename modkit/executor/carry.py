"""What one training step hands to the next without telling a cell."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from modkit.ndarray.cell import AnyCell, under_way

Arrays = dict[str, Any]


class Follower(Protocol):
    """A pass that took its arrays from a carry."""

    def take_over(self, waiting: set[AnyCell]) -> None:
        """Go on from the cells, of which these have just been given their values."""
        ...


class Carry:
    """Results of a step that no cell has been told of: parameters, states, statistics, gradients.

    All cells that the step writes wait for it. As long as nobody reads or writes one of them, the
    next pass and step take the arrays from here as they stand, so a step's work on the host
    hardly grows with the number of parameters. Whoever reads first has every cell told.

    Args:
        owner: where the carry is found, under ``carry``, until the cells are told.
        params: cells of the trained parameters by name.
        kept: cells of the optimizer states, leaf by leaf.
        states: the optimizer states that they are of, by name.
        aux: cells of the auxiliary states.
        grads: cells of the gradients.
    """

    def __init__(
        self,
        owner: Any,
        params: Mapping[str, AnyCell],
        kept: Sequence[AnyCell],
        states: Mapping[str, Any],
        aux: Mapping[str, AnyCell],
        grads: Mapping[str, AnyCell],
    ):
        self.cells, self.kept = params, kept
        self._owner, self._states, self._aux, self._grads = owner, states, aux, grads
        self._all = (*params.values(), *kept, *aux.values(), *grads.values())
        self.params: Arrays = {}
        self.state: Any = None
        self.aux: Arrays = {}
        self.grads: Arrays = {}
        self.follower: Follower | None = None
        self._table: Any = None
        self._content: bytes | None = None
        for cell in self._all:
            cell.wait_for(self, cell.aval)
        owner.carry = self
        under_way.add(self)

    def hold(self, params: Arrays, state: Any, aux: Arrays, grads: Arrays) -> None:
        """Take the results of a step."""
        self.params, self.state, self.aux, self.grads = params, state, aux, grads
        self.follower = None

    def numbers(self, table: np.ndarray) -> Any:
        """The numbers of a step; on the device from the second time that they come in a row."""
        content = table.tobytes()
        if content != self._content:
            self._table, self._content = table, content
        elif isinstance(self._table, np.ndarray):
            self._table = self._owner.placement.numbers(table)
        return self._table

    def intact(self) -> bool:
        """Whether every cell still waits for this carry: nobody has read or written one."""
        return all(cell.waits_on(self) for cell in self._all)

    def continues(self, names: Iterable[str], states: Mapping[str, Any]) -> bool:
        """Whether these are its parameters and optimizer states."""
        return (
            list(names) == list(self.cells)
            and len(states) == len(self._states)
            and all(map(operator.is_, states.values(), self._states.values()))
        )

    @property
    def settled(self) -> bool:
        """Whether the cells have been told."""
        return self._owner.carry is not self

    def run(self) -> None:
        """Tell the cells, and let a pass that followed go on from them."""
        if self.settled:
            return
        self._owner.carry = None
        waiting = {cell for cell in self._all if cell.waits_on(self)}
        for cell, value in self._results():
            if value is None or value.is_deleted():
                cell.forget(self)
            else:
                cell.fill(self, value)
        follower, self.follower = self.follower, None
        self.hold({}, None, {}, {})
        if follower is not None:
            follower.take_over(waiting)

    def _results(self) -> Iterator[tuple[AnyCell, Any]]:
        for cells, values in (
            (self.cells, self.params), (self._aux, self.aux), (self._grads, self.grads),
        ):  # fmt: skip
            for name, cell in cells.items():
                yield cell, values.get(name)
        yield from zip(self.kept, jax.tree.leaves(self.state), strict=True)
