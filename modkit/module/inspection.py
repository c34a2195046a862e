"""Inspection of an executor group by users: executors and arrays of each context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.context import Context
from modkit.errors import NotSupportedError, ShapeError, wrong
from modkit.executor import Executor
from modkit.io import DataDesc
from modkit.io.base import descriptions
from modkit.module.binding import Binding, GroupBinding
from modkit.module.gradient_rows import gradient_view
from modkit.module.split_batch import batch_axes, local_shapes
from modkit.ndarray import NDArray
from modkit.ndarray.sparse_views import dense_view
from modkit.ndarray.storage import AnyCell, Cell
from modkit.ops.stype import ROWS
from modkit.step.bound import Bound
from modkit.step.placement import Placement
from modkit.step.store import Delegate, Store


class GroupInspection(GroupBinding):
    """A bound group to readers and monitors; `DataParallelExecutorGroup` runs it."""

    output_names: list[str]
    state_names: list[str]
    inputs_need_grad: bool
    binding: Binding
    store: Store
    _watched = False  # by a Monitor, which sets its callback at `tic`
    output_layouts: list[int]

    def bind_as_stored(self) -> None:
        """Bind anew for parameters that are stored in another way since."""
        raise NotImplementedError

    @property
    def follows_store(self) -> bool:
        """Whether parameters are stored as at the latest bind; a pass binds anew where not."""
        return self.binding.apart is self.store.apart

    # ── What it is bound for ────────────────────────────────────────────────────────────────

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the data inputs."""
        return self.binding.data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels; ``None`` without labels."""
        return self.binding.label_shapes

    @property
    def data_names(self) -> list[str]:
        """Names of the data inputs."""
        return [d.name for d in self.data_shapes]

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return list(self.binding.label_names)

    @property
    def batch_size(self) -> int:
        """Samples of a whole batch."""
        return self.slices[-1].stop

    @property
    def slices(self) -> list[slice]:
        """The part of the batch that each context takes."""
        return self.binding.slices

    @property
    def data_layouts(self) -> list[int]:
        """The batch axis of each data input; -1 for none."""
        return list(batch_axes(self.data_shapes).values())

    @property
    def label_layouts(self) -> list[int]:
        """The batch axis of each label; -1 for none."""
        return list(batch_axes(self.label_shapes or ()).values())

    @property
    def num_outputs(self) -> int:
        """Number of outputs."""
        return len(self.output_names)

    def decide_slices(self, data_shapes: Any) -> list[int]:
        """The batch axis of each given input; ShapeError for another batch size than the group."""
        descs = descriptions(data_shapes)
        axes = list(batch_axes(descs).values())
        for desc, axis in zip(descs, axes, strict=True):
            if axis >= 0 and desc.shape[axis] != self.batch_size:
                raise ShapeError(
                    f"decide_slices: {desc.name!r} has shape {tuple(desc.shape)}, whose axis {axis}"
                    f" is not the batch size {self.batch_size}; call reshape() for another"
                )
        return axes

    def _sliced_shape(self, shapes: Any, i: int, major_axis: Sequence[int]) -> list[DataDesc]:
        """Descriptions of the part of inputs that a context takes; layouts say the axes too."""
        descs = descriptions(shapes)
        sizes = local_shapes(descs, self.slices[i])
        return [DataDesc(d.name, sizes[d.name], d.dtype, d.layout) for d in descs]

    # ── What came out ───────────────────────────────────────────────────────────────────────

    def get_outputs(
        self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None
    ) -> list[Any]:
        """Outputs of the last pass: merged over the contexts, or a list for each of them.

        Args:
            merge_multi_context: whether to merge them.
            begin: the first of the outputs to return.
            end: the one after the last; ``None`` for all.
        """
        which = range(len(self.output_names))[begin:end]
        cells = [[b.arrays.outputs[i] for b in self.binding.bounds] for i in which]
        places = [[own[i] for own in self._output_contexts] for i in which]
        axes = [self.output_layouts[i] for i in which]
        return self._gathered(cells, axes, places, merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Gradients of the data inputs, in their order; ``None`` for those with ``"null"``."""
        made: list[Any] = []
        for name in self.data_names:
            cells: list[Any] = [b.arrays.grads.get(name) for b in self.binding.bounds]
            if None in cells:
                made.append(None if merge_multi_context else [None] * len(self.contexts))
            elif merge_multi_context:
                (place, *_) = (places[name] for places in self._variable_contexts)
                made.append(self._merged(cells, self.binding.axes[name], place))
            else:
                made.append([self._gradient(name, k) for k in range(len(self.contexts))])
        return made

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The states that are kept from batch to batch."""
        cells = [[b.arrays.local[n] for b in self.binding.bounds] for n in self.state_names]
        axes = [self.binding.axes.get(n, 0) for n in self.state_names]
        places = [[own[n] for own in self._variable_contexts] for n in self.state_names]
        return self._gathered(cells, axes, places, merge_multi_context)

    def _gathered(
        self, cells: Any, axes: Sequence[int], places: Sequence[Sequence[Context]], merge: bool
    ) -> list[Any]:
        return [
            self._merged(each, axis, own[0]) if merge else self._unmerged(each, own)
            for each, axis, own in zip(cells, axes, places, strict=True)
        ]

    def _merged(self, cells: Sequence[AnyCell], axis: int, ctx: Context) -> NDArray:
        if len(cells) == 1:
            whole = self.binding.bounds[0].placement.joined(cells[0], axis)
            # One device's outputs are the executor's own; those of several are copied together.
            return NDArray(whole if len(self.contexts) == 1 else Cell(whole.peek()), ctx)
        parts = [jax.device_put(c.peek(), ctx.jax_device) for c in cells]
        value = jnp.concatenate(parts, axis) if axis >= 0 else parts[0]
        return NDArray(Cell(value), ctx)

    def _unmerged(self, cells: Sequence[AnyCell], places: Sequence[Context]) -> list[NDArray]:
        if len(cells) == 1:
            home = self.binding.bounds[0].placement
            return [NDArray(home.part(cells[0], i), ctx) for i, ctx in enumerate(places)]
        return [NDArray(c, ctx) for c, ctx in zip(cells, places, strict=True)]

    # ── Executors and arrays ────────────────────────────────────────────────────────────────

    @property
    def execs(self) -> list[Any]:
        """An Executor for each context.

        Without an optimizer of the module, each context gets parameters of its own, as programs
        write them that loop over contexts; not between a forward pass and its backward pass.
        """
        by_hand = len(self.contexts) > 1 and not self.store.optimized
        if by_hand and not any(bound.awaits_backward() for bound in self.binding.bounds):
            self.store.train_apart(True)
        return self.executors

    @property
    def executors(self) -> list[Any]:
        """An Executor for each context, made on first access."""
        executors = self.binding.executors
        # A module moves its monitors before the next pass.
        watched = self._watched or any(each._monitor is not None for each in executors)
        if not (self.follows_store or watched):
            self.bind_as_stored()
            executors = self.binding.executors
        if not executors:
            executors.extend([self._executor(i) for i in range(len(self.contexts))])
        return executors

    def install_monitor(self, mon: Any) -> None:
        """Show every operator's outputs to a Monitor, until the next reshape."""
        if not hasattr(mon, "install") or isinstance(mon, type):
            raise wrong("monitor", mon, "a Monitor: mx.mon.Monitor(10)")
        for executor in self.executors:
            mon.install(executor)
        self._watched = True

    def _bound_of(self, index: int) -> tuple[Bound, bool]:
        """The program that runs a context's slice, and whether it runs no other's."""
        bounds = self.binding.bounds
        return bounds[index if len(bounds) > 1 else 0], len(bounds) == len(self.contexts)

    def _executor(self, index: int) -> Executor:
        bound, alone = self._bound_of(index)
        ctx, home, cells = self.contexts[index], bound.placement, bound.arrays
        places = self._variable_contexts[index]

        def local(cell: AnyCell, place: Context) -> NDArray:
            return NDArray(cell if alone else home.part(cell, index), place)

        args = {
            n: self._parameter(n, index) if n in cells.shared else local(cells.local[n], places[n])
            for n in self.arg_names
        }
        grads = {n: self._gradient(n, index) if n in cells.grads else None for n in self.arg_names}
        aux = {n: local(c, places[n]) for n, c in cells.aux.items()}
        kind = Executor if alone else ReplicaExecutor
        groups = self.group2ctxs[index]
        made = kind(self.symbol, ctx, args, grads, aux, self.grad_req, bound, groups)
        if not alone:
            made._outputs = list(map(local, cells.outputs, self._output_contexts[index]))
        return made

    def _parameter(self, name: str, index: int) -> NDArray:
        """A parameter of one context."""
        place = self._variable_contexts[index][name]
        bound, alone = self._bound_of(index)
        cell = (
            bound.arrays.shared[name] if alone else self.store.part(self.store.params[name], index)
        )
        by_rows = self.stypes.get(name) == ROWS
        return dense_view(cell, place) if by_rows else NDArray(cell, place)

    def _gradient(self, name: str, index: int) -> NDArray:
        """A gradient of one context; of several, of whichever programs compute it at present."""
        place = self._variable_contexts[index][name]
        if name in self.row_sparse_grads:
            return gradient_view(lambda: self._gradient_cell(name, index), index, place)
        if len(self.contexts) > 1:
            return NDArray(GradientCell(self, name, index), place)
        return NDArray(self._gradient_cell(name, index)[0], place)

    def _gradient_cell(self, name: str, index: int) -> tuple[AnyCell, Placement]:
        """A gradient's cell, which may have those of all contexts, and its placement."""
        bound, _ = self._bound_of(index)
        return bound.arrays.grads[name], bound.placement.at(name)

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """For each parameter its array on each context; see `execs`."""
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

    @property
    def shared_data_arrays(self) -> list[dict[str, NDArray]]:
        """For each context its data and labels by name."""
        names = [n for n in (*self.data_names, *self.label_names) if n in self.arg_names]
        return [{n: e.arg_dict[n] for n in names} for e in self.execs]

    def _sliced(self, names: Sequence[str]) -> list[list[tuple[slice, NDArray]]]:
        return [
            [(s, e.arg_dict[n]) for s, e in zip(self.slices, self.execs, strict=True)]
            for n in names
        ]

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and whole-batch shapes of the outputs."""
        outs = self._infer(self.binding.descs, self.slices[0]).outs
        shapes = []
        for name, aval, axis in zip(self.output_names, outs, self.output_layouts, strict=True):
            shape = list(aval.shape)
            if axis >= 0 and shape:
                per_sample = shape[axis] // (self.slices[0].stop - self.slices[0].start)
                shape[axis] = max(per_sample, 1) * self.batch_size  # 1: a sum, as in MXNet
            shapes.append((name, tuple(shape)))
        return shapes


class GradientCell(Delegate):
    """A gradient of one of several contexts, by whichever programs of a group compute it."""

    __slots__ = ("_group", "_index", "_name")

    def __init__(self, group: GroupInspection, name: str, index: int):
        self._group, self._name, self._index = group, name, index

    @property
    def aval(self) -> Any:
        """Shape and element type."""
        return self._present().aval

    def _present(self) -> AnyCell:
        cell, home = self._group._gradient_cell(self._name, self._index)
        return home.part(cell, self._index)

    lock = property(lambda self: self._group.store.lock, doc="That of the store.")


class ReplicaExecutor(Executor):
    """One context's view of a group that runs as replicas of one program."""

    def _shown(self, value: jax.Array) -> NDArray:
        home = self._bound.placement
        place = list(home.contexts).index(self._ctx)
        return NDArray(home.part(Cell(value), place), self._ctx)

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Raise NotSupportedError: all replicas run together."""
        raise _run_together("forward")

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Raise NotSupportedError: all replicas run together."""
        raise _run_together("backward")


def _run_together(method: str) -> NotSupportedError:
    return NotSupportedError(
        "this executor is one replica of a module on several contexts, which run together; "
        f"call the module's {method}()"
    )
