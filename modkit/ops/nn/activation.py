"""Activation functions that are chosen by a parameter: Activation and LeakyReLU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError
from modkit.interpreter.tracing import where
from modkit.ops.elementwise.unary import relu, softsign
from modkit.ops.floating import require_floating
from modkit.ops.registry import op

_ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "relu": relu,
    "sigmoid": jax.nn.sigmoid,
    "softrelu": jax.nn.softplus,
    "softsign": softsign,
    "tanh": jnp.tanh,
}


@op("Activation", precision="through", same_shape=True, elementwise=True)
def activation(
    data: jax.Array, *, act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"]
) -> jax.Array:
    """Apply the activation function ``act_type``, element by element.

    ``relu`` is max(x, 0), ``sigmoid`` 1 / (1 + exp(-x)), ``softrelu`` log(1 + exp(x)),
    ``softsign`` x / (1 + abs(x)).

    Shapes:
        data: any.
        returns: as ``data``.
    """
    require_floating(data, "Activation")
    return _ACTIVATIONS[act_type](data)


_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


def _elu(data: jax.Array, slope: float) -> jax.Array:
    # The branch not taken must stay finite, or its infinity times 0 makes the gradient NaN.
    below = where(data > 0, 0, data)
    return where(data > 0, data, slope * jnp.expm1(below))


def _leaky(data: jax.Array, slope: Any) -> jax.Array:
    # The branch not taken must stay finite, or its infinity times 0 makes a slope's gradient NaN.
    return where(data > 0, data, where(data > 0, 0, data) * slope)


def _leaky_partial(ins: Any, outs: Any, attrs: Any) -> tuple[list[Any], list[Any]]:
    ins, outs = list(ins), list(outs)
    data = ins[0]
    if data is None:
        return ins, outs
    if attrs["act_type"] == "prelu" and ins[1] is None and len(data) > 1 and data[1]:
        ins[1] = (data[1],)
    return ins, [tuple(data)] * len(outs)


def _leaky_channels_last(attrs: Any) -> Callable[..., Any] | None:
    """An elementwise operator is independent of the order of axes."""
    return None if attrs["act_type"] in ("prelu", "rrelu") else leaky_relu


@op(
    "LeakyReLU",
    precision="through",
    input_init={"gamma": '["Constant", {"value": 0.25}]'},
    when={"gamma": lambda attrs: attrs["act_type"] == "prelu"},
    outputs=lambda attrs: ("output", "mask") if attrs["act_type"] == "rrelu" else ("output",),
    partial=_leaky_partial,
    channels_last=_leaky_channels_last,
)
def leaky_relu(
    data: jax.Array,
    gamma: jax.Array | None = None,
    *,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.333999991,
    key: Any,
    train: bool,
) -> Any:
    """Apply a rectifier that lets negative numbers through, scaled or bent.

    For x <= 0: ``leaky`` gives slope * x; ``elu`` slope * (exp(x) - 1); ``selu`` the same with
    its own two constants; ``prelu`` gamma * x with a learned gamma; ``rrelu`` s * x, with s drawn
    from [lower_bound, upper_bound) for each element in training and their mean otherwise.
    ``gelu`` is x times the normal distribution function of x.

    Shapes:
        data: (N, C, ...).
        gamma: (C,), (N,), (N, C), (1, C) or (1,); with ``prelu`` only.
        returns: as ``data``; with ``rrelu`` also the slopes that were used.

    Raises:
        ShapeError: ``gamma`` has another shape.

    Differs: the gradients of ``selu`` and of gamma are the derivatives; MXNet 1.9.1 gives others.
    ``rrelu`` works in training, where MXNet 1.9.1 fails on a CPU.
    """
    require_floating(data, "LeakyReLU")
    if act_type == "rrelu":
        slopes = _random_slopes(data, lower_bound, upper_bound, key if train else None)
        return _leaky(data, slopes), slopes
    if gamma is not None:
        return _leaky(data, _aligned(gamma, data)).astype(data.dtype)
    table = {
        "leaky": lambda: _leaky(data, slope),
        "elu": lambda: _elu(data, slope),
        "selu": lambda: _SELU_SCALE * _elu(data, _SELU_ALPHA),
        "gelu": lambda: jax.nn.gelu(data, approximate=False),
    }
    return table[act_type]().astype(data.dtype)


def _random_slopes(data: jax.Array, lower: float, upper: float, key: Any) -> jax.Array:
    if key is None:
        return jnp.full(data.shape, (lower + upper) / 2, data.dtype)
    if lower > upper:
        raise ParameterError(
            f"LeakyReLU: got lower_bound {lower} above upper_bound {upper}, expected the reverse"
        )
    drawn = jax.random.uniform(key, data.shape, jnp.float32, lower, upper)
    return drawn.astype(data.dtype)


def _aligned(gamma: jax.Array, data: jax.Array) -> jax.Array:
    """``gamma`` with an axis for each one of ``data``, for broadcasting.

    Raises:
        ShapeError: it fits neither axis 1, nor axis 0, nor both.
    """
    lead = data.shape[:2]
    if gamma.shape == (1,):
        return gamma
    if gamma.ndim == 2 == len(lead) and all(
        n in (1, m) for n, m in zip(gamma.shape, lead, strict=True)
    ):
        return gamma.reshape(gamma.shape + (1,) * (data.ndim - 2))
    axis = next((i for i in (1, 0) if gamma.shape == lead[i : i + 1]), None)
    if axis is None:
        raise ShapeError(
            f"LeakyReLU: gamma: got shape {gamma.shape} for data of shape {data.shape}, expected "
            f"one number, {' or '.join(str((n,)) for n in lead)}, or {lead}"
        )
    return gamma.reshape((-1,) + (1,) * (data.ndim - axis - 1))
