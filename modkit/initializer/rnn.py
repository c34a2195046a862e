"""Initializers of recurrent layers: LSTMBias and FusedRNN."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from modkit.errors import ParameterError, ShapeError, one_of
from modkit.initializer.base import InitDesc, Initializer, create, register
from modkit.ndarray import NDArray, zeros
from modkit.ops.nn.rnn_parameters import vector_size, weight_shapes

GATE_NAMES = {
    "rnn_relu": ("",), "rnn_tanh": ("",),
    "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o"),
}  # fmt: skip
"""Name suffixes of the gates of each mode of the RNN operator, in its order."""


@register
class LSTMBias(Initializer):
    """The bias of an LSTM: ``forget_bias`` for the forget gate, zeros for the other gates.

    Shapes:
        bias: (4 * hidden,); the forget gate is second.

    >>> weight = mx.nd.empty((8,))
    >>> attributes = {"__init__": mx.init.LSTMBias(forget_bias=1.0).dumps()}  # of the variable
    >>> mx.init.Xavier()(mx.init.InitDesc("lstm_i2h_bias", attributes), weight)
    >>> print(weight.asnumpy())
    [0. 0. 1. 1. 0. 0. 0. 0.]
    """

    def __init__(self, forget_bias: float = 1.0):
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, _: str | None, arr: NDArray) -> None:
        hidden = arr.shape[0] // 4
        value = np.zeros(arr.shape, np.float32)
        value[hidden : 2 * hidden] = self.forget_bias
        arr[:] = value


@register
class FusedRNN(Initializer):
    """Initializes the parameter vector of the RNN operator, gate by gate.

    The inner initializer is applied to the weight and bias of each gate under a name such as
    ``l0_i2h_f_weight``: direction (l or r), layer, input or hidden, gate.

    Args:
        init: the inner initializer or its JSON; ``None`` for the initializer of the network.
        num_hidden: size of the hidden state.
        mode: ``"rnn_relu"``, ``"rnn_tanh"``, ``"lstm"`` or ``"gru"``.
        forget_bias: bias of the forget gates of an LSTM.
    """

    def __init__(
        self,
        init: Initializer | str | None,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ):
        one_of("mode", mode, GATE_NAMES)
        inner = create(init) if isinstance(init, str) else init
        super().__init__(
            init=None if inner is None else inner.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init: Initializer | None = inner
        self._layout = num_hidden, num_layers, mode, bidirectional
        self._forget_bias = forget_bias

    def _init_weight(self, desc: Any, arr: NDArray) -> None:
        outer = getattr(desc, "global_init", None)
        inner = self._init or outer
        if inner is None:
            raise ParameterError(
                f"FusedRNN(None) on {desc}: there is no initializer to fall back to"
            )
        parts = []
        for name, shape in gate_shapes_of(math.prod(arr.shape), *self._layout):
            part = zeros(shape)
            if name.endswith("_f_bias"):
                part[:] = self._forget_bias
            else:
                inner(InitDesc(name, global_init=outer), part)
            parts.append(part.asnumpy().reshape(-1))
        arr[:] = np.concatenate(parts).reshape(arr.shape)


GateShapes = Iterator[tuple[str, tuple[int, ...]]]


def gate_shapes_of(
    size: int, hidden: int, layers: int, mode: str, bidirectional: bool
) -> GateShapes:
    """Name and shape of the weights and biases of all gates in a vector of ``size``, in order.

    Raises:
        ShapeError: no number of inputs results in a vector of that size.
    """
    sides = 2 if bidirectional else 1
    rest = size - vector_size(weight_shapes(0, mode, hidden, sides, layers, None))
    channels, remainder = divmod(rest, len(GATE_NAMES[mode]) * hidden * sides)
    if remainder or channels <= 0:
        raise ShapeError(
            f"RNN parameters: got a vector of {size} elements, which no number of inputs explains "
            f"for {mode}, {layers} layer(s), {sides} direction(s) and {hidden} hidden units; "
            "use the settings of the RNN operator"
        )
    return gate_shapes(channels, hidden, layers, mode, bidirectional)


def gate_shapes(
    channels: int, hidden: int, layers: int, mode: str, bidirectional: bool
) -> GateShapes:
    """Name and shape of the weights and biases of all gates, in the order of the vector."""
    sides = "lr" if bidirectional else "l"
    shapes = weight_shapes(channels, mode, hidden, len(sides), layers, None)
    for kind in ("weight", "bias"):
        for at, shape in enumerate(shapes):
            layer, side = divmod(at, len(sides))
            for source in ("i2h", "h2h"):
                _, *width = getattr(shape, f"{source}_{kind}")
                for gate in GATE_NAMES[mode]:
                    yield f"{sides[side]}{layer}_{source}{gate}_{kind}", (hidden, *width)
