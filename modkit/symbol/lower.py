"""Lowering: the graph as one pure function of named arrays."""

from __future__ import annotations

import copy
import functools
import weakref
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from modkit import fork
from modkit.errors import NotSupportedError, ParameterError
from modkit.ops import sparse_values
from modkit.ops.integer_gradients import Whole
from modkit.ops.parameters import Shape
from modkit.ops.partial_shapes import complete, known_sizes, plain_sizes
from modkit.ops.shape_inference import has_open_shape
from modkit.ops.stype import CSR, ROWS
from modkit.symbol.evaluate import Draws, Env, Evaluation, Watcher
from modkit.symbol.graph import Graph, Node, entry_name, post_order, rewrite
from modkit.symbol.graph_inference import infer_shapes
from modkit.symbol.node_call import NodeCall, is_own
from modkit.symbol.precision import widened
from modkit.symbol.recompute import KEPT, Part, parts
from modkit.symbol.reroll import Loop, Nodes, rerolled
from modkit.symbol.row_sparse import Lookups, row_sources
from modkit.symbol.structure import Structure
from modkit.symbol.stypes import storage_of_inputs, storage_of_nodes, storage_types
from modkit.symbol.symbol import Symbol
from modkit.symbol.whole_numbers import joined_casts, value_of

Arrays = Mapping[str, jax.Array]

_POLICY = jax.checkpoint_policies.save_only_these_names(KEPT)


class Results(NamedTuple):
    """Results of a graph.

    Attributes:
        outputs: arrays, in the order of ``list_outputs()``; see `Lowered.run` for others.
        changed: new values of auxiliary states, and of arguments that an operator rewrites.
        anchor: a number that depends on every operator with a gradient of its own which is no
            output. Differentiation with the cotangent 0 for it runs their gradients.
        looked_up: row numbers by the name of the weight, for `Lowered.looked_up`.
    """

    outputs: list[Any]
    changed: dict[str, jax.Array]
    anchor: jax.Array
    looked_up: dict[str, list[Any]]


