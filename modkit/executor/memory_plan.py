"""The memory that a graph's intermediate values need, operator by operator.

MXNet plans it so and shows it in ``debug_str``, which programs read to choose what to recompute. A
compiled program needs less, as XLA fuses operators.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from modkit.ops.parameters import Shape
from modkit.symbol.graph import Graph, Node
from modkit.symbol.graph_inference import infer_dtypes, infer_shapes

Bytes = Mapping[int, int]
"""The size of each operator's outputs, by the number of its node."""


def planned_bytes(
    graph: Graph,
    shapes: Mapping[str, Shape],
    types: Mapping[str, str],
    wrt: Collection[str],
    recomputed: Collection[int],
) -> int:
    """The highest number of bytes in use at once in a forward pass and, if any, a backward pass.

    Variables and their gradients are not counted, since they are bound.

    Args:
        shapes: of its variables, by name.
        types: element types of its variables, by name.
        recomputed: numbers of nodes whose outputs are not kept for the backward pass.
    """
    sizes = _sizes(graph, shapes, types)
    reads = [sorted({graph.index[id(e.node)] for e in node.inputs}) for node in graph.nodes]
    flows = _flows(graph.nodes, reads, wrt)
    heads = {graph.index[id(head.node)] for head in graph.heads}
    kept = set(heads)
    if not any(flows[head] for head in heads):
        return _forward(sizes, reads, kept)[1]
    passed = [i for i, flowing in enumerate(flows) if flowing]
    kept.update(j for i in passed for j in (i, *reads[i]) if j not in recomputed)
    in_use_bytes, peak_bytes = _forward(sizes, reads, kept)
    order = [i for i in reversed(passed) if i in sizes]
    return max(peak_bytes, _backward(sizes, reads, order, heads, kept, in_use_bytes))


def _sizes(graph: Graph, shapes: Mapping[str, Shape], types: Mapping[str, str]) -> Bytes:
    found_shapes, found_types = infer_shapes(graph, shapes), infer_dtypes(graph, types)
    sizes = {}
    for i, node in enumerate(graph.nodes):
        if not node.is_variable:
            outputs = zip(found_shapes.outputs(node), found_types.outputs(node), strict=True)
            sizes[i] = sum(
                math.prod(s or ()) * np.dtype(t or "float32").itemsize for s, t in outputs
            )
    return sizes


def _flows(
    nodes: Sequence[Node], reads: Sequence[Sequence[int]], wrt: Collection[str]
) -> list[bool]:
    """For each node, whether a gradient flows through it."""
    flows: list[bool] = []
    for node, inputs in zip(nodes, reads, strict=True):
        through = node.op_name != "BlockGrad" and any(flows[j] for j in inputs)
        flows.append(node.name in wrt if node.is_variable else through)
    return flows


def _forward(
    sizes: Bytes, reads: Sequence[Sequence[int]], kept: Collection[int]
) -> tuple[int, int]:
    """Bytes in use after the pass, and the highest number in it."""
    last = {j: i for i, inputs in enumerate(reads) for j in inputs}
    in_use_bytes = peak_bytes = 0
    for i, inputs in enumerate(reads):
        in_use_bytes += sizes.get(i, 0)
        peak_bytes = max(peak_bytes, in_use_bytes)
        freed = [j for j in inputs if last[j] == i and j not in kept]
        in_use_bytes -= sum(sizes.get(j, 0) for j in freed)
    return in_use_bytes, peak_bytes


def _backward(
    sizes: Bytes,
    reads: Sequence[Sequence[int]],
    order: Sequence[int],
    heads: Collection[int],
    kept: Collection[int],
    in_use_bytes: int,
) -> int:
    """The highest number of bytes: kept values, recomputed ones, and cotangents."""
    passed = set(order)
    there, cotangents = set(kept), passed & set(heads)
    in_use_bytes += sum(sizes[i] for i in cotangents)
    peak_bytes = in_use_bytes
    for i in order:
        missing = {j for j in (i, *reads[i]) if j in sizes} - there
        while missing:  # a run of recomputed values begins at one that is there
            there |= missing
            in_use_bytes += sum(sizes[j] for j in missing)
            missing = {k for j in missing for k in reads[j] if k in sizes} - there
        new = {j for j in reads[i] if j in passed} - cotangents
        cotangents |= new
        in_use_bytes += sum(sizes[j] for j in new)
        peak_bytes = max(peak_bytes, in_use_bytes)
        in_use_bytes -= sizes[i] * (1 if i in heads else 2)  # its cotangent, and its value
    return peak_bytes
