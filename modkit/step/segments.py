"""Model-parallel graphs: split into segments, each compiled for one device.

A segment consists of successive nodes on one device in topological order. It is a graph of its own,
whose variables stand for outputs of earlier segments: its *borders*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from modkit.compile.memo import made_once
from modkit.context import Context
from modkit.ndarray.storage import placed_on
from modkit.ops.parameters import Shape
from modkit.step.placement import OneContext, contexts_of
from modkit.step.programs import Arrays, Programs
from modkit.symbol.graph import VARIABLE, Entry, Graph, Node, copied
from modkit.symbol.lower import Lowered
from modkit.symbol.structure import Structure

NodeOutput = tuple[int, int]
"""One output of a node: the node's number in the graph, and which output."""


class Segment:
    """The programs of one segment, and their inputs and outputs.

    Attributes:
        programs: compiled programs, with all inputs as ``local``.
        inputs: names of the variables and borders that they read.
        wrt: those of them that have gradients.
        made: names of the outputs that later segments read; the first of their outputs.
        heads: which of the graph's outputs the others are.
        key_data: which of the graph's key data are its own.
    """

    def __init__(self, programs: Programs, device: Any, graph: Graph, wrt: Sequence[str],
                 made: Sequence[str], heads: Sequence[int], streams: Sequence[int]):  # fmt: skip
        self.programs, self.device = programs, device
        self.inputs = tuple(n.name for n in graph.inputs)
        self.wrt, self.made, self.heads = tuple(wrt), tuple(made), tuple(heads)
        self.key_data = [0, 1, *(2 + at for at in streams)]


class SegmentedPrograms:
    """The same functions as `modkit.step.programs.Programs` has, over several devices.

    The backward pass visits the segments in reverse order. Cotangents of a value that several
    segments read are summed on the device of the value.
    """

    def __init__(self, lowered: Lowered, wrt: tuple[str, ...], train: bool, placement: OneContext):
        self._lowered, self._wrt, self._train = lowered, wrt, train
        graph = lowered.graph
        self._contexts = contexts_of(graph, placement.contexts[0], placement.groups)
        self._homes = {n.name: self._contexts[graph.index[id(n)]].jax_device for n in graph.inputs}
        self._cut = made_once(maxsize=64)(self._made)

    def _segments(self, values: Arrays) -> list[Segment]:
        """The segments; shapes of nodes like ``zeros((0, 4))`` may need the whole graph."""
        names = self._homes if self._lowered.open else ()
        return self._cut(tuple((n, values[n].shape) for n in names))

    def _made(self, inputs: tuple[tuple[str, Shape], ...]) -> list[Segment]:
        """The segments for inputs of these shapes; for any if none are given."""
        lowered = self._lowered
        values: Any = {name: jax.ShapeDtypeStruct(shape, np.float32) for name, shape in inputs}
        shapes = lowered.open_shapes(values)
        graph = Graph(_with_shapes(lowered.graph, shapes)) if shapes else lowered.graph
        return list(cut(graph, lowered, self._contexts, self._wrt, self._train))

    def forward(self, shared: Arrays, local: Arrays, aux: Arrays, key_data: Any) -> Any:
        """``(outputs, changed aux)``."""
        return self._forward({**shared, **local, **aux}, key_data, None)

    def predicting(self, args: Sequence[Any]) -> Callable[..., Any]:
        """See `modkit.step.programs.Programs.predicting`."""
        return self.forward

    def forward_kept(self, shared: Arrays, local: Arrays, aux: Arrays, key_data: Any) -> Any:
        """``(outputs, changed aux, pullbacks)``."""
        kept: list[Any] = []
        outputs, changed = self._forward({**shared, **local, **aux}, key_data, kept)
        return outputs, changed, kept

    def forward_backward(
        self, shared: Arrays, local: Arrays, aux: Arrays, key_data: Any, heads: Any, old: Arrays
    ) -> Any:
        """``(outputs, changed aux, gradients)``."""
        outputs, changed, kept = self.forward_kept(shared, local, aux, key_data)
        grads = self.backward(kept, outputs, heads, old)
        return outputs, {**changed, **self._lowered.take_states(grads)}, grads

    def _forward(self, values: dict[str, jax.Array], key_data: Any, kept: list[Any] | None) -> Any:
        outputs: list[Any] = [None] * len(self._lowered.output_names)
        changed: dict[str, jax.Array] = {}
        copies: dict[Any, dict[str, jax.Array]] = {}
        for segment in self._segments(values):
            there = copies.setdefault(segment.device, {})  # what several segments read moves once
            for name in segment.inputs:
                if name not in there:
                    there[name] = placed_on(values[name], segment.device)
            inputs = {}, {n: there[n] for n in segment.inputs}, {}, key_data[segment.key_data]
            if kept is not None and segment.wrt:
                results, new, pullback = segment.programs.forward_kept(*inputs)
                kept.append((segment, pullback, results))
            else:
                results, new = segment.programs.forward(*inputs)
            count = len(segment.made)
            values.update(zip(segment.made, results[:count], strict=True))
            for head, value in zip(segment.heads, results[count:], strict=True):
                outputs[head] = value
            # Later readers of a changed state see the new value, as inside one program.
            for name in [n for n in new if n in self._homes]:
                values[name] = changed[name] = new[name]
                for there in copies.values():
                    there.pop(name, None)
        return outputs, {n: placed_on(v, self._homes[n]) for n, v in changed.items()}

    def backward(self, kept: Any, outputs: Any, heads: Any, old: Arrays) -> dict[str, jax.Array]:
        """Gradients by name; missing heads are ones, and ``old`` values are added to."""
        given = heads or [None] * len(outputs)
        found: dict[str, Any] = dict(old)
        for segment, pullback, results in reversed(kept):
            device = segment.device
            own = [*(found.pop(n, None) for n in segment.made), *(given[i] for i in segment.heads)]
            own = [None if h is None else placed_on(h, device) for h in own]
            before = {n: placed_on(found[n], device) for n in segment.wrt if n in found}
            found.update(segment.programs.backward(pullback, results, own, before))
        written = [n for n in self._lowered.host_aux if n in found]
        return {n: placed_on(found[n], self._homes[n]) for n in (*self._wrt, *written)}


