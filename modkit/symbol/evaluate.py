"""Evaluation of a graph's nodes while it is traced."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jax.ad_checkpoint import checkpoint_name

from modkit.errors import MXNetError
from modkit.ops import sparse_values
from modkit.ops.parameters import Shape
from modkit.ops.shape_inference import with_open_shape
from modkit.symbol import whole_numbers
from modkit.symbol.layout import Row, Stack, Value, moved_form
from modkit.symbol.node_call import NodeCall
from modkit.symbol.precision import read_as
from modkit.symbol.recompute import KEPT, Part
from modkit.symbol.reroll import Loop, joinable, joined, run_loop, split
from modkit.tuning.config import current

Env = dict[int, tuple[Value, ...]]
"""Results by the index of their node."""


class Watcher(Protocol):
    """Observer of node inputs and outputs during tracing."""

    def inputs(self, call: NodeCall, arrays: list[jax.Array]) -> list[jax.Array]:
        """Observe a node's inputs; the returned arrays take their place."""
        ...

    def outputs(self, call: NodeCall, arrays: Sequence[jax.Array]) -> None:
        """Observe a node's outputs, hidden ones too."""
        ...


class Draws(NamedTuple):
    """The random streams of a run.

    Attributes:
        key: the random key of the run.
        streams: numbers of the streams of the nodes that draw.
        positions: where the number of a node's stream is in ``streams``, by node.
    """

    key: jax.Array | None
    streams: Any
    positions: Mapping[int, int]

    def number(self, node: int) -> Any:
        """The number of a node's stream; any number for a node that does not draw."""
        return self.streams[self.positions.get(node, 0)]

    def numbers(self, segments: Sequence[Sequence[int]]) -> Any:
        """The numbers of the streams of segments that repeat."""
        return self.streams[np.array([[self.positions.get(i, 0) for i in s] for s in segments])]

    def key_of(self, number: Any) -> jax.Array | None:
        """The key of a stream."""
        return None if self.key is None else jax.random.fold_in(self.key, number)


Postponed = tuple[Callable[[list[jax.Array]], Any], list[jax.Array]]
"""The function and inputs of a node whose states are written after all nodes have run."""


class Evaluation(NamedTuple):
    """One run of a graph.

    Attributes:
        steps: the nodes in topological order.
        host_aux: variables that are written by nodes which call Python.
        compute_dtype: the 16-bit type that products are computed in; ``None`` for the arrays' own.
        shapes: shapes of the nodes like ``zeros((0, 4))``, by number.
        draws: the random streams.
        watcher: sees every node's inputs, which it may replace, and outputs.
        channels_last: compute on images with channels last where operators can.
        whole: for each node, whether it depends on what is differentiated, so that its gradient
            passes through whole numbers; empty if none does.
        sharing: the nodes that write states which others write too, where the order of writing is
            that of the backward pass.
        postponed: the calls of these nodes, by number, as they run.
    """

    steps: Sequence[NodeCall]
    host_aux: frozenset[int]
    compute_dtype: str | None
    shapes: Mapping[int, Shape]
    draws: Draws
    train: bool
    watcher: Watcher | None
    channels_last: bool
    whole: Sequence[bool]
    sharing: frozenset[int]
    postponed: dict[int, Postponed]

    def rerolls(self, part: Part) -> bool:
        """Whether segments of a part that repeat run as loops."""
        return self.watcher is None and not part.recomputed and current().rerolls

    def run(
        self, part: Part, items: Iterable[int | Loop], entering: Env
    ) -> tuple[Env, dict[str, jax.Array]]:
        """Run some nodes: the results that others read, and the variables that changed.

        Args:
            items: the same in running order, perhaps in loops.
            entering: the results of others that they read.
        """
        running = _Running(self, part, entering)
        # As in MXNet, of equal nodes there is one: what comes back to it is cut off as a sum.
        merged: dict[Any, tuple[Value, ...]] = {}
        env = running.env
        for item in items:
            if isinstance(item, Loop):
                numbers = self.draws.numbers(item.segments)
                env.update(run_loop(item, env, running.node, numbers))
            else:
                inputs = [env[a][b] for a, b in self.steps[item].inputs]
                key = self._merge_key(item, inputs)
                found = merged.get(key) or running.node(item, inputs, self.draws.number(item))
                env[item] = merged[key] = found
        return {i: env[i] for i in part.leaving if i in env}, running.changed

    def write_states(self, order: Iterable[int]) -> dict[str, jax.Array]:
        """States that several nodes write, by name: these nodes run once more, in this order.

        XLA merges equal operations, so that compiled programs compute the rest of a node once.
        """
        states: dict[int, jax.Array] = {}
        for node in order:
            call, (invoke, arrays) = self.steps[node], self.postponed[node]
            inputs = zip(call.inputs, arrays, strict=True)
            _, new = invoke([jax.lax.stop_gradient(states.get(a, x)) for (a, _), x in inputs])
            states |= call.written(new, self.train)
        return {self.steps[source].name: value for source, value in states.items()}

    def attrs(self, node: int) -> Mapping[str, Any]:
        """A node's parameters, with the shape that the rest of the graph decides."""
        own = self.steps[node].attrs
        return with_open_shape(own, self.shapes[node]) if node in self.shapes else own

    def read(self, node: int, arrays: list[jax.Array]) -> list[jax.Array]:
        """A node's inputs, dense, in the types that it computes in."""
        call = self.steps[node]
        if self.host_aux and not call.on_host:
            arrays = [
                jax.lax.stop_gradient(x) if a in self.host_aux else x
                for x, (a, _) in zip(arrays, call.inputs, strict=True)
            ]
        arrays = list(map(sparse_values.plain, arrays))
        arrays = read_as(call.operator, call.attrs, arrays, self.compute_dtype)
        return arrays if self.watcher is None else self.watcher.inputs(call, arrays)

    def passes_whole_numbers(self, node: int, inputs: Sequence[Value]) -> bool:
        """Whether a gradient passes through whole numbers that a node reads or makes."""
        depends = bool(self.whole) and self.whole[node]
        return depends and whole_numbers.is_passed(self.steps[node], inputs)

    def _merge_key(self, node: int, inputs: Sequence[Value]) -> Any:
        """A key by which nodes are merged: equal ones, if a gradient passes whole numbers there."""
        call = self.steps[node]
        if call.takes_key or not self.passes_whole_numbers(node, inputs):
            return id(call)
        return call.operator.name, str(call.attrs), tuple(map(id, inputs))


