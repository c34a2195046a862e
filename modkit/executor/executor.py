"""Executor: a graph bound to arrays that users read and write through handles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from modkit.context import Context
from modkit.errors import ParameterError, ShapeError, check_known, listed, nearest, unknown
from modkit.executor import monitoring
from modkit.executor.avals import avals_of
from modkit.executor.memory_plan import planned_bytes
from modkit.ndarray.ndarray import NDArray, array, from_jax
from modkit.ndarray.sparse_cell import SparseStateCell
from modkit.ndarray.sparse_views import view_of
from modkit.ndarray.storage import Cell, View, placed_on
from modkit.ops.dtypes import dtype_name
from modkit.ops.parameters import Shape
from modkit.ops.stype import DENSE
from modkit.step.bound import Bound, RepeatedPass
from modkit.step.bound_arrays import BoundArrays
from modkit.step.placement import OneContext, contexts_of
from modkit.symbol import common_expressions
from modkit.symbol.lower import lower
from modkit.symbol.stypes import storage_of_outputs
from modkit.symbol.symbol import Symbol
from modkit.tuning.config import current

Handles = dict[str, NDArray]
MonitorCallback = Callable[[bytes, NDArray], Any]


class Executor:
    """A graph bound to arrays. Made by ``Symbol.bind`` and ``Symbol.simple_bind``.

    ``arg_dict``, ``grad_dict`` and ``aux_dict`` are the handles that were bound: writing into
    them (``arg_dict["w"][:] = 0``) is how parameters are set.
    """

    arg_dict: Handles
    aux_dict: Handles
    grad_dict: dict[str, NDArray | None]

    def __init__(
        self,
        symbol: Symbol,
        ctx: Context,
        args: Handles,
        grads: Mapping[str, NDArray | None],
        aux: Handles,
        grad_req: Mapping[str, str],
        bound: Bound | None = None,
        group2ctx: Mapping[str, Context] | None = None,
    ):
        self._symbol, self._ctx, self._grad_req = symbol, ctx, dict(grad_req)
        self.arg_dict, self.aux_dict, self.grad_dict = args, aux, dict(grads)
        self._argument_names, self._has_grads = list(args), True
        self._monitor: MonitorCallback | None = None
        self._monitor_all = False
        self._group2ctx = group2ctx
        self._attach(bound)

    def _attach(self, bound: Any) -> None:
        """Take the program of the graph, and show its outputs."""
        self._bound, self._lent = bound, bound.lent()
        self._merges = common_expressions.is_on()
        graph, arrays = self._symbol.graph, {**self.arg_dict, **self.aux_dict}
        contexts = contexts_of(graph, self._ctx, self._group2ctx)
        stypes = storage_of_outputs(graph, {n: a.stype for n, a in arrays.items()})
        heads = zip(bound.arrays.outputs, self._symbol.heads, stypes, strict=True)
        self._outputs = [
            view_of(cell, contexts[graph.index[id(head.node)]], stype)
            for cell, head, stype in heads
        ]

    def __repr__(self) -> str:
        given = listed([f"{name} {array.shape}" for name, array in self.arg_dict.items()])
        return f"<Executor {self._symbol.name or 'group'}: {given}; {self._ctx}>"

    # ── What is bound ───────────────────────────────────────────────────────────────────────

    @property
    def arg_arrays(self) -> list[NDArray]:
        """The arguments, in the order of ``list_arguments()``."""
        return [self.arg_dict[name] for name in self._argument_names]

    @property
    def grad_arrays(self) -> list[NDArray | None] | None:
        """Their gradients, ``None`` where there is none; ``None`` for a `bind` without them."""
        return [self.grad_dict[n] for n in self._argument_names] if self._has_grads else None

    @property
    def aux_arrays(self) -> list[NDArray]:
        """The auxiliary states."""
        return list(self.aux_dict.values())

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs of the last forward pass; zeros before the first."""
        return list(self._outputs)

    @property
    def output_dict(self) -> Handles:
        """The outputs by name.

        Raises:
            ParameterError: two outputs have one name.
        """
        names = self._symbol.list_outputs()
        if len(set(names)) != len(names):
            raise ParameterError(f"output_dict: duplicate output names in {names}")
        return dict(zip(names, self._outputs, strict=True))

    # ── Running ─────────────────────────────────────────────────────────────────────────────

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Run the graph. Arguments may be given new values by name.

        Outputs are computed when they are read.

        Raises:
            TypeError: a name that is no argument.
            ValueError: a value of another shape. A wrong name or shape writes no value.
        """
        self._write_arguments(kwargs)
        self._bound.forward(bool(is_train))
        self.show_internals()
        return self.outputs

    def _write_arguments(self, values: Mapping[str, Any]) -> None:
        for name in values:
            if name not in self.arg_dict:
                message = unknown("forward: unknown argument", name, self.arg_dict, "Arguments")
                raise UnknownArgumentError(message)
        remedy = "; use reshape() for another shape"
        for target, value in _fitting("forward", values, self.arg_dict, remedy):
            target._set(value)

    def backward(
        self, out_grads: NDArray | Sequence[NDArray] | Mapping[str, NDArray] | None = None,
        is_train: bool = True,
    ) -> None:  # fmt: skip
        """Gradients of the last forward pass, into ``grad_dict``; computed when they are read.

        Without a forward pass before, the gradients are those at the present values; so are those
        after ``forward(is_train=False)``, and those of a second call (see `Module.backward`).

        Args:
            out_grads: gradients of the outputs, in their order or by name. Losses need none, and
                ignore one of another shape.
            is_train: Ignored: `forward` has chosen the mode.

        Raises:
            NotReadyError: there was no forward pass, and the graph has auxiliary states.
            NameNotFoundError: a name in ``out_grads`` is no output.
            ParameterError: a head that is not a loss needs a gradient, and has none.
        """
        heads = self._heads(out_grads)
        if self._bound.last is None and not self.aux_dict:
            self._bound.forward(True)
        self._bound.backward(heads)
        self.show_gradients(heads)

    def _given_heads(self, out_grads: Any) -> list[Any]:
        """Gradients of outputs as a list, which may be too short."""
        arrays = NDArray | np.ndarray | jax.Array
        if isinstance(out_grads, arrays) or not isinstance(out_grads, Iterable | None):
            return [out_grads]
        if isinstance(out_grads, Mapping):
            names = self._symbol.list_outputs()
            for name in out_grads:
                check_known("backward: no output", name, names, "Outputs")
            return [out_grads.get(n) for n in names]
        return list(out_grads or ())

    def _heads(self, out_grads: Any) -> list[jax.Array | None] | None:
        heads = self._given_heads(out_grads)
        if not heads:
            return self._bound.cotangents.require([])
        shapes = [a.shape for a in self._bound.out_avals]
        return [
            None if g is None else (g if isinstance(g, NDArray) else array(g))._cell.for_program()
            for g in self._bound.cotangents.fitting(heads, shapes)
        ]

    # ── Setting ─────────────────────────────────────────────────────────────────────────────

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy values into arguments and auxiliary states, by name.

        Raises:
            ValueError: a name that is not bound, unless ``allow_extra_params``; another shape.
                A wrong name or shape writes no value.
        """
        found = []
        for values, into, what in (
            (arg_params, self.arg_dict, "arguments"),
            (aux_params or {}, self.aux_dict, "auxiliary states"),
        ):
            extra = [name for name in values if name not in into]
            if extra and not allow_extra_params:
                raise ParameterError(
                    f"copy_params_from: {extra[0]!r} is not among the {what}."
                    f"{nearest(extra[0], into)} Pass allow_extra_params=True to skip such names"
                )
            found += _fitting("copy_params_from", values, into)
        for target, value in found:
            target._set(value)

    def set_monitor_callback(
        self, callback: MonitorCallback | None, monitor_all: bool = False
    ) -> None:
        """Call ``callback(name, array)`` for each operator's outputs at every pass.

        At ``backward`` it is called for each operator's input gradients too, as
        ``"fc1_backward_output0"``; for the sums of gradients of what is read more than once
        (``"sum_grad_output"``), and for given head gradients (``"_head_grad_0_id_output"``).

        Args:
            callback: takes a name such as ``b"fc1_output"`` (bytes, as MXNet gives it) and an
                NDArray; ``None`` for none.
            monitor_all: at ``forward`` inputs too, as ``"fc1_weight"``.
        """
        self._monitor, self._monitor_all = callback, monitor_all
        self._watch(callback is not None)

    def _watch(self, on: bool) -> None:
        self._bound.watch(on)

    def show_internals(self) -> None:
        """Call the monitor callback, if there is one, with values of the latest forward pass."""
        self._show(monitoring.forward_values)

    def show_gradients(self, heads: Any = None) -> None:
        """Call the monitor callback with gradients of the latest backward pass."""
        self._show(monitoring.backward_values, heads)

    def _show(self, values_of: Callable[..., Any], *args: Any) -> None:
        last = self._bound.last
        if self._monitor is None or last is None:
            return
        # A settled pass has released its inputs: it is repeated over the present values, unless it
        # has kept what is shown.
        again = last.settled and (not last.watched or last.watched_values is None)
        one_pass = RepeatedPass(self._bound, last) if again else last
        try:
            for name, value in values_of(one_pass, self._monitor_all, *args):
                # Referred to during the call: the callback may hold its ctypes handle only.
                shown = self._shown(value)
                self._monitor(name.encode(), shown)
        finally:
            if one_pass is not last:
                one_pass.give_up()

    def _shown(self, value: jax.Array) -> NDArray:
        return from_jax(value, self._ctx)

    # ── Other shapes ────────────────────────────────────────────────────────────────────────

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any
    ) -> Executor:
        """An executor of the same graph for other input shapes.

        Arguments whose shape stays are the same handles; smaller ones are windows on the first
        elements of this executor's. So are gradients; one that is not requested is ``None``.

        Args:
            partial_shaping: arguments that are not named may change shape too.
            allow_up_sizing: arguments may grow, which makes new arrays.
            **kwargs: new shapes by argument name; as in `simple_bind`, names that the graph lacks
                are ignored.

        Raises:
            ParameterError: a shape changes or grows without leave.
        """
        known = {n: kwargs[n] for n in self.arg_dict if n in kwargs}
        given = {n: tuple(s) if isinstance(s, list) else s for n, s in known.items()}
        arg_shapes, aux_shapes = self._new_shapes(given)
        args, grads = {}, {}
        for name, shape in zip(self.arg_dict, arg_shapes, strict=True):
            old = self.arg_dict[name]
            old_grad = None if self._grad_req[name] == "null" else self.grad_dict[name]
            if shape != old.shape and name not in kwargs and not partial_shaping:
                raise ParameterError(
                    f"reshape: {name!r} was not named and would change from {old.shape} to "
                    f"{shape}; pass partial_shaping=True if that is meant"
                )
            args[name] = _resized(name, old, shape, allow_up_sizing)
            grads[name] = (
                None if old_grad is None else _resized(name, old_grad, shape, allow_up_sizing)
            )
        aux = {
            name: _resized(name, old, shape, allow_up_sizing)
            for (name, old), shape in zip(self.aux_dict.items(), aux_shapes, strict=True)
        }
        return self._on(args, grads, aux)

    def _new_shapes(self, given: Mapping[str, Any]) -> tuple[list[Shape], list[Shape]]:
        """Shapes of arguments and states from some; ShapeError where they do not follow."""
        arg_shapes, out_shapes, aux_shapes = self._symbol.infer_shape(**given)
        if arg_shapes is None or out_shapes is None:
            raise ShapeError(f"reshape: shapes {given} do not decide all argument shapes")
        return arg_shapes, aux_shapes or []

    def _on(self, args: Handles, grads: Mapping[str, NDArray | None], aux: Handles) -> Executor:
        """An executor like this one on other arrays."""
        made = make_executor(
            self._symbol, self._ctx, args, grads, aux, self._grad_req, self._group2ctx
        )
        for mine, other in zip(self._bound.arrays.outputs, made._bound.arrays.outputs, strict=True):
            if self._bound.last is None:
                mine.wait_for(_Zeros(mine, self._ctx, other), mine.aval)
        return made

    # ── Descriptions ────────────────────────────────────────────────────────────────────────

    def debug_str(self) -> str:
        """A text that describes the graph, and the memory that its operators' outputs need.

        MXNet plans such a size, and counts requests of scratch memory in the last line. XLA needs
        less, and plans its scratch when a program is compiled.
        """
        arrays = {**self.arg_dict, **self.aux_dict}
        size_bytes = planned_bytes(
            self._symbol.graph,
            {name: array.shape for name, array in arrays.items()},
            {name: dtype_name(array.dtype) for name, array in arrays.items()},
            self._bound.arrays.wrt,
            self._bound.lowered.structure.recomputed,
        )
        return (
            f"{self.get_optimized_symbol().debug_str()}Total {size_bytes >> 20} MB allocated\n"
            "Total 0 TempSpace resource requested\n"
        )

    def get_optimized_symbol(self) -> Symbol:
        """The graph, in which equal nodes are one; XLA optimises it further.

        They stay apart where the variable ``MXNET_ELIMINATE_COMMON_EXPR`` was 0 at `bind`.
        """
        if not self._merges:
            return self._symbol
        return Symbol(common_expressions.merged(self._symbol.graph))


