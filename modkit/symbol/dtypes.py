"""Element types of one node: what follows from what is known, in both directions."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from modkit.errors import DTypeError
from modkit.ops.registry import Op
from modkit.symbol.graph import Params, as_mapping

Types = tuple[str | None, ...]
"""Names of element types; ``None`` where unknown."""


def merge(first: str | None, second: str | None, what: str) -> str | None:
    """What two sources together say about one type.

    Raises:
        DTypeError: they contradict each other.
    """
    if first and second and first != second:
        raise DTypeError(f"{what}: got {first}, expected {second}")
    return first or second


def _merge_all(first: Types, second: Sequence[str | None], names: Sequence[str]) -> Types:
    return tuple(merge(a, b, n) for a, b, n in zip(first, second, names, strict=True))


@functools.lru_cache(maxsize=65536)
def refine(op: Op, params: Params, ins: Types, outs: Types) -> tuple[Types, Types]:
    """What a node's inputs and outputs must be, as far as it follows from ``ins`` and ``outs``.

    Raises:
        DTypeError: what is known contradicts itself, or the operator refuses it.
    """
    attrs = as_mapping(params)
    names, out_names = op.input_names(attrs), op.output_names(attrs)
    if op.dtypes is None:
        return _same(ins, outs, [*names, *out_names], attrs.get("dtype"))
    new_ins, new_outs = op.dtypes(list(ins), attrs)
    guess = _backward(op, params, ins, outs, new_outs)
    if guess is not None:
        new_ins, new_outs = op.dtypes([guess, *ins[1:]], attrs)
        new_ins = [merge(guess, new_ins[0], names[0]), *new_ins[1:]]
    return _merge_all(ins, new_ins, names), _merge_all(outs, new_outs, out_names)


def _backward(
    op: Op, params: Params, ins: Types, outs: Types, forward: Sequence[str | None]
) -> str | None:
    """The first input's type, where the first output has it and is known."""
    if not ins or ins[0] is not None or not outs or outs[0] is None or forward[0] is not None:
        return None
    assert op.dtypes is not None  # noqa: S101 - the caller looked
    _, trial = op.dtypes([outs[0], *ins[1:]], as_mapping(params))
    return outs[0] if trial[0] == outs[0] else None


def _same(ins: Types, outs: Types, names: Sequence[str], asked: str | None) -> tuple[Types, Types]:
    """All have one type; a ``dtype`` parameter sets the outputs'."""
    if asked == "None":
        asked = None
    common: str | None = None
    for each, name in zip((*ins, *(() if asked else outs)), names, strict=False):
        common = merge(each, common, name)
    if not ins:
        common = common or "float32"
    made = tuple(merge(t, asked or common, n) for t, n in zip(outs, names[len(ins) :], strict=True))
    return (common,) * len(ins), made
