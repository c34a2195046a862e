"""Nodes of older JSON dialects, converted to those of MXNet 1.9."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from modkit.errors import FileFormatError, ParameterError
from modkit.ops.registry import OPS, Op
from modkit.symbol.attrs import HIDDEN, check_for_op
from modkit.symbol.compose import complete_inputs
from modkit.symbol.fused import FUSED, unfold
from modkit.symbol.graph import VARIABLE, Entry, Graph, Node, parsed

OLDEST = 800
"""The version of files that do not name theirs: 0.8.0."""

VERSION = 10901
"""The version that modkit writes: 1.9.1."""

_INPUTS_COMPLETE = 900
"""Since this version files list every input, auxiliary states too."""

_AXIS_OPTIONAL = 905
"""Before this version, -1 was how arg-max said that it runs over all axes."""


class StoredNode(NamedTuple):
    """A node as it stands in a file."""

    op_name: str
    name: str
    attrs: dict[str, str]
    inputs: list[tuple[int, int]]
    subgraphs: tuple[Graph, ...] = ()


def upgrade(draft: StoredNode, inputs: Sequence[Entry], version: int) -> Node:
    """The node that a draft means.

    Args:
        draft: from the file.
        inputs: its inputs, upgraded.
        version: of the file, such as 10901.

    Raises:
        FileFormatError: wrong number of inputs.
        ParameterError: an attribute that the operator does not take.
    """
    attrs = dict(draft.attrs)
    if version < VERSION:
        attrs = {f"__{n}__" if n in HIDDEN else n: v for n, v in attrs.items()}
    if draft.op_name == VARIABLE:
        return Node(VARIABLE, draft.name, attrs)
    if draft.op_name in FUSED:
        return unfold(Node(draft.op_name, draft.name, attrs, inputs, draft.subgraphs))
    op = OPS.get(draft.op_name)
    if op is None or not op.is_known(attrs):
        return Node(draft.op_name, draft.name, attrs, inputs, draft.subgraphs)
    if len(draft.subgraphs) != op.bodies:
        raise FileFormatError(
            f"node {draft.name!r} of operator {draft.op_name!r} has {len(draft.subgraphs)} "
            f"subgraphs, expected {op.bodies or 'none'}"
        )
    if op.bodies:
        check_for_op(op, attrs)
        node = Node(op.name, draft.name, attrs, inputs, draft.subgraphs)
        op.check(node.params, len(inputs))
        return node
    if version < _AXIS_OPTIONAL and op.name in ("argmax", "argmin") and attrs.get("axis") == "-1":
        del attrs["axis"]
    for_inputs = _take_for_inputs(op, attrs) if version < VERSION else {}
    names = _input_names(op, tuple(attrs.items()), len(inputs))
    if version < _INPUTS_COMPLETE and len(inputs) < len(names):
        given = dict(zip(names, inputs, strict=False))
        inputs = complete_inputs(op, draft.name, names, given, attrs)
    if len(inputs) != len(names):
        raise FileFormatError(
            f"node {draft.name!r} of operator {draft.op_name!r} has {len(inputs)} inputs, "
            f"expected {len(names)}: {', '.join(names)}"
        )
    for (name, hidden), value in for_inputs.items():
        if name in names:
            inputs[names.index(name)].node.attrs[f"__{hidden}__"] = value
    return Node(op.name, draft.name, attrs, inputs)


_MOST_OUTPUTS = 2**16


@functools.lru_cache(maxsize=16384)
def _input_names(op: Op, attrs: tuple[tuple[str, str], ...], count: int) -> Sequence[str]:
    """Names of the inputs of a node whose attributes are read and checked.

    Args:
        op: its operator.
        attrs: its attributes.
        count: how many inputs it has in the file.

    Raises:
        ParameterError: an attribute that the operator does not take, or a number of inputs or
            outputs that is impossible.
    """
    check_for_op(op, dict(attrs))
    params = dict(parsed(op, attrs))
    # Before names are made for them.
    limits = dict.fromkeys(("num_outputs", "sections"), _MOST_OUTPUTS)
    if op.variadic:
        limits |= dict.fromkeys((op.variadic, "num_weights"), count)
    for name, most in limits.items():
        over = (params.get(name) or 0) > most
        if over and (most == _MOST_OUTPUTS or op.input_names({**params, name: most + 1})[most:]):
            raise ParameterError(
                f"operator {op.name!r} says {name}={params[name]}, expected {most} at most"
            )
    return op.input_names(params)


def check_outputs(user: str, entries: Iterable[Entry]) -> None:
    """Check the indices of outputs; nodes of unknown operators are not checked.

    Args:
        user: who uses them, for the message.
        entries: the outputs.

    Raises:
        FileFormatError: naming the first.
    """
    for node, index in entries:
        count = index + 1
        if index and node.is_variable:
            count = 1
        elif index and node.known_op is not None:
            count = len(node.output_names())
        if index >= count:
            raise FileFormatError(
                f"{user!r} refers to output {index} of node {node.name!r}, which has {count}"
            )


def _take_for_inputs(op: Op, attrs: dict[str, str]) -> dict[tuple[str, str], str]:
    """Take out of ``attrs`` what is meant for an input: ``weight_lr_mult``."""
    taken = {}
    for name in list(attrs):
        for hidden in HIDDEN:
            which = name.removesuffix(f"_{hidden}")
            if which != name and which in op.inputs:
                taken[which, hidden] = attrs.pop(name)
    return taken