class UnknownArgumentError(ParameterError):
    """A name that is no argument of the graph."""


class _Zeros:
    """Zeros, which an output shows until the first `forward`.

    If a smaller executor was reshaped from this one, its output is shown as the first elements.
    """

    settled = True

    def __init__(self, cell: Cell, ctx: Context, smaller: Cell | None = None):
        self._cell, self._ctx, self._smaller = cell, ctx, smaller

    def run(self) -> None:
        """Set the cell to zeros, with the smaller executor's output in front."""
        value = np.zeros(self._cell.aval.shape, self._cell.aval.dtype)
        if self._smaller is not None:
            part = np.asarray(self._smaller.peek()).reshape(-1)[: value.size]
            value.reshape(-1)[: part.size] = part
        self._cell.set(placed_on(value, self._ctx.jax_device))


def make_executor(
    symbol: Symbol,
    ctx: Context,
    args: Handles,
    grads: Mapping[str, NDArray | None],
    aux: Handles,
    grad_req: Mapping[str, str],
    group2ctx: Mapping[str, Context] | None,
) -> Executor:
    """Join a symbol and its handles, which must be complete and of the right shapes."""
    arrays = {**args, **aux}
    shapes = {n: a.shape for n, a in arrays.items()}
    avals = avals_of(symbol, shapes, {n: a.dtype for n, a in arrays.items()}, "bind")
    for name, aval in {**avals.args, **avals.aux}.items():
        if arrays[name].shape != aval.shape:
            raise ShapeError(
                f"bind: {name!r}: got an array of shape {shapes[name]}, expected {aval.shape}"
            )
    wanted = {n: g._cell for n, g in grads.items() if g is not None and grad_req[n] != "null"}
    if wanted and ctx._is_cpu:
        current().prepare_executor(avals.made)
    lowered = lower(symbol)
    cells = BoundArrays(
        shared={},
        local={n: a._cell for n, a in args.items()},
        aux={n: SparseStateCell(a) if a.stype != DENSE else a._cell for n, a in aux.items()},
        grads=wanted,
        grad_req=grad_req,
    )
    bound = Bound(lowered, OneContext(ctx, group2ctx), cells, avals.outs)
    for cell in cells.outputs:
        cell.wait_for(_Zeros(cell, ctx), cell.aval)
    return Executor(symbol, ctx, args, grads, aux, grad_req, bound, group2ctx)


