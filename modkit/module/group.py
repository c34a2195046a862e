"""The executor group: a module's graph over its contexts, as users of MXNet inspect it."""

from __future__ import annotations

import functools
import operator
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.allocator import keep_pages
from modkit.context import Context
from modkit.errors import MXNetError, NotSupportedError, ParameterError, ShapeError
from modkit.executor import Bound, Executor
from modkit.executor.avals import GraphAvals, avals_of
from modkit.executor.binding import grad_requests
from modkit.executor.bound import Cells
from modkit.executor.placement import contexts_of
from modkit.io import DataDesc
from modkit.module.replicas import Alone, Replicas, SameDevice, replicas_for
from modkit.ndarray import NDArray
from modkit.ndarray.cell import AnyCell, Cell, View, wide
from modkit.ndarray.host_cell import InputCell, LateCell, cell_of, present
from modkit.ops.registry import dtype_name
from modkit.symbol.lower import lower


def even_slices(batch_size: int, work_load: Sequence[float]) -> list[slice]:
    """A batch cut in proportion to ``work_load``.

    Raises:
        ParameterError: there are more devices than samples.
    """
    total = sum(work_load)
    counts = [round(batch_size * w / total) for w in work_load]
    short = batch_size - sum(counts)
    counts[-1] += short
    if min(counts) <= 0:
        raise ParameterError(
            f"a batch of {batch_size} samples cannot be cut for {len(counts)} devices with the "
            f"work loads {list(work_load)}; use a larger batch or fewer devices"
        )
    ends = np.cumsum(counts).tolist()
    return [slice(end - n, end) for end, n in zip(ends, counts, strict=True)]


def groups_of(group2ctxs: Any, count: int) -> list[dict[str, Context]]:
    """The contexts of ``ctx_group`` attributes for each of a module's contexts.

    Args:
        group2ctxs: a dictionary of a context by group, or of a list of contexts, one for each of
            the module's; or a list of such dictionaries; or ``None``.
        count: how many contexts the module has.

    Raises:
        ParameterError: something else, or of another length.
    """
    if group2ctxs is None or isinstance(group2ctxs, Mapping):
        each = group2ctxs or {}
        for group, given in each.items():
            if isinstance(given, list | tuple) and len(given) not in (1, count):
                raise ParameterError(
                    f"group2ctxs: group {group!r}: got {len(given)} contexts, expected one, or "
                    f"{count}: one for each context of the module"
                )
        group2ctxs = [
            {g: v[i % len(v)] if isinstance(v, list | tuple) else v for g, v in each.items()}
            for i in range(count)
        ]
    if not isinstance(group2ctxs, list | tuple) or len(group2ctxs) != count:
        raise ParameterError(
            f"group2ctxs: got {group2ctxs!r}, expected a dictionary such as {{'dev1': mx.gpu(0)}}, "
            f"or a list of {count} of them, one for each context of the module"
        )
    chosen = [dict(each or {}) for each in group2ctxs]
    for each in chosen:
        for group, ctx in each.items():
            if not isinstance(ctx, Context):
                raise ParameterError(
                    f"group2ctxs: group {group!r}: got {ctx!r}, expected a Context such as mx.cpu()"
                )
            ctx._check()  # an unknown device is an error here, not at the first batch
    return chosen


class Store:
    """The parameters of a module, and of all modules that share them.

    One cell a parameter, in the storage of one placement; `handles` are the logical arrays.
    """

    def __init__(self, home: Replicas | Alone):
        self.home = home
        self.params: Cells = {}
        self.grads: Cells = {}
        self.aux: Cells = {}

    def handle(self, name: str) -> NDArray:
        """A parameter as one array."""
        return NDArray(self.home.logical(self.params[name]), self.home.at(name).contexts[0])


