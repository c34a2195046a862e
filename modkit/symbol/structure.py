"""The cache key of a graph's function."""

from __future__ import annotations

from typing import Any

from modkit.symbol.graph import Graph, Node, parsed
from modkit.symbol.recompute import recomputed


class Structure:
    """Cache key of a graph's function, hashed once."""

    __slots__ = ("_hash", "compute_dtype", "key", "recomputed")

    def __init__(self, graph: Graph, compute_dtype: str | None = None):
        self.compute_dtype = compute_dtype
        self.recomputed = recomputed(graph)
        nodes = tuple(
            (
                node.op_name,
                node.name,
                _storage_key(node) if node.is_variable else _params_key(node, compute_dtype),
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


def _storage_key(variable: Node) -> tuple[str, ...]:
    """The storage type that a variable declares, by which gradients may be row-sparse."""
    declared = variable.attrs.get("__storage_type__")
    return () if declared is None else (str(declared),)


def _params_key(node: Node, compute_dtype: str | None) -> tuple[Any, ...]:
    """The parameters, with the structures of the bodies in the place of these.

    Zeros equal each other whatever their sign, so the text of negative ones is added.
    """
    if not node.subgraphs:
        negative = [(n, v) for n, v in node.attrs.items() if "-0" in v and node.op.takes(n)]
        return (*node.frozen, *negative) if negative else node.frozen
    bodies = tuple(Structure(body, compute_dtype).key for body in node.subgraphs)
    return (*parsed(node.op, tuple(node.attrs.items())), ("bodies", bodies))
