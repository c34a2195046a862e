"""ONNX's ``Einsum``: products of arrays, two at a time, with sums over letters."""

from __future__ import annotations

from collections.abc import Iterable

from modkit import symbol as sym
from modkit.onnx.onnx_node import OnnxNode
from modkit.onnx.readers.table import reads
from modkit.onnx.sizes import Size
from modkit.symbol import Symbol


@reads("Einsum")
def _einsum(node: OnnxNode) -> Symbol:
    terms, target = _letters(node)
    for term in (*terms, target):
        if len(set(term)) < len(term):
            raise node.refuse(f"a letter that occurs twice in one term, {term!r}")
    x, have = node.symbol(), terms[0]
    for i, term in enumerate(terms[1:], 1):
        needed = {*target, *"".join(terms[i + 1 :])}
        x, have = _product(x, have, node.symbol(i), term, needed)
    summed = tuple(i for i, letter in enumerate(have) if letter not in target)
    x = sym.sum(x, axis=summed) if summed else x
    return _ordered(x, [letter for letter in have if letter in target], target)


def _letters(node: OnnxNode) -> tuple[list[str], str]:
    """Terms of the inputs and of the output, with a capital for each axis of an ellipsis."""
    equation = node.attr("equation").replace(" ", "")
    left, arrow, target = equation.partition("->")
    terms = left.split(",")
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        target = "..." * ("..." in left) + "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1)
        )
    if "..." in equation:
        counts = [node.rank(i) - len(t) + 3 for i, t in enumerate(terms) if "..." in t]
        free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in equation]
        if len(set(counts)) > 1 or counts[0] > len(free):
            raise node.refuse(f"ellipses of {counts} axes, in {equation!r}")
        if len({_ellipsis(node, i, t) for i, t in enumerate(terms) if "..." in t}) > 1:
            raise node.refuse(f"ellipses of other sizes each, in {equation!r}")
        axes = "".join(free[: counts[0]])
        terms, target = [t.replace("...", axes) for t in terms], target.replace("...", axes)
    return terms, target


def _ellipsis(node: OnnxNode, index: int, term: str) -> tuple[Size, ...]:
    """Sizes of the axes of an input's ellipsis."""
    start, dims = term.index("..."), node.dims(index) or ()
    return tuple(dims[start : len(dims) - len(term) + start + 3])


def _product(
    a: Symbol, letters_a: str, b: Symbol, letters_b: str, needed: set[str]
) -> tuple[Symbol, str]:
    """The product of two arrays, summed over the letters that are needed no more."""
    both = [c for c in letters_a if c in letters_b]
    batch = [c for c in both if c in needed]
    summed = [c for c in both if c not in needed]
    left = [c for c in letters_a if c not in both]
    right = [c for c in letters_b if c not in both]
    if len(summed) == 1 and not batch:
        found = sym.dot(
            _ordered(a, letters_a, left + summed), _ordered(b, letters_b, summed + right)
        )
    elif len(summed) == len(left) == len(right) == 1:
        found = sym.linalg.gemm2(
            _ordered(a, letters_a, batch + left + summed),
            _ordered(b, letters_b, batch + summed + right),
        )
    else:
        whole = batch + left + right + summed
        found = sym.broadcast_mul(_widened(a, letters_a, whole), _widened(b, letters_b, whole))
        if summed:
            found = sym.sum(found, axis=tuple(range(-len(summed), 0)))
    return found, "".join(batch + left + right)


def _ordered(x: Symbol, have: Iterable[str], wanted: Iterable[str]) -> Symbol:
    have, wanted = list(have), list(wanted)
    return x if have == wanted else sym.transpose(x, axes=tuple(map(have.index, wanted)))


def _widened(x: Symbol, have: str, wanted: list[str]) -> Symbol:
    """``x`` with its axes in an order, and axes of size 1 for letters that it lacks."""
    x = _ordered(x, have, [c for c in wanted if c in have])
    for axis, letter in enumerate(wanted):
        if letter not in have:
            x = sym.expand_dims(x, axis=axis)
    return x
