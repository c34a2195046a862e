"""The graph behind a symbol: nodes, and the order in which they are visited."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from modkit.errors import NotSupportedError, nearest
from modkit.ops.entry import Op
from modkit.ops.parameters import Params
from modkit.ops.registry import OPS

T = TypeVar("T", bound=Hashable)

VARIABLE = "null"
"""The operator name of a variable in JSON."""


class Entry(NamedTuple):
    """One output of a node."""

    node: Node
    output: int = 0


class Node:
    """A variable, or one use of an operator.

    Inputs never change. ``Symbol._set_attr`` changes attributes, for all symbols that share the
    node. They are strings, as in JSON, hidden ones with their underscores (``__lr_mult__``).

    Args:
        op_name: the operator's first name, or ``"null"`` for a variable.
        name: unique by custom, not by force.
        attrs: the operator's parameters and the user's attributes.
        inputs: in the order of ``Op.input_names``.
        subgraphs: what an operator of control flow runs; their variables are fed by its inputs.

    Attributes:
        own: parsed parameters of this node alone, where its operator keeps state; see `Op.own`.
    """

    __slots__ = ("attrs", "inputs", "name", "op_name", "own", "subgraphs")

    def __init__(
        self,
        op_name: str,
        name: str,
        attrs: Mapping[str, str] | None = None,
        inputs: Iterable[Entry] = (),
        subgraphs: Iterable[Graph] = (),
    ):
        self.op_name, self.name = op_name, name
        self.attrs = dict(attrs or {})
        self.inputs = tuple(inputs)
        self.subgraphs = tuple(subgraphs)
        self.own: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        return f"Node({self.op_name}, {self.name})"

    def on(self, inputs: Iterable[Entry]) -> Node:
        """A copy with other inputs."""
        copy = Node(self.op_name, self.name, self.attrs, inputs, self.subgraphs)
        copy.own = self.own
        return copy

    @property
    def is_variable(self) -> bool:
        """Whether this is an argument or auxiliary state."""
        return self.op_name == VARIABLE

    def flag(self, *names: str) -> bool:
        """Whether an attribute's text means true: that of the first name that is set."""
        text = next((self.attrs[n] for n in names if n in self.attrs), "")
        return text.lower() in ("true", "1")

    @property
    def known_op(self) -> Op | None:
        """The operator, or ``None`` for a variable and for an operator that modkit lacks."""
        found = OPS.get(self.op_name)
        if found and found.is_known(self.attrs) and found.bodies == len(self.subgraphs):
            return found
        return None

    @property
    def op(self) -> Op:
        """The operator; NotSupportedError where modkit has none of that name."""
        found = self.known_op
        if found is None:
            kind = self.attrs.get("op_type", self.op_name)
            raise NotSupportedError(
                f"node {self.name!r} is of operator {kind!r}, which modkit does not have."
                f"{nearest(self.op_name, OPS)} Such a graph can be listed and saved, but not run; "
                "take the part before the node with get_internals(), or register the operator"
            )
        return found

    @property
    def frozen(self) -> Params:
        """The operator's parsed parameters, defaults included, as a hashable.

        Among them, of an operator of control flow, its ``bodies``.
        """
        found = parsed(self.op, tuple(self.attrs.items()))
        return (*found, ("bodies", self.subgraphs)) if self.subgraphs else found

    @property
    def params(self) -> Mapping[str, Any]:
        """The operator's parsed parameters, defaults included."""
        return dict(self.frozen) if self.own is None else self.own

    @property
    def group(self) -> str | None:
        """The user's ``ctx_group``: which device of ``group2ctx`` this node is for."""
        return self.attrs.get("__ctx_group__")

    def output_names(self) -> Sequence[str]:
        """Names of all outputs, hidden ones too, without the node's name."""
        if self.known_op is not None:
            return self.known_op.output_names(self.params)
        return ("output",)

    def visible_outputs(self) -> int:
        """The number of outputs of a symbol of this node."""
        if self.known_op is None:
            return 1
        return self.known_op.visible_outputs(self.params)

    def mutable_inputs(self) -> tuple[int, ...]:
        """Positions of the auxiliary states among the inputs."""
        op = self.known_op
        if op is None or not op.may_have_aux:
            return ()
        aux = op.aux_names(self.params)
        named = zip(op.input_names(self.params), self.inputs, strict=False)
        return tuple(i for i, (n, _) in enumerate(named) if n in aux)


