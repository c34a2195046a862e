"""A net without its labels: loss layers read them only to train."""

from __future__ import annotations

from modkit.symbol import Symbol
from modkit.symbol.graph import VARIABLE, Entry, Node


def unlabelled(net: Symbol) -> tuple[Symbol, tuple[str, ...]]:
    """A copy of a net whose loss layers read blanks instead of labels.

    What made the labels, say a Reshape, is no longer part of the graph.

    Returns:
        The copy, and the names of its blanks: variables that take any values.
    """
    made: dict[int, Node] = {}
    blanks: list[str] = []

    def moved(entry: Entry) -> Entry:
        return Entry(made[id(entry.node)], entry.output)

    for node in net.graph.nodes:
        inputs = list(map(moved, node.inputs))
        op = node.known_op
        if op is not None and op.loss:
            for at, name in enumerate(op.input_names(node.params)):
                if name == "label":
                    # No variable of a user's is called so.
                    blanks.append(f"{node.name}_{name} (unread {len(blanks)})")
                    inputs[at] = Entry(Node(VARIABLE, blanks[-1]))
        made[id(node)] = node.on(inputs)
    return Symbol(map(moved, net.heads)), tuple(blanks)
