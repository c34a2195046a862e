"""The roles of a graph's variables: inputs, labels, parameters and auxiliary states."""

from __future__ import annotations

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
    labels: set[Node] = set()
    parameters: set[Node] = set()
    for node in net.graph.nodes:
        op = node.known_op
        if op is None:
            continue
        names = op.input_names(node.params)
        for position, (name, entry) in enumerate(zip(names, node.inputs, strict=False)):
            if name == "label":
                labels.add(entry.node)
            elif position and op.params and not name.startswith("state"):
                parameters.add(entry.node)
    auxiliary = set(net.graph.auxiliary)

    def role(variable: Node) -> str:
        if variable in auxiliary:
            return "auxiliary"
        if variable in labels:
            return "labels"
        if variable in parameters:
            return "parameters"
        if variable.name.endswith("label"):
            return "labels"
        return "parameters" if variable.name.endswith(_PARAMETER_ENDINGS) else "inputs"

    found = [(n.name, role(n)) for n in net.graph.inputs]
    return _Roles(*(tuple(n for n, r in found if r == each) for each in _Roles._fields))
