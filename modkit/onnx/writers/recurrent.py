"""The fused recurrent operator, a node of ONNX for each of its layers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from modkit.onnx.correspondence import GATES, reordered
from modkit.onnx.graph_builder import Call, ints
from modkit.onnx.writers.table import writes

_OPERATORS = {"lstm": "LSTM", "gru": "GRU", "rnn_relu": "RNN", "rnn_tanh": "RNN"}
"""ONNX's operator of each mode."""


@writes("RNN")
def _rnn(call: Call) -> str | list[str]:
    if call.projection_size or call.lstm_state_clip_min is not None:
        raise call.refuse("projections and clipped states are not part of ONNX")
    lengths = call.input("sequence_length")
    op_type = _OPERATORS[call.mode]
    directions = 2 if call.bidirectional else 1
    attrs = _attrs(call, op_type, directions)
    states = [v for v in (call.input("state"), call.input("state_cell")) if v is not None]
    steps, batch = call.shape[:2]
    x, ends = call.x, []
    for layer, weights in enumerate(_weights(call, directions)):
        rows = [ints([layer * directions]), ints([(layer + 1) * directions]), ints([0])]
        before = [call.emit("Slice", state.name, *rows) for state in states]
        length = call.cast(lengths.name, "int32") if lengths else ""
        made = call.emit_many(op_type, (x, *weights, length, *before), len(states) + 1, **attrs)
        ends.append(made[1:])
        together = call.transpose(made[0], (0, 2, 1, 3))  # (steps, batch, directions, units)
        width = directions * call.state_size
        whole = steps is None or batch is None
        x = call.emit("Reshape", together, ints([0, 0, width] if whole else [steps, batch, width]))
    if not call.state_outputs:
        return x
    joined = [call.emit("Concat", *each, axis=0) for each in zip(*ends, strict=True)]
    return [x, *joined]


def _attrs(call: Call, op_type: str, directions: int) -> dict[str, object]:
    attrs: dict[str, object] = {"hidden_size": call.state_size}
    if directions == 2:
        attrs["direction"] = "bidirectional"
    if op_type == "GRU":
        attrs["linear_before_reset"] = 1
    if call.mode == "rnn_relu":
        attrs["activations"] = ["Relu"] * directions
    return attrs


def _weights(call: Call, directions: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Weights of the input and of the state, and biases, as ONNX has them, layer by layer.

    MXNet's one vector holds the weights of all layers, then the biases of all layers.
    """
    packed = call.constant_input("parameters")
    units, order = call.state_size, GATES[_OPERATORS[call.mode]]
    gates = len(order)
    (width,) = call.static(call.inputs[0], 2)
    position = 0

    def taken(*shape: int) -> np.ndarray:
        nonlocal position
        size = int(np.prod(shape))
        found = packed[position : position + size].reshape(shape)
        position += size
        return reordered(found, order)

    matrices = []
    for layer in range(call.num_layers):
        size = width if layer == 0 else units * directions
        pairs = [(taken(gates * units, size), taken(gates * units, units))
                 for _ in range(directions)]  # fmt: skip
        matrices.append([np.stack(each) for each in zip(*pairs, strict=True)])
    for of_input, of_state in matrices:
        biases = [np.concatenate([taken(gates * units), taken(gates * units)])
                  for _ in range(directions)]  # fmt: skip
        yield of_input, of_state, np.stack(biases)