class Lowered:
    """A graph as a pure function; made by `lower`.

    Args:
        graph: the graph; a copy is kept.
        borders: how many of its outputs, from the first on, are values inside a larger graph, and
            so stay in the compute type.
        before: names of nodes of other graphs that draw from the same key.

    Attributes:
        graph: the graph, which is immutable.
        structure: hashable, equal for equal graphs: the key for caches of compiled programs.
        compute_dtype: the 16-bit type that products are computed in; ``None`` for the arrays' own.
        aux_names: auxiliary states, in the order of ``list_auxiliary_states()``.
        output_names: outputs, in the order of ``list_outputs()``.
        heads: for each output its node and which of the node's outputs it is.
        ignoring_heads: for each output, whether its operator needs no head gradient.
        steps: the nodes in topological order.
        takes_key: whether any operator draws random numbers.
        drawing: names of the nodes that draw, in topological order.
        streams: their stream numbers; see `streams_of`.
        stream_of: where the number of a node's stream is in ``streams``, by number of the node.
        on_host: whether running it calls Python.
        host_aux: auxiliary states that the nodes which call Python write, in the backward pass
            too: the cotangent of such a state's new value is that value, and the cotangent of its
            old one is what the backward pass leaves.
        needs_x64: whether any operator makes 64-bit values whatever its inputs: tracing needs
            JAX's 64-bit mode even if no argument does.
        row_sources: for weights of which only rows are read, the values that say which; see
            `modkit.symbol.row_sparse.row_sources`.
        looked_up: those of them whose row numbers are known once the graph has run.
        csr_inputs: the variables that are declared as csr arrays.
        row_sparse_inputs: those that are declared as row-sparse arrays.
        open: numbers of the nodes like ``zeros((0, 4))``, whose shape the rest of the graph
            decides.
    """

    _lent_by: Lowered | None = None
    _holder: Callable[[], Lowered | None] = staticmethod(lambda: None)

    def __init__(
        self, graph: Graph, structure: Structure, borders: int = 0, before: Iterable[str] = ()
    ):
        # A copy: the symbol's own nodes may be given other attributes later.
        graph = self.graph = Graph(rewrite(graph, {}))
        stypes = storage_types(graph)
        if stateful := list(filter(_keeps_state, graph.nodes)):
            found = storage_of_nodes(graph, stypes)
            for node in stateful:
                inputs = storage_of_inputs(node, found)
                node.own = node.own or node.op.own(node.params, node.name, inputs)
        self.structure = structure
        self.compute_dtype = structure.compute_dtype
        self.aux_names = tuple(n.name for n in graph.auxiliary)
        self.output_names = tuple(entry_name(h) for h in graph.heads)
        self.steps = _steps(graph, structure.compute_dtype)
        self.heads, self._borders = tuple(map(graph.position, graph.heads)), borders
        self.ignoring_heads = tuple(self.steps[i].ignores_cotangent for i, _ in self.heads)
        shown = {i for i, _ in self.heads}
        self._anchors = tuple(
            (i, 0) for i, s in enumerate(self.steps) if i not in shown and s.has_own_gradient
        )
        drawing = [i for i, s in enumerate(self.steps) if s.takes_key]
        self.takes_key = bool(drawing)
        self.drawing = tuple(self.steps[i].name for i in drawing)
        self.streams = streams_of(self.drawing, before)
        self.stream_of = {i: at for at, i in enumerate(drawing)}
        self.needs_x64 = any(s.makes_x64 for s in self.steps)
        host_nodes = [i for i, s in enumerate(self.steps) if s.on_host]
        self.on_host = bool(host_nodes)
        written = [each for i in host_nodes for each in self.steps[i].written_nodes]
        self._host_aux = frozenset(written)
        self.host_aux = tuple(self.steps[i].name for i in dict.fromkeys(written))
        # Row numbers that passed through the compute type may be rounded: rows are of exact ones.
        exact = structure.compute_dtype is None
        self.row_sources = row_sources(self.steps, shown, exact)
        self.looked_up = {
            n: s for n, s in self.row_sources.items() if isinstance(s, Lookups) and not s.repeatable
        }
        self._looked_up = tuple(e for source in self.looked_up.values() for e in source.entries)
        self.csr_inputs = frozenset(n for n, stype in stypes.items() if stype == CSR)
        self.row_sparse_inputs = frozenset(n for n, stype in stypes.items() if stype == ROWS)
        self._parts = parts(
            [None if s.op is None else [a for a, _ in s.inputs] for s in self.steps],
            [s.written_nodes for s in self.steps],
            [*shown, *(i for i, _ in (*self._anchors, *self._looked_up))],
            structure.recomputed,
            host_nodes,
        )
        self.open = tuple(
            i for i, s in enumerate(self.steps) if s.op and has_open_shape(s.op, s.attrs)
        )
        self._sharing = self._sharing_states()
        self._orders: dict[Part, tuple[int | Loop, ...]] = {}

    def __str__(self) -> str:
        """Its first output and its size, as in lines about the progress of compilations."""
        return f"{self.output_names[0]!r} ({len(self.steps):,} nodes)"

    @property
    def base(self) -> Lowered:
        """The object whose programs run the graph: itself, or the one that lent it."""
        return self._lent_by or self

    @property
    def is_free(self) -> bool:
        """Whether no object that it lent is alive."""
        return self._holder() is None

    def lend(self) -> Lowered:
        """A copy with new state of its nodes; this one is free again once the copy is gone."""
        for node in filter(_keeps_state, self.graph.nodes):
            node.op.renew(node.params)
        lent = copy.copy(self)
        lent._lent_by, self._holder = self, weakref.ref(lent)
        return lent

    def cache_key_parts(self) -> tuple[Any, ...]:
        """Cache key parts: the structure, and operators registered by users."""
        return *self.structure.key, self._borders, self._foreign()

    def _foreign(self) -> dict[str, Any]:
        """Functions of the operators that users registered, those of bodies too."""
        found = {s.op.name: s.op.fn for s in self.steps if s.op and not is_own(s.op)}
        for body in chain.from_iterable(s.attrs.get("bodies", ()) for s in self.steps):
            found |= body._foreign()
        return found

    def take_states(self, grads: dict[str, jax.Array]) -> dict[str, jax.Array]:
        """Remove the states of `host_aux` after the backward pass from gradients; return them."""
        return {n: grads.pop(n) for n in self.host_aux if n in grads}

    def frozen_states(self, wrt: Container[str]) -> frozenset[str]:
        """States that no backward pass changes: gradients by ``wrt`` do not reach their nodes.

        MXNet 1.9.1 writes moving statistics in the backward pass, so those of frozen layers
        stay. Nodes that call Python write their own states.
        """
        still: set[str] = set()
        moved = set(self.host_aux)
        for step, moves in zip(self.steps, self.reached(wrt), strict=True):
            names = {self.steps[i].name for i in step.written_nodes}
            (moved if moves else still).update(names)
        return frozenset(still - moved)

    def _sharing_states(self) -> frozenset[int]:
        """The nodes that write states which others write too."""
        if any(part.recomputed for part in self._parts):  # what these compute stays in them
            return frozenset()
        writing: dict[int, list[int]] = {}
        for i, call in enumerate(self.steps):
            for name, at in () if call.on_host else call.aux:
                if name in call.operator.aux:
                    writing.setdefault(call.inputs[at][0], []).append(i)
        return frozenset(chain.from_iterable(w for w in writing.values() if len(w) > 1))

    def writers(self, wrt: Container[str]) -> tuple[int, ...]:
        """The nodes that write states which others write too, in the order of the backward pass.

        MXNet 1.9.1 writes moving statistics in the backward pass. It computes the gradients in the
        order of the arguments, each by the nodes that read the argument, the last node first, and
        before a node those that read its outputs.
        """
        if not self._sharing:
            return ()
        readers: dict[int, list[int]] = {}
        for i in reversed(range(len(self.steps))):
            for source in {a for a, _ in self.steps[i].inputs}:
                readers.setdefault(source, []).append(i)
        wanted = [i for i, s in enumerate(self.steps) if s.op is None and s.name in wrt]
        first = chain.from_iterable(readers.get(i, ()) for i in wanted)
        order = post_order(first, lambda i: readers.get(i, ()))
        return tuple(i for i in order if i in self._sharing)

    def reached(self, wrt: Container[str], *, cotangents: bool = False) -> list[bool]:
        """For each node, whether a path, or one of cotangents, leads from it to these variables."""
        found: list[bool] = []
        for step in self.steps:
            inputs = step.inputs if not (cotangents and step.ignores_cotangent) else ()
            found.append(step.name in wrt if step.op is None else any(found[a] for a, _ in inputs))
        return found

    def run(
        self,
        values: Arrays,
        key: jax.Array | None,
        train: bool,
        watcher: Watcher | None = None,
        channels_last: bool = False,
        streams: Any = (),
        whole: Sequence[bool] = (),
        writers: Sequence[int] | None = None,
    ) -> Results:
        """The results of the graph.

        Args:
            values: every argument and auxiliary state by name; others are ignored.
            key: a JAX random key; may be ``None`` if no operator draws. A node's numbers depend
                on the node's name, not on its index.
            watcher: sees every node's inputs, which it may replace, and outputs.
            channels_last: compute on images with channels last where operators can, as is fast
                on CPUs; results keep their layout, and there must be no watcher.
            streams: the attribute ``streams`` as an argument, so that programs of graphs
                that differ in names only are equal; if empty, it is a constant of the program.
            whole: for each node, whether it depends on what is differentiated; gradients then pass
                through whole numbers, and ``values`` and the outputs may be `Whole`.
            writers: see `writers`; ``None`` writes states in the order of the nodes.

        Raises:
            ParameterError: a value is missing.
            MXNetError: an operator refuses its inputs; names the node.
        """
        env: Env = {
            i: (value_of(_value(values, s.name)),) for i, s in enumerate(self.steps) if s.op is None
        }
        changed: dict[str, jax.Array] = {}
        streams = streams if len(streams) else np.array(self.streams or (0,), np.uint32)
        evaluation = Evaluation(
            steps=self.steps,
            host_aux=self._host_aux,
            compute_dtype=self.compute_dtype,
            shapes=self.open_shapes(values),
            draws=Draws(key, streams, self.stream_of),
            train=train,
            watcher=watcher,
            channels_last=channels_last,
            whole=whole,
            sharing=frozenset() if writers is None else self._sharing,
            postponed={},
        )
        for part in self._parts:
            items = self._order(part) if evaluation.rerolls(part) else part.nodes
            compute: Callable[[Env], Any] = functools.partial(evaluation.run, part, items)
            if part.recomputed and watcher is None:
                compute = jax.checkpoint(compute, policy=_POLICY)
            leaving, new = compute({i: env[i] for i in part.entering})
            env.update(leaving)
            changed.update(new)
        changed.update(evaluation.write_states(writers or ()))
        outputs = [sparse_values.plain(env[i][j].plain) for i, j in self.heads]
        inner, shown = outputs[: self._borders], outputs[self._borders :]
        outputs = [*inner, *(widened(y, self.compute_dtype) for y in shown)]
        if whole:
            twins = [env[i][j].twin for i, j in self.heads]
            outputs = [y if t is None else Whole(y, t) for y, t in zip(outputs, twins, strict=True)]
        looked_up = {
            n: [sparse_values.plain(env[i][j].plain) for i, j in source.entries]
            for n, source in self.looked_up.items()
        }
        return Results(outputs, changed, self._anchor(env), looked_up)

    def _anchor(self, env: Env) -> Any:
        """See `Results.anchor`."""
        arrays = [sparse_values.plain(env[i][j].plain) for i, j in self._anchors]
        floats = [y for y in arrays if jnp.issubdtype(y.dtype, jnp.inexact)]
        return sum((y.sum(dtype=jnp.float32) for y in floats), np.zeros((), np.float32))

    def _order(self, part: Part) -> tuple[int | Loop, ...]:
        """The nodes of a part, segments that repeat as loops."""
        if part not in self._orders:
            params = [fields[2] for fields in self.structure.key[0]]
            kinds = [
                (s.op.name, params[i]) if s.op and self._may_reroll(i) else None
                for i, s in enumerate(self.steps)
            ]
            variables = frozenset(i for i, s in enumerate(self.steps) if s.op is None)
            reads = [s.inputs for s in self.steps]
            written = {each for s in self.steps for each in s.written_nodes}
            writers = {i for i, read in enumerate(reads) if any(a in written for a, _ in read)}
            left = (*self.heads, *self._anchors, *self._looked_up)
            nodes = Nodes(kinds, reads, variables, left, writers)
            self._orders[part] = rerolled(nodes, part.nodes)
        return self._orders[part]

    def _may_reroll(self, i: int) -> bool:
        """Whether a node may be part of a loop."""
        call = self.steps[i]
        single = call.aux or call.on_host or call.attrs.get("bodies") or self._host_aux
        return not (single or i in self.open)

    def needed_heads(self, wrt: Collection[str]) -> tuple[bool, ...]:
        """For each output, whether a gradient by one of ``wrt`` depends on its cotangent.

        It depends on none if every path to these variables passes a loss, or a derivative of 0.
        """
        if all(self.ignoring_heads):
            return (False,) * len(self.ignoring_heads)
        reached = self.reached(wrt, cotangents=True)
        return tuple(reached[i] for i, _ in self.heads)

    def ignores_head(self, index: int) -> bool:
        """Whether an output is a loss whose gradient is the same for any cotangent."""
        step = self.steps[self.heads[index][0]]
        return step.ignores_cotangent and not step.attrs.get("out_grad")

    def open_shapes(self, values: Arrays) -> dict[int, Shape]:
        """The shapes of the nodes that are ``open``, by number."""
        if not self.open:
            return {}
        known = {n.name: known_sizes(_value(values, n.name).shape) for n in self.graph.inputs}
        facts = infer_shapes(self.graph, known)
        found = {i: facts.outputs(self.graph.nodes[i])[0] for i in self.open}
        return {i: plain_sizes(shape) for i, shape in found.items() if complete(shape)}


