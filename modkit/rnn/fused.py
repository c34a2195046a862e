"""FusedRNNCell: all layers and time steps as one RNN operator."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from modkit.errors import expect, warn_caller
from modkit.initializer import FusedRNN
from modkit.initializer.rnn import GATE_NAMES, GateShapes, gate_shapes, gate_shapes_of
from modkit.ndarray import NDArray, concatenate
from modkit.rnn.base import BaseRNNCell, RNNParams, Unrolled, Weights, arrange, compose, popped
from modkit.rnn.cells import GRUCell, LSTMCell, RNNCell
from modkit.rnn.containers import BidirectionalCell, SequentialRNNCell
from modkit.rnn.modifiers import DropoutCell
from modkit.symbol import Symbol


class FusedRNNCell(BaseRNNCell):
    """Several layers of a recurrent network over a whole sequence, as one operator.

    Args:
        num_hidden: size of the states.
        mode: ``"rnn_relu"``, ``"rnn_tanh"``, ``"lstm"`` or ``"gru"``.
        dropout: dropout rate between layers in training.
        get_next_state: `unroll` returns the final states.
        forget_bias: initial bias of the forget gates of an LSTM.
        prefix: prefix of all names; default: the mode and ``_``.

    Raises:
        ParameterError: an unknown mode; in `unroll`, steps along another axis than 0 or 1.
    """

    _steps = False

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ):
        expect(mode in GATE_NAMES, "FusedRNNCell: mode", mode, f"one of {', '.join(GATE_NAMES)}")
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout = bidirectional, dropout
        self._get_next_state, self._forget_bias = get_next_state, forget_bias
        self._directions = ["l", "r"] if bidirectional else ["l"]
        self._layout = num_hidden, num_layers, mode, bidirectional
        init = FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=init)

    @property
    def _gate_names(self) -> Sequence[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """See `BaseRNNCell`."""
        return [*GATE_NAMES[self._mode]]

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """(layers * directions, N, num_hidden); two of them for an LSTM."""
        rows = len(self._directions) * self._num_layers
        info = {"shape": (rows, 0, self._num_hidden), "__layout__": "LNC"}
        return [dict(info) for _ in range(2 if self._mode == "lstm" else 1)]

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Weights:
        """See `BaseRNNCell`: ``lstm_parameters`` becomes ``lstm_l0_i2h_i_weight`` etc.

        Raises:
            ShapeError: no number of inputs results in a vector of that size.
        """
        args = dict(args)
        vector = popped(self, args, str(self._parameter.name))
        shapes = gate_shapes_of(vector.size, *self._layout)
        return args | {name: part.copy() for name, part in self._parts(vector, shapes).items()}

    def _slice_weights(self, arr: NDArray, li: int, lh: int) -> Weights:
        """Views of all gates' weights and biases, for ``li`` inputs and ``lh`` units."""
        return self._parts(arr, gate_shapes(li, lh, *self._layout[1:]))

    def _parts(self, vector: NDArray, shapes: GateShapes) -> Weights:
        parts, start = {}, 0
        for name, shape in self._by_gates(shapes):
            size = math.prod(shape)
            parts[self._prefix + name] = vector[start : start + size].reshape(shape)
            start += size
        return parts

    def _by_gates(self, shapes: GateShapes) -> GateShapes:
        """The same shapes, their names with `_gate_names`, which a subclass may override."""
        both = [*zip(GATE_NAMES[self._mode], self._gate_names, strict=True)]
        for at, (name, shape) in enumerate(shapes):
            stem, kind = name.rsplit("_", 1)
            usual, own = both[at % len(both)]
            yield f"{stem.removesuffix(usual)}{own}_{kind}", shape

    def pack_weights(self, args: Mapping[str, NDArray]) -> Weights:
        args = dict(args)
        first = popped(self, {**args}, f"{self._prefix}l0_i2h{self._gate_names[0]}_weight")
        shapes = self._by_gates(gate_shapes(first.shape[1], *self._layout))
        parts = [popped(self, args, self._prefix + name) for name, _ in shapes]
        args[str(self._parameter.name)] = concatenate([p.reshape((-1,)) for p in parts])
        return args

    def _unrolled(
        self, length: int, inputs: Any, states: Any, layout: str, merge: bool | None
    ) -> Unrolled:
        expect(layout.find("T") in (0, 1), "FusedRNNCell: layout", layout, "'NTC' or 'TNC'")
        whole: Any = arrange(length, inputs, layout, merge=True)
        swapped = layout.find("T") == 1
        if swapped:
            warn_caller(
                f"FusedRNNCell: layout {layout} is transposed to TNC and back; TNC data avoid "
                "the transposes"
            )
            whole = compose("swapaxes", whole, dim1=0, dim2=1)
        states = self.begin_state() if states is None else states
        made = self._operator(whole, states)
        outputs: Symbol = made[0] if self._get_next_state else made
        last = list(made[1:]) if self._get_next_state else []
        for state in last:
            state._set_attr(__layout__="LNC")
        if swapped:
            outputs = compose("swapaxes", outputs, dim1=0, dim2=1)
        return arrange(length, outputs, layout, merge), last

    def _operator(self, inputs: Symbol, states: Sequence[Symbol]) -> Symbol:
        named = dict(zip(("state", "state_cell"), states, strict=False))
        return compose(
            "RNN", data=inputs, parameters=self._parameter, state_size=self._num_hidden,
            num_layers=self._num_layers, bidirectional=self._bidirectional, p=self._dropout,
            state_outputs=self._get_next_state, mode=self._mode, name=f"{self._prefix}rnn", **named,
        )  # fmt: skip

    def unfuse(self) -> SequentialRNNCell:
        """The same network as a stack of plain cells; weights convert by `unpack_weights`.

        Differs: the cells have this cell's ``forget_bias``; in MXNet 1.9.1 always 1.0.
        """
        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            cells = [self._plain(f"{self._prefix}{side}{layer}_") for side in self._directions]
            if self._bidirectional:
                left, right = cells
                name = f"{self._prefix}bi_l{layer}_"
                stack.add(BidirectionalCell(left, right, output_prefix=name))
            else:
                stack.add(cells[0])
            if self._dropout > 0 and layer != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack

    def _plain(self, prefix: str) -> BaseRNNCell:
        """A plain cell of this cell's mode."""
        make: Any = {
            "rnn_relu": functools.partial(RNNCell, activation="relu"),
            "rnn_tanh": functools.partial(RNNCell, activation="tanh"),
            "lstm": functools.partial(LSTMCell, forget_bias=self._forget_bias),
            "gru": GRUCell,
        }[self._mode]
        return make(self._num_hidden, prefix=prefix)
