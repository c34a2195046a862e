"""The state of training, which a step replaces as a whole, and the cells of its handles."""

from __future__ import annotations

import itertools
import operator
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import jax
import numpy as np

from modkit import fork
from modkit.errors import NotReadyError
from modkit.ndarray import NDArray
from modkit.ndarray.in_place import other_threads
from modkit.ndarray.storage import (
    AnyCell,
    Change,
    Pending,
    as_numpy,
    aval_of,
    copy_of,
    under_way,
    x64_for,
)
from modkit.ops.sparse_values import Rows
from modkit.signals import DeferredReads, DeferredSignals
from modkit.step.placement import Placement
from modkit.step.shards import Shards

LOST = (
    "a step failed after it had donated the buffers of parameters and optimizer states, whose "
    "values are lost. Load them from a checkpoint; fit(resume=folder) saves and loads by itself"
)

Arrays = dict[str, Any]
T = TypeVar("T")


class TrainState(NamedTuple):
    """The state of training, by name of the parameter or auxiliary state.

    The dictionaries are immutable: a write replaces them. So an identical dictionary means that
    nothing has been written.

    Attributes:
        optimizer: for each trained parameter the tree of its optimizer state.
    """

    params: Arrays
    optimizer: Arrays
    aux: Arrays
    grads: Arrays


def _part(values: Arrays, names: Iterable[str]) -> Arrays:
    return {name: values[name] for name in names}


class Work(Pending, Protocol):
    """A pass that will replace fields of the state."""

    @property
    def bound(self) -> Any:
        """The bound graph of the pass."""
        ...


