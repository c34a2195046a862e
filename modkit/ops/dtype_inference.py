"""Element types of one operator, inferred in both directions, and rules that operators share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from modkit.errors import DTypeError
from modkit.ops.entry import Op
from modkit.ops.parameters import Attrs, Params, as_mapping

Types = tuple[str | None, ...]
"""Names of element types; ``None`` where unknown."""

Inferred = tuple[list[str | None], list[str | None]]
"""The result of a ``dtypes`` rule: types of the inputs, and of the outputs."""


def merge(first: str | None, second: str | None, what: str) -> str | None:
    """One type from two sources, either of which may be ``None``.

    Raises:
        DTypeError: they contradict each other.
    """
    if first and second and first != second:
        raise DTypeError(f"{what}: got {first}, expected {second}")
    return first or second


def _merge_all(first: Types, second: Sequence[str | None], names: Sequence[str]) -> Types:
    return tuple(merge(a, b, n) for a, b, n in zip(first, second, names, strict=True))


@functools.lru_cache(maxsize=8192)  # keys hold the bodies of loops: a few KB each
def refine(op: Op, params: Params, ins: Types, outs: Types) -> tuple[Types, Types]:
    """All element types that follow from known ones; DTypeError if contradictory or refused."""
    return by_rules(op, as_mapping(params), ins, outs)


def by_rules(op: Op, attrs: Attrs, ins: Types, outs: Types) -> tuple[Types, Types]:
    """`refine`, without its cache."""
    names, out_names = op.input_names(attrs), op.output_names(attrs)
    rule = op.dtypes
    if rule is None:
        return _same(ins, outs, [*names, *out_names], attrs.get("dtype"))
    new_ins, new_outs = rule(list(ins), attrs)
    if ins and outs and outs[0] is not None and new_outs[0] is None:
        ins = _backward(lambda types: rule(list(types), attrs)[1][0], ins, outs[0])
        new_ins, new_outs = rule(list(ins), attrs)
    return _merge_all(ins, new_ins, names), _merge_all(outs, new_outs, out_names)


def _backward(first_output: Callable[[Types], str | None], ins: Types, out: str) -> Types:
    """The inputs, with the one filled in that decides the type of the first output.

    Where another type of the input gives this output too, as in casts, nothing follows.
    """
    other = "float32" if out == "float16" else "float16"
    for i, each in enumerate(ins):
        trial, second = ((*ins[:i], t, *ins[i + 1 :]) for t in (out, other))
        if each is None and first_output(trial) == out:
            return ins if first_output(second) == out else trial
    return ins


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


def first_decides(ins: Sequence[str | None], _attrs: Attrs) -> Inferred:
    """The rule of types where the output has the type of the first input; the others are free."""
    return list(ins), [ins[0]]


def float32_result(ins: Sequence[str | None], _attrs: Attrs) -> Inferred:
    """The rule of types where the inputs share one, and the output is float32."""
    return [next((t for t in ins if t), None)] * len(ins), ["float32"]


def int64_result(ins: Sequence[str | None], _attrs: Attrs) -> Inferred:
    """The rule of types where the output is int64; the inputs are free."""
    return list(ins), ["int64"]


def first_by_default(ins: Sequence[str | None], _attrs: Attrs) -> Inferred:
    """`first_decides`, where an input of unknown type has the type of the first, too."""
    return [ins[0], *(each or ins[0] for each in ins[1:])], [ins[0]]


def label_like_data(ins: Sequence[str | None], _attrs: Attrs) -> Inferred:
    """The output has the data's type; a label of unknown type has it, too, and conversely."""
    data, label = ins
    return [data or label, label or data], [data or label]
