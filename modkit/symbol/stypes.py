"""Storage types of a graph's values: declared by variables, and inferred through operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from modkit.ops.stype import CSR, DENSE, ROWS, UNDEFINED
from modkit.symbol.graph import Graph, Node

STORAGE_CODES = {UNDEFINED: -1, DENSE: 0, ROWS: 1, CSR: 2}
"""MXNet's number of each storage type."""


def storage_types(graph: Graph) -> dict[str, str]:
    """The storage types that ``Variable(stype=...)`` declares in a graph, by name."""
    named = {str(STORAGE_CODES[stype]): stype for stype in (DENSE, ROWS, CSR)}
    declared = {n.name: str(n.attrs.get("__storage_type__")) for n in graph.inputs}
    return {name: named[code] for name, code in declared.items() if code in named}


def storage_of_nodes(graph: Graph, given: Mapping[str, str]) -> dict[int, Sequence[str]]:
    """Storage types of nodes' outputs, by ``id(node)``, from variables'; further ones are dense."""
    found: dict[int, Sequence[str]] = {}
    for node in graph.nodes:
        if node.is_variable:
            found[id(node)] = [given.get(node.name, UNDEFINED)]
        else:
            found[id(node)] = _results(node, storage_of_inputs(node, found))
    return found


def storage_of_inputs(node: Node, found: Mapping[int, Sequence[str]]) -> list[str]:
    """Storage types of a node's inputs, by those of the nodes before it."""
    types = [(found[id(entry.node)], entry.output) for entry in node.inputs]
    return [of[index] if index < len(of) else DENSE for of, index in types]


def storage_of_outputs(graph: Graph, given: Mapping[str, str]) -> list[str]:
    """Storage types of a graph's outputs; see `storage_of_nodes`."""
    found = storage_of_nodes(graph, given)
    return [_known(found[id(head.node)], head.output) for head in graph.heads]


def storage_of_gradients(graph: Graph, given: Mapping[str, str]) -> dict[str, str]:
    """Storage types of the gradients of variables through these operators alone, by name.

    That of an output is stored as the output is; of several uses row-sparse ones stay so.

    Args:
        given: storage types of variables, by name; others are dense.
    """
    found = storage_of_nodes(graph, {n.name: given.get(n.name, DENSE) for n in graph.inputs})
    back: dict[tuple[int, int], list[str]] = {}
    for head in graph.heads:
        own = _known(found[id(head.node)], head.output)
        back.setdefault((id(head.node), head.output), []).append(own)
    for node in reversed(graph.nodes):
        if node.is_variable or node.known_op is None:
            continue
        gradient, after = node.known_op.storage.gradient, DENSE
        if gradient == "result":
            after = _summed(back.get((id(node), 0), []))
        before = storage_of_inputs(node, found)
        for entry, own in zip(node.inputs, before, strict=True):
            stype = own if gradient == "input" else after
            back.setdefault((id(entry.node), entry.output), []).append(stype)
    return {n.name: _summed(back.get((id(n), 0), [])) for n in graph.inputs}


def _summed(stypes: Sequence[str]) -> str:
    """The storage type of a sum."""
    return stypes[0] if len(stypes) == 1 or set(stypes) == {ROWS} else DENSE


def _known(stypes: Sequence[str], at: int) -> str:
    return DENSE if at >= len(stypes) or stypes[at] == UNDEFINED else stypes[at]


def _results(node: Node, stypes: Sequence[str]) -> Sequence[str]:
    op = node.known_op
    if op is None or not (op.storage.from_dense or CSR in stypes or ROWS in stypes):
        return []
    return op.output_stypes(node.params, stypes)
