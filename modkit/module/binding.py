"""A module's graph bound over its contexts for one set of input shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from modkit.compile.memo import made_once
from modkit.context import Context
from modkit.errors import ShapeError
from modkit.executor.avals import GraphAvals, avals_of
from modkit.executor.binding import row_sparse_gradients
from modkit.io import DataDesc
from modkit.module.split_batch import batch_axes, batch_size_of, batch_slices, local_shapes
from modkit.ndarray.sparse import zeros
from modkit.ndarray.sparse_cell import RowsCell, SparseCell, SparsePartsCell
from modkit.ndarray.storage import (
    AnyCell,
    Cell,
    InputCell,
    LateCell,
    ShardedInputCell,
    View,
    x64_for,
)
from modkit.ops.dtypes import dtype_name
from modkit.ops.stype import CSR
from modkit.step.bound import Bound
from modkit.step.bound_arrays import BoundArrays, Cells
from modkit.step.placement import Placement, contexts_of
from modkit.step.replicas import DistinctDevices, SameDevice, SingleDevice, replicas_for
from modkit.step.store import Draft, Slot, Store
from modkit.symbol.lower import lower
from modkit.symbol.roles import roles_of
from modkit.symbol.stypes import storage_types
from modkit.tuning.config import current


class InputTarget(NamedTuple):
    """Target of a part of an input: placement of its program, its cell, its slice."""

    home: Placement
    cell: AnyCell
    part: slice | None


class Binding(NamedTuple):
    """The programs and cells of a graph bound for one set of input shapes.

    Attributes:
        label_shapes: of the labels, or ``None``.
        axes: the batch axis of each input, by name.
        slices: the part of each context.
        bounds: one program for all replicas, or one for each context.
        parts: the slice of each program; ``None`` for the whole batch.
        inputs: by name, the targets of the parts of an input; only of those in the graph.
        input_shapes: of data and labels, in their order.
        input_cells: their cells, if each reads a whole array on one device; else none.
        labels_are_read: whether the graph reads all of them.
        one_program: whether a pass is one program: on one device, or on several as replicas.
        can_queue: whether steps over batches are one program, in which the metric reads the labels.
        apart: `Store.apart` as it was bound for.
        executors: for inspection by users, made on first access.
    """

    data_shapes: list[DataDesc]
    label_shapes: list[DataDesc] | None
    axes: dict[str, int]
    slices: list[slice]
    bounds: list[Bound]
    parts: Sequence[slice | None]
    inputs: dict[str, list[InputTarget]]
    input_shapes: list[tuple[int, ...]]
    input_cells: Sequence[InputCell]
    label_names: tuple[str, ...]
    labels_are_read: bool
    one_program: bool
    can_queue: bool
    apart: bool
    executors: list[Any]

    @property
    def descs(self) -> list[DataDesc]:
        """Descriptions of data and labels."""
        return [*self.data_shapes, *(self.label_shapes or ())]


class GroupBinding:
    """A group's graph, which it binds for input shapes."""

    symbol: Any
    contexts: list[Context]
    workload: list[float]
    arg_names: list[str]
    param_names: list[str]
    aux_names: list[str]
    state_names: list[str]
    grad_req: dict[str, str]
    for_training: bool

    def _prepare(self, groups: Sequence[Mapping[str, Context]], compute_dtype: str | None) -> None:
        """Find what all bindings share; ``groups`` has for each context those of ``ctx_group``."""
        self.group2ctxs = list(groups)
        graph = self.symbol.graph
        self._variable_contexts, self._output_contexts = _contexts(graph, self.contexts, groups)
        self.stypes = storage_types(graph)
        self.row_sparse_grads = {
            n for n in row_sparse_gradients(self.symbol, self.stypes)
            if self.grad_req.get(n) == "write"
        }  # fmt: skip
        # Equal ones, unless nodes keep state: then each context has its own.
        self._lowered = [lower(self.symbol, compute_dtype) for _ in self.contexts]
        symbol = self.symbol
        self._avals = made_once(maxsize=256)(
            lambda shapes, types: avals_of(symbol, dict(shapes), dict(types), "bind")
        )

    def _bound_for(
        self,
        data_shapes: Sequence[DataDesc],
        label_shapes: Sequence[DataDesc] | None,
        store: Store | None,
    ) -> tuple[Binding, Draft]:
        """Bind for these shapes; nothing has changed if that fails.

        Args:
            store: of the parameters; ``None`` for a new one.

        Returns:
            The binding, and what is to be added to the store that the draft names.

        Raises:
            ShapeError: the shapes do not fit the network, or each other.
        """
        descs = [*data_shapes, *(label_shapes or ())]
        size = batch_size_of(descs)
        slices = batch_slices(size, self.workload)
        made = sum(self._infer(descs, part).made for part in slices)
        if self.for_training and all(ctx._is_cpu for ctx in self.contexts):
            current().prepare_training(made)
        single = list(map(SingleDevice, self.contexts, self.group2ctxs, self._variable_contexts))
        together, places = self._together(single)
        if store is None:
            # Programs that are not replicas use the same storage: each has its own statistics.
            store = Store(together or SameDevice(self.contexts, places))
        draft = Draft(store)
        even = len({s.stop - s.start for s in slices}) == 1
        homes: Sequence[Any] = single
        if even and together is not None and together == store.home and not store.apart:
            homes = [together]
        bounds = [
            self._bound(draft, home, i, self._infer(descs, part))
            for i, (home, part) in enumerate(zip(homes, slices[: len(homes)], strict=True))
        ]
        parts: Sequence[slice | None] = [None] if len(bounds) == 1 else slices
        inputs = _input_targets(bounds, parts, descs)
        label_names, first = tuple(d.name for d in label_shapes or ()), bounds[0]
        one_program = len(bounds) == 1 and not first.placement.model_parallel
        arrays = first.arrays
        labels_are_read = all(n in arrays.local for n in label_names)
        sparse = any(isinstance(cell, SparseCell) for cell in arrays.local.values())
        trains = self.for_training and arrays.store is not None and labels_are_read
        binding = Binding(
            data_shapes=list(data_shapes),
            label_shapes=list(label_shapes) if label_shapes else None,
            axes=batch_axes(descs),
            slices=slices,
            bounds=bounds,
            parts=parts,
            inputs=inputs,
            input_shapes=[tuple(d.shape) for d in descs],
            input_cells=_input_cells(inputs, descs),
            label_names=label_names,
            labels_are_read=labels_are_read,
            one_program=one_program,
            can_queue=one_program and trains and not (arrays.eager or arrays.adds or sparse),
            apart=store.apart,
            executors=[],
        )
        return binding, draft

    def _together(self, single: Sequence[SingleDevice]) -> tuple[Placement | None, Sequence[Any]]:
        """The placement of one program for all contexts, if any, and contexts of variables."""
        if any(home.model_parallel for home in single):
            return single[0] if len(single) == 1 else None, self._variable_contexts
        return replicas_for(self.contexts), ()

    def _infer(self, descs: Sequence[DataDesc], part: slice) -> GraphAvals:
        """Shapes and dtypes of arguments, outputs and auxiliary states for one replica."""
        shapes = local_shapes(descs, part)
        types = {d.name: dtype_name(d.dtype) for d in descs}
        return self._avals(tuple(shapes.items()), tuple(types.items()))

    def _param(self, draft: Draft, name: str, aval: Any) -> Slot:
        store, home = draft.store, draft.store.home
        found = draft.slot("params", name)
        if found is None:
            made = home.local_aval(aval.shape, aval.dtype) if store.apart else aval
            value = _zeros(home.at(name), made, shared=not store.apart)
            found = draft.add("params", name, value)
        got = store.logical(found).aval
        if got.shape != aval.shape:
            remedy = "shapes of inputs may change only where parameters do not"
            if name in (labels := roles_of(self.symbol).labels):
                remedy = (
                    f"it is a label of the network: make Module(..., label_names={list(labels)}), "
                    "or use mx.Predictor"
                )
            raise ShapeError(
                f"bind: parameter {name!r} has shape {got.shape}, but these inputs need "
                f"{aval.shape}; {remedy}"
            )
        return found

    def _bound(self, draft: Draft, home: Placement, index: int, avals: GraphAvals) -> Bound:
        """One program: of all replicas of an even group, or of one context of an uneven one."""
        store, args = draft.store, avals.args
        slots = {n: self._param(draft, n, args[n]) for n in self.arg_names if n in self.param_names}
        shared: Cells = {**slots}
        local: Cells = {
            n: _input(
                home, n, home.local_aval(args[n].shape, args[n].dtype), self.stypes.get(n) == CSR
            )
            for n in self.arg_names
            if n not in shared and n not in self.state_names
        }
        kept: Cells = {n: _kept(store, n, args[n]) for n in self.state_names}
        states: Cells = {n: _aux(draft, n, avals.aux[n]) for n in self.aux_names}
        if home != store.home:
            shared = {n: _elsewhere(store.part(c, index), home.at(n)) for n, c in slots.items()}
            kept, states = (
                {n: _elsewhere(store.home.part(c, index), home.at(n)) for n, c in cells.items()}
                for cells in (kept, states)
            )
        local |= kept
        grads = {
            n: _grad(draft, home, n, args[n], n in self.row_sparse_grads)
            for n in self.arg_names
            if self.grad_req[n] != "null"
        }
        outs = [home.local_aval(a.shape, a.dtype) for a in avals.outs]
        own = store if home == store.home else None
        arrays = BoundArrays(shared, local, states, grads, self.grad_req, own)
        return Bound(self._lowered[index], home, arrays, outs)