@functools.lru_cache(maxsize=16384)
def parsed(op: Op, attrs: tuple[tuple[str, str], ...]) -> Params:
    """The operator's parameters out of a node's attributes; the user's own are left out."""
    return tuple(op.parse({n: v for n, v in attrs if op.takes(n)}).items())


class Graph:
    """The nodes that some outputs need, inputs before users.

    The order is depth first, from the first output and the first input on: it is also the order
    of ``list_arguments()``.
    """

    def __init__(self, heads: Iterable[Entry]):
        self.heads = tuple(heads)
        first = [head.node for head in self.heads]
        self.nodes = tuple(post_order(first, lambda n: [entry.node for entry in n.inputs]))
        self.index = {id(node): i for i, node in enumerate(self.nodes)}
        mutable = {
            id(node.inputs[i].node)
            for node in self.nodes
            if not node.is_variable
            for i in node.mutable_inputs()
        }
        self.inputs = [n for n in self.nodes if n.is_variable]
        self.arguments = [n for n in self.inputs if id(n) not in mutable]
        self.auxiliary = [n for n in self.inputs if id(n) in mutable]

    def position(self, entry: Entry) -> tuple[int, int]:
        """An entry as (number of its node, output)."""
        return self.index[id(entry.node)], entry.output


def post_order(first: Iterable[T], below: Callable[[T], Iterable[T]]) -> list[T]:
    """Nodes in the order of a depth-first search: each after all those below it.

    Args:
        first: nodes to begin at, in turn.
        below: the nodes below one, in the order of their visits. Of a cycle, one node comes
            before another that is below it.
    """
    order: list[T] = []
    seen: set[T] = set()
    for start in first:
        stack = [(start, False)]
        while stack:
            node, is_left = stack.pop()
            if is_left:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack += [(each, False) for each in reversed(list(below(node)))]
    return order


def copied(
    graph: Graph, make: Callable[[Node, list[Entry]], Node | Sequence[Entry]]
) -> list[Entry]:
    """The heads of a copy of the graph.

    Args:
        make: from a node and the inputs of its copy to the copy, or to the entries that take the
            place of its outputs; variables are copied too.
    """
    made: dict[int, Node | Sequence[Entry]] = {}

    def moved(entry: Entry) -> Entry:
        found = made[id(entry.node)]
        return Entry(found, entry.output) if isinstance(found, Node) else found[entry.output]

    for node in graph.nodes:
        made[id(node)] = make(node, list(map(moved, node.inputs)))
    return list(map(moved, graph.heads))


def rewrite(graph: Graph, replaced: Mapping[int, Entry]) -> list[Entry]:
    """The heads of a copy, in which entries take the place of some nodes, by ``id`` of these."""
    return copied(
        graph,
        lambda node, inputs: [replaced[id(node)]] if id(node) in replaced else node.on(inputs),
    )


def joined_by_name(graph: Graph, apart: Collection[str] = ()) -> list[Entry]:
    """The heads of a graph where arguments of one name, but those ``apart``, are one variable."""
    named: dict[str, Node] = {}
    again = {
        id(node): Entry(named[node.name])
        for node in graph.arguments
        if named.setdefault(node.name, node) is not node and node.name not in apart
    }
    if not again:
        return list(graph.heads)
    # The first of each name is kept too: a copy of it would be another variable.
    return rewrite(graph, {**{id(n): Entry(n) for n in named.values()}, **again})


def entry_name(entry: Entry) -> str:
    """The name of an output: ``fc1_output``, or a variable's own name."""
    node, index = entry
    if node.is_variable:
        return node.name
    names = node.output_names()
    return joined(node.name, names[index] if index < len(names) else f"output{index}")


def joined(name: str, part: str) -> str:
    """The name of a node's input or output; a node may have no name."""
    return f"{name}_{part}" if name else part


def visible_entries(node: Node) -> list[Entry]:
    """The outputs that a symbol of this node shows."""
    return [Entry(node, i) for i in range(1 if node.is_variable else node.visible_outputs())]
