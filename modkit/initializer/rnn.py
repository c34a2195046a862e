"""Initializers for recurrent layers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from modkit.errors import ParameterError, ShapeError
from modkit.initializer.base import InitDesc, Initializer, create, register
from modkit.ndarray import NDArray, zeros
from modkit.ops.rnn_parameters import vector_size, weight_shapes

_GATES = {
    "rnn_relu": ("",), "rnn_tanh": ("",),
    "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o"),
}  # fmt: skip
"""What names say of the gates of each mode of the RNN operator, in its order."""


@register
class LSTMBias(Initializer):
    """The bias of an LSTM: ``forget_bias`` for the forget gates, else zeros.

    Shapes:
        bias: (4 * hidden,), the forget gates second.
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
    """Initialises the one parameter vector of the RNN operator, gate by gate.

    Each gate's matrix and bias is given to the inner initializer under a name like
    ``l0_i2h_f_weight``: l or r for the direction, the layer, input or hidden, the gate.

    Args:
        init: the inner initializer, or its JSON text; ``None`` for the one that the whole net
            is initialised with.
        num_hidden: size of the hidden state.
        num_layers: number of layers.
        mode: ``"rnn_relu"``, ``"rnn_tanh"``, ``"lstm"`` or ``"gru"``.
        bidirectional: whether there are two directions.
        forget_bias: the bias of LSTM's forget gates.
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
        if mode not in _GATES:
            raise ParameterError(f"mode: got {mode!r}, expected one of {', '.join(_GATES)}")
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
        for name, shape in _parts(math.prod(arr.shape), *self._layout):
            part = zeros(shape)
            if name.endswith("_f_bias"):
                part[:] = self._forget_bias
            else:
                inner(InitDesc(name, global_init=outer), part)
            parts.append(part.asnumpy().reshape(-1))
        arr[:] = np.concatenate(parts).reshape(arr.shape)


def _parts(
    size: int, hidden: int, layers: int, mode: str, bidirectional: bool
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and shape of each gate's part of a vector of ``size``, in order.

    Raises:
        ShapeError: no number of inputs makes a vector of that size.
    """
    sides = "lr" if bidirectional else "l"
    gates = _GATES[mode]
    rest = size - vector_size(weight_shapes(0, mode, hidden, len(sides), layers, None))
    channels, uneven = divmod(rest, len(gates) * hidden * len(sides))
    if uneven or channels <= 0:
        raise ShapeError(
            f"FusedRNN: no parameter vector of {size} elements belongs to a {mode} of {layers} "
            f"layer(s), {len(sides)} direction(s) and {hidden} hidden units; "
            "do they agree with the RNN operator's?"
        )
    shapes = weight_shapes(channels, mode, hidden, len(sides), layers, None)
    for kind in ("weight", "bias"):
        for at, shape in enumerate(shapes):
            place = f"{sides[at % len(sides)]}{at // len(sides)}"
            for source in ("i2h", "h2h"):
                _, *width = getattr(shape, f"{source}_{kind}")
                for gate in gates:
                    yield f"{place}_{source}{gate}_{kind}", (hidden, *width)