def _fitting(
    where: str, values: Mapping[str, Any], into: Handles, remedy: str = ""
) -> list[tuple[NDArray, Any]]:
    """Pairs of an array and its new value, which is an array of the same shape."""
    found = [(name, into[name], value) for name, value in values.items() if name in into]
    for name, target, value in found:
        if not isinstance(value, NDArray | np.ndarray | jax.Array):
            raise ParameterError(
                f"{where}: {name!r}: got {type(value).__name__}, expected an NDArray"
            )
        if tuple(value.shape) != target.shape:
            raise ShapeError(
                f"{where}: {name!r}: expected shape {target.shape}, got "
                f"{tuple(value.shape)}{remedy}"
            )
    return [(target, value) for _, target, value in found]


def _resized(name: str, old: NDArray, shape: tuple[int, ...], grow: bool) -> NDArray:
    """``old`` itself, a window on its first elements, or a new array of zeros."""
    if np.prod(shape) > old.size:
        if not grow:
            raise ParameterError(
                f"reshape: {name!r} would grow from {old.shape} to {shape}; bind the largest shape "
                "first, or pass allow_up_sizing=True"
            )
        return array(np.zeros(shape, old._cell.aval.dtype), old.context, old.dtype)
    return first_elements(old, shape)


def first_elements(old: NDArray, shape: tuple[int, ...]) -> NDArray:
    """``old`` itself, or a window on its first elements in ``shape``, which it must hold."""
    if shape == old.shape:
        return old
    whole, size = old.shape, int(np.prod(shape))

    def read(base: jax.Array) -> jax.Array:
        return base.reshape(-1)[:size].reshape(shape)

    def write(base: jax.Array, value: jax.Array) -> jax.Array:
        return base.reshape(-1).at[:size].set(value.reshape(-1)).reshape(whole)

    def window(base: np.ndarray) -> np.ndarray:
        return base.reshape(-1)[:size].reshape(shape)

    return NDArray(View(old._cell, read, write, window=window), old.context)
