"""BoundArrays: the cells of a bound graph, from which passes read and into which they write."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from modkit.ndarray.storage import AnyCell, Cell
from modkit.ops.sparse_values import plain, plus
from modkit.step.store import Arrays, Slot, Store, Work

Cells = dict[str, AnyCell]


class OwnCells(NamedTuple):
    """Cells of a graph that are not slots of its store."""

    shared: Cells
    aux: Cells
    grads: Cells


class BoundArrays:
    """The cells of a bound graph, by name.

    Slots of ``store`` are read and written together, as fields of its state; other cells
    individually.

    Args:
        shared: arguments with one logical copy: parameters.
        local: arguments with a part for each replica: data and labels.
        grads: gradients of the arguments that have one.
        grad_req: ``"write"`` or ``"add"`` for each name in ``grads``.
        store: the store of a module; ``None`` for an executor, whose cells belong to its user.

    Attributes:
        outputs: cells of the outputs, which the bound graph makes.
        wrt: names of the differentiated arguments.
        adds: those whose gradients are added up.
        joined: of arguments whose gradients are added in one array, the last, which has the sum.
        replaced: arguments whose gradients a later one with ``"write"`` replaces in one array.
        summed: those to whose gradients what the array held before is added.
        own: the cells that are not slots of ``store``.
        own_wrt: names of the differentiated arguments whose gradients are such cells.
        eager: whether a pass runs at once, as an own cell cannot wait for it.
    """

    def __init__(
        self,
        shared: Cells,
        local: Cells,
        aux: Cells,
        grads: Cells,
        grad_req: Mapping[str, str],
        store: Store | None = None,
    ):
        self.shared, self.local, self.aux, self.grads = shared, local, aux, grads
        self.store = store
        self.outputs: list[Cell] = []
        self.adds = tuple(n for n in grads if grad_req[n] == "add")
        self.wrt = tuple(n for n in grads if (shared.get(n) or local[n]).aval.dtype != np.bool_)
        self.joined, self.replaced, self.summed = {}, [], []
        sharing: dict[int, list[str]] = {}
        for name in self.wrt:
            sharing.setdefault(id(grads[name]), []).append(name)
        for names in sharing.values():
            writers = [i for i, n in enumerate(names) if n not in self.adds]
            first = writers[-1] if writers else 0
            self.replaced += names[:first]
            self.joined |= dict.fromkeys(names[first:-1], names[-1])
            self.summed += [] if writers else names[-1:]
        self.own = OwnCells(*(self._own(cells) for cells in (shared, aux, grads)))
        self.own_wrt = tuple(n for n in self.wrt if n in self.own.grads)
        self.eager = not all(c.waits for c in (*self.own.aux.values(), *self.own.grads.values()))

    def _own(self, cells: Cells) -> Cells:
        return {
            n: c for n, c in cells.items() if not (isinstance(c, Slot) and c.store is self.store)
        }

    @property
    def inputs(self) -> Sequence[AnyCell]:
        """The cells that a pass reads."""
        return (*self.shared.values(), *self.local.values(), *self.aux.values())

    def snapshot(self, work: Work, *, on_host: bool) -> tuple[Arrays, Arrays, Arrays]:
        """Shared and local arguments and auxiliary states, which ``work`` keeps until it has run.

        Args:
            work: the pass.
            on_host: leave data and states on the host where they lie there.
        """

        def read(cells: Cells) -> Arrays:
            return {n: c.host_snapshot(work) if on_host else c.snapshot(work)
                    for n, c in cells.items()}  # fmt: skip

        local, shared, aux = read(self.local), {}, {}
        if self.store is not None:
            shared, aux = self.store.read(work, self.shared, self.aux)
        if self.own.shared:
            shared = {n: c.snapshot(work) for n, c in self.own.shared.items()}
        return shared, local, read(self.own.aux) if self.own.aux else aux

    def await_states(self, work: Work, names: Collection[str]) -> None:
        """Have auxiliary states wait for ``work``; ``names`` are those of own cells."""
        if self.store is not None:
            self.store.promise(work, "aux")
        for name in names:
            self.own.aux[name].wait_for(work, self.own.aux[name].aval)

    def await_gradients(self, work: Work) -> None:
        """Have gradients wait for ``work``."""
        if self.store is not None:
            self.store.promise(work, "grads", self.wrt)
        for name in self.own_wrt:
            self.grads[name].wait_for(work, self.grads[name].aval)

    def fill_gradients(self, work: Work, grads: Arrays) -> None:
        """Write gradients to the own cells that wait for ``work``, those of one array summed."""
        for name in self.replaced:
            del grads[name]
        for name, last in self.joined.items():
            grads[last] = plus(grads[last], grads.pop(name))
        for name in self.own.grads.keys() & grads.keys():
            cell, value = self.own.grads[name], grads[name]
            cell.fill(work, value if cell.takes_rows else plain(value))

    def write_argument(self, name: str, value: jax.Array, seen: Any) -> None:
        """Write an argument that the graph overwrote, unless a handle has been written since."""
        cell = self.shared.get(name) or self.local[name]
        if seen is not None and cell.holds(seen):
            cell.set(value)

    def restore(self, work: Work, aux: Arrays, old: Arrays) -> None:
        """After a failure of ``work``: restore what it has read, and stop waiting for it."""
        own = self.own
        if self.store is not None:
            self.store.restore(work, {n: v for n, v in old.items() if n not in own.grads})
        for cells, values in ((own.aux, aux), (own.grads, old)):
            for name in cells.keys() & values.keys():
                cells[name].fill(work, values[name])
        for cell in (*self.outputs, *own.grads.values()):
            cell.forget(work)
