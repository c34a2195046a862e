"""Shape and type inference over a graph: forward and backward until nothing more follows."""

from __future__ import annotations

import ast
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar

from modkit.errors import DTypeError, ModkitError, ShapeError
from modkit.ops import dtype_inference, shape_inference
from modkit.ops.dtypes import DTYPE_CODES
from modkit.ops.parameters import UNREADABLE
from modkit.ops.partial_shapes import NONE_LEFT, Sizes, complete, plain_sizes
from modkit.symbol.graph import Graph, Node
from modkit.util import is_np_shape

T = TypeVar("T")


class Solution(Generic[T]):
    """Shapes or types of every output of every node.

    Args:
        table: a list for each node, with an item for each of its outputs.
    """

    def __init__(self, graph: Graph, table: list[list[T]]):
        self._graph, self._table = graph, table

    def of(self, nodes: Sequence[Node]) -> list[T]:
        """The first output of each node: for variables."""
        return [self._table[self._graph.index[id(n)]][0] for n in nodes]

    def outputs(self, node: Node) -> list[T]:
        """All outputs of a node, hidden ones too."""
        return self._table[self._graph.index[id(node)]]

    @property
    def heads(self) -> list[T]:
        """The outputs of the graph."""
        return [self._table[i][j] for i, j in map(self._graph.position, self._graph.heads)]

    def __iter__(self) -> Iterator[T]:
        """All outputs of all nodes."""
        return chain.from_iterable(self._table)


def infer_shapes(
    graph: Graph, known: Mapping[str, Sizes], heads: Sequence[Sizes] = ()
) -> Solution[Sizes]:
    """Shapes of all nodes from those of some variables.

    Args:
        known: by variable name. A completely known shape overrides the variable's ``__shape__``;
            an incomplete one is ignored where the variable declares a shape.
        heads: what is known of the outputs.

    Raises:
        ShapeError: they contradict each other, or an operator refuses them.
        NotSupportedError: an operator is unknown.
    """

    def start(node: Node) -> Sizes:
        if not node.is_variable:  # an operator without inputs
            if not shape_inference.has_open_shape(node.op, node.params):
                return None
            sizes = node.params.get("shape")
            return None if sizes is None else given_shape(sizes)
        given = known.get(node.name)
        declares = "__shape__" in node.attrs
        return declared_shape(node) if declares and not complete(given) else given

    return _fixpoint(graph, start, shape_inference.refine, complete, ShapeError, heads)


def infer_dtypes(
    graph: Graph, known: Mapping[str, str], heads: Sequence[str | None] = ()
) -> Solution[str | None]:
    """Names of the element types of all nodes from those of some variables.

    Args:
        known: by variable name; they override the variables' own ``__dtype__``.
        heads: what is known of the outputs.

    Raises:
        DTypeError: they contradict each other, or an operator refuses them.
        NotSupportedError: an operator is unknown.
    """

    def start(node: Node) -> str | None:
        return known.get(node.name) or declared_dtype(node) if node.is_variable else None

    return _fixpoint(graph, start, dtype_inference.refine, bool, DTypeError, heads)


def given_shape(sizes: Iterable[int]) -> Sizes:
    """A shape as a user spells it, which depends on `is_np_shape`."""
    sizes = tuple(sizes)
    if is_np_shape():
        return tuple(NONE_LEFT if size == 0 else max(size, 0) for size in sizes)
    return tuple(max(size, 0) for size in sizes) or None


def shown_shape(shape: Sizes) -> Sizes:
    """A shape for a user, spelled by `is_np_shape`."""
    if not is_np_shape():
        return plain_sizes(shape or ())
    return None if shape is None else tuple(int(size) if size else -1 for size in shape)


def declared_shape(node: Node) -> Sizes:
    """The ``__shape__`` that a variable was made with, ``None`` without one."""
    text = node.attrs.get("__shape__")
    if text is None:
        return None
    try:
        value = ast.literal_eval(text)
        sizes = (value,) if isinstance(value, int) else tuple(value)
        return given_shape(map(int, sizes))
    except UNREADABLE as error:
        raise ShapeError(
            f"variable {node.name!r}: got __shape__ {reprlib.repr(text)}, expected a tuple such as "
            "'(2, 3)'"
        ) from error


def declared_dtype(node: Node) -> str | None:
    """The ``__dtype__`` that a variable was made with, ``None`` without one."""
    text = node.attrs.get("__dtype__")
    if text is None or text == "-1":
        return None
    try:
        return DTYPE_CODES[int(text)]
    except (ValueError, KeyError) as error:
        raise DTypeError(
            f"variable {node.name!r}: got __dtype__ {text!r}, expected one of the numbers "
            f"{', '.join(f'{c} ({n})' for c, n in DTYPE_CODES.items())}"
        ) from error


def _fixpoint(
    graph: Graph,
    start: Callable[[Node], Any],
    refine: Callable[..., Any],
    done: Callable[[Any], bool],
    error: type[ModkitError],
    heads: Sequence[Any],
) -> Solution[Any]:
    """Refine every node, down the graph and up again, until nothing changes."""
    table: list[list[Any]] = [
        [start(n) if not n.inputs else None]
        * (1 if n.is_variable else len(n.op.output_names(n.params)))
        for n in graph.nodes
    ]
    for (i, j), fact in zip(map(graph.position, graph.heads), heads, strict=False):
        if table[i][j] is None:
            table[i][j] = fact
    open_ = [i for i, n in enumerate(graph.nodes) if not n.is_variable]
    for node in (graph.nodes[i] for i in open_ if not graph.nodes[i].inputs):
        if names := node.op.input_names(node.params):
            raise error(
                f"operator {node.op_name}: got no inputs, as _gen_atomic_symbol leaves it, "
                f"expected {', '.join(names)}; call the symbol with them first"
            )
    changed = True
    while changed and open_:
        changed, left = False, []
        for i in open_:
            node = graph.nodes[i]
            refs = [graph.position(e) for e in node.inputs]
            ins, outs = tuple(table[a][b] for a, b in refs), tuple(table[i])
            try:
                new_ins, new_outs = refine(node.op, node.frozen, ins, outs)
            except ModkitError as cause:
                raise _blame(node, ins, cause, error) from cause
            if (new_ins, new_outs) != (ins, outs):
                changed = True
                table[i] = list(new_outs)
                for (a, b), old, fact in zip(refs, ins, new_ins, strict=True):
                    if fact != old:  # of an output that is two inputs, the one that says more
                        table[a][b] = fact
            # Inputs that were filled just now are checked against the operator once more.
            if not all(map(done, (*ins, *new_outs))):
                left.append(i)
        open_ = left[::-1]
    return Solution(graph, table)


def _blame(
    node: Node, ins: Sequence[Any], cause: ModkitError, error: type[ModkitError]
) -> ModkitError:
    names = node.op.input_names(node.params)
    got = ", ".join(f"{n} {'?' if f is None else f}" for n, f in zip(names, ins, strict=True))
    return error(f"operator {node.op_name} of node {node.name!r}: {cause} (inputs: {got})")