def _input_targets(
    bounds: Sequence[Bound], parts: Sequence[slice | None], descs: Sequence[DataDesc]
) -> dict[str, list[InputTarget]]:
    """See `Binding.inputs`."""
    return {
        d.name: [
            InputTarget(b.placement.at(d.name), b.arrays.local[d.name], part)
            for b, part in zip(bounds, parts, strict=True)
        ]
        for d in descs
        if d.name in bounds[0].arrays.local
    }


def _input_cells(
    inputs: Mapping[str, list[InputTarget]], descs: Sequence[DataDesc]
) -> list[InputCell]:
    """See `Binding.input_cells`."""
    slots = [slot for d in descs for slot in inputs.get(d.name, ())]
    cells = [s.cell for s in slots if isinstance(s.cell, InputCell) and s.home.count == 1]
    return cells if len(cells) == len(slots) == len(descs) else []


def _contexts(
    graph: Any, contexts: Sequence[Context], groups: Sequence[Mapping[str, Context]]
) -> tuple[list[dict[str, Context]], list[list[Context]]]:
    """For each context, where variables are, by name, and where the outputs."""
    found = [contexts_of(graph, *own) for own in zip(contexts, groups, strict=True)]
    variables = [{n.name: own[graph.index[id(n)]] for n in graph.inputs} for own in found]
    outputs = [[own[graph.index[id(e.node)]] for e in graph.heads] for own in found]
    return variables, outputs