class ExecutorGroup:
    """A symbol bound for a batch over one or several contexts.

    Equal slices run as replicas of one program; unequal ones as one program a context, which
    read the same parameters.

    Args:
        symbol: the graph.
        contexts: the devices.
        workload: what share of the batch each takes.
        data_shapes: of the data inputs.
        label_shapes: of the labels that the graph has, or ``None``.
        param_names: arguments that are neither.
        for_training: whether gradients are wanted.
        inputs_need_grad: whether those of the data inputs are wanted too.
        shared_group: a group whose parameters are used.
        fixed_param_names: parameters without gradients.
        grad_req: what is done with gradients.
        state_names: inputs that keep their value from batch to batch.
        group2ctxs: contexts of ``ctx_group`` attributes; see `groups_of`.
        compute_dtype: a 16-bit type to compute products in.
    """

    def __init__(
        self,
        symbol: Any,
        contexts: Sequence[Context],
        workload: Sequence[float],
        data_shapes: Sequence[DataDesc],
        label_shapes: Sequence[DataDesc] | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: ExecutorGroup | None = None,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Any = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        compute_dtype: str | None = None,
    ):
        self.symbol, self.contexts, self.workload = symbol, list(contexts), list(workload)
        self._groups = groups_of(group2ctxs, len(self.contexts))
        self._variable_contexts, self._output_contexts = _contexts(
            symbol, self.contexts, self._groups
        )
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.param_names = list(param_names)
        self.fixed_param_names = list(fixed_param_names or [])
        self.state_names = list(state_names or [])
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.data_names = [d.name for d in data_shapes]
        self.grad_req = self._requests(grad_req)
        self.trained = tuple(n for n in self.param_names if self.grad_req[n] != "null")
        self.places = tuple(map(self.param_names.index, self.trained))
        self._lowered = lower(symbol, compute_dtype)
        self._avals: dict[Any, GraphAvals] = {}
        self.store = shared_group.store if shared_group else None
        self.bind_exec(data_shapes, label_shapes)

    def _requests(self, grad_req: Any) -> dict[str, str]:
        """The gradient request for every argument, by its role."""
        given = grad_requests(grad_req, self.arg_names) if self.for_training else {}
        chosen = dict.fromkeys(self.arg_names, "null")
        for name in self.arg_names if self.for_training else ():
            if name in self.param_names:
                chosen[name] = "null" if name in self.fixed_param_names else given[name]
            elif name in self.data_names:
                chosen[name] = given[name] if self.inputs_need_grad else "null"
        return chosen

    # ── Binding ─────────────────────────────────────────────────────────────────────────────

    def bind_exec(
        self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc] | None
    ) -> None:
        """Bind for these input shapes; parameters stay.

        Raises:
            ShapeError: the shapes do not fit the network, or each other. Nothing has changed then.
        """
        kept = dict(self.__dict__)
        try:
            self._bind_exec(data_shapes, label_shapes)
        except MXNetError:
            self.__dict__.update(kept)
            raise

    def _bind_exec(
        self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc] | None
    ) -> None:
        self.data_shapes = list(data_shapes)
        self.label_shapes = list(label_shapes) if label_shapes else None
        self.label_names = [d.name for d in self.label_shapes or ()]
        descs = [*self.data_shapes, *(self.label_shapes or ())]
        self._axis = {d.name: DataDesc.get_batch_axis(d.layout) for d in descs}
        self.batch_size = self._batch_size(descs)
        self.slices = even_slices(self.batch_size, self.workload)
        sizes = {s.stop - s.start for s in self.slices}
        keep_pages(sum(self._infer(part).made for part in self.slices))
        apart = list(map(Alone, self.contexts, self._groups, self._variable_contexts))
        if any(home.spread for home in apart):
            together = apart[0] if len(apart) == 1 else None
            places = self._variable_contexts
        else:
            together, places = replicas_for(self.contexts), ()
        if self.store is None:
            # What cannot run as replicas is stored as theirs: each has its own statistics.
            self.store = Store(together or SameDevice(self.contexts, places))
        if len(sizes) == 1 and together is not None and together == self.store.home:
            self.bounds = [self._bind(together, 0, self.slices[0])]
        else:
            self.bounds = [
                self._bind(home, i, part)
                for i, (home, part) in enumerate(zip(apart, self.slices, strict=True))
            ]
        parts: Sequence[slice | None] = [None] if len(self.bounds) == 1 else self.slices
        self._parts = parts
        self._slots = {
            d.name: [
                (b.scope, b.placement.at(d.name), b.local[d.name], p)
                for b, p in zip(self.bounds, parts, strict=True)
            ]
            for d in descs
            if d.name in self.bounds[0].local
        }
        self._input_shapes = [tuple(d.shape) for d in descs]
        self._faces: list[Any] | None = None
        self._labels: Any = None

    def _batch_size(self, descs: Sequence[DataDesc]) -> int:
        sizes = {d.name: d.shape[self._axis[d.name]] for d in descs if self._axis[d.name] >= 0}
        if len(set(sizes.values())) != 1:
            listing = ", ".join(f"{d.name} {tuple(d.shape)}" for d in descs)
            raise ShapeError(
                f"bind: got {listing}: batch sizes {sizes}, expected one batch size for all data "
                "and labels; DataDesc(..., layout=) says which axis it is, by an N"
            )
        return next(iter(sizes.values()))

    def _local_shapes(self, part: slice) -> dict[str, tuple[int, ...]]:
        shapes = {}
        for desc in [*self.data_shapes, *(self.label_shapes or ())]:
            shape, axis = list(desc.shape), self._axis[desc.name]
            if axis >= 0:
                shape[axis] = part.stop - part.start
            shapes[desc.name] = tuple(shape)
        return shapes

    def _infer(self, part: slice) -> GraphAvals:
        """Shapes and dtypes of arguments, outputs and auxiliary states for one replica."""
        shapes = self._local_shapes(part)
        descs = [*self.data_shapes, *(self.label_shapes or ())]
        types = {d.name: dtype_name(d.dtype) for d in descs}
        key = (tuple(shapes.items()), tuple(types.items()))
        if key in self._avals:
            return self._avals[key]
        self._avals[key] = avals_of(self.symbol, shapes, types, "bind")
        return self._avals[key]

    def _bind(self, home: Replicas | Alone, index: int, part: slice) -> Bound:
        """Bind one program: all replicas of an even group, or one context of an uneven one."""
        store = self.store
        if store is None:
            raise MXNetError("the group has no parameters")
        args, outs, aux, _ = self._infer(part)
        shared = {
            n: self._param(store, n, args[n]) for n in self.arg_names if n in self.param_names
        }
        local: Cells = {
            n: _input(home, n, home.local_aval(args[n].shape, args[n].dtype))
            for n in self.arg_names
            if n not in shared
        }
        states = {n: self._aux(store, n, aux[n]) for n in self.aux_names}
        if home != store.home:
            shared = {n: _elsewhere(store.home.logical(c), home.at(n)) for n, c in shared.items()}
            states = {
                n: _elsewhere(store.home.part(c, index), home.at(n)) for n, c in states.items()
            }
        grads = {
            n: self._grad(store, home, n, args[n])
            for n in self.arg_names
            if self.grad_req[n] != "null"
        }
        out_avals = [home.local_aval(a.shape, a.dtype) for a in outs]
        return Bound(
            self._lowered, home, shared, local, states, grads, self.grad_req, out_avals
        )  # fmt: skip

    def _param(self, store: Store, name: str, aval: Any) -> AnyCell:
        found = store.params.get(name)
        if found is None:
            found = store.params[name] = _zeros(store.home.at(name), aval, shared=True)
        got = store.home.logical(found).aval
        if got.shape != aval.shape:
            raise ShapeError(
                f"bind: parameter {name!r} has shape {got.shape}, but these inputs need "
                f"{aval.shape}; shapes of inputs may change only where parameters do not"
            )
        return found

    def _aux(self, store: Store, name: str, aval: Any) -> AnyCell:
        if name not in store.aux:
            made = store.home.local_aval(aval.shape, aval.dtype)
            store.aux[name] = _zeros(store.home.at(name), made)
        return store.aux[name]

    def _grad(self, store: Store, home: Replicas | Alone, name: str, aval: Any) -> AnyCell:
        """A gradient's cell; groups that share parameters share those of their gradients."""
        made = home.local_aval(aval.shape, aval.dtype)
        if home != store.home or name not in store.params:
            return _zeros(home.at(name), made)
        if name not in store.grads:
            store.grads[name] = _zeros(home.at(name), made)
        return store.grads[name]

    @property
    def is_one_program(self) -> bool:
        """Whether a pass is one program: on one device, or on several as replicas."""
        return len(self.bounds) == 1 and not self.bounds[0].placement.spread

    # ── Running ─────────────────────────────────────────────────────────────────────────────

    def load(self, arrays: Sequence[Any], descs: Sequence[DataDesc]) -> None:
        """Put a batch's arrays where the next pass reads them."""
        for desc, value in zip(descs, arrays, strict=False):
            targets = self._slots.get(desc.name)
            if targets is None:  # an input that the graph has not
                continue
            axis = self._axis[desc.name]
            value = _value(value)
            for scope, home, cell, part in targets:
                piece = value if part is None or axis < 0 else _cut(value, part, axis)
                with scope:
                    if piece.dtype != cell.aval.dtype:
                        piece = piece.astype(cell.aval.dtype)
                    if isinstance(cell, InputCell) and isinstance(piece, np.ndarray):
                        cell.feed(piece)
                    else:
                        cell.set(home.split(piece, axis), lent=True)

    def takes(self, data: Sequence[Any], label: Sequence[Any] | None) -> bool:
        """Whether arrays have the shapes that the group is bound for."""
        return [tuple(a.shape) for a in (*data, *(label or ()))] == self._input_shapes

    @property
    def can_queue(self) -> bool:
        """Whether steps over several batches can be one program: nobody looks between them."""
        bound = self.bounds[0]
        watched = any(face._monitor is not None for face in self._faces or ())
        return self.is_one_program and not (bound.eager or bound.adds or watched)

    def taken(self, data: Sequence[Any], label: Sequence[Any] | None) -> dict[str, Any]:
        """A batch as the program takes it, by name of the input."""
        self.load(data, self.data_shapes)
        self.load(label or (), self.label_shapes or ())
        return {name: present(cell) for name, cell in self.bounds[0].local.items()}

    def loaded(self, labels: Any) -> bool:
        """Whether these labels are those of the last pass, and all its graph reads."""
        return (
            self._labels is not None
            and labels is not None
            and len(labels) == len(self._labels) == len(self.label_names)
            and all(
                mine is theirs and isinstance(mine, NDArray) and mine._cell.holds(value)
                for mine, (theirs, value) in zip(labels, self._labels, strict=True)
            )
            and all(n in self.bounds[0].local for n in self.label_names)
        )

    def forward(self, data: Sequence[Any], label: Sequence[Any] | None, is_train: bool) -> None:
        """Begin a pass over arrays of this group's shapes."""
        self.load(data, self.data_shapes)
        self._labels = None
        if label and self.label_shapes:
            values = [_value(each) for each in label]
            self._labels = list(zip(label, values, strict=True))
            self.load(values, self.label_shapes)
        for bound in self.bounds:
            bound.forward(bool(is_train))
        for face in self._faces or ():
            face.show_internals()

    def backward(self, out_grads: Sequence[Any] | None = None) -> None:
        """Ask for the gradients of the last pass.

        Raises:
            ParameterError: a head that is not a loss has no gradient given.
        """
        given = list(out_grads or [])
        self.bounds[0].require_heads(given)
        for bound, part in zip(self.bounds, self._parts, strict=True):
            bound.backward(self._heads(given, bound, part) if given else None)
        for face in self._faces or ():
            face.show_gradients(face._bound.last.heads if face._bound.last else None)

    def _heads(self, given: Sequence[Any], bound: Bound, part: slice | None) -> list[Any]:
        heads: list[Any] = []
        for value, axis in zip(given, self._output_axes, strict=False):
            piece = _value(value)
            if part is not None and axis >= 0:
                piece = _cut(piece, part, axis)
            heads.append(bound.placement.split(piece, axis))
        return heads + [None] * (len(self.output_names) - len(heads))

    @functools.cached_property
    def _output_axes(self) -> list[int]:
        """The batch axis of each output, from its ``__layout__`` attribute."""
        axes = []
        attrs = self.symbol.attr_dict()
        for name in self.output_names:
            owner = name.removesuffix("_output")
            layout = attrs.get(owner, {}).get("__layout__")
            axes.append(DataDesc.get_batch_axis(layout))
        return axes

    def gradients_of(self, name: str) -> list[NDArray]:
        """A parameter's gradient on each context."""
        return [g for g in (e.grad_dict[name] for e in self.execs) if g is not None]

    def summed_gradient(self, name: str) -> NDArray:
        """A parameter's gradient, summed over the contexts."""
        ctx = self.bounds[0].placement.at(name).contexts[0]
        values = [
            jax.device_put(b.grads[name].peek(), ctx.jax_device) if len(self.contexts) > 1
            else b.grads[name].get()
            for b in self.bounds
        ]  # fmt: skip
        if len(values) > 1:
            total = functools.reduce(operator.add, values)
        else:
            total = values[0].sum(0) if self.bounds[0].placement.count > 1 else values[0]
        return NDArray(Cell(total), ctx)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Add the last pass to a metric, context by context."""
        outputs = self.get_outputs(merge_multi_context=False)
        labels = labels or []
        for k, part in enumerate(self.slices):
            if pre_sliced:
                own = labels[k]
            elif len(self.contexts) == 1:
                own = labels
            else:
                own = [
                    v if self._axis.get(n, 0) < 0 else NDArray(cell_of(
                        _cut(_value(v), part, self._axis.get(n, 0)), self.contexts[k]),
                        self.contexts[k])
                    for n, v in zip(self.label_names, labels, strict=False)
                ]  # fmt: skip
            named = OrderedDict(zip(self.label_names, own, strict=False))
            preds = OrderedDict((n, o[k]) for n, o in zip(self.output_names, outputs, strict=True))
            eval_metric.update_dict(named, preds)

    # ── What came out ───────────────────────────────────────────────────────────────────────

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Outputs of the last pass: merged over the contexts, or a list for each of them."""
        cells = [[b.outputs[i] for b in self.bounds] for i in range(len(self.output_names))]
        places = [[own[i] for own in self._output_contexts] for i in range(len(self.output_names))]
        return self._gathered(cells, self._output_axes, places, merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data inputs, in their order."""
        cells = [[b.grads[n] for b in self.bounds] for n in self.data_names]
        axes = [self._axis[n] for n in self.data_names]
        return self._gathered(cells, axes, self._contexts_of(self.data_names), merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The states that are kept from batch to batch."""
        cells = [[b.local[n] for b in self.bounds] for n in self.state_names]
        axes = [self._axis.get(n, 0) for n in self.state_names]
        return self._gathered(cells, axes, self._contexts_of(self.state_names), merge_multi_context)

    def _contexts_of(self, names: Sequence[str]) -> list[list[Context]]:
        return [[places[n] for places in self._variable_contexts] for n in names]

    def _gathered(
        self, cells: Any, axes: Sequence[int], places: Sequence[Sequence[Context]], merge: bool
    ) -> list[Any]:
        return [
            self._merged(each, axis, own[0]) if merge else self._apart(each, own)
            for each, axis, own in zip(cells, axes, places, strict=True)
        ]

    def _merged(self, cells: Sequence[AnyCell], axis: int, ctx: Context) -> NDArray:
        if len(cells) == 1:
            whole = self.bounds[0].placement.joined(cells[0], axis)
            # One device's outputs are the executor's own; those of several are copied together.
            return NDArray(whole if len(self.contexts) == 1 else Cell(whole.peek()), ctx)
        parts = [jax.device_put(c.peek(), ctx.jax_device) for c in cells]
        value = jnp.concatenate(parts, axis) if axis >= 0 else parts[0]
        return NDArray(Cell(value), ctx)

    def _apart(self, cells: Sequence[AnyCell], places: Sequence[Context]) -> list[NDArray]:
        if len(cells) == 1:
            home = self.bounds[0].placement
            return [NDArray(home.part(cells[0], i), ctx) for i, ctx in enumerate(places)]
        return [NDArray(c, ctx) for c, ctx in zip(cells, places, strict=True)]

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Set the kept states: to arrays as `get_states` gives them, or all to a number."""
        if (states is None) == (value is None):
            raise ParameterError("set_states: give either states or value")
        for i, name in enumerate(self.state_names):
            for bound, part in zip(self.bounds, self._parts, strict=True):
                cell = bound.local[name]
                if states is None:
                    cell.set(jnp.full(cell.aval.shape, value, cell.aval.dtype))
                    continue
                given = states[i]
                if isinstance(given, list | tuple):
                    device = self.contexts[0].jax_device
                    whole = jnp.concatenate([jax.device_put(_value(g), device) for g in given])
                else:
                    whole = _value(given)
                piece = whole if part is None else _cut(whole, part, 0)
                home = bound.placement.at(name)
                cell.set(home.split(piece, self._axis.get(name, 0)), lent=True)

    # ── As users inspect it ─────────────────────────────────────────────────────────────────

    @property
    def execs(self) -> list[Any]:
        """An Executor for each context."""
        if self._faces is None:
            self._faces = [self._face(i) for i in range(len(self.contexts))]
        return self._faces

    def _face(self, index: int) -> Executor:
        alone = len(self.bounds) > 1 or len(self.contexts) == 1
        bound = self.bounds[index if len(self.bounds) > 1 else 0]
        ctx, home = self.contexts[index], bound.placement

        places = self._variable_contexts[index]

        def local(cell: AnyCell, place: Context) -> NDArray:
            return NDArray(cell if alone else home.part(cell, index), place)

        args = {
            n: NDArray(home.logical(bound.shared[n]), places[n]) if n in bound.shared
            else local(bound.local[n], places[n])
            for n in self.arg_names
        }  # fmt: skip
        grads = {
            n: local(bound.grads[n], places[n]) if n in bound.grads else None
            for n in self.arg_names
        }
        aux = {n: local(c, places[n]) for n, c in bound.aux.items()}
        face = Executor if alone else ReplicaExecutor
        groups = self._groups[index]
        made = face(self.symbol, ctx, args, grads, aux, self.grad_req, bound, groups)
        if not alone:
            made._outputs = list(map(local, bound.outputs, self._output_contexts[index]))
        return made

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """For each parameter its array on each context."""
        return [[e.arg_dict[n] for e in self.execs] for n in self.param_names]

    @property
    def grad_arrays(self) -> list[list[NDArray | None]] | None:
        """For each parameter its gradient on each context, ``None`` where it has none."""
        if not self.for_training:
            return None
        return [[e.grad_dict[n] for e in self.execs] for n in self.param_names]

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        """For each auxiliary state its array on each context."""
        return [[e.aux_dict[n] for e in self.execs] for n in self.aux_names]

    @property
    def state_arrays(self) -> list[list[NDArray]]:
        """For each kept state its array on each context."""
        return [[e.arg_dict[n] for e in self.execs] for n in self.state_names]

    @property
    def data_arrays(self) -> list[list[tuple[slice, NDArray]]]:
        """For each data input ``(slice, array)`` on each context."""
        return self._sliced(self.data_names)

    @property
    def label_arrays(self) -> list[list[tuple[slice, NDArray]]] | None:
        """The same for the labels."""
        names = [n for n in self.label_names if n in self.arg_names]
        return self._sliced(names) if self.label_shapes else None

    @property
    def input_grad_arrays(self) -> list[list[NDArray | None]] | None:
        """For each data input its gradient on each context."""
        if not self.inputs_need_grad:
            return None
        return [[e.grad_dict[n] for e in self.execs] for n in self.data_names]

    def _sliced(self, names: Sequence[str]) -> list[list[tuple[slice, NDArray]]]:
        return [
            [(s, e.arg_dict[n]) for s, e in zip(self.slices, self.execs, strict=True)]
            for n in names
        ]

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and whole-batch shapes of the outputs."""
        outs = self._infer(self.slices[0]).outs
        shapes = []
        for name, aval, axis in zip(self.output_names, outs, self._output_axes, strict=True):
            shape = list(aval.shape)
            if axis >= 0 and shape:
                per_sample = shape[axis] // (self.slices[0].stop - self.slices[0].start)
                shape[axis] = per_sample * self.batch_size
            shapes.append((name, tuple(shape)))
        return shapes


class ReplicaExecutor(Executor):
    """One context's view of a group that runs as replicas of one program."""

    def _shown(self, value: jax.Array) -> NDArray:
        home = self._bound.placement
        place = list(home.contexts).index(self._ctx)
        return NDArray(home.part(Cell(value), place), self._ctx)

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Raise: all replicas run together.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError(
            "this executor is one replica of a module on several contexts, which run together; "
            "call the module's forward()"
        )

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Raise: all replicas run together.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError(
            "this executor is one replica of a module on several contexts, which run together; "
            "call the module's backward()"
        )


def _contexts(
    symbol: Any, contexts: Sequence[Context], groups: Sequence[Mapping[str, Context]]
) -> tuple[list[dict[str, Context]], list[list[Context]]]:
    """For each context, where variables are, by name, and where the outputs."""
    graph = symbol.graph
    found = [contexts_of(graph, *own) for own in zip(contexts, groups, strict=True)]
    variables = [{n.name: own[graph.index[id(n)]] for n in graph.inputs} for own in found]
    outputs = [[own[graph.index[id(e.node)]] for e in graph.heads] for own in found]
    return variables, outputs


def _zeros(home: Replicas | Alone, aval: Any, *, shared: bool = False) -> Cell:
    """Storage for a value; on one device nothing is written until somebody reads it."""
    zeros = np.zeros(aval.shape, aval.dtype)
    if home.count == 1:
        return LateCell(zeros, home.contexts[0])
    with wide(aval.dtype):
        return Cell(home.share(zeros) if shared else home.store(zeros), lent=False)


def _input(home: Replicas | Alone, name: str, aval: Any) -> Cell:
    """A cell for data; of one program on one device, a cell that may leave it on the host."""
    if home.count > 1 or home.spread:
        return _zeros(home.at(name), aval)
    return InputCell(np.zeros(aval.shape, aval.dtype), home.contexts[0])


def _elsewhere(cell: AnyCell, home: Alone | Replicas) -> AnyCell:
    """A window on a parameter from another device."""
    device = home.contexts[0].jax_device

    def read(value: jax.Array) -> jax.Array:
        return jax.device_put(value, device)

    def write(before: jax.Array, value: jax.Array) -> jax.Array:
        return jax.device_put(value, before.sharding)

    return View(cell, read, write, cell.aval)


def _value(array: Any) -> Any:
    """What JAX can use: the array behind a handle, or a NumPy array that nobody else writes."""
    if isinstance(array, jax.Array):
        return array
    if isinstance(array, NDArray):
        return present(array.tostype("default")._cell)
    return np.array(array) if isinstance(array, np.ndarray) else jnp.asarray(array)


def _cut(value: Any, part: slice, axis: int) -> Any:
    return value[(slice(None),) * axis + (part,)]


def names_of(shapes: Mapping[str, Any] | Sequence[Any]) -> list[str]:
    """Names of the given descriptions."""
    return [s.name if isinstance(s, DataDesc) else s[0] for s in shapes]
