"""ConvRNNCell, ConvLSTMCell and ConvGRUCell: cells with convolutional gates."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from modkit import symbol
from modkit.errors import expect
from modkit.rnn.base import Activation, BaseRNNCell, RNNParams, compose
from modkit.rnn.cells import GRUStep, LSTMStep, RNNStep, projected
from modkit.symbol import Symbol

_leaky = functools.partial(compose, "LeakyReLU", act_type="leaky", slope=0.2)


class BaseConvRNNCell(BaseRNNCell):
    """The base class of convolutional cells.

    Args:
        input_shape: shape of the inputs of one step for a batch of 1: (1, C, H, W).
        num_hidden: channels of the state and of the output.
        h2h_kernel: kernel of the state-to-state convolution; sizes must be odd.
        h2h_dilate: its dilation.
        i2h_kernel: kernel of the input-to-state convolution.
        i2h_stride, i2h_pad, i2h_dilate: its stride, padding and dilation.
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer,
            h2h_bias_initializer: initializers or their JSON; ``None`` for that of the network.
        activation, prefix, params: see `RNNCell`.
        conv_layout: ``"NCHW"`` or ``"NHWC"``.

    Raises:
        ParameterError: a size of ``h2h_kernel`` is even.
    """

    _kind = ""

    def __init__(
        self,
        input_shape: Sequence[int],
        num_hidden: int,
        h2h_kernel: Sequence[int] = (3, 3),
        h2h_dilate: Sequence[int] = (1, 1),
        i2h_kernel: Sequence[int] = (3, 3),
        i2h_stride: Sequence[int] = (1, 1),
        i2h_pad: Sequence[int] = (1, 1),
        i2h_dilate: Sequence[int] = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        activation: Activation = _leaky,
        prefix: str | None = None,
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ):
        super().__init__(prefix=f"{self._kind}_" if prefix is None else prefix, params=params)
        kernel, dilate = tuple(h2h_kernel), tuple(h2h_dilate)
        odd, expected = all(k % 2 for k in kernel), "odd sizes, which keep the size of the state"
        expect(odd, f"{type(self).__name__}: h2h_kernel", kernel, expected)
        self._h2h: dict[str, Any] = {
            "kernel": kernel, "stride": (1,) * len(kernel), "dilate": dilate,
            "pad": tuple(d * (k - 1) // 2 for k, d in zip(kernel, dilate, strict=True)),
            "layout": conv_layout,
        }  # fmt: skip
        self._i2h: dict[str, Any] = {
            "kernel": tuple(i2h_kernel), "stride": tuple(i2h_stride), "dilate": tuple(i2h_dilate),
            "pad": tuple(i2h_pad), "layout": conv_layout,
        }  # fmt: skip
        self._num_hidden, self._activation = num_hidden, activation
        self._gate_axis = conv_layout.find("C")
        data = symbol.Variable("data")
        _, outputs, _ = compose(
            "Convolution", data, num_filter=num_hidden, **self._i2h
        ).infer_shape(data=tuple(input_shape))
        shape = (0, *(outputs or [()])[0][1:])
        self._state = {"shape": shape, "__layout__": conv_layout}
        self._iW = self.params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self.params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self.params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self.params.get("h2h_bias", init=h2h_bias_initializer)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """One state, (N, num_hidden, H', W') for NCHW."""
        return [dict(self._state)]

    def _conv_forward(
        self, inputs: Symbol, states: Sequence[Symbol], name: str
    ) -> tuple[Symbol, Symbol]:
        """The pre-activations of all gates from the input, and from the state."""
        filters = {"num_filter": self._num_hidden * self._num_gates}
        i2h, h2h = self._i2h | filters, self._h2h | filters
        return projected(self, "Convolution", inputs, states[0], name, i2h, h2h)

    def _gates(self, inputs: Symbol, states: Sequence[Symbol], name: str) -> tuple[Symbol, Symbol]:
        return self._conv_forward(inputs, states, name)  # programs override MXNet's name


class ConvRNNCell(RNNStep, BaseConvRNNCell):
    """`RNNCell` with convolutions instead of dense layers. See `BaseConvRNNCell`."""

    _kind = "ConvRNN"


class ConvLSTMCell(LSTMStep, BaseConvRNNCell):
    """`LSTMCell` with convolutions instead of dense layers. See `BaseConvRNNCell`."""

    _kind = "ConvLSTM"


class ConvGRUCell(GRUStep, BaseConvRNNCell):
    """`GRUCell` with convolutions instead of dense layers. See `BaseConvRNNCell`.

    Differs: the gates are split along the channel axis of the layout; MXNet always uses axis 1.
    """

    _kind = "ConvGRU"
