"""Nodes of older JSON dialects, converted to those of MXNet 1.9."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from modkit.errors import FileFormatError, ParameterError
from modkit.ops.entry import Op
from modkit.ops.registry import OPS
from modkit.symbol.attrs import HIDDEN, check_for_op
from modkit.symbol.compose import complete_inputs
from modkit.symbol.graph import VARIABLE, Entry, Graph, Node, parsed
from modkit.symbol.onednn_nodes import FUSED, unfold

OLDEST = 800
"""The version of files that do not name theirs: 0.8.0."""

VERSION = 10901
"""The version that modkit writes: 1.9.1."""

_INPUTS_COMPLETE = 900
"""Since this version files list every input, auxiliary states too."""

_INITIALIZERS_COMPLETE = 904
"""Since this version files list the initializers that operators give to their inputs."""

_AXIS_OPTIONAL = 905
"""Before this version ``axis=-1`` of arg-max meant all axes."""


class StoredNode(NamedTuple):
    """A node as it stands in a file."""

    op_name: str
    name: str
    attrs: dict[str, str]
    inputs: list[tuple[int, int]]
    subgraphs: tuple[Graph, ...] = ()


def upgrade(draft: StoredNode, inputs: Sequence[Entry], version: int) -> Node:
    """The node that a draft means.

    Raises:
        FileFormatError: wrong number of inputs.
        ParameterError: an attribute that the operator does not take.
    """
    if draft.op_name == VARIABLE:
        inputs = ()
    node = Node(draft.op_name, draft.name, draft.attrs, inputs, draft.subgraphs)
    if version < VERSION:
        node.attrs = {f"__{n}__" if n in HIDDEN else n: v for n, v in draft.attrs.items()}
    if node.op_name in FUSED:
        return unfold(node)
    op = OPS.get(node.op_name)
    if op is None or not op.is_known(node.attrs):  # a variable, too
        return node
    if len(node.subgraphs) != op.bodies:
        raise FileFormatError(
            f"{_of_operator(node)} has {len(node.subgraphs)} subgraphs, expected "
            f"{op.bodies or 'none'}"
        )
    if not op.bodies:
        return _with_all_inputs(op, node, version)
    check_for_op(op, node.attrs)
    made = Node(op.name, node.name, node.attrs, inputs, node.subgraphs)
    op.check(made.params, len(inputs))
    return made


def _of_operator(node: Node) -> str:
    return f"node {node.name!r} of operator {node.op_name!r}"


def _with_all_inputs(op: Op, node: Node, version: int) -> Node:
    """A node of an older file with all inputs, which get the attributes that are meant for them."""
    attrs, inputs = dict(node.attrs), node.inputs
    if version < _AXIS_OPTIONAL and op.name in ("argmax", "argmin") and attrs.get("axis") == "-1":
        del attrs["axis"]
    for_inputs = _take_for_inputs(op, attrs) if version < VERSION else {}
    names = _input_names(op, tuple(attrs.items()), len(inputs))
    missing = len(names) - len(inputs)
    complete_since = _INPUTS_COMPLETE if missing else _INITIALIZERS_COMPLETE
    if version < complete_since and missing >= 0:
        given = dict(zip(names, inputs, strict=False))
        inputs = complete_inputs(op, node.name, names, given, attrs)
    if len(inputs) != len(names):
        raise FileFormatError(
            f"{_of_operator(node)} has {len(inputs)} inputs, expected {len(names)}: "
            f"{', '.join(names)}"
        )
    for (name, hidden), value in for_inputs.items():
        if name in names:
            inputs[names.index(name)].node.attrs[f"__{hidden}__"] = value
    return Node(op.name, node.name, attrs, inputs)


_MOST_OUTPUTS = 2**16


@functools.lru_cache(maxsize=16384)
def _input_names(op: Op, attrs: tuple[tuple[str, str], ...], count: int) -> Sequence[str]:
    """Names of the inputs of a node whose attributes are read and checked.

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