def _keeps_state(node: Node) -> bool:
    return node.known_op is not None and node.known_op.on_host


def _value(values: Arrays, name: str) -> jax.Array:
    if name not in values:
        raise ParameterError(f"the graph needs a value for {name!r}, which was not given")
    return values[name]


def _steps(graph: Graph, compute_dtype: str | None) -> tuple[NodeCall, ...]:
    steps = []
    for node in graph.nodes:
        if node.is_variable:
            steps.append(NodeCall(node.name, None, {}, (), (), node.group))
            continue
        op, attrs = node.op, node.params
        if node.subgraphs:
            attrs = {**attrs, "bodies": _lowered_bodies(node, compute_dtype)}
        names = op.input_names(attrs)
        written = (*op.aux_names(attrs), *op.rewrites)
        aux = tuple(
            (n, i) for i, n in enumerate(names) if n in written and node.inputs[i].node.is_variable
        )
        refs = tuple(map(graph.position, node.inputs))
        call = NodeCall(node.name, op, attrs, refs, aux, node.group)
        steps.append(joined_casts(call, steps))
    return tuple(steps)


def streams_of(names: Iterable[str], before: Iterable[str] = ()) -> tuple[int, ...]:
    """Numbers of the random streams of nodes, by their names alone; of one name, each its own.

    So a node's numbers do not depend on other nodes; ``before`` has names of earlier ones.
    """
    counts, found = Counter(before), []
    for name in names:
        text = f"{name}\0{counts[name]}" if counts[name] else name
        found.append(zlib.crc32(text.encode()))
        counts[name] += 1
    return tuple(found)


