"""Lowering: the graph as one pure function of named arrays."""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import jax
from jax.ad_checkpoint import checkpoint_name

from modkit.errors import MXNetError, ParameterError
from modkit.ops.registry import WIDE, Op, Shape
from modkit.symbol.graph import Graph, entry_name, rewrite
from modkit.symbol.infer import infer_shapes
from modkit.symbol.layout import Value, moved_form
from modkit.symbol.mirror import KEPT, Part, parts, recomputed
from modkit.symbol.precision import read_as, widened
from modkit.symbol.shapes import has_open_shape

if TYPE_CHECKING:
    from modkit.symbol.symbol import Symbol

Arrays = Mapping[str, jax.Array]
Env = dict[int, tuple[Value, ...]]
"""Results by the place of their node."""

_POLICY = jax.checkpoint_policies.save_only_these_names(KEPT)


class Step(NamedTuple):
    """One node, ready to run; a variable has no operator."""

    name: str
    op: Op | None
    attrs: Mapping[str, Any]
    inputs: tuple[tuple[int, int], ...]
    aux: tuple[tuple[str, int], ...]
    group: str | None


class Watcher(Protocol):
    """Who looks on while a graph is traced."""

    def inputs(self, step: Step, arrays: list[jax.Array]) -> list[jax.Array]:
        """Told a node's inputs; what is returned is used instead."""
        ...

    def outputs(self, step: Step, arrays: Sequence[jax.Array]) -> None:
        """Told a node's outputs, hidden ones too."""
        ...


