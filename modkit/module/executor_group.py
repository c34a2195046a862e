"""DataParallelExecutorGroup: a module's graph over its contexts, bound for a batch and run."""

from __future__ import annotations

import functools
import logging
import operator
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.context import Context
from modkit.errors import (
    NameNotFoundError,
    NotReadyError,
    ParameterError,
    ShapeError,
    nearest,
    wrong,
)
from modkit.executor.binding import grad_requests
from modkit.io import DataDesc
from modkit.io.base import descriptions
from modkit.module.binding import Binding, InputTarget
from modkit.module.inspection import GroupInspection
from modkit.module.parameters import Parameters
from modkit.module.split_batch import cut, groups_of, value_of
from modkit.ndarray import CSRNDArray, NDArray, add_n, concat
from modkit.ndarray.sparse_cell import SparseCell
from modkit.ndarray.sparse_views import dense_view
from modkit.ndarray.storage import (
    Cell,
    InputCell,
    ShardedInputCell,
    cell_of,
    new_cell,
    settle,
    take_over,
    x64_for,
)
from modkit.ops.stype import ROWS
from modkit.step.bound import Bound
from modkit.step.store import Store


def _load_general(
    data: Sequence[NDArray], targets: Sequence[Any], major_axis: Sequence[int] | None = None
) -> None:
    """Copy arrays to targets: each an array, or a list of (slice of the batch, array).

    Args:
        targets: a target for each of them.
        major_axis: the batch axis of each, -1 for none; default the first.
    """
    axes = [0] * len(data) if major_axis is None else major_axis
    for source, target, axis in zip(data, targets, axes, strict=True):
        if isinstance(target, NDArray):
            source.copyto(target)
            continue
        for part, array in target:
            own = source
            if axis >= 0:
                own = source.slice_axis(axis=axis, begin=part.start, end=part.stop)
            own.copyto(array)


def _load_data(batch: Any, targets: Sequence[Any], major_axis: Any = None) -> None:
    """Copy the data of a batch; see `_load_general`."""
    _load_general(batch.data, targets, major_axis)


def _load_label(batch: Any, targets: Sequence[Any], major_axis: Any = None) -> None:
    """Copy the labels of a batch; see `_load_general`."""
    _load_general(batch.label, targets, major_axis)


def _merge_multi_context(
    outputs: Sequence[Sequence[NDArray]], major_axis: Sequence[int]
) -> list[NDArray]:
    """Each output as one array on the first context; -1 as the axis takes the first context's."""
    merged = []
    for each, axis in zip(outputs, major_axis, strict=True):
        parts = [part.as_in_context(each[0].context) for part in each]
        merged.append(concat(*parts, dim=axis) if axis >= 0 and len(parts) > 1 else parts[0])
    return merged


