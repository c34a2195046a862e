"""RNNCell, LSTMCell and GRUCell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modkit.initializer import LSTMBias
from modkit.rnn.base import Activation, BaseRNNCell, RNNParams, compose
from modkit.symbol import Symbol

CellOutput = tuple[Symbol, list[Symbol]]
"""The output of one time step, and the new states."""


class RNNStep(BaseRNNCell):
    """A step of dense and of convolutional RNN cells."""

    _activation: Activation
    _gate_names = ("",)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> CellOutput:
        name = self._next_step(states)
        from_input, from_state = self._gates(inputs, states, name)
        output = self._get_activation(from_input + from_state, self._activation, name=f"{name}out")
        return output, [output]


class LSTMStep(BaseRNNCell):
    """A step of dense and of convolutional LSTM cells. The states are h and c."""

    _activation: Activation = "tanh"
    _gate_names: Sequence[str] = ["_i", "_f", "_c", "_o"]

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return super().state_info * 2

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> CellOutput:
        name = self._next_step(states)
        from_input, from_state = self._gates(inputs, states, name)
        gates = _split(from_input + from_state, 4, f"{name}slice", self._gate_axis)
        input_gate = compose("Activation", gates[0], act_type="sigmoid", name=f"{name}i")
        forget_gate = compose("Activation", gates[1], act_type="sigmoid", name=f"{name}f")
        candidate = self._get_activation(gates[2], self._activation, name=f"{name}c")
        output_gate = compose("Activation", gates[3], act_type="sigmoid", name=f"{name}o")
        kept, added = forget_gate * states[1], input_gate * candidate
        memory = compose("elemwise_add", kept, added, name=f"{name}state")
        activated = self._get_activation(memory, self._activation)
        output = compose("elemwise_mul", output_gate, activated, name=f"{name}out")
        return output, [output, memory]


class GRUStep(BaseRNNCell):
    """A step of dense and of convolutional GRU cells."""

    _activation: Activation = "tanh"
    _gate_names: Sequence[str] = ["_r", "_z", "_o"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> CellOutput:
        name = self._next_step(states)
        from_input, from_state = self._gates(inputs, states, name)
        axis = None if self._gate_axis == 1 else self._gate_axis  # as MXNet writes the node
        i2h = _split(from_input, 3, f"{name}_i2h_slice", axis)
        h2h = _split(from_state, 3, f"{name}_h2h_slice", axis)
        reset = compose("Activation", i2h[0] + h2h[0], act_type="sigmoid", name=f"{name}_r_act")
        update = compose("Activation", i2h[1] + h2h[1], act_type="sigmoid", name=f"{name}_z_act")
        candidate = i2h[2] + reset * h2h[2]
        candidate = self._get_activation(candidate, self._activation, name=f"{name}_h_act")
        replaced = (1.0 - update) * candidate
        output = compose("elemwise_add", replaced, update * states[0], name=f"{name}out")
        return output, [output]


def _split(gates: Symbol, count: int, name: str, axis: int | None) -> Symbol:
    along: dict[str, Any] = {} if axis is None else {"axis": axis}
    return compose("SliceChannel", gates, num_outputs=count, name=name, **along)


def projected(
    cell: Any, op: str, inputs: Symbol, state: Symbol, name: str, i2h: Any, h2h: Any
) -> tuple[Symbol, Symbol]:
    """Input and state of a cell, each by an operator with the cell's weights and parameters."""
    from_input = compose(op, data=inputs, weight=cell._iW, bias=cell._iB, name=f"{name}i2h", **i2h)
    from_state = compose(op, data=state, weight=cell._hW, bias=cell._hB, name=f"{name}h2h", **h2h)
    return from_input, from_state


class _DenseCell(BaseRNNCell):
    """Base of cells whose gates are fully connected to the input and to the state."""

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None, **bias: Any):
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        self._iW = self.params.get("i2h_weight")
        self._hW = self.params.get("h2h_weight")
        self._iB = self.params.get("i2h_bias", **bias)
        self._hB = self.params.get("h2h_bias")

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """One state, (N, num_hidden)."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def _gates(self, inputs: Symbol, states: Sequence[Symbol], name: str) -> tuple[Symbol, Symbol]:
        rows = {"num_hidden": self._num_hidden * self._num_gates}
        return projected(self, "FullyConnected", inputs, states[0], name, rows, rows)


class RNNCell(RNNStep, _DenseCell):
    """h' = act(W x + b + R h + d).

    Args:
        num_hidden: size of the state and of the output.
        activation: a name for `Activation`, or a function of a symbol.
    """

    def __init__(
        self,
        num_hidden: int,
        activation: Activation = "tanh",
        prefix: str = "rnn_",
        params: RNNParams | None = None,
    ):
        super().__init__(num_hidden, prefix, params)
        self._activation = activation


class LSTMCell(LSTMStep, _DenseCell):
    """Gates i, f, c, o; c' = f c + i tanh(..), h' = o tanh(c'). The states are h and c.

    Args:
        num_hidden: size of each state and of the output.
        forget_bias: initial bias of the forget gate.
    """

    def __init__(
        self,
        num_hidden: int,
        prefix: str = "lstm_",
        params: RNNParams | None = None,
        forget_bias: float = 1.0,
    ):
        super().__init__(num_hidden, prefix, params, init=LSTMBias(forget_bias=forget_bias))


class GRUCell(GRUStep, _DenseCell):
    """Gates r, z, o; o = tanh(W x + b + r (R h + d)), h' = (1 - z) o + z h.

    Args:
        num_hidden, prefix, params: see `RNNCell`.
    """

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None):
        super().__init__(num_hidden, prefix, params)

    def _gates(self, inputs: Symbol, states: Sequence[Symbol], name: str) -> tuple[Symbol, Symbol]:
        return super()._gates(inputs, states, f"{name}_")