class Lowered:
    """A graph as a pure function. Made by `lower`.

    Args:
        graph: the graph; a copy is kept.
        structure: of this graph.
        borders: how many of its outputs, from the first on, are values inside a larger graph, and
            so stay in the compute type.

    Attributes:
        graph: the graph, which nobody changes.
        structure: hashable, equal for equal graphs: a key for caches of compiled programs.
        compute_dtype: the 16-bit type that products are computed in; ``None`` for the arrays' own.
        aux_names: auxiliary states, in the order of ``list_auxiliary_states()``.
        output_names: outputs, in the order of ``list_outputs()``.
        loss_heads: for each output, whether it is a loss, which needs no head gradient.
        steps: the nodes in running order.
        takes_key: whether any operator draws random numbers.
        on_host: whether running it calls Python.
        wide: whether any operator makes 64-bit values whatever its inputs, so that tracing needs
            JAX's 64-bit mode even if no argument does.
        open: numbers of the nodes like ``zeros((0, 4))``, whose shape the rest of the graph
            decides.
    """

    def __init__(self, graph: Graph, structure: Structure, borders: int = 0):
        # A copy: the symbol's own nodes may be given other attributes later.
        graph = self.graph = Graph(rewrite(graph, {}))
        self.structure = structure
        self.compute_dtype = structure.compute_dtype
        self.aux_names = tuple(n.name for n in graph.auxiliary)
        self.output_names = tuple(entry_name(h) for h in graph.heads)
        self.steps = _steps(graph)
        self._heads, self._borders = tuple(map(graph.position, graph.heads)), borders
        self.loss_heads = tuple(_is_loss(self.steps[i]) for i, _ in self._heads)
        self.takes_key = any(s.op is not None and s.op.takes_key for s in self.steps)
        self.wide = any(map(_makes_wide, self.steps))
        self.on_host = any(s.op is not None and s.op.on_host for s in self.steps)
        self._parts = parts(
            [None if s.op is None else [a for a, _ in s.inputs] for s in self.steps],
            [[s.inputs[at][0] for _, at in s.aux] for s in self.steps],
            [i for i, _ in self._heads],
            structure.recomputed,
        )
        self.open = tuple(
            i for i, s in enumerate(self.steps) if s.op and has_open_shape(s.op, s.attrs)
        )

    def facts(self) -> tuple[Any, ...]:
        """What decides the function: the structure, and operators that are not modkit's own."""
        foreign = {s.op.name: s.op.fn for s in self.steps if s.op and not _is_own(s.op)}
        return *self.structure.key, self._borders, foreign

    def run(
        self,
        values: Arrays,
        key: jax.Array | None,
        train: bool,
        watcher: Watcher | None = None,
        channels_last: bool = False,
    ) -> tuple[list[jax.Array], dict[str, jax.Array]]:
        """The outputs, and the new values of the auxiliary states that changed.

        An argument that an operator rewrites (a fixed gamma) counts as changed too.

        Args:
            values: every argument and auxiliary state by name; others are ignored.
            key: a JAX random key; may be ``None`` if no operator draws. A node's numbers depend
                on the node's name and not on its place.
            train: training mode.
            watcher: sees every node's inputs, which it may replace, and outputs.
            channels_last: compute on images with channels last where operators can, as is fast
                on CPUs; nobody sees it, and there must be no watcher.

        Raises:
            ParameterError: a value is missing.
            MXNetError: an operator refuses its inputs; names the node.
        """
        env: Env = {
            i: (Value(_value(values, s.name)),) for i, s in enumerate(self.steps) if s.op is None
        }
        changed: dict[str, jax.Array] = {}
        shapes = self.open_shapes(values)
        for part in self._parts:

            def compute(entering: Env, part: Part = part) -> tuple[Env, dict[str, jax.Array]]:
                return self._compute(part, entering, shapes, key, train, watcher, channels_last)

            if part.recomputed and watcher is None:
                compute = jax.checkpoint(compute, policy=_POLICY)
            leaving, new = compute({i: env[i] for i in part.entering})
            env.update(leaving)
            changed.update(new)
        outputs = [env[i][j].plain for i, j in self._heads]
        inner, shown = outputs[: self._borders], outputs[self._borders :]
        return [*inner, *(widened(y, self.compute_dtype) for y in shown)], changed

    def _compute(
        self,
        part: Part,
        entering: Env,
        shapes: Mapping[int, Shape],
        key: jax.Array | None,
        train: bool,
        watcher: Watcher | None,
        channels_last: bool,
    ) -> tuple[Env, dict[str, jax.Array]]:
        """Run some nodes: the results that others read, and the variables that changed."""
        env, changed = dict(entering), {}
        for i in part.nodes:
            step = self.steps[i]
            if step.op is None:
                continue  # a variable: parts have none
            attrs = {**step.attrs, "shape": shapes[i]} if i in shapes else step.attrs
            inputs = [env[a][b] for a, b in step.inputs]
            moved = moved_form(step.op, attrs, inputs) if channels_last else None
            arrays = [value.last if moved else value.plain for value in inputs]
            arrays = read_as(step.op, step.attrs, arrays, self.compute_dtype)
            if watcher is not None:
                arrays = watcher.inputs(step, arrays)
            outputs, new = _call(step, step.op, attrs, arrays, key, train, moved)
            if part.recomputed and i not in part.recomputed:
                outputs = tuple(checkpoint_name(x, KEPT) for x in outputs)
            if watcher is not None:
                watcher.outputs(step, outputs)
            env[i] = tuple(Value(y, moved is not None) for y in outputs)
            for name, at in step.aux:
                if name in new:
                    # A later reader of the same state sees the new value, as in MXNet.
                    source = step.inputs[at][0]
                    env[source] = (Value(new[name]),)
                    changed[self.steps[source].name] = new[name]
        return {i: env[i] for i in part.leaving if i in env}, changed

    def open_shapes(self, values: Arrays) -> dict[int, Shape]:
        """The shapes of the nodes that are ``open``, by number."""
        if not self.open:
            return {}
        known = {n.name: tuple(_value(values, n.name).shape) for n in self.graph.inputs}
        facts = infer_shapes(self.graph, known)
        found = {i: facts.outputs(self.graph.nodes[i])[0] for i in self.open}
        return {i: shape for i, shape in found.items() if shape is not None}


