"""Nodes that MXNet fused for oneDNN, read as the operators that they stand for."""

from __future__ import annotations

from modkit.errors import FileFormatError
from modkit.symbol.graph import Entry, Graph, Node, rewrite

_CONVOLUTION = "_sg_mkldnn_conv"

FUSED = frozenset({_CONVOLUTION, "_sg_mkldnn_fully_connected"})
"""Operators of graphs partitioned for oneDNN, each with the graph that it stands for."""


def unfold(fused: Node) -> Node:
    """The node that gives a fused node's outputs under its name, computed by plain operators.

    A quantized convolution reads and writes levels of 8 bits. Between them it computes in float32:
    oneDNN rounds its weights to 8 bits, these are not rounded. Quantized products of another kind,
    or without a calibrated range, stay as they are: operators that modkit lacks.

    Raises:
        FileFormatError: the graph does not fit the node's inputs or outputs.
    """
    quantized = fused.flag("quantized")
    calibration = {n: v for n, v in fused.attrs.items() if n.endswith("_calib_range")}
    if quantized and (fused.op_name != _CONVOLUTION or len(calibration) != 2):
        return fused
    body = fused.subgraphs[0] if len(fused.subgraphs) == 1 else Graph([])
    count = len(body.inputs)
    # The ranges stand after all inputs: of the first, then of the last if that is a summand.
    levels = [0, count - 1][: 1 + fused.flag("with_sum")] if quantized else []
    if len(body.heads) != 1 or len(fused.inputs) != count + 2 * len(levels):
        raise FileFormatError(
            f"node {fused.name!r} of operator {fused.op_name!r} has {len(fused.inputs)} inputs "
            f"and {len(fused.subgraphs)} subgraphs, expected one subgraph with one output and "
            f"{count} inputs, and {2 * len(levels)} inputs more"
        )
    given = list(fused.inputs[:count])
    for rank, place in enumerate(levels):
        ends = fused.inputs[count + 2 * rank :][:2]
        name = f"{fused.name}_dequantize{rank}"
        given[place] = Entry(Node("_contrib_dequantize", name, {}, [given[place], *ends]))
    for node in body.nodes:
        # oneDNN multiplies the moving statistics into the weights.
        if node.op_name == "BatchNorm":
            node.attrs["use_global_stats"] = "True"
    (head,) = rewrite(body, dict(zip(map(id, body.inputs), given, strict=True)))
    if not quantized:
        return Node(head.node.op_name, fused.name, head.node.attrs, head.node.inputs)
    attrs = {"out_type": "auto", **calibration}
    return Node("_contrib_quantize_v2", fused.name, attrs, [head])