class Store:
    """Parameters, optimizer states, auxiliary states and gradients of modules that share them.

    Values are in the storage of one placement: a row for each device under ``pmap``. A value may
    be a NumPy array, which is transferred to its device at the first read.

    A read or write through a slot first runs the pass that will replace the field, under ``lock``.
    So threads see the state before or after a step.

    Attributes:
        apart: whether each replica trains parameters of its own: they are stored as auxiliary
            states are.
        optimized: whether a module's optimizer trains them, and decides on ``apart``.
        params: slots of the parameters; `aux` and `grads` likewise.
        kept: cells of a module's states, which bindings of one shape share.
        work: by field, the pass that will replace it.
        aliased: slots of parameters and optimizer states whose buffer may be aliased: a step
            donates a copy of it.
    """

    def __init__(self, home: Placement):
        self.home, self.apart, self.optimized = home, False, False
        self.params: dict[str, Slot] = {}
        self.aux: dict[str, Slot] = {}
        self.grads: dict[str, Slot] = {}
        self.kept: dict[Any, AnyCell] = {}
        self.state = TrainState({}, {}, {}, {})
        self.work: dict[str, Work] = {}
        self.aliased: set[Slot] = set()
        self.lock = fork.lock()
        self._unplaced: set[Slot] = set()
        self._readers: list[weakref.ref[Any]] = []
        self._states: dict[str, Any] = {}  # trees of handles, by name of the parameter
        self._slots: dict[str, list[StateSlot]] = {}  # of these handles
        under_way.add(self)

    def handle(self, name: str) -> NDArray:
        """A parameter as one array."""
        return NDArray(self.logical(self.params[name]), self.home.at(name).contexts[0])

    def logical(self, slot: Slot) -> AnyCell:
        """A parameter as one array: the mean of the replicas' own, where they train apart."""
        return self.part(slot, None)

    def part(self, slot: Slot, index: int | None) -> AnyCell:
        """A parameter as one replica reads it: its own, where they train apart; see `Window`."""
        return slot if self.home.count == 1 else Window(slot, index)

    def stored(self, name: str, value: Any, apart: bool | None = None) -> jax.Array:
        """Storage for a parameter, from its logical value; ``apart`` as `Store.apart`."""
        apart = self.apart if apart is None else apart
        home = self.home.at(name)
        with x64_for(value.dtype):
            return home.split(value, -1) if apart else home.share(value)

    def train_apart(self, apart: bool) -> None:
        """Store a parameter for each replica, or again one for all: their mean.

        Windows read and write either storage. Programs of all replicas are bound for one of them.
        """
        with self.lock:
            if self.apart == apart:
                return
            self.run()
            values = {name: self.logical(slot).get() for name, slot in self.params.items()}
            made = {name: self.stored(name, value, apart) for name, value in values.items()}
            with DeferredSignals():  # all of them or, after a failure above, none
                self.apart = apart
                for name, value in made.items():
                    self.params[name].set(value, aliased=True)

    def extend(self, draft: Draft) -> None:
        """Add the slots of a draft."""
        with self.lock:
            for field, slots in draft.slots.items():
                getattr(self, field).update(slots)
                self._unplaced |= {
                    s for s in slots.values()
                    if field != "grads" and isinstance(draft.values[s], np.ndarray)
                }  # fmt: skip
            added = {
                f: {**getattr(self.state, f), **{n: draft.values[s] for n, s in slots.items()}}
                for f, slots in draft.slots.items()
                if slots
            }
            self.state = self.state._replace(**added)

    # ── Pending passes ──────────────────────────────────────────────────────────────────────

    @property
    def unfinished(self) -> bool:
        """Whether a pending pass reads or will replace the state."""
        return bool(self.work) or any(True for _ in self._unsettled())

    def run(self) -> None:
        """Run all pending passes that read or will replace the state."""
        with self.lock:
            for work in [*self.work.values(), *self._unsettled()]:
                work.run()

    def _unsettled(self) -> Iterable[Pending]:
        for reader in list(self._readers):
            work = reader()
            if work is not None and not work.settled:
                yield work

    def settle(self, *fields: str) -> None:
        """Run the passes that will replace these fields."""
        for field in fields:
            while (work := self.work.get(field)) is not None:
                work.run()
                if self.work.get(field) is work:
                    raise RuntimeError("a pending computation ended without a value")

    def promise(self, work: Work, field: str, released: Sequence[str] = ()) -> None:
        """Register ``work`` as the pass that will replace this field.

        A pending pass of another graph runs first, as it may replace other names. A pending pass
        of the same graph no longer replaces it. Gradients of the names ``released`` are dropped.
        """
        before = self.work.get(field)
        if before is not None and before.bound is not work.bound:
            before.run()
        self.await_work({**self.work, field: work}, released)

    def await_work(self, work: dict[str, Work], released: Sequence[str]) -> None:
        """Set the passes that will replace fields, by field; drop gradients of these names."""
        self.work = work
        params, optimizer, aux, grads = self.state
        if released and grads:
            left = grads.keys() - released
            self.state = TrainState(params, optimizer, aux, _part(grads, left) if left else {})

    def read(
        self, reader: Pending, params: Collection[str] = (), aux: Collection[str] = ()
    ) -> tuple[Arrays, Arrays]:
        """The `values` of these names, which ``reader`` keeps until it has run."""
        values = self.values(params, aux)
        if len(self._readers) > 16:
            self._readers = [r for r in self._readers if (w := r()) is not None and not w.settled]
        self._readers.append(weakref.ref(reader))
        return values

    def values(self, params: Collection[str], aux: Collection[str]) -> tuple[Arrays, Arrays]:
        """Parameters and auxiliary states, by name, computed now if they are pending."""
        if self.work:
            self.settle("params", "aux")
        if self._unplaced:
            for slot in list(self._unplaced):
                slot.peek()
        state = self.state
        return (
            state.params if len(state.params) == len(params) else _part(state.params, params),
            state.aux if len(state.aux) == len(aux) else _part(state.aux, aux),
        )

    def donated(self, taker: Pending, names: Sequence[str]) -> tuple[Arrays, Arrays]:
        """Parameters of these names and optimizer states, in buffers without aliases."""
        readers = self._readers
        if readers and (len(readers) != 1 or readers[0]() is not taker):
            for reader in [r for r in self._unsettled() if r is not taker]:
                reader.run()
        params, optimizer = self.state.params, self.state.optimizer
        if len(params) != len(names):
            params = _part(params, names)
        if len(optimizer) != len(names):
            optimizer = _part(optimizer, names)
        if self.aliased:
            params, optimizer = dict(params), dict(optimizer)
            for slot in self.aliased:
                slot.copy_in(params if slot.field == "params" else optimizer)
        return params, optimizer

    def is_lost(self) -> bool:
        """Whether a failed step has donated the buffers of parameters or of their states."""
        leaves = jax.tree.leaves((self.state.params, self.state.optimizer))
        return any(isinstance(x, jax.Array) and x.is_deleted() for x in leaves)

    def commit(self, work: Work, aux: Arrays, grads: Arrays) -> None:
        """Replace auxiliary states and gradients that wait for ``work`` by its results."""
        old, waits = self.state, self.work.get
        if waits("aux") is work:
            old = old._replace(aux={**old.aux, **aux})
        if waits("grads") is work:
            old = old._replace(grads={**old.grads, **grads})
        self.state = old
        self.withdraw(work)

    def replace(self, params: Arrays, optimizer: Arrays, aux: Arrays, grads: Arrays) -> None:
        """Replace all fields by the results of the step that they wait for."""
        old = self.state
        self.state = TrainState(
            params if len(params) == len(old.params) else {**old.params, **params},
            optimizer if len(optimizer) == len(old.optimizer) else {**old.optimizer, **optimizer},
            {**old.aux, **aux} if aux else old.aux,
            {**old.grads, **grads} if old.grads else grads,
        )
        self.work = {}
        if self._readers:
            self._readers.clear()
        if self.aliased:
            self.aliased = {s for s in self.aliased if s.name not in params}

    def restore(self, work: Work, grads: Arrays) -> None:
        """After a failure of ``work``: restore the gradients that it was to add to."""
        if self.work.get("grads") is work:
            self.state = self.state._replace(grads={**self.state.grads, **grads})
        self.withdraw(work)

    def withdraw(self, work: Work) -> None:
        """Unregister ``work``, which no longer replaces any field."""
        self.work = {f: w for f, w in self.work.items() if w is not work}

    # ── Optimizer states ────────────────────────────────────────────────────────────────────

    def adopt(
        self, names: Sequence[str], states: Sequence[Any], shards: Shards | None = None
    ) -> None:
        """Move optimizer states into the store: their handles become slots.

        Args:
            states: their states, trees of NDArrays.
            shards: the division of the states; ``None``: each device has them whole.
        """
        if all(map(operator.is_, map(self._states.get, names, itertools.repeat(self)), states)):
            return
        with self.lock:
            self.settle("optimizer")
            pairs = zip(names, states, strict=True)
            fresh = {n: state for n, state in pairs if self._states.get(n, self) is not state}
            self._release(fresh)
            for array in jax.tree.leaves(list(fresh.values())):
                slot = getattr(array._cell, "storage", array._cell)
                if isinstance(slot, StateSlot):  # of modules with other parameters
                    slot.store._release([slot.name])
            values, leaves = {}, []
            for name, state in fresh.items():
                arrays, layout = jax.tree.flatten(state)
                taken = [(shards or self.home).donatable(array) for array in arrays]
                values[name] = layout.unflatten(taken)
                self._slots[name] = [StateSlot(self, name, i, v) for i, v in enumerate(taken)]
                leaves += zip(arrays, self._slots[name], strict=True)
            self.state = self.state._replace(optimizer={**self.state.optimizer, **values})
            for array, slot in leaves:
                array._cell = (
                    shards.window(slot, array._cell.aval) if shards else self.home.logical(slot)
                )
            self._states |= fresh

    def _release(self, names: Collection[str]) -> None:
        """Move the states that parameters had before to a store of their own."""
        with self.lock:
            self.settle("optimizer")
            before = [name for name in names if self._states.pop(name, None) is not None]
            old = Store(self.home)
            old.state = old.state._replace(optimizer=_part(self.state.optimizer, before))
            for slot in (slot for name in before for slot in self._slots.pop(name)):
                if slot in self.aliased:
                    old.aliased.add(slot)
                slot.store = old
            self.aliased -= old.aliased