def _is_own(op: Op) -> bool:
    return (getattr(op.fn, "__module__", None) or "").split(".")[0] == __name__.split(".")[0]


def _value(values: Arrays, name: str) -> jax.Array:
    if name not in values:
        raise ParameterError(f"the graph needs a value for {name!r}, which was not given")
    return values[name]


def _call(
    step: Step,
    op: Op,
    attrs: Mapping[str, Any],
    arrays: list[jax.Array],
    key: jax.Array | None,
    train: bool,
    fn: Callable[..., Any] | None,
) -> tuple[tuple[jax.Array, ...], dict[str, jax.Array]]:
    """Run one operator, or another form ``fn`` of it, under its node's name."""
    own = None
    if op.takes_key and key is not None:
        own = jax.random.fold_in(key, zlib.crc32(step.name.encode()))
    with jax.named_scope(step.name):
        try:
            return op.call(arrays, attrs, key=own, train=train, fn=fn)
        except (TypeError, ValueError, IndexError, MXNetError) as error:
            got = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
            kind = type(error) if isinstance(error, MXNetError) else MXNetError
            raise kind(
                f"operator {op.name} of node {step.name!r} with inputs {got}: {error}"
            ) from error


def _is_loss(step: Step) -> bool:
    return step.op is not None and step.op.is_loss(step.attrs)


def _makes_wide(step: Step) -> bool:
    """Whether an operator makes 64-bit values, by its parameters or by its nature."""
    if step.op is None:
        return False
    if any(isinstance(v, str) and v in WIDE for v in step.attrs.values()):
        return True
    if step.op.dtypes is None:
        return False
    return any(t in WIDE for t in step.op.dtypes([None] * len(step.inputs), step.attrs)[1])


def _steps(graph: Graph) -> tuple[Step, ...]:
    steps = []
    for node in graph.nodes:
        if node.is_variable:
            steps.append(Step(node.name, None, {}, (), (), node.group))
            continue
        op, attrs = node.op, node.params
        names = op.input_names(attrs)
        written = (*op.aux_names(attrs), *op.rewrites)
        aux = tuple(
            (n, i) for i, n in enumerate(names) if n in written and node.inputs[i].node.is_variable
        )
        refs = tuple(map(graph.position, node.inputs))
        steps.append(Step(node.name, op, attrs, refs, aux, node.group))
    return tuple(steps)


class Structure:
    """What decides a graph's function, hashed once."""

    __slots__ = ("_hash", "compute_dtype", "key", "recomputed")

    def __init__(self, graph: Graph, compute_dtype: str | None = None):
        self.compute_dtype = compute_dtype
        self.recomputed = recomputed(graph)
        nodes = tuple(
            (
                node.op_name,
                node.name,
                () if node.is_variable else node.frozen,
                tuple(map(graph.position, node.inputs)),
                node.group,
            )
            for node in graph.nodes
        )
        self.key = (
            nodes, tuple(map(graph.position, graph.heads)), compute_dtype, self.recomputed
        )  # fmt: skip
        self._hash = hash(self.key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Structure) and self._hash == other._hash and self.key == other.key


_KEEP = 512
_made: OrderedDict[Structure, Lowered] = OrderedDict()
_lock = threading.Lock()


def lower(symbol: Symbol, compute_dtype: str | None = None) -> Lowered:
    """The symbol's graph as one pure function; equal graphs give the same object.

    Args:
        symbol: the graph.
        compute_dtype: a 16-bit type to compute products in; see `modkit.symbol.precision`.

    Raises:
        NotSupportedError: the graph has an operator that modkit lacks.
    """
    structure = Structure(symbol.graph, compute_dtype)
    with _lock:
        found = _made.get(structure)
        if found is None:
            found = _made[structure] = Lowered(symbol.graph, structure)
            while len(_made) > _KEEP:
                _made.popitem(last=False)
        _made.move_to_end(structure)
        return found