@made_once(maxsize=256)
def segmented_for(
    lowered: Lowered, wrt: tuple[str, ...], train: bool, placement: OneContext
) -> SegmentedPrograms:
    """The programs of a model-parallel graph, shared by all equal graphs."""
    return SegmentedPrograms(lowered, wrt, train, placement)


def cut(
    graph: Graph, whole: Lowered, contexts: Sequence[Context], wrt: Sequence[str], train: bool
) -> Iterator[Segment]:
    """The segments of a graph, in running order; ``whole`` is the graph, lowered."""
    runs = _runs(graph, [c.jax_device for c in contexts])
    number = {node: i for i, (_, nodes) in enumerate(runs) for node in nodes}
    made: list[dict[NodeOutput, None]] = [{} for _ in runs]
    moving: set[int] = set()
    for at, node in enumerate(graph.nodes):
        places = [graph.position(e) for e in node.inputs]
        if node.name in wrt if node.is_variable else any(a in moving for a, _ in places):
            moving.add(at)
        for place in places:
            if not graph.nodes[place[0]].is_variable and number[place[0]] != number[at]:
                made[number[place[0]]][place] = None
    heads = [graph.position(e) for e in graph.heads]
    for i, (device, nodes) in enumerate(runs):
        own = [n for n, (a, _) in enumerate(heads) if number[a] == i]
        part, borders, copies = _part(graph, nodes, [*made[i], *(heads[n] for n in own)])
        names = {*wrt, *(_border(p) for p in borders if p[0] in moving)}
        moved = tuple(n.name for n in part.inputs if n.name in names)
        context = contexts[nodes[0]]
        lowered = Lowered(part, Structure(part, whole.compute_dtype), borders=len(made[i]))
        found = {part.index[id(copies[at])]: n for at, n in whole.stream_of.items() if at in copies}
        streams = [found[node] for node in lowered.stream_of]
        programs = Programs(lowered, moved, train, OneContext(context))
        yield Segment(programs, device, part, moved, [_border(p) for p in made[i]], own, streams)


def _runs(graph: Graph, devices: Sequence[Any]) -> list[tuple[Any, list[int]]]:
    """Runs of successive operators on one device; last, variables that are outputs."""
    operators = [i for i, n in enumerate(graph.nodes) if not n.is_variable]
    variables = [graph.index[id(e.node)] for e in graph.heads if e.node.is_variable]
    runs: list[tuple[Any, list[int]]] = []
    for i in (*operators, *dict.fromkeys(variables)):
        if not runs or runs[-1][0] != devices[i]:
            runs.append((devices[i], []))
        runs[-1][1].append(i)
    return runs


def _part(
    graph: Graph, nodes: Sequence[int], heads: Sequence[NodeOutput]
) -> tuple[Graph, list[NodeOutput], dict[int, Node]]:
    """The graph of some nodes, the outputs that it reads as borders, and its nodes by number.

    Outputs and numbers are those of the whole graph.
    """
    copies: dict[int, Node] = {}
    borders: dict[NodeOutput, Node] = {}

    def copied(place: NodeOutput) -> Entry:
        at, output = place
        node = graph.nodes[at]
        if at not in copies and node.is_variable:
            copies[at] = Node(VARIABLE, node.name, node.attrs)
        if at in copies:
            return Entry(copies[at], output)
        return Entry(borders.setdefault(place, Node(VARIABLE, _border(place))))

    for at in nodes:
        node = graph.nodes[at]
        if not node.is_variable:
            inputs = [copied(graph.position(e)) for e in node.inputs]
            copies[at] = node.on(inputs)
    return Graph(map(copied, heads)), list(borders), copies


def _border(place: NodeOutput) -> str:
    """The name of a border, unlikely to be that of a variable."""
    return f"#{place[0]}:{place[1]}"


def _with_shapes(graph: Graph, shapes: Mapping[int, Shape]) -> list[Entry]:
    """The heads of a copy of the graph, in which some nodes have other shapes."""

    def shaped(node: Node, inputs: list[Entry]) -> Node:
        copy, number = node.on(inputs), graph.index[id(node)]
        if number in shapes:
            copy.attrs["shape"] = str(shapes[number])
        return copy

    return copied(graph, shaped)
