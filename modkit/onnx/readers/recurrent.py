"""ONNX's recurrent layers, as the fused recurrent operator."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from modkit import symbol as sym
from modkit.onnx.correspondence import GATES, reordered
from modkit.onnx.onnx_node import OnnxNode
from modkit.onnx.readers.table import reads
from modkit.symbol import Symbol

_MODES = {
    "LSTM": {("Sigmoid", "Tanh", "Tanh"): "lstm"},
    "GRU": {("Sigmoid", "Tanh"): "gru"},
    "RNN": {("Tanh",): "rnn_tanh", ("Relu",): "rnn_relu"},
}
"""Modes of the fused operator by activations of one direction, the default ones first."""


def _packed(node: OnnxNode, units: int, directions: int) -> np.ndarray:
    """All weights, then all biases, as one vector."""
    of_input, of_state = node.constant(1), node.constant(2)
    if of_input is None or of_state is None or (node.has(3) and node.constant(3) is None):
        raise node.refuse("weights that depend on data")
    order = np.argsort(GATES[node.op_type]).tolist()  # positions in ONNX of MXNet's gates
    biases = node.constant(3)
    if biases is None:
        biases = np.zeros((directions, 2 * len(order) * units), of_input.dtype)
    weights = [w for pair in zip(of_input, of_state, strict=True) for w in pair]
    vectors = [b for pair in biases for b in np.split(pair, 2)]
    return np.concatenate([reordered(each, order).ravel() for each in weights + vectors])


def _mode(node: OnnxNode, directions: int) -> Any:
    given = tuple(a.decode() for a in node.attr("activations", []))
    modes = _MODES[node.op_type].items()
    mode = next((mode for own, mode in modes if given in ((), own * directions)), None)
    if mode is None:
        raise node.refuse(f"activations={list(given)}")
    if mode == "gru" and not node.attr("linear_before_reset", 0):
        raise node.refuse("linear_before_reset=0, another GRU than MXNet's")
    return mode


@reads("LSTM", "GRU", "RNN")
def _recurrent(node: OnnxNode) -> list[Symbol]:
    direction = node.attr("direction", "forward")
    directions = 2 if direction == "bidirectional" else 1
    if node.attr("layout", 0) or node.attr("clip") or node.has(7) or node.attr("input_forget", 0):
        raise node.refuse("layout=1, clip, peepholes and input_forget=1")
    units = node.attr("hidden_size")
    mode = _mode(node, directions)
    x = node.symbol()
    count = 2 if mode == "lstm" else 1
    parameters = node.parameter("parameters", _packed(node, units, directions))
    states = [
        node.symbol(5 + i) if node.has(5 + i) else _zeros(x, directions, units)
        for i in range(count)
    ]
    lengths: dict[str, Any] = {}
    if node.has(4):
        given = sym.cast(node.symbol(4), dtype=node.dtype())
        lengths = {"sequence_length": given, "use_sequence_length": True}
    backwards = partial(sym.SequenceReverse, **lengths) if direction == "reverse" else sym.identity
    found = sym.RNN(
        backwards(x), parameters, *states, **lengths, mode=mode, state_size=units, num_layers=1,
        bidirectional=directions == 2, state_outputs=True,
    )  # fmt: skip
    apart = sym.Reshape(backwards(found[0]), shape=(0, 0, directions, units))
    return [sym.transpose(apart, axes=(0, 2, 1, 3)), *list(found)[1:]]


def _zeros(x: Symbol, directions: int, units: int) -> Symbol:
    """A state of zeros, for the batch of ``x`` (steps, batch, channels)."""
    first = sym.slice_axis(sym.slice_axis(x, axis=0, begin=0, end=1), axis=2, begin=0, end=1)
    return sym.tile(sym.zeros_like(first), reps=(directions, 1, units))
