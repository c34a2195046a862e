"""A graph as text: ``Symbol.debug_str``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from modkit.symbol.graph import Entry, Graph, Node


def versions(graph: Graph) -> tuple[dict[int, tuple[int, ...]], dict[int, int]]:
    """The number of writes to auxiliary states, by operator.

    Returns:
        For each operator, by its ``id``, the count of each input, its own writing included; and
        for each variable that is written to the count in the end.
    """
    counts: dict[int, int] = {}
    found: dict[int, tuple[int, ...]] = {}
    for node in graph.nodes:
        if node.is_variable:
            continue
        for written, times in _writes(node):
            counts[written] = counts.get(written, 0) + times
        found[id(node)] = tuple(counts.get(id(e.node), 0) for e in node.inputs)
    return found, counts


def _writes(node: Node) -> Iterator[tuple[int, int]]:
    """Variables, by ``id``, that an operator writes to, and how often."""
    if not node.subgraphs:
        for at in node.mutable_inputs():
            yield id(node.inputs[at].node), 1
    for subgraph in node.subgraphs:
        # A variable from outside the loop has its name inside, too.
        counts = versions(subgraph)[1]
        names = {n.name: counts[id(n)] for n in subgraph.inputs if id(n) in counts}
        for each in {id(e.node): e.node for e in node.inputs if e.node.is_variable}.values():
            if each.name in names:
                yield id(each), names[each.name]


def describe(graph: Graph) -> str:
    """Outputs, then each node with its inputs and attributes, in running order.

    A graph of one node is one line, as in MXNet: ``Variable:name`` or ``AtomicFunctor  Op:name``.
    """
    if len(graph.nodes) == 1 and graph.nodes[0].is_variable:
        return f"Variable:{graph.nodes[0].name}\n"
    if len(graph.nodes) == 1 and len(graph.heads) == 1:
        return f"AtomicFunctor  Op:{graph.nodes[0].op_name}\n"
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{i}]={_spelled(h)}" for i, h in enumerate(graph.heads)]
    written, _ = versions(graph)
    for node in graph.nodes:
        lines += (
            [f"Variable:{node.name}"] if node.is_variable else _operator(node, written[id(node)])
        )
    return "\n".join(lines) + "\n"


def _operator(node: Node, written: Sequence[int]) -> Iterator[str]:
    yield "-" * 20
    yield f"Op:{node.op_name}, Name={node.name}"
    yield "Inputs:"
    for i, entry in enumerate(node.inputs):
        version = f" version={written[i]}" if entry.node.is_variable else ""
        yield f"\targ[{i}]={_spelled(entry)}{version}"
    if node.attrs:
        yield "Attrs:"
    for name in sorted(node.attrs):
        yield f"\t{name}={node.attrs[name]}"


def _spelled(entry: Entry) -> str:
    return f"{entry.node.name}({entry.output})"
