"""The operators ``_foreach``, ``_while_loop`` and ``_cond``, whose nodes have subgraphs: bodies.

A body is a graph of its own. Its variables and outputs are tied to inputs and outputs of the node
by positions that the node's parameters list, under MXNet's names (``in_data_locs``, ...).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import ParameterError, ShapeError
from modkit.ops import dtype_inference, loops
from modkit.ops.entry import Op, numbered
from modkit.ops.parameters import Attrs, Size
from modkit.ops.partial_shapes import Rule, Sizes, common, merge
from modkit.ops.registry import op
from modkit.symbol.graph import Graph, Node
from modkit.symbol.graph_inference import Solution, infer_dtypes, infer_shapes

Locations = tuple[int, ...]


class Tie(NamedTuple):
    """The input or output of a node that a variable or output of a body stands for.

    Attributes:
        place: its number among the inputs and outputs of the node, the inputs first.
        row: whether the body has one row of it, that of the present step.
    """

    place: int
    row: bool = False


class Wires(NamedTuple):
    """The ties of one body.

    Attributes:
        inputs: of each variable, in the order of ``list_inputs()``.
        heads: of each output; a new state is tied to the node's output and to the old state.
    """

    inputs: tuple[Tie, ...]
    heads: tuple[tuple[Tie, ...], ...]


Places = dict[int, jax.Array]
"""Arrays by the number of a node's input."""


class Body(NamedTuple):
    """A body with the inputs of its node."""

    lowered: Any
    wires: Wires
    arrays: Places
    train: bool

    def run(self, changed: Places, kept: Places, key: Any) -> tuple[list[jax.Array], Places]:
        """The outputs, and the new states of ``kept``; ``changed`` replaces inputs of the node."""
        table = {**self.arrays, **changed, **kept}
        ties = {node.name: tie for node, tie in _tied(self.lowered.graph, self.wires)}
        values = {name: table[tie.place] for name, tie in ties.items()}
        outputs, new = self.lowered.run(values, key, self.train)[:2]
        places = {ties[name].place: value for name, value in new.items()}
        return outputs, {place: places.get(place, value) for place, value in kept.items()}

    @property
    def states(self) -> list[int]:
        """Numbers of the inputs that are states, in the order of their new values."""
        return [ties[1].place for ties in self.wires.heads if len(ties) == 2]


