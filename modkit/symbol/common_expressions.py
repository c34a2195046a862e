"""Common subexpressions: equal nodes of a graph become one, as executors of MXNet show them.

XLA does the same to every compiled program, whatever is set here: only graphs that users read,
``Executor.get_optimized_symbol`` and ``debug_str``, come from this file.
"""

from __future__ import annotations

import os
from typing import Any

from modkit.symbol.graph import Entry, Graph, Node, copied

_NAMES = """
BatchNorm_v1 BilinearSampler Convolution_v1 Correlation Crop GridGenerator IdentityAttachKLSparseReg
InstanceNorm L2Normalization MakeLoss Pad Pooling_v1 RNN ROIPooling SVMOutput SequenceLast
SequenceMask SequenceReverse SliceChannel SpatialTransformer SwapAxis _contrib_MultiBoxDetection
_contrib_MultiBoxPrior _contrib_MultiBoxTarget _contrib_MultiProposal _contrib_PSROIPooling
_contrib_Proposal
"""
_APART = frozenset(_NAMES.split())
"""Operators of which MXNet 1.9.1 keeps every node."""


def is_on() -> bool:
    """Whether the variable ``MXNET_ELIMINATE_COMMON_EXPR`` is on; it is unless set to 0."""
    return os.environ.get("MXNET_ELIMINATE_COMMON_EXPR", "1") != "0"


def merged(graph: Graph) -> list[Entry]:
    """The heads of a copy in which nodes of one operator, equal attributes and inputs are one.

    A head that repeats another is a copy of it, so that the number of outputs stays.
    """
    first: dict[Any, Node] = {}

    def one_of_equals(node: Node, inputs: list[Entry]) -> Node:
        key: Any = id(node)
        if _can_merge(node):
            places = tuple((id(entry.node), entry.output) for entry in inputs)
            key = node.op_name, tuple(sorted(node.attrs.items())), places
        if key not in first:
            first[key] = node if node.is_variable else node.on(inputs)
        return first[key]

    heads: list[Entry] = []
    latest: dict[Entry, Entry] = {}
    for head in copied(graph, one_of_equals):
        shown = head
        if head in latest and not head.node.is_variable:
            source = latest[head]
            name = f"{source.node.name}_{source.output}_copy"
            shown = Entry(Node("_copy", name, inputs=[source]))
        latest[head] = shown
        heads.append(shown)
    return heads


def _can_merge(node: Node) -> bool:
    op = node.known_op
    if op is None or not node.inputs or node.subgraphs or node.op_name in _APART:
        return False
    return not (op.takes_key or op.on_host or node.mutable_inputs())
