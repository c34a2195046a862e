"""RNNCell, LSTMCell and GRUCell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modkit.initializer import LSTMBias
from modkit.rnn.base import Activation, BaseRNNCell, RNNParams, compose
from modkit.symbol import Symbol

CellOutput = tuple[Symbol, list[Symbol]]
"""The output of one time step, and the new states."""


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

    def _dense(self, inputs: Symbol, state: Symbol, name: str) -> tuple[Symbol, Symbol]:
        """The pre-activations of all gates from the input, and from the state."""
        rows = self._num_hidden * len(self._gate_names)
        from_input = compose(
            "FullyConnected", data=inputs, weight=self._iW, bias=self._iB,
            num_hidden=rows, name=f"{name}i2h",
        )  # fmt: skip
        from_state = compose(
            "FullyConnected", data=state, weight=self._hW, bias=self._hB,
            num_hidden=rows, name=f"{name}h2h",
        )  # fmt: skip
        return from_input, from_state


class RNNCell(_DenseCell):
    """h' = act(W x + b + R h + d).

    Args:
        num_hidden: size of the state and of the output.
        activation: a name for `Activation`, or a function of a symbol.
        prefix: prefix of all names.
        params: parameters shared with other cells.
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

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("",)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> CellOutput:
        """See `BaseRNNCell`."""
        self._counter += 1
        name = f"{self._prefix}t{self._counter}_"
        from_input, from_state = self._dense(inputs, states[0], name)
        output = self._get_activation(from_input + from_state, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(_DenseCell):
    """Gates i, f, c, o; c' = f c + i tanh(..), h' = o tanh(c'). The states are h and c.

    Args:
        num_hidden: size of each state and of the output.
        prefix: prefix of all names.
        params: parameters shared with other cells.
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

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Two states, (N, num_hidden) each."""
        return super().state_info * 2

    @property
    def _gate_names(self) -> Sequence[str]:
        return ["_i", "_f", "_c", "_o"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> CellOutput:
        """See `BaseRNNCell`."""
        self._counter += 1
        name = f"{self._prefix}t{self._counter}_"
        from_input, from_state = self._dense(inputs, states[0], name)
        gates = compose("SliceChannel", from_input + from_state, num_outputs=4, name=f"{name}slice")
        return lstm_step(self, gates, states[1], name, "tanh")


class GRUCell(_DenseCell):
    """Gates r, z, o; o = tanh(W x + b + r (R h + d)), h' = (1 - z) o + z h.

    Args:
        num_hidden: size of the state and of the output.
        prefix: prefix of all names.
        params: parameters shared with other cells.
    """

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None):
        super().__init__(num_hidden, prefix, params)

    @property
    def _gate_names(self) -> Sequence[str]:
        return ["_r", "_z", "_o"]

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> CellOutput:
        """See `BaseRNNCell`."""
        self._counter += 1
        name = f"{self._prefix}t{self._counter}_"
        from_input, from_state = self._dense(inputs, states[0], f"{name}_")
        i2h = compose("SliceChannel", from_input, num_outputs=3, name=f"{name}_i2h_slice")
        h2h = compose("SliceChannel", from_state, num_outputs=3, name=f"{name}_h2h_slice")
        return gru_step(self, i2h, h2h, states[0], name, "tanh")


def lstm_step(
    cell: BaseRNNCell, gates: Symbol, memory: Symbol, name: str, activation: Activation
) -> CellOutput:
    """The output and states of an LSTM from the pre-activations of its gates and its cell state."""
    input_gate = compose("Activation", gates[0], act_type="sigmoid", name=f"{name}i")
    forget_gate = compose("Activation", gates[1], act_type="sigmoid", name=f"{name}f")
    candidate = cell._get_activation(gates[2], activation, name=f"{name}c")
    output_gate = compose("Activation", gates[3], act_type="sigmoid", name=f"{name}o")
    kept, added = forget_gate * memory, input_gate * candidate
    memory = compose("elemwise_add", kept, added, name=f"{name}state")
    activated = cell._get_activation(memory, activation)
    output = compose("elemwise_mul", output_gate, activated, name=f"{name}out")
    return output, [output, memory]


def gru_step(
    cell: BaseRNNCell, i2h: Symbol, h2h: Symbol, state: Symbol, name: str, activation: Activation
) -> CellOutput:
    """The output and state of a GRU from the pre-activations of its three gates."""
    reset = compose("Activation", i2h[0] + h2h[0], act_type="sigmoid", name=f"{name}_r_act")
    update = compose("Activation", i2h[1] + h2h[1], act_type="sigmoid", name=f"{name}_z_act")
    candidate = cell._get_activation(i2h[2] + reset * h2h[2], activation, name=f"{name}_h_act")
    replaced = (1.0 - update) * candidate
    output = compose("elemwise_add", replaced, update * state, name=f"{name}out")
    return output, [output]