class DataParallelExecutorGroup(GroupInspection):
    """A symbol bound for a batch over one or several contexts.

    Equal slices run as replicas of one program; unequal ones as one program a context, which
    read the same parameters; so do contexts that train apart, each with its own parameters.

    Args:
        workload: share of the batch of each context; ``None`` for equal ones.
        data_shapes, label_shapes: of the inputs that the graph has: DataDesc, or (name, shape).
        shared_group: a group whose parameters are used.
        state_names: inputs that keep their value from batch to batch.
        group2ctxs: contexts of ``ctx_group`` attributes; see `groups_of`.
        compute_dtype: a 16-bit type to compute products in.
        apart: whether each context has parameters of its own, as loops expect that update every
            array of ``param_arrays``. The contexts of a Module share them.

    Attributes:
        trained: names of the parameters with gradients.
        indices: their numbers in an updater, on the first context; other contexts' follow.
        stypes: storage types that variables declare, by name.
        row_sparse_grads: names of the arguments whose gradients are row-sparse.
        backed: True once gradients were requested.
        output_layouts: the batch axis of each output; -1 for none.
        group2ctxs: for each context, the contexts of ``ctx_group`` attributes.
    """

    backed = False

    def __init__(
        self,
        symbol: Any,
        contexts: Sequence[Context],
        workload: Sequence[float] | None,
        data_shapes: Any,
        label_shapes: Any,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Any = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Any = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Any = None,
        *,
        compute_dtype: str | None = None,
        apart: bool = True,
    ):
        self.symbol, self.contexts, self.logger = symbol, list(contexts), logger
        self.workload = list(workload or [1] * len(self.contexts))
        data_shapes = descriptions(data_shapes)
        label_shapes = descriptions(label_shapes) if label_shapes else None
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.param_names = list(param_names)
        self.fixed_param_names = list(fixed_param_names or [])
        self.state_names = list(state_names or [])
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.grad_req = self._requests(grad_req, [d.name for d in data_shapes])
        self.trained = tuple(n for n in self.param_names if self.grad_req[n] != "null")
        self.indices = tuple(self.param_names.index(n) * len(self.contexts) for n in self.trained)
        self._prepare(groups_of(group2ctxs, len(self.contexts)), compute_dtype)
        self.output_layouts = _output_axes(symbol)
        self._bind(data_shapes, label_shapes, shared_group.store if shared_group else None)
        if apart and len(self.contexts) > 1:
            self.store.train_apart(True)
            self.bind_as_stored()

    def _requests(self, grad_req: Any, data_names: Sequence[str]) -> dict[str, str]:
        """The gradient request for every argument: as it is named, or else by its role."""
        if not self.for_training:
            return dict.fromkeys(self.arg_names, "null")
        if not isinstance(grad_req, str | Mapping):
            return grad_requests(grad_req, self.arg_names)
        given = {} if isinstance(grad_req, str) else grad_req
        common = grad_req if isinstance(grad_req, str) else "write"
        wanted = {*self.param_names}.difference(self.fixed_param_names)
        if self.inputs_need_grad:
            wanted.update(data_names)
        by_role = {n: common if n in wanted else "null" for n in self.arg_names}
        return grad_requests(by_role | dict(given), self.arg_names)

    # ── Binding ─────────────────────────────────────────────────────────────────────────────

    def bind_exec(
        self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc] | None
    ) -> None:
        """Bind for these input shapes; parameters stay.

        Raises:
            ShapeError: the shapes do not fit the network, or each other. Nothing has changed then.
        """
        self._bind(data_shapes, label_shapes, self.store)

    def _bind(
        self,
        data_shapes: Sequence[DataDesc],
        label_shapes: Sequence[DataDesc] | None,
        store: Store | None,
    ) -> None:
        binding, draft = self._bound_for(data_shapes, label_shapes, store)
        draft.store.extend(draft)
        self.store: Store = draft.store
        self.binding: Binding = binding
        self._labels: Any = None

    def bind_as_stored(self) -> None:
        """Bind anew after a parameter is stored for each context, or again once for all.

        Inputs, gradients and the outputs of the latest pass keep their values.
        """
        arrays = self.binding.bounds[0].arrays
        dense = (n for n, cell in arrays.local.items() if not isinstance(cell, SparseCell))
        fields: list[tuple[str, Any]] = [("local", name) for name in dense]
        if self.backed:
            fields += [("grads", name) for name in arrays.grads]
        if self.binding.bounds[0].last is not None:
            fields += [("outputs", place) for place in range(len(arrays.outputs))]
        kept = [(field, name, self._rows(field, name)) for field, name in fields]
        self.bind_exec(self.data_shapes, self.label_shapes)
        for field, name, rows in kept:
            if rows is not None:
                self.fill(field, name, rows)

    def _rows(self, field: str, name: Any) -> list[jax.Array] | None:
        """The values of the contexts; ``None`` where a pass failed before them."""
        cells = [getattr(bound.arrays, field)[name] for bound in self.bounds]
        try:
            return [own._cell.get() for own in self._unmerged(cells, self.contexts)]
        except NotReadyError:
            return None

    def stored(self, field: str, name: str) -> jax.Array:
        """The values of all contexts, stacked on the first one's device."""
        rows = self._rows(field, name) or []
        device = self.binding.bounds[0].placement.at(name).device
        with x64_for(*(row.dtype for row in rows)):
            return jnp.stack(jax.device_put(rows, device))

    def fill(self, field: str, name: Any, rows: Sequence[Any]) -> None:
        """Replace the values of the contexts."""
        together = len(self.bounds) == 1
        for bound, own in zip(self.bounds, [rows] if together else rows, strict=True):
            home, cell = bound.placement.at(name), getattr(bound.arrays, field)[name]
            with x64_for(cell.aval.dtype):
                moved = jax.device_put(own, home.device)
                cell.set(home.store(jnp.stack(moved)) if together else moved, aliased=True)

    @property
    def bounds(self) -> list[Bound]:
        """One program for all contexts, or one for each of them."""
        return self.binding.bounds

    # ── Running ─────────────────────────────────────────────────────────────────────────────

    def load(self, values: Sequence[Any], descs: Sequence[DataDesc]) -> None:
        """Put a batch's values, as `value_of` gives them, where the next pass reads them.

        Csr arrays stay as they are where the graph declares them.
        """
        inputs = self.binding.inputs
        for desc, value in zip(descs, values, strict=False):
            targets = inputs.get(desc.name)
            if targets is None:  # an input that the graph has not
                continue
            home, cell, _ = targets[0]
            if isinstance(cell, SparseCell):
                for target in targets:
                    own: Any = target.cell
                    own.feed(value if target.part is None else cut(value, target.part, 0))
                continue
            if isinstance(value, CSRNDArray):
                value = value._dense()
            divided = isinstance(cell, ShardedInputCell) and home.platform == "cpu"
            if divided and getattr(value, "is_ready", lambda: True)():
                value = np.asarray(value)  # without a copy; a program divides it in less time
            whole = len(targets) == 1 and isinstance(value, np.ndarray)
            if whole and isinstance(cell, InputCell) and value.dtype == cell.aval.dtype:
                if home.count > 1:
                    value = home.stacked(value, self.binding.axes[desc.name])
                cell.feed(value)
            else:
                self._load_parts(targets, value, self.binding.axes[desc.name])

    def _load_parts(self, targets: Sequence[InputTarget], value: Any, axis: int) -> None:
        for home, cell, part in targets:
            piece = value if part is None or axis < 0 else cut(value, part, axis)
            with x64_for(piece.dtype, cell.aval.dtype):
                if piece.dtype != cell.aval.dtype:
                    piece = piece.astype(cell.aval.dtype)
                if isinstance(cell, InputCell) and isinstance(piece, np.ndarray):
                    cell.feed(home.stacked(piece, axis))
                else:
                    cell.set(home.split(piece, axis), aliased=True)

    def takes(self, data: Sequence[Any], label: Sequence[Any] | None) -> bool:
        """Whether arrays have the shapes that the group is bound for."""
        arrays, shapes = (*data, *(label or ())), self.binding.input_shapes
        if len(arrays) != len(shapes):
            return False
        for array, shape in zip(arrays, shapes, strict=True):
            if type(array) is NDArray:
                own = array._cell.aval.shape
            else:  # without a shape `as_batch` raises an error
                own = tuple(getattr(array, "shape", ()))
            if own != shape:
                return False
        return True

    def loaded(self, labels: Any) -> bool:
        """Whether these labels are those of the last pass, and all its graph reads."""
        binding, last = self.binding, self._labels
        if last is None or labels is None or not binding.labels_are_read:
            return False
        if not len(labels) == len(last) == len(binding.label_names):
            return False
        for mine, (theirs, value) in zip(labels, last, strict=True):
            if mine is not theirs or not isinstance(mine, NDArray) or not mine._cell.holds(value):
                return False
        return True

    def begin(
        self,
        data: Sequence[Any],
        label: Sequence[Any] | None,
        is_train: bool,
        given: Sequence[Any] | None = None,
    ) -> None:
        """Begin a pass over arrays of this group's shapes, ``given`` where those are `accepted`."""
        self._labels = None
        if given is not None:
            take_over(self.binding.input_cells, given)
            if label:
                self._labels = list(zip(label, given[len(data) :], strict=True))
        else:
            self.load(list(map(value_of, data)), self.binding.data_shapes)
            if label and self.binding.label_shapes:
                values = list(map(value_of, label))
                self._labels = list(zip(label, values, strict=True))
                self.load(values, self.binding.label_shapes)
        for bound in self.binding.bounds:
            bound.forward(bool(is_train))

    def show_internals(self) -> None:
        """Call the monitors of the latest pass."""
        for each in self.binding.executors:
            each.show_internals()

    def backward(self, out_grads: Sequence[Any] | None = None) -> None:
        """Request the gradients of the last pass.

        Raises:
            NotReadyError: the group is not bound for training.
            ParameterError: a head that is not a loss has no gradient given.
            ShapeError: it has one of another shape.
        """
        if not self.for_training:
            raise NotReadyError("backward() needs bind(for_training=True)")
        if not self.follows_store:
            last = self.bounds[0].last
            if last is not None and last.settled and last.kept is None:
                raise NotReadyError(
                    "backward: init_optimizer() has changed, since the last forward(), whether "
                    "each context trains parameters of its own (kvstore=None); call forward() "
                    "again first"
                )
        self.backed = True
        given = list(out_grads or [])
        if given:
            given = self.binding.bounds[0].cotangents.fitting(given, self._head_shapes())
        elif not self.binding.bounds[0].cotangents.only_losses:
            self.binding.bounds[0].cotangents.require(given)
        for bound, part in zip(self.binding.bounds, self.binding.parts, strict=True):
            bound.backward(self._heads(given, bound, part) if given else None)
        for each in self.binding.executors:
            each.show_gradients(each._bound.last.heads if each._bound.last else None)

    def _head_shapes(self) -> list[list[int]]:
        """Shapes of the outputs of all contexts together."""
        each = [self._infer(self.binding.descs, part).outs for part in self.slices]
        shapes = [list(aval.shape) for aval in each[0]]
        for i, (shape, axis) in enumerate(zip(shapes, self.output_layouts, strict=True)):
            if axis >= 0 and shape:
                shape[axis] = sum(outs[i].shape[axis] for outs in each)
        return shapes

    def _heads(self, given: Sequence[Any], bound: Bound, part: slice | None) -> list[Any]:
        heads: list[Any] = []
        for value, axis in zip(given, self.output_layouts, strict=True):
            piece = None if value is None else value_of(value)
            if part is not None and axis >= 0 and piece is not None:
                piece = cut(piece, part, axis)
            heads.append(None if piece is None else bound.placement.split(piece, axis))
        return heads

    def gradients_of(self, name: str) -> list[NDArray]:
        """A parameter's gradient on each context."""
        return [self._gradient(name, index) for index in range(len(self.contexts))]

    def weights_of(self, names: Sequence[str], index: int | None = None) -> list[NDArray]:
        """The parameters, or those of one context, in the storage types that they declare."""
        if index is not None:
            return [self._parameter(n, index) for n in names]
        handles = [self.store.handle(n) for n in names]
        rows = [self.stypes.get(n) == ROWS for n in names]
        pairs = zip(handles, rows, strict=True)
        return [dense_view(h._cell, h.ctx) if by_rows else h for h, by_rows in pairs]

    def summed_gradient(self, name: str) -> NDArray:
        """A parameter's gradient, summed over the contexts; row-sparse ones have all their rows."""
        if name in self.row_sparse_grads:
            each = self.gradients_of(name)
            return add_n(*each) if len(each) > 1 else each[0]
        bounds = self.binding.bounds
        cells = [bound.arrays.grads[name] for bound in bounds]
        ctx = bounds[0].placement.at(name).contexts[0]
        if len(self.contexts) == 1:
            return NDArray(new_cell(cells[0].unmoved(), ctx), ctx)
        values = [jax.device_put(cell.peek(), ctx.jax_device) for cell in cells]
        total = functools.reduce(operator.add, values)
        return NDArray(Cell(total if len(values) > 1 else total.sum(0)), ctx)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Add the last pass to a metric, context by context."""
        if not hasattr(eval_metric, "update_dict"):
            expected = 'an EvalMetric, such as mx.metric.create("acc")'
            raise wrong("update_metric: eval_metric", eval_metric, expected)
        outputs = self.get_outputs(merge_multi_context=False)
        labels = labels or []
        for k, part in enumerate(self.binding.slices):
            if pre_sliced:
                own = labels[k]
            elif len(self.contexts) == 1:
                own = labels
            else:
                named_labels = zip(self.label_names, labels, strict=False)
                own = [self._label_part(n, v, part, self.contexts[k]) for n, v in named_labels]
            named = OrderedDict(zip(self.label_names, own, strict=False))
            preds = OrderedDict((n, o[k]) for n, o in zip(self.output_names, outputs, strict=True))
            eval_metric.update_dict(named, preds)

    def _label_part(self, name: str, value: Any, part: slice, ctx: Context) -> Any:
        """A context's part of a label; one without a batch axis is whole."""
        axis = self.binding.axes.get(name, 0)
        return value if axis < 0 else NDArray(cell_of(cut(value_of(value), part, axis), ctx), ctx)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Set the kept states: to arrays as `get_states` gives them, or all to a number."""
        if (states is None) == (value is None):
            raise ParameterError("set_states: give either states or value")
        joined = {} if states is None else self._joined_states(states)
        for name in self.state_names:
            whole, end, several = joined.get(name), 0, len(self.binding.bounds) > 1
            for bound in self.binding.bounds:
                cell, home = bound.arrays.local[name], bound.placement.at(name)
                if whole is None:
                    with x64_for(cell.aval.dtype):
                        cell.set(jnp.full_like(cell.peek(), value))
                else:
                    start, end = end, end + cell.aval.shape[0]
                    piece = whole[start:end] if several else whole
                    cell.set(home.split(piece, self.binding.axes.get(name, 0)), aliased=True)

    def _joined_states(self, given: Any) -> dict[str, Any]:
        """The kept states as one array each, from an array or from a list of one per context."""
        names, device = self.state_names, self.contexts[0].jax_device
        lists = isinstance(given, list | tuple)
        states = [s if isinstance(s, list | tuple) else [s] for s in given] if lists else []
        arrays = all(state and all(isinstance(each, NDArray) for each in state) for state in states)
        if len(states) != len(names) or not arrays:
            got = [[type(each).__name__ for each in s] for s in states] if lists else given
            raise ParameterError(
                f"set_states: got {got!r}, expected a list of {len(names)} states, for {names}: "
                "arrays, or lists of an array for each context, as get_states() gives them"
            )
        joined = {}
        for name, state, before in zip(names, states, self.get_states(), strict=True):
            parts = [value_of(each.astype(before.dtype, copy=False)) for each in state]
            parts = [jax.device_put(part, device) for part in parts]
            joined[name] = parts[0] if len(parts) == 1 else jnp.concatenate(parts)
            if joined[name].shape != before.shape:
                raise ShapeError(
                    f"set_states: {name!r}: got shape {joined[name].shape}, expected {before.shape}"
                )
        return joined

    # ── As loops of MXNet call it ───────────────────────────────────────────────────────────

    def forward(self, data_batch: Any, is_train: bool | None = None) -> None:
        """Begin a pass over a batch.

        Args:
            data_batch: its ``data`` and ``label`` are lists of arrays; labels may be ``None``.
            is_train: whether it is of training; default ``for_training``.

        Raises:
            ShapeError: arrays of other shapes than those that are bound.
        """
        data, label = data_batch.data, (data_batch.label or None) if self.label_shapes else None
        settle((*data, *(label or ())))
        with self.store.lock:  # else another thread binds or feeds in between
            if not self.follows_store:
                self.bind_as_stored()
            _check_shapes(data, self.data_shapes)
            _check_shapes(label or (), self.label_shapes or ())
            self.begin(data, label, self.for_training if is_train is None else is_train)
        self.show_internals()

    def reshape(self, data_shapes: Any, label_shapes: Any = None) -> None:
        """Bind for other input shapes; parameters stay."""
        data = descriptions(data_shapes)
        labels = descriptions(label_shapes) if label_shapes else None
        if data != self.data_shapes or labels != self.label_shapes:
            self.bind_exec(data, labels)

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None,
        allow_extra: bool = False,
    ) -> None:
        """Set arguments and states everywhere; ParameterError for others unless ``allow_extra``."""
        for executor in self.executors:
            executor.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
    ) -> None:
        """Write means over the contexts to given arrays; NameNotFoundError where one is missing."""
        held = Parameters(
            self.store, self.param_names, self.aux_names, self.contexts[0], self.stypes
        )
        copies = held.copies()
        for values, given, what in (
            (copies.args, arg_params, "arg_params"),
            (copies.auxs, aux_params, "aux_params"),
        ):
            for name, value in values.items():
                if name not in given:
                    raise NameNotFoundError(
                        f"get_params: {what} has no {name!r}.{nearest(name, given)} Give an array "
                        f"for each of {', '.join(values)}; Module.get_params() makes them"
                    )
                given[name][:] = value


def _output_axes(symbol: Any) -> list[int]:
    """The batch axis of each output, from its ``__layout__`` attribute."""
    attrs = symbol.attr_dict()
    owners = (attrs.get(name.removesuffix("_output"), {}) for name in symbol.list_outputs())
    return [DataDesc.get_batch_axis(own.get("__layout__")) for own in owners]


def _check_shapes(arrays: Sequence[Any], descs: Sequence[DataDesc]) -> None:
    for array, desc in zip(arrays, descs, strict=False):
        if tuple(array.shape) != tuple(desc.shape):
            raise ShapeError(
                f"forward: {desc.name!r}: got shape {tuple(array.shape)}, but the group is bound "
                f"for {tuple(desc.shape)}; call reshape() first"
            )