def _kept(store: Store, name: str, aval: Any) -> AnyCell:
    """A state's cell, which outlives a binding, and is that of all modules."""
    made = store.home.local_aval(aval.shape, aval.dtype)
    return store.kept.setdefault((name, made), _zeros_cell(store.home.at(name), made))


def _aux(draft: Draft, name: str, aval: Any) -> AnyCell:
    home = draft.store.home
    made = home.local_aval(aval.shape, aval.dtype)
    return draft.slot("aux", name) or draft.add("aux", name, _zeros(home.at(name), made))


def _grad(draft: Draft, home: Placement, name: str, aval: Any, by_rows: bool) -> AnyCell:
    """A gradient's cell; groups that share parameters share those of their gradients."""
    made = home.local_aval(aval.shape, aval.dtype)
    if home != draft.store.home or draft.slot("params", name) is None:
        if by_rows:
            return RowsCell(made, home.at(name).device)
        return _zeros_cell(home.at(name), made)
    return draft.slot("grads", name) or draft.add("grads", name, _zeros(home.at(name), made))


def _zeros(home: Placement, aval: Any, *, shared: bool = False) -> Any:
    """Storage for a value; on one device nothing is written until it is read."""
    zeros = np.zeros(aval.shape, aval.dtype)
    if home.count == 1:
        return zeros
    with x64_for(aval.dtype):
        return home.share(zeros) if shared else home.store(zeros)


def _zeros_cell(home: Placement, aval: Any) -> Cell:
    value = _zeros(home, aval)
    if isinstance(value, np.ndarray):
        return LateCell(value, home.contexts[0])
    return Cell(value, aliased=False)


def _input(home: Placement, name: str, aval: Any, sparse: bool) -> AnyCell:
    """A cell for data; of a single program, a cell that may leave it on the host."""
    if home.model_parallel:
        return _zeros_cell(home.at(name), aval)
    if sparse and home.count > 1:
        whole = (aval.shape[0] * aval.shape[1], *aval.shape[2:])
        return SparsePartsCell(zeros(CSR, whole, home.contexts[0], aval.dtype), home)
    if sparse:
        return zeros(CSR, aval.shape, home.contexts[0], aval.dtype)._cell
    if isinstance(home, DistinctDevices):
        return ShardedInputCell(
            np.zeros(aval.shape, aval.dtype), home.contexts[0], home.row_sharding
        )
    return InputCell(np.zeros(aval.shape, aval.dtype), home.contexts[0])


def _elsewhere(cell: AnyCell, home: Placement) -> AnyCell:
    """A window on a parameter from another device."""
    device = home.device

    def read(value: jax.Array) -> jax.Array:
        return jax.device_put(value, device)

    def write(before: jax.Array, value: jax.Array) -> jax.Array:
        return jax.device_put(value, before.sharding)

    return View(cell, read, write, cell.aval)