class _Running:
    """A part whose nodes are running.

    Attributes:
        changed: new values of variables, by name.
    """

    def __init__(self, evaluation: Evaluation, part: Part, entering: Env):
        self.env, self.changed = dict(entering), dict[str, jax.Array]()
        self._evaluation, self._recomputed = evaluation, part.recomputed
        self._rerolls = evaluation.rerolls(part)

    def node(self, i: int, inputs: Sequence[Value], number: Any) -> tuple[Value, ...]:
        """The results of one node, whose random stream has this number."""
        evaluation = self._evaluation
        call, attrs = evaluation.steps[i], evaluation.attrs(i)
        op = call.operator
        if self._rerolls and (rows := joinable(op.name, inputs)) is not None:
            with jax.named_scope(call.name):
                return (Value(joined(op.name, attrs, rows)),)
        whole = evaluation.passes_whole_numbers(i, inputs)
        moved = moved_form(op, attrs, inputs) if evaluation.channels_last and not whole else None
        arrays = [value.last if moved else value.plain for value in inputs]
        if evaluation.watcher is None and any(map(sparse_values.is_sparse, arrays)):
            made = sparse_values.call(op, arrays, attrs)
            if made is not None:
                return (Value(made),)
        arrays = evaluation.read(i, arrays)
        key = evaluation.draws.key_of(number) if op.takes_key else None
        form = moved or current().form(op)
        invoke = functools.partial(_call, call, attrs, key=key, train=evaluation.train, fn=form)
        if whole:
            return whole_numbers.results(call, attrs, arrays, inputs, invoke)
        made, new = invoke(arrays)
        if i in evaluation.sharing:
            evaluation.postponed[i] = invoke, arrays
            new = {n: value for n, value in new.items() if n not in op.aux}
        if self._recomputed and i not in self._recomputed:
            made = tuple(checkpoint_name(x, KEPT) for x in made)
        self._note(i, made, new)
        stack = split(op.name, attrs, arrays) if self._rerolls and moved is None else None
        return _values(made, stack, moved is not None)

    def _note(self, node: int, made: Sequence[jax.Array], new: Mapping[str, jax.Array]) -> None:
        """Show a node's outputs to the watcher, and keep the new values of variables."""
        evaluation = self._evaluation
        call = evaluation.steps[node]
        if evaluation.watcher is not None:
            evaluation.watcher.outputs(call, made)
        for source, value in call.written(new, evaluation.train).items():
            self.env[source] = (Value(value),)
            self.changed[evaluation.steps[source].name] = value


def _call(
    call: NodeCall, attrs: Mapping[str, Any], arrays: list[jax.Array], **options: Any
) -> tuple[tuple[jax.Array, ...], dict[str, jax.Array]]:
    """Run one operator under its node's name; ``options`` are those of `Op.call`."""
    op = call.operator
    with jax.named_scope(call.name):
        try:
            if op.drawn_on_host and op.check_values:
                op.check_values(arrays, attrs)
            return op.call(arrays, attrs, **options)
        except (TypeError, ValueError, IndexError, MXNetError) as error:
            got = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays) or "none"
            kind = type(error) if isinstance(error, MXNetError) else MXNetError
            raise kind(
                f"operator {op.name} of node {call.name!r} with inputs {got}: {error}"
            ) from error


def _values(arrays: Sequence[jax.Array], stack: Stack | None, moved: bool) -> tuple[Value, ...]:
    """The results of one node."""
    if stack is not None:
        return tuple(Value(y, row=Row(stack, at)) for at, y in enumerate(arrays))
    return tuple(Value(y, moved) for y in arrays)
