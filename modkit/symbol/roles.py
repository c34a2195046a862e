"""The roles of a graph's variables: inputs, labels, parameters and auxiliary states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from modkit.symbol.graph import Node
from modkit.symbol.symbol import Symbol

_PARAMETER_ENDINGS = (
    "_weight", "_bias", "_gamma", "_beta", "_alpha", "_parameters", "_mean", "_var",
)  # fmt: skip


class _Roles(NamedTuple):
    """Names of variables by their role, in the order of the graph."""

    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    parameters: tuple[str, ...]
    auxiliary: tuple[str, ...]


def roles_of(net: Symbol) -> _Roles:
    """The role of each variable of a net, from its users and its name."""
    uses: dict[int, list[tuple[Node, int]]] = {}
    for node in net.graph.nodes:
        for position, entry in enumerate(node.inputs):
            uses.setdefault(id(entry.node), []).append((node, position))
    auxiliary = {id(n) for n in net.graph.auxiliary}
    found = [
        (n.name, "auxiliary" if id(n) in auxiliary else _role(n, uses.get(id(n), [])))
        for n in net.graph.inputs
    ]
    return _Roles(*(tuple(n for n, role in found if role == each) for each in _Roles._fields))


def _role(variable: Node, uses: Iterable[tuple[Node, int]]) -> str:
    used_as = set(_used_as(uses))
    if "labels" in used_as:
        return "labels"
    return "parameters" if "parameters" in used_as else _role_by_name(variable.name)


def _used_as(uses: Iterable[tuple[Node, int]]) -> Iterator[str]:
    for node, position in uses:
        op = node.known_op
        if op is None:
            continue
        name = op.input_names(node.params)[position]
        if name == "label":
            yield "labels"
        elif position and op.params and not name.startswith("state"):
            yield "parameters"


def _role_by_name(name: str) -> str:
    if name.endswith("label"):
        return "labels"
    return "parameters" if name.endswith(_PARAMETER_ENDINGS) else "inputs"
