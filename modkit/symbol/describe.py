"""A graph in words."""

from __future__ import annotations

from collections.abc import Iterator

from modkit.symbol.graph import Entry, Graph, Node


def versions(graph: Graph) -> dict[int, int]:
    """How often each variable is written to, by its ``id``."""
    counts: dict[int, int] = {}
    for node in graph.nodes:
        for at in () if node.is_variable else node.mutable_inputs():
            written = id(node.inputs[at].node)
            counts[written] = counts.get(written, 0) + 1
    return counts


def describe(graph: Graph) -> str:
    """Outputs, then each node with its inputs and attributes, in running order."""
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{i}]={_spelled(h)}" for i, h in enumerate(graph.heads)]
    written = versions(graph)
    for node in graph.nodes:
        lines += [f"Variable:{node.name}"] if node.is_variable else _operator(node, written)
    return "\n".join(lines) + "\n"


def _operator(node: Node, written: dict[int, int]) -> Iterator[str]:
    yield "-" * 20
    yield f"Op:{node.op_name}, Name={node.name}"
    if node.inputs:
        yield "Inputs:"
    for i, entry in enumerate(node.inputs):
        version = f" version={written.get(id(entry.node), 0)}" if entry.node.is_variable else ""
        yield f"\targ[{i}]={_spelled(entry)}{version}"
    if node.attrs:
        yield "Attrs:"
    for name in sorted(node.attrs):
        yield f"\t{name}={node.attrs[name]}"


def _spelled(entry: Entry) -> str:
    return f"{entry.node.name}({entry.index})"