def _lowered_bodies(node: Node, compute_dtype: str | None) -> tuple[Lowered, ...]:
    """The graphs that control flow runs; NotSupportedError where one calls Python."""
    made: list[Lowered] = []
    for body in node.subgraphs:
        _require_distinct_variables(body)
        before = chain.from_iterable(each.drawing for each in made)
        made.append(Lowered(body, Structure(body, compute_dtype), before=before))
    if any(each.on_host for each in made):
        raise NotSupportedError(
            f"operator {node.op_name} of node {node.name!r}: its body calls Python (Custom), which "
            "only operators outside of loops and branches may; write it in JAX, with "
            "modkit.ops.registry.op, or unroll the loop"
        )
    return tuple(made)


def _require_distinct_variables(graph: Graph) -> None:
    """Raise ParameterError for two variables of one name: they would share an array."""
    named: dict[str, Node] = {}
    for node in graph.nodes:
        if node.is_variable and named.setdefault(node.name, node) is not node:
            first, second = (_reader(graph, each) for each in (named[node.name], node))
            raise ParameterError(
                f"bind: got two variables with the name {node.name!r}, {first} and {second}; "
                "expected a name for each; give an operator another name=, or pass one "
                f"mx.sym.Variable({node.name!r}) to both"
            )


def _reader(graph: Graph, variable: Node) -> str:
    for node in graph.nodes:
        if any(entry.node is variable for entry in node.inputs):
            return f"an input of {node.op_name} {node.name!r}"
    return "an output of the graph"


_KEEP = 512
_made: OrderedDict[Structure, list[Lowered]] = OrderedDict()
_lock = fork.lock()  # a signal handler may bind while its thread builds


def lower(symbol: Symbol, compute_dtype: str | None = None) -> Lowered:
    """The symbol's graph as one pure function; equal graphs give the same object.

    A graph that calls Python is an object of its own each time: its nodes keep state. Its `base`,
    whose programs are compiled once, is lent again, with new state, after the object has gone.

    Args:
        compute_dtype: a 16-bit type to compute products in; see `modkit.symbol.precision`.

    Raises:
        NotSupportedError: the graph has an operator that modkit lacks.
        ParameterError: two variables have one name.
    """
    _require_distinct_variables(symbol.graph)
    structure = Structure(symbol.graph, compute_dtype)
    with _lock:
        made = _made.setdefault(structure, [])
        _made.move_to_end(structure)
        while len(_made) > _KEEP:
            _made.popitem(last=False)
        found = next((each for each in made if each.is_free), None)
        if found is None:
            found = Lowered(symbol.graph, structure)
            made.append(found)
        return found.lend() if found.on_host else found
