"""ConvRNNCell, ConvLSTMCell and ConvGRUCell: cells with convolutional gates."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from modkit import symbol
from modkit.errors import ParameterError
from modkit.rnn.base import Activation, BaseRNNCell, RNNParams, compose
from modkit.rnn.cells import GRUStep, LSTMStep, RNNStep
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
        self._h2h_kernel, self._h2h_dilate = tuple(h2h_kernel), tuple(h2h_dilate)
        if not all(size % 2 for size in self._h2h_kernel):
            raise ParameterError(
                f"{type(self).__name__}: got h2h_kernel {self._h2h_kernel}, expected odd sizes, "
                "which keep the size of the state"
            )
        self._h2h_pad = tuple(
            d * (k - 1) // 2 for k, d in zip(self._h2h_kernel, self._h2h_dilate, strict=True)
        )
        self._i2h_kernel, self._i2h_stride = tuple(i2h_kernel), tuple(i2h_stride)
        self._i2h_pad, self._i2h_dilate = tuple(i2h_pad), tuple(i2h_dilate)
        self._num_hidden, self._input_shape = num_hidden, tuple(input_shape)
        self._conv_layout, self._activation = conv_layout, activation
        self._gate_axis = conv_layout.find("C")
        self._state_shape = self._infer_state_shape()
        self._iW = self.params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self.params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self.params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self.params.get("h2h_bias", init=h2h_bias_initializer)

    def _infer_state_shape(self) -> tuple[int, ...]:
        conv = compose("Convolution", symbol.Variable("data"), **self._i2h(self._num_hidden))
        _, outputs, _ = conv.infer_shape(data=self._input_shape)
        return (0, *(outputs or [()])[0][1:])

    def _i2h(self, filters: int) -> dict[str, Any]:
        return {
            "num_filter": filters, "kernel": self._i2h_kernel, "stride": self._i2h_stride,
            "pad": self._i2h_pad, "dilate": self._i2h_dilate, "layout": self._conv_layout,
        }  # fmt: skip

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """One state, (N, num_hidden, H', W') for NCHW."""
        return [{"shape": self._state_shape, "__layout__": self._conv_layout}]

    def _conv_forward(
        self, inputs: Symbol, states: Sequence[Symbol], name: str
    ) -> tuple[Symbol, Symbol]:
        """The pre-activations of all gates from the input, and from the state."""
        filters = self._num_hidden * self._num_gates
        from_input = compose(
            "Convolution", data=inputs, weight=self._iW, bias=self._iB, name=f"{name}i2h",
            **self._i2h(filters),
        )  # fmt: skip
        from_state = compose(
            "Convolution", data=states[0], weight=self._hW, bias=self._hB, name=f"{name}h2h",
            num_filter=filters, kernel=self._h2h_kernel, stride=(1,) * len(self._h2h_kernel),
            pad=self._h2h_pad, dilate=self._h2h_dilate, layout=self._conv_layout,
        )  # fmt: skip
        return from_input, from_state

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