class ControlFlow(Op):
    """An operator that runs graphs.

    ``attrs["bodies"]`` holds them: as graphs for inference of names and shapes, lowered to run.
    """

    body_names: ClassVar[tuple[str, ...]]

    def __init__(self, **fields: Any):
        rules = {"partial": self.shapes, "dtypes": self.element_types}
        super().__init__(**{**fields, **rules, "takes_key": True, "takes_train": True})

    def wires(self, attrs: Attrs, count: int) -> list[Wires]:
        """The ties of the bodies, from the parameters and the number of inputs."""
        raise NotImplementedError

    def check_locations(self, attrs: Attrs, count: int) -> None:
        """Check the parameters that list positions."""
        raise NotImplementedError

    def run(self, parts: Sequence[Body], attrs: Attrs, kept: Places, key: Any) -> Any:
        """Outputs and new auxiliary states; ``kept`` are those before."""
        raise NotImplementedError

    def _check_condition(self, test: Graph) -> None:
        if len(test.heads) != 1:
            raise ParameterError(
                f"{self.name}: the condition has {len(test.heads)} outputs, expected 1"
            )

    @property
    def bodies(self) -> int:
        return len(self.body_names)

    def wired(self, attrs: Attrs) -> list[tuple[Any, Wires]]:
        """The bodies with their ties."""
        wires = self.wires(attrs, self._count_inputs(attrs))
        return list(zip(attrs["bodies"], wires, strict=True))

    def shapes(self, ins: list[Sizes], outs: list[Sizes], attrs: Attrs) -> Rule:
        """The rule of shapes: known sizes pass through the bodies and back, to a fixed point."""
        table, before = [*ins, *outs], None
        wired, names = self.wired(attrs), [*self.input_names(attrs), *self.output_names(attrs)]
        ties = {t for _, w in wired for t in (*w.inputs, *(t for ts in w.heads for t in ts))}
        rows = [t.place for t in ties if t.row]
        while table != before:
            before = list(table)
            firsts = [s[:1] for s in (table[place] for place in rows) if s]
            length = common("number of steps", [*firsts, (attrs.get("max_iterations", 0),)])
            for body, wires in wired:
                _through(_graph(body), wires, table, names, length or (0,))
        return table[: len(ins)], table[len(ins) :]

    def solutions(
        self, ins: Sequence[Sizes], attrs: Attrs
    ) -> Iterator[tuple[Graph, Solution[Sizes]]]:
        """Each body, with the shapes of its nodes for those of the node's inputs."""
        for body, wires in self.wired(attrs):
            yield (graph := _graph(body)), infer_shapes(graph, _known(graph, wires, ins))

    def element_types(self, ins: Sequence[str | None], attrs: Attrs) -> Any:
        """The rule of element types, through the bodies."""
        table, before = [*ins, *[None] * attrs["num_outputs"]], None
        wired, names = self.wired(attrs), [*self.input_names(attrs), *self.output_names(attrs)]
        while table != before:
            before = list(table)
            for body, wires in wired:
                graph = _graph(body)
                known = {n.name: t for n, tie in _tied(graph, wires) if (t := table[tie.place])}
                heads = [table[ts[0].place] if ts else None for ts in wires.heads]
                found = infer_dtypes(graph, known, heads)
                for tie, dtype in _solved(wires, found.of(graph.inputs), found.heads):
                    old, name = table[tie.place], names[tie.place]
                    table[tie.place] = dtype_inference.merge(old, dtype, name)
        return table[: len(ins)], table[len(ins) :]

    def _count_inputs(self, attrs: Attrs) -> int:
        if "bodies" not in attrs:
            raise ParameterError(
                f"{self.name}: got no graphs to run; make it by sym.contrib.foreach, while_loop or "
                "cond"
            )
        return attrs["num_args"] - self.bodies

    def _written(self, attrs: Attrs) -> list[int]:
        """Inputs of the node that feed auxiliary states of a body, by number."""
        graphs = [(_graph(body), wires) for body, wires in self.wired(attrs)]
        return sorted({t.place for g, w in graphs for n, t in _tied(g, w) if n in g.auxiliary})

    @property
    def may_have_aux(self) -> bool:
        """True: bodies may write to auxiliary states."""
        return True

    def input_names(self, attrs: Attrs) -> list[str]:
        """Names of the variables of the bodies that the inputs feed."""
        names = [f"arg{i}" for i in range(self._count_inputs(attrs))]
        for body, wires in self.wired(attrs):
            for variable, tie in _tied(_graph(body), wires):
                names[tie.place] = variable.name
        return names

    def aux_names(self, attrs: Attrs) -> Sequence[str]:
        """Names of the inputs that feed auxiliary states of a body."""
        names = self.input_names(attrs)
        return [names[place] for place in self._written(attrs)]

    def check(self, attrs: Attrs, count: int) -> None:
        """Check that the parameters fit the bodies.

        Args:
            attrs: parsed, with the bodies.
            count: the number of inputs of the node.

        Raises:
            ParameterError: they do not.
        """
        if attrs["num_args"] != count + self.bodies:
            raise ParameterError(
                f"{self.name}: got num_args={attrs['num_args']}, expected {count + self.bodies}: "
                f"{count} inputs and {self.bodies} subgraphs"
            )
        self.check_locations(attrs, count)
        changing = {t.place for _, w in self.wired(attrs) for ts in w.heads for t in ts}
        changing |= {t.place for _, w in self.wired(attrs) for t in w.inputs if t.row}
        for place in self._written(attrs):
            if place in changing:
                name = self.input_names(attrs)[place]
                raise ParameterError(
                    f"{self.name}: the body takes its loop variable {name!r} as an auxiliary "
                    "state, expected a Variable from outside the loop"
                )

    def call(
        self,
        arrays: Sequence[Any],
        attrs: Attrs,
        *,
        key: Any = None,
        train: bool = False,
        fn: Callable[..., Any] | None = None,
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        kept = {place: arrays[place] for place in self._written(attrs)}
        parts = [
            Body(body, wires, dict(enumerate(arrays)), train) for body, wires in self.wired(attrs)
        ]
        outputs, kept = self.run(parts, attrs, kept, key)
        names = self.input_names(attrs)
        return tuple(outputs), {names[place]: value for place, value in kept.items()}


def _graph(body: Any) -> Graph:
    """The graph of a body, which may be lowered."""
    return body if isinstance(body, Graph) else body.graph


def _tied(graph: Graph, wires: Wires) -> Iterator[tuple[Node, Tie]]:
    """Each variable of a body with its tie."""
    return zip(graph.inputs, wires.inputs, strict=True)


def _known(graph: Graph, wires: Wires, table: Sequence[Sizes]) -> dict[str, Sizes]:
    """The shapes of the variables of a body that are known, by name."""
    return {n.name: s for n, t in _tied(graph, wires) if (s := _inside(t, table)) is not None}


def _inside(tie: Tie, table: Sequence[Sizes]) -> Sizes:
    """The shape that a body has of what is tied to it."""
    shape = table[tie.place]
    return (shape[1:] or (1,)) if tie.row and shape else shape


def _through(
    graph: Graph, wires: Wires, table: list[Sizes], names: Sequence[str], length: tuple[int, ...]
) -> None:
    """Refine the shapes of what is tied to one body."""
    heads = [common("state", [_inside(t, table) for t in ties]) for ties in wires.heads]
    found = infer_shapes(graph, _known(graph, wires, table), heads)
    for tie, shape in _solved(wires, found.of(graph.inputs), found.heads):
        old = table[tie.place]
        if tie.row and old is not None and len(old) == 1:  # its rows have the shape (1,)
            shape = length
        elif tie.row and shape is not None:
            shape = (*length, *shape)
        table[tie.place] = merge(names[tie.place], old, shape)


def _solved(wires: Wires, inputs: Sequence[Any], heads: Sequence[Any]) -> list[tuple[Tie, Any]]:
    """Each tie with the shape or type that inference found inside the body."""
    tied = [(t, found) for ts, found in zip(wires.heads, heads, strict=True) for t in ts]
    return [*zip(wires.inputs, inputs, strict=True), *tied]


class Foreach(ControlFlow):
    """``_foreach``: a body over the rows of arrays."""

    body_names = ("body",)

    def wires(self, attrs: Attrs, count: int) -> list[Wires]:
        rows, states = attrs["in_data_locs"], attrs["in_state_locs"]
        found = [*rows, *states, *attrs["remain_locs"]]
        ties = {at: Tie(i, row=i < len(rows)) for i, at in enumerate(found)}
        made = _results(attrs, count, range(len(rows), len(rows) + len(states)))
        return [Wires(tuple(ties[at] for at in sorted(ties)), made)]

    def check_locations(self, attrs: Attrs, count: int) -> None:
        found = [*attrs["in_data_locs"], *attrs["in_state_locs"], *attrs["remain_locs"]]
        (body,) = attrs["bodies"]
        if sorted(found) != list(range(count)) or len(body.inputs) != count:
            raise ParameterError(
                f"_foreach: got in_data_locs, in_state_locs and remain_locs {found} for {count} "
                f"inputs and a body of {len(body.inputs)} variables, expected each of these once"
            )
        if not attrs["in_data_locs"]:
            raise ParameterError("_foreach: got no data, expected one array or more to loop over")
        _check_heads(attrs, body, attrs["num_out_data"] + len(attrs["in_state_locs"]))

    def run(self, parts: Sequence[Body], attrs: Attrs, kept: Places, key: Any) -> Any:
        (body,) = parts
        count, outputs = len(attrs["in_data_locs"]), attrs["num_out_data"]
        rows = [body.arrays[i] for i in range(count)]
        rows = [x.reshape(-1, 1) if x.ndim == 1 else x for x in rows]
        loops.require_rows("_foreach: data", rows)

        def step(carried: Any, given: Any) -> Any:
            (states, kept), (number, now) = carried, given
            changed = {**dict(enumerate(now)), **dict(zip(body.states, states, strict=True))}
            made, kept = body.run(changed, kept, _step_key(key, number))
            states = loops.require_alike("_foreach: new state", states, made[outputs:])
            return (states, kept), made[:outputs]

        start = tuple(body.arrays[i] for i in body.states), kept
        numbers = jnp.arange(len(rows[0]), dtype=jnp.uint32)
        (states, kept), made = loops.scan(step, start, (numbers, rows))
        return (*made, *states), kept


class WhileLoop(ControlFlow):
    """``_while_loop``: a body as long as a condition holds."""

    body_names = ("cond", "func")

    def wires(self, attrs: Attrs, count: int) -> list[Wires]:
        test, body = attrs["cond_input_locs"], attrs["func_input_locs"]
        states = [body[at] for at in attrs["func_var_locs"]]
        return [
            Wires(tuple(map(Tie, test)), ((),)),
            Wires(tuple(map(Tie, body)), _results(attrs, count, states)),
        ]

    def check_locations(self, attrs: Attrs, count: int) -> None:
        test, body = attrs["bodies"]
        _check_locations("cond_input_locs", attrs, test, count)
        _check_locations("func_input_locs", attrs, body, count)
        states = attrs["func_var_locs"]
        if len(set(states)) != len(states) or any(not 0 <= at < len(body.inputs) for at in states):
            raise ParameterError(
                f"_while_loop: got func_var_locs {states}, expected variables of the body, of "
                f"which there are {len(body.inputs)}, each at most once"
            )
        self._check_condition(test)
        _check_heads(attrs, body, attrs["num_out_data"] + len(states))

    def run(self, parts: Sequence[Body], attrs: Attrs, kept: Places, key: Any) -> Any:
        """A scan over the greatest number of steps, of which those after the end do nothing.

        So it has a gradient, which `lax.while_loop` has not.
        """
        test, body = parts
        outputs = attrs["num_out_data"]

        @jax.jit  # so that it is traced once, for its shapes and for the branch
        def go(states: Any, kept: Places, key: Any) -> Any:
            made, kept = body.run(dict(zip(body.states, states, strict=True)), kept, key)
            states = loops.require_alike("_while_loop: new loop variable", states, made[outputs:])
            return made[:outputs], states, kept

        def step(carried: Any, number: Any) -> Any:
            active, states, kept = carried
            own = _step_key(key, number)
            (truth,), _ = test.run(dict(zip(body.states, states, strict=True)), kept, own)
            active = active & _as_bool(truth)
            blank = [jnp.zeros(x.shape, x.dtype) for x in jax.eval_shape(go, states, kept, own)[0]]
            made, states, kept = lax.cond(
                active, go, lambda states, kept, _: (blank, states, kept), states, kept, own
            )
            return (active, states, kept), made

        start = jnp.bool_(True), tuple(body.arrays[i] for i in body.states), kept
        numbers = jnp.arange(attrs["max_iterations"], dtype=jnp.uint32)
        (_, states, kept), made = loops.scan(step, start, numbers)
        return (*made, *states), kept


class Cond(ControlFlow):
    """``_cond``: one of two bodies."""

    body_names = ("cond", "then", "else")

    def shapes(self, ins: list[Sizes], outs: list[Sizes], attrs: Attrs) -> Rule:
        """See `ControlFlow.shapes`; outputs that differ from branch to branch stay unknown."""
        try:
            return super().shapes(ins, outs, attrs)
        except ShapeError:
            table, names = list(ins), self.input_names(attrs)
            for body, wires in self.wired(attrs):
                free = wires._replace(heads=((),) * len(wires.heads))
                _through(_graph(body), free, table, names, (0,))
            return table, outs

    def element_types(self, ins: Sequence[str | None], attrs: Attrs) -> Any:
        """See `ControlFlow.element_types`; a condition without a type is of float32."""
        types, outs = super().element_types(ins, attrs)
        read = attrs["cond_input_locs"] if any(outs) else ()
        return [t or ("float32" if i in read else None) for i, t in enumerate(types)], outs

    def wires(self, attrs: Attrs, count: int) -> list[Wires]:
        made = tuple((Tie(count + i),) for i in range(attrs["num_outputs"]))
        locations = (attrs[f"{name}_input_locs"] for name in self.body_names)
        heads = (((),), made, made)
        return [Wires(tuple(map(Tie, at)), h) for at, h in zip(locations, heads, strict=True)]

    def check_locations(self, attrs: Attrs, count: int) -> None:
        for name, body in zip(self.body_names, attrs["bodies"], strict=True):
            _check_locations(f"{name}_input_locs", attrs, body, count)
        test, *branches = attrs["bodies"]
        self._check_condition(test)
        for body in branches:
            _check_heads(attrs, body, attrs["num_outputs"])

    def run(self, parts: Sequence[Body], attrs: Attrs, kept: Places, key: Any) -> Any:
        test, *branches = parts
        (truth,), kept = test.run({}, kept, key)

        def branch(body: Body) -> Callable[[Places], Any]:
            return lambda kept: body.run({}, kept, key)

        then, other = map(branch, branches)
        loops.require_alike(
            "_cond: output of the second branch",
            *(jax.eval_shape(each, kept)[0] for each in (then, other)),
        )
        return lax.cond(_as_bool(truth), then, other, kept)


def _results(attrs: Attrs, count: int, states: Sequence[int]) -> tuple[tuple[Tie, ...], ...]:
    """The ties of a loop's outputs and new states."""
    outputs = count + attrs["num_out_data"]
    rows = [(Tie(i, row=True),) for i in range(count, outputs)]
    return (*rows, *((Tie(outputs + i), Tie(at)) for i, at in enumerate(states)))


def _check_locations(name: str, attrs: Attrs, body: Graph, count: int) -> None:
    found = attrs[name]
    if len(found) != len(body.inputs) or any(not 0 <= at < count for at in found):
        raise ParameterError(
            f"got {name} {found}, expected one of the {count} inputs for each of the "
            f"{len(body.inputs)} variables of the subgraph"
        )


def _check_heads(attrs: Attrs, body: Graph, expected: int) -> None:
    if not len(body.heads) == expected == attrs["num_outputs"]:
        raise ParameterError(
            f"got num_outputs={attrs['num_outputs']} and a subgraph of {len(body.heads)} outputs, "
            f"expected {expected} of both"
        )


def _step_key(key: Any, number: Any) -> Any:
    return None if key is None else jax.random.fold_in(key, number)


def _as_bool(value: jax.Array) -> jax.Array:
    if value.size != 1:
        raise ShapeError(f"the condition: got shape {value.shape}, expected one element")
    return value.reshape(()) != 0


_PRECISION = "float32"  # products in the bodies have the compute type
_FIELDS: dict[str, Any] = {
    "outputs": lambda attrs: numbered(attrs["num_outputs"]),
    "partial_is_complete": True,
    "costly": True,
}


@op("_foreach", precision=_PRECISION, kind=Foreach, **_FIELDS)
def _foreach(
    *,
    num_args: int,
    num_outputs: int,
    num_out_data: int,
    in_state_locs: Locations,
    in_data_locs: Locations,
    remain_locs: Locations,
) -> None:
    """A body over the rows of arrays, from the first to the last, by ``lax.scan``."""


@op("_while_loop", precision=_PRECISION, kind=WhileLoop, **_FIELDS)
def _while_loop(
    *,
    num_args: int,
    num_outputs: int,
    num_out_data: int,
    max_iterations: Size,
    cond_input_locs: Locations,
    func_input_locs: Locations,
    func_var_locs: Locations,
) -> None:
    """A body as long as a condition holds, at most ``max_iterations`` times."""


@op("_cond", precision=_PRECISION, kind=Cond, sized_by_values=True, **_FIELDS)
def _cond(
    *,
    num_args: int,
    num_outputs: int,
    cond_input_locs: Locations,
    then_input_locs: Locations,
    else_input_locs: Locations,
) -> None:
    """One of two bodies, by ``lax.cond``."""
