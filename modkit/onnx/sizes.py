"""Arithmetic on shapes that the sizes of an input decide: ``Shape``, ``Gather``, ``Concat``.

Exporters write a reshape that keeps the batch size as a computation on the shape of its input.
Symbols have `Reshape` with 0 (the same size) and -1 for this, so such computations are followed
with sizes that have names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Size = int | str
"""One size of a shape: a number, or the name of a size that only a batch decides."""


def size_of(graph: Any, node: Any) -> list[Size] | None:
    """The sizes that a node computes from shapes; ``None`` if it computes something else."""
    if node.op_type == "Shape":
        sizes = graph.dims(node.inputs[0])
        return None if sizes is None else list(sizes[node.attr("start", 0) : node.attr("end")])
    if node.op_type not in _FOLLOWED or not node.inputs:
        return None
    vectors = [graph.sizes(name) for name in node.inputs if name]
    if any(v is None for v in vectors):
        return None
    if all(isinstance(s, int) for v in vectors for s in v):
        return None  # constants are computed as such, with their shapes
    return _FOLLOWED[node.op_type](node, vectors)


def _concat(node: Any, vectors: list[list[Size]]) -> list[Size]:
    return [size for vector in vectors for size in vector]


def _gather(node: Any, vectors: list[list[Size]]) -> list[Size]:
    return [vectors[0][i] for i in vectors[1] if isinstance(i, int)]


def _slice(node: Any, vectors: list[list[Size]]) -> list[Size] | None:
    if len(vectors) == 1:
        bounds: list[Any] = [node.attr("starts")[0], node.attr("ends")[0]]
    else:
        bounds = [v[0] for v in (vectors[1], vectors[2], *vectors[4:])]
    if not all(isinstance(b, int) for b in bounds):
        return None
    return vectors[0][slice(*bounds)]


def _same(node: Any, vectors: list[list[Size]]) -> list[Size]:
    return vectors[0]


_FOLLOWED = {
    "Concat": _concat, "Gather": _gather, "Slice": _slice, "Unsqueeze": _same, "Squeeze": _same,
    "Cast": _same, "Identity": _same, "Reshape": _same,
}  # fmt: skip


def target_shape(sizes: Sequence[Size], data: Sequence[Size]) -> tuple[int, ...] | None:
    """A shape as `Reshape` takes it; ``None`` if two sizes do not follow from the data.

    Args:
        sizes: the sizes; 0 keeps the size of the data, -1 follows from the others.
        data: the shape of the data, or what is known of it.
    """
    found = [
        s if isinstance(s, int) else 0 if list(data[i : i + 1]) == [s] else None
        for i, s in enumerate(sizes)
    ]
    undecided = found.count(None)
    if undecided > 1 or (undecided and -1 in found):
        return None
    return tuple(-1 if s is None else s for s in found)
