"""Shapes and dtypes of a graph's arguments, outputs and auxiliary states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from modkit.errors import MXNetError, NotSupportedError, ShapeError, nearest
from modkit.ndarray.storage import x64_for
from modkit.ops.dtypes import dtype_name
from modkit.ops.partial_shapes import complete, plain_sizes
from modkit.ops.shape_inference import has_open_shape, size_bytes
from modkit.symbol.control_flow import ControlFlow
from modkit.symbol.graph import Graph, Node
from modkit.symbol.graph_inference import Solution, given_shape, infer_dtypes, infer_shapes
from modkit.symbol.symbol import Symbol

Avals = dict[str, jax.ShapeDtypeStruct]


class GraphAvals(NamedTuple):
    """Arguments and auxiliary states by name, outputs in order.

    ``made`` is the size of all variables and results in bytes, at four bytes an element.
    """

    args: Avals
    outs: list[jax.ShapeDtypeStruct]
    aux: Avals
    made: int


def avals_of(
    symbol: Symbol, shapes: Mapping[str, Any], types: Mapping[str, Any], where: str
) -> GraphAvals:
    """All shapes and types by those of inputs, types else float32; ShapeError if some are open."""
    graph = symbol.graph
    listing = "".join(f"\n    {n}: {tuple(s)}" for n, s in shapes.items())
    names = {n.name for n in graph.inputs}
    try:
        found = infer_shapes(graph, {n: given_shape(s) for n, s in shapes.items() if n in names})
        known = {n: dtype_name(t) for n, t in types.items() if n in names}
        found_types = infer_dtypes(graph, known).of(graph.arguments)
        for node, dtype in zip(graph.arguments, found_types, strict=True):
            known.setdefault(node.name, dtype or "float32")
        dtypes = infer_dtypes(graph, known)
    except NotSupportedError:
        raise
    except MXNetError as error:
        raise ShapeError(f"{where}: {error}\n  with the shapes:{listing}") from error
    if node := sized_by_values(graph, found):
        raise ShapeError(
            f"{where}: values decide the shape of {node.name!r}, of operator {node.op_name}: "
            "Symbol.bind(ctx, args) and eval() take such graphs, simple_bind and modules do not; "
            "where(condition, x, y) and SequenceMask have one shape"
        )
    args = found.of(graph.arguments)
    unknown = [n.name for n, s in zip(graph.arguments, args, strict=True) if not complete(s)]
    unknown += [
        f"{n.name} (of operator {n.op_name})"
        for n in graph.nodes
        if not (n.is_variable or complete(found.outputs(n)[0])) and has_open_shape(n.op, n.params)
    ]
    if unknown:
        strange = [n for n in shapes if n not in names]
        hint = f"\n  {strange[0]!r} is no input.{nearest(strange[0], names)}" if strange else ""
        raise ShapeError(
            f"{where}: cannot decide the shape of {', '.join(unknown)} from:{listing or ' nothing'}"
            "\n  pass the shapes of all data inputs and labels; give sizes to operators like zeros"
            f"{hint}"
        )
    return GraphAvals(
        _named(graph.arguments, args, dtypes.of(graph.arguments)),
        [_aval(s, t) for s, t in zip(found.heads, dtypes.heads, strict=True)],
        _named(graph.auxiliary, found.of(graph.auxiliary), dtypes.of(graph.auxiliary)),
        sum(map(size_bytes, found)),
    )


def sized_by_values(graph: Graph, found: Solution[Any]) -> Node | None:
    """A node, perhaps of a body, whose result has a size that depends on values, if any has."""
    for node in filter(_may_be_sized_by_values, graph.nodes):
        if not isinstance(node.op, ControlFlow):
            return node
        ins = [found.outputs(entry.node)[entry.output] for entry in node.inputs]
        open_ = all(map(complete, ins)) and not all(map(complete, found.outputs(node)))
        if node.op.sized_by_values and open_:
            return node
        for body, inside in node.op.solutions(ins, node.params):
            if inner := sized_by_values(body, inside):
                return inner
    return None


def may_be_sized_by_values(graph: Graph) -> bool:
    """Whether a graph, or a body in it, has an operator whose result may have such a size."""
    return any(map(_may_be_sized_by_values, graph.nodes))


def _may_be_sized_by_values(node: Node) -> bool:
    if node.is_variable:
        return False
    return node.op.sized_by_values or any(map(may_be_sized_by_values, node.subgraphs))


def _named(nodes: Iterable[Any], shapes: Iterable[Any], types: Iterable[Any]) -> Avals:
    return {n.name: _aval(s, t) for n, s, t in zip(nodes, shapes, types, strict=True)}


def _aval(shape: Any, dtype: Any) -> jax.ShapeDtypeStruct:
    dtype = dtype or "float32"
    with x64_for(dtype):
        return jax.ShapeDtypeStruct(plain_sizes(shape or ()), jnp.dtype(dtype))
