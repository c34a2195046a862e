"""The tape behind an array, as a Symbol."""

from __future__ import annotations

from typing import Any

from modkit.errors import NotReadyError, NotSupportedError
from modkit.ndarray import NDArray
from modkit.ndarray.tape import Host, Leaf, Use, entry_of, order_of
from modkit.ops.registry import get_op
from modkit.symbol import Symbol
from modkit.symbol.attrs import spell
from modkit.symbol.graph import VARIABLE, Entry, Node


def get_symbol(x: NDArray) -> Symbol:
    """The calls that an array was computed by while recording, as a Symbol.

    Variables and constants become variables of the graph, in the order of their use. Each has one
    name, ``var`` or ``null`` and a number, in all graphs, and each call ``node_`` and its number:
    graphs of two arrays can be composed.

    Raises:
        NotReadyError: the array is not on the tape, or its tape was freed.
        NotSupportedError: a call is no operator: Python code, indexing by arrays, a gradient.
    """
    entry = entry_of(x)
    if entry is None:
        raise NotReadyError(
            f"get_symbol: an array of shape {x.shape} is not on the tape: compute it from a "
            "variable inside autograd.record()"
        )
    head = Use(*entry, None, x._ctx)
    nodes: dict[int, Node] = {}

    def made(use: Use) -> Entry:
        if isinstance(use.source, Leaf) and id(use.source) not in nodes:
            hint = "var" if use.source.marked else "null"
            nodes[id(use.source)] = Node(VARIABLE, f"{hint}{use.source.number}")
        return Entry(nodes[id(use.source)], use.output)

    if isinstance(head.source, Host):
        raise _no_operator(head.source)
    for node in order_of([head]):
        if not node.symbol or any(isinstance(use.source, Host) for use in node.uses):
            raise _no_operator(node)
        inputs = [made(use) for use in node.uses]
        left = len(node.symbol)
        for operator, attrs in node.symbol:
            left -= 1
            name = f"node_{node.serial}" + (f"_{left}" if left else "")
            nodes[id(node)] = _node(operator, name, attrs, inputs)
            inputs = [Entry(nodes[id(node)])]
    return Symbol([made(head)])


def _node(operator: str, name: str, attrs: Any, inputs: list[Entry]) -> Node:
    op = get_op(operator)
    given = {n: spell(v) for n, v in attrs.items() if n not in op.defaults or v != op.defaults[n]}
    return Node(op.name, name, given, inputs)


def _no_operator(node: Any) -> NotSupportedError:
    what = node.name if isinstance(node, Host) else "a call"
    return NotSupportedError(
        f"get_symbol: {what} is no operator: Python code, copies between devices, indexing by "
        "arrays and gradients have no symbol"
    )