class Draft:
    """New slots of a bind, which are added to the store once it has succeeded."""

    def __init__(self, store: Store):
        self.store = store
        self.slots: dict[str, dict[str, Slot]] = {"params": {}, "aux": {}, "grads": {}}
        self.values: dict[Slot, Any] = {}

    def slot(self, field: str, name: str) -> Slot | None:
        """The slot of this name, in the store or in the draft."""
        return getattr(self.store, field).get(name) or self.slots[field].get(name)

    def add(self, field: str, name: str, value: Any) -> Slot:
        """A new slot."""
        slot = self.slots[field][name] = Slot(self.store, field, name, aval_of(value))
        self.values[slot] = value
        return slot


class Slot(AnyCell):
    """The cell of one value of a store."""

    __slots__ = ("aval", "field", "name", "store")

    def __init__(self, store: Store, field: str, name: str, aval: Any):
        self.store, self.field, self.name, self.aval = store, field, name, aval

    lock = property(lambda self: self.store.lock, doc="That of the store.")

    def version(self) -> Any:
        return None if self.is_pending else self._present()

    @property
    def is_pending(self) -> bool:
        return self.field in self.store.work

    def settle(self) -> None:
        with self.store.lock:
            self.store.settle(self.field)

    def _present(self) -> Any:
        return getattr(self.store.state, self.field).get(self.name)

    def _settled(self) -> Any:
        """The value as it lies, computed now if it is pending; the caller holds the lock."""
        self.store.settle(self.field)
        return self._present()

    def _put(self, value: Any) -> None:
        store = self.store
        values = {**getattr(store.state, self.field), self.name: value}
        store.state = store.state._replace(**{self.field: values})

    def _computed(self) -> jax.Array:
        """The value, computed now if it is pending, for as long as the store's lock is held."""
        store, value = self.store, self._settled()
        if value is None:
            raise NotReadyError("this array has no value yet: forward() comes first")
        if isinstance(value, np.ndarray):
            return self._placed(value)
        if isinstance(value, jax.Array) and value.is_deleted():
            if self._is_past(value):
                return self._computed()
            raise NotReadyError(f"{self.name!r}: {LOST}")
        if isinstance(value, Rows):
            with x64_for(value.dtype):
                return store.home.at(self.name).dense(value)
        return value

    def _is_past(self, value: jax.Array) -> bool:
        """Whether a signal handler has run a step since a read found this value, and donated it."""
        return value.is_deleted() and self._settled() is not value

    def get(self) -> jax.Array:
        """The value, which the caller may keep."""
        with self.store.lock:
            value = self._computed()
            self._mark_aliased()
            return self.get() if self._is_past(value) else value

    def peek(self) -> jax.Array:
        """The value, computed now if it is pending. The caller must not keep it."""
        with self.store.lock:
            value = self._computed()
            if other_threads():  # one may run a step before the caller has read it
                self._mark_aliased()
            return value

    def seen(self, look: Callable[[jax.Array], T]) -> T:
        """See `AnyCell.seen`: under the lock, so that the next step need not copy the value."""
        with self.store.lock:
            value = self._computed()
            try:
                return look(value)
            except RuntimeError:
                if not self._is_past(value):
                    raise
            return self.seen(look)

    @property
    def keeps_rows(self) -> bool:
        """See `AnyCell.keeps_rows`: an update outside of a step reads gradients on the host."""
        return self.field == "grads"

    def set_rows(self, rows: np.ndarray, *, aliased: bool) -> None:
        """Replace a gradient by a NumPy array; see `AnyCell.set_rows`."""
        with self.store.lock, DeferredReads():
            self.store.settle(self.field)
            self._put(rows.copy() if aliased else rows)

    def host(self) -> Any:
        with self.store.lock:
            value = self._settled()
            return value if isinstance(value, np.ndarray) else as_numpy(self.peek())

    def seen_on_host(self, look: Callable[[Any], T]) -> T:
        """See `AnyCell.seen_on_host`: under the lock, as `seen`."""
        with self.store.lock:
            value = self._settled()
            if isinstance(value, np.ndarray):
                return look(value)
            value = self._computed()
            try:
                return look(as_numpy(value))
            except RuntimeError:
                if not self._is_past(value):
                    raise
            return self.seen_on_host(look)

    def row_sparse(self) -> Rows | None:
        """The value, computed now if it is pending, where it is row-sparse; else ``None``.

        Of several replicas, with a part for each along a first axis.
        """
        with self.store.lock:
            value = self._settled()
            return value if isinstance(value, Rows) else None

    def _placed(self, value: np.ndarray) -> jax.Array:
        store = self.store
        # Not traced, even within another function's trace: the value outlives it.
        with jax.ensure_compile_time_eval(), x64_for(value.dtype):
            placed = jax.device_put(value, store.home.at(self.name).device)
        with DeferredReads():
            if self._settled() is not value:  # a signal handler has placed or written it
                return self._computed()
            self._put(placed)
            store._unplaced.discard(self)
            self._mark_aliased()  # a CPU device may alias the NumPy array
        return placed

    def _mark_aliased(self) -> None:
        if self.field in ("params", "optimizer"):  # the others are not donated
            self.store.aliased.add(self)

    def unmoved(self) -> Any:
        with self.store.lock:
            value = self._settled()
            return value if isinstance(value, np.ndarray) else self.get()

    def snapshot(self, reader: Pending) -> jax.Array:
        """The value, which ``reader`` keeps until it has run."""
        with self.store.lock:
            value = self._computed()
            self.store.read(reader)
            return value

    def take(self, taker: Pending | None = None) -> jax.Array:
        """A copy, to be donated."""
        with self.store.lock:
            return copy_of(self._computed())

    def copy_in(self, values: Arrays) -> None:
        """Replace the value by a copy in a dictionary of the values to donate."""
        value = values.get(self.name)
        if value is not None:
            values[self.name] = copy_of(value)

    def set(self, value: jax.Array, *, aliased: bool = False) -> None:
        """Replace the value."""
        store = self.store
        with store.lock, DeferredReads():  # a handler may run a step, which replaces the state
            store.settle(self.field)
            store.aliased.discard(self)
            if aliased:
                self._mark_aliased()
            store._unplaced.discard(self)
            self._put(value)
            if not isinstance(value, Rows):
                self.aval = value.aval

    def edit(self, change: Change, *, aliased: bool = False) -> None:
        """Replace the value by ``change`` of it, as one step that other threads wait for."""
        with self.store.lock, DeferredReads():
            self.set(change(self._computed()), aliased=aliased)

    def holds(self, value: Any) -> bool:
        """True if this buffer is the present value."""
        return not self.is_pending and self._present() is value


