"""The executor of a graph whose sizes depend on values: its nodes run one by one, with a tape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modkit import autograd
from modkit.context import Context
from modkit.errors import NotReadyError, NotSupportedError, ShapeError
from modkit.executor import monitoring
from modkit.executor.executor import Executor, Handles
from modkit.ndarray.cached_op import call_node, evaluated
from modkit.ndarray.ndarray import NDArray, array
from modkit.ops.parameters import Shape
from modkit.step.cotangents import Cotangents
from modkit.step.node_taps import NodeInput
from modkit.step.placement import contexts_of
from modkit.symbol.graph import Node
from modkit.symbol.lower import lower


class NodeByNode(Executor):
    """An executor without a program: `forward` calls the operators, `backward` runs the tape.

    It has no outputs before the first `forward`, and new arrays as outputs after each. Random
    numbers are those of eager calls. A user's operator is made once for each node, not in a
    body, and shape of its inputs. As in MXNet, `bind` makes it and `simple_bind` does not.
    """

    def _attach(self, bound: Any) -> None:
        self._lowered = lower(self._symbol)
        graph, grads = self._lowered.graph, self.grad_dict.items()
        contexts = contexts_of(graph, self._ctx, self._group2ctx)
        self._places = {id(n): place for n, place in zip(graph.nodes, contexts, strict=True)}
        self._moved: list[tuple[NDArray, NDArray]] = []
        self._seen: list[tuple[str, NDArray]] = []
        self._wanted = {n: g for n, g in grads if g is not None and self._grad_req[n] != "null"}
        self._cotangents = Cotangents(self._lowered, self._wanted)
        self._reached = self._lowered.reached(tuple(self._wanted))
        self._taps: dict[NodeInput, NDArray] = {}
        self._outputs: list[NDArray] = []
        self._training = self._merges = False

    @property
    def output_dict(self) -> Handles:
        """The outputs by name. See `Executor.output_dict`.

        Raises:
            NotReadyError: there was no forward pass.
        """
        if not self._outputs:
            raise NotReadyError("output_dict needs forward() first: values decide sizes of outputs")
        return super().output_dict

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        self._write_arguments(kwargs)
        arrays = {**self.arg_dict, **self.aux_dict}
        # Other handles of the same cells: the user's own may be on the user's tape.
        given = {n: NDArray(each._cell, each.context) for n, each in arrays.items()}
        for name, grad in self._wanted.items():
            autograd.mark_variables(given[name], grad, self._grad_req[name])
        self._training, self._moved, self._seen, self._taps = bool(is_train), [], [], {}
        scope = autograd.record if self._wanted else autograd.pause
        with scope(train_mode=self._training):
            inputs = [given[name] for name in self._symbol.list_inputs()]
            self._outputs = evaluated(self._lowered.graph, inputs, self._call)
        self.show_internals()
        return self.outputs

    def _call(self, node: Node, inputs: Sequence[NDArray], _ctx: Context) -> Sequence[NDArray]:
        """The outputs of a node, on the context of its group."""
        op, attrs, ctx = node.op, node.params, self._places[id(node)]
        names = op.input_names(attrs)
        written = [n in (*op.aux_names(attrs), *op.rewrites) for n in names]
        here = [each.as_in_context(ctx) for each in inputs]
        if self._monitor and self._monitor_all:
            with autograd.pause():
                read = [x.copy() if new else x for x, new in zip(inputs, written, strict=True)]
            sources = [entry.node for entry in node.inputs]
            variables = [source.name if source.is_variable else None for source in sources]
            self._seen += monitoring.named_inputs(node.name, op, attrs, variables, read)
        if self._monitor:
            here = [
                x if new else self._tapped(node, i, x)
                for i, (x, new) in enumerate(zip(here, written, strict=True))
            ]
        made = call_node(node, here, ctx)
        if self._monitor:
            named = zip(op.output_names(attrs), made, strict=False)
            self._seen += [(f"{node.name}_{name}", each) for name, each in named]
        moved = zip(inputs, here, written, strict=True)
        moved = [(own, copy) for own, copy, new in moved if new and copy is not own]
        _write_back(moved)
        self._moved += moved  # a backward pass may write states, too
        return made

    def _tapped(self, node: Node, at: int, array: NDArray) -> NDArray:
        """An input of a node with zeros added, whose gradient is the input's; see `taps_for`."""
        index = self._lowered.graph.index[id(node)]
        step = self._lowered.steps[index]
        flows = self._reached[step.inputs[at][0]] or not step.on_host
        if not (self._reached[index] and flows and np.issubdtype(array.dtype, np.floating)):
            return array
        with autograd.pause():
            tap = self._taps[index, at] = array.zeros_like()
        tap.attach_grad()
        return array + tap

    def show_internals(self) -> None:
        if self._monitor is None:
            return
        with autograd.pause(train_mode=self._training):
            for name, array in self._seen:
                self._monitor(name.encode(), array.detach())

    def show_gradients(self, heads: Any = None) -> None:
        if self._monitor is None:
            return
        grads = {place: tap.grad for place, tap in self._taps.items()}
        named = monitoring.named_gradients(self._lowered, grads, heads, tuple(self._wanted))
        with autograd.pause(train_mode=self._training):
            for name, array in named:
                self._monitor(name.encode(), array)

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """See `Executor.backward`; NotReadyError where there was no forward pass."""
        if not self._outputs:
            raise NotReadyError("backward() needs forward(is_train=True) first")
        heads = self._given_heads(out_grads)
        self._cotangents.require(heads)
        for name, grad in self._wanted.items():
            if self._grad_req[name] != "add":
                grad[:] = 0  # if no output depends on it
        heads = [*heads, *[None] * len(self._outputs)][: len(self._outputs)]
        reached = [(o, h) for o, h in zip(self._outputs, heads, strict=True) if o._entry]
        if reached:
            given = [h if h is None or isinstance(h, NDArray) else array(h) for _, h in reached]
            autograd.backward(
                [output for output, _ in reached],
                given,
                retain_graph=True,
                train_mode=self._training,
            )
            _write_back(self._moved)
        self.show_gradients(heads)

    def _new_shapes(self, given: Mapping[str, Any]) -> tuple[list[Shape], list[Shape]]:
        found = self._symbol.infer_shape_partial(**given)
        arg_shapes, aux_shapes = found[0] or [], found[2] or []
        names = [*self.arg_dict, *self.aux_dict]
        for name, shape in zip(names, [*arg_shapes, *aux_shapes], strict=True):
            if not shape or 0 in shape:
                raise ShapeError(
                    f"reshape: shapes {given} do not decide the shape of {name!r}: pass it, too"
                )
        return arg_shapes, aux_shapes

    def _on(self, args: Handles, grads: Mapping[str, NDArray | None], aux: Handles) -> Executor:
        return NodeByNode(
            self._symbol, self._ctx, args, grads, aux, self._grad_req, group2ctx=self._group2ctx
        )

    def _watch(self, on: bool) -> None:
        if not on:
            self._seen = []

    def debug_str(self) -> str:
        """Raise: no memory is planned."""
        raise NotSupportedError(
            "debug_str: got a graph with sizes that depend on values (contrib.boolean_mask, "
            "branches of contrib.cond), expected one whose sizes follow from those of its arguments"
        )


def _write_back(moved: Sequence[tuple[NDArray, NDArray]]) -> None:
    """Write the states that nodes have on other contexts into the arrays of the graph."""
    for own, copy in moved:
        own._assign(copy)
