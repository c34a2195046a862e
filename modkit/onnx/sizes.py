"""Arithmetic on shapes that the sizes of an input decide: ``Shape``, ``Gather``, ``Concat``.

Exporters write a reshape that keeps the batch size as a computation on the shape of its input.
Symbols have `Reshape` with 0 (the same size) and -1 for this, so such computations are followed
with sizes that have names.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

Size = int | str
"""One size of a shape: a number, or the name of a size that only a batch decides."""


def size_of(node: Any) -> list[Size] | None:
    """The sizes that a node computes from shapes; ``None`` if it computes something else."""
    if node.op_type == "Shape":
        sizes = node.dims()
        return None if sizes is None else list(sizes[node.attr("start", 0) : node.attr("end")])
    if node.op_type not in _FOLLOWED or not node.inputs:
        return None
    vectors = [node.sizes(i) for i in range(len(node.inputs)) if node.has(i)]
    if any(v is None for v in vectors):
        return None
    if all(isinstance(s, int) for v in vectors for s in v):
        return None  # constants are computed as such, with their shapes
    return _FOLLOWED[node.op_type](node, vectors)


def _slice(node: Any, vectors: list[list[Size]]) -> list[Size] | None:
    if len(vectors) == 1:
        bounds: list[Any] = [node.attr("starts")[0], node.attr("ends")[0]]
    else:
        bounds = [node.sizes(i)[0] if node.has(i) else None for i in (1, 2, 4)]
    if any(isinstance(b, str) for b in bounds):
        return None
    return vectors[0][slice(*bounds)]


def _same(node: Any, vectors: list[list[Size]]) -> list[Size]:
    return vectors[0]


def _pairs(vectors: list[list[Size]]) -> Iterator[tuple[Size, Size]]:
    """Elements side by side; a single one is repeated."""
    length = max(map(len, vectors))
    return zip(*(v * length if len(v) == 1 else v for v in vectors), strict=True)


def _arithmetic(node: Any, vectors: list[list[Size]]) -> list[Size]:
    return [_combined(a, b, *_ARITHMETIC[node.op_type]) for a, b in _pairs(vectors)]


def _combined(
    a: Size, b: Size, function: Callable[[int, int], int], sign: str, neutral: int
) -> Size:
    """A sum or product; one with an open size has a name that no input has."""
    if isinstance(a, int) and isinstance(b, int):
        return function(a, b)
    return a if b == neutral else f"({a}{sign}{b})"


def _product(node: Any, vectors: list[list[Size]]) -> list[Size]:
    return [reduce(lambda a, b: _combined(a, b, *_ARITHMETIC["Mul"]), vectors[0])]


def _equal(node: Any, vectors: list[list[Size]]) -> list[Size] | None:
    found: list[Size] = []
    for a, b in _pairs(vectors):
        numbers = [s for s in (a, b) if isinstance(s, int)]
        if a != b and len(numbers) < 2 and min(numbers, default=0) >= 0:
            return None  # an open size may be this number, or equal another one
        found.append(int(a == b))
    return found


def _where(node: Any, vectors: list[list[Size]]) -> list[Size] | None:
    pairs = list(_pairs(vectors[1:]))
    chosen = vectors[0] * len(pairs) if len(vectors[0]) == 1 else vectors[0]
    if not all(isinstance(c, int) for c in chosen):
        return None
    return [a if c else b for c, (a, b) in zip(chosen, pairs, strict=True)]


_ARITHMETIC: dict[str, tuple[Callable[[int, int], int], str, int]] = {
    "Add": (operator.add, "+", 0), "Sub": (operator.sub, "-", 0), "Mul": (operator.mul, "*", 1),
    "Div": (operator.floordiv, "/", 1),
}  # fmt: skip

_FOLLOWED = {
    "Concat": lambda _, vectors: [size for vector in vectors for size in vector],
    "Gather": lambda _, vectors: [vectors[0][i] for i in vectors[1] if isinstance(i, int)],
    "Slice": _slice, "Unsqueeze": _same, "Squeeze": _same,
    "Cast": _same, "Identity": _same, "Reshape": _same, "ReduceProd": _product, "Equal": _equal,
    "Where": _where, **dict.fromkeys(_ARITHMETIC, _arithmetic),
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
        return _joined_and_split(sizes, data)
    return tuple(-1 if s is None else s for s in found)


def _joined_and_split(sizes: Sequence[Size], data: Sequence[Size]) -> tuple[int, ...] | None:
    """A shape in which each axis stays, joins the next one (-3), or is split in two (-4)."""
    found: list[int] = []
    left, wanted = list(data), list(sizes)
    while left and wanted:
        if wanted[0] == left[0]:
            found.append(0)
        elif wanted[0] in _products(left[:2]):
            found.append(-3)
            del left[0]
        elif left[0] in _products(wanted[:2]):
            found += [-4, *(s if isinstance(s, int) else -1 for s in wanted[:2])]
            del wanted[0]
        else:
            return None
        del left[0], wanted[0]
    return None if left or wanted else tuple(found)


def _products(pair: Sequence[Size]) -> set[Size]:
    """The product of two sizes, as `size_of` names it."""
    if len(pair) < 2:
        return set()
    return {_combined(a, b, *_ARITHMETIC["Mul"]) for a, b in (pair, pair[::-1])}


def resolved(op_type: str, sizes: Sequence[Size], data: Sequence[Size], name: str) -> list[Size]:
    """The shape that ``Reshape`` or ``Expand`` makes, with a new name for a size it leaves open."""
    found = list(sizes)
    if op_type == "Expand":
        rank = max(len(sizes), len(data))
        found = [1] * (rank - len(sizes)) + found
        data = [1] * (rank - len(data)) + list(data)
    for i, size in enumerate(found):
        if size == (1 if op_type == "Expand" else 0) and i < len(data):
            found[i] = data[i]
        elif size == -1:
            found[i] = f"{name}[{i}]"
    return found