def _delegated(name: str) -> Any:
    """The method of a `Delegate` that calls the other cell's, under the lock."""

    def method(self: Delegate, *args: Any, **kwargs: Any) -> Any:
        with self.lock:
            return getattr(self._present(), name)(*args, **kwargs)

    return method


class Delegate(AnyCell):
    """A cell that stands for another one, which may change.

    Its ``lock`` is held while the other cell is found, and read or written.
    """

    __slots__ = ()

    def _present(self) -> AnyCell:
        """The other cell at present."""
        raise NotImplementedError

    @property
    def root(self) -> AnyCell:
        with self.lock:
            return self._present().root

    peek, get, snapshot = map(_delegated, ("peek", "get", "snapshot"))
    seen, seen_on_host = map(_delegated, ("seen", "seen_on_host"))
    take, set, edit = map(_delegated, ("take", "set", "edit"))

    def holds(self, value: Any) -> bool:
        with self.lock:
            return self._present().holds(value)


class Window(Delegate):
    """A parameter of several replicas as one array, in whichever way it is stored at present.

    Args:
        index: the replica whose own is read and written, where they train apart; ``None`` for the
            mean of all, which writes all.
    """

    __slots__ = ("aval", "index", "slot")

    def __init__(self, slot: Slot, index: int | None):
        self.slot, self.index = slot, index
        self.aval = self._present().aval

    def _present(self) -> AnyCell:
        store = self.slot.store
        home = store.home.at(self.slot.name)
        if not store.apart:
            return home.logical(self.slot, self.index or 0)
        return home.mean(self.slot) if self.index is None else home.part(self.slot, self.index)

    lock = property(lambda self: self.slot.store.lock, doc="That of the store.")


class StateSlot(Slot):
    """The cell of one array of an optimizer state, which is a tree of several."""

    __slots__ = ("index",)

    def __init__(self, store: Store, name: str, index: int, value: jax.Array):
        super().__init__(store, "optimizer", name, value.aval)
        self.index = index

    def _present(self) -> Any:
        return jax.tree.leaves(self.store.state.optimizer[self.name])[self.index]

    def _put(self, value: Any) -> None:
        store, optimizer = self.store, dict(self.store.state.optimizer)
        self._replace(optimizer, value)
        store.state = store.state._replace(optimizer=optimizer)

    def _replace(self, optimizer: Arrays, value: Any) -> None:
        leaves, layout = jax.tree.flatten(optimizer[self.name])
        leaves[self.index] = value
        optimizer[self.name] = layout.unflatten(leaves)

    def copy_in(self, values: Arrays) -> None:
        if self.name in values:
            self._replace(values, copy_of(jax.tree.leaves(values[self.name])[self.index]))
