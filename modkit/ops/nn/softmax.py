"""The softmax family, and the cross entropy that goes with it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import NotSupportedError, ShapeError
from modkit.interpreter.reverse import CustomJvp, CustomVjp
from modkit.ops.dtype_inference import label_like_data
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.partial_shapes import check_axis
from modkit.ops.registry import op

_FloatType = Literal["float16", "float32", "float64"]


@functools.partial(CustomJvp, nondiff_argnums=(1,))
def softmax_along(logits: jax.Array, axis: int) -> jax.Array:
    """`jax.nn.softmax`, which takes twice as long to trace for NumPy."""
    if not logits.size:
        return logits
    raised = jnp.exp(logits - logits.max(axis, keepdims=True))
    return raised / raised.sum(axis, keepdims=True)


@softmax_along.defjvp
def _softmax_along_jvp(axis: int, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    prob, (moved,) = softmax_along(*primals, axis), tangents
    return prob, prob * (moved - (prob * moved).sum(axis, keepdims=True))


def _log_softmax_along(logits: jax.Array, axis: int) -> jax.Array:
    """`jax.nn.log_softmax`, which takes twice as long to trace for NumPy."""
    if not logits.size:
        return logits
    lowered = logits - lax.stop_gradient(logits).max(axis, keepdims=True)
    return lowered - jnp.log(jnp.exp(lowered).sum(axis, keepdims=True))


def _normalized(
    name: str,
    data: jax.Array,
    axis: int = -1,
    temperature: float | None = None,
    dtype: _FloatType | None = None,
    function: Callable[..., jax.Array] = softmax_along,
) -> jax.Array:
    """``function`` of ``data / temperature``, wide enough to be summed; a number has one axis."""
    require_floating(data, name)
    logits = jnp.atleast_1d(data.astype(accumulator(data)))
    check_axis(name, axis, logits.ndim)
    logits = logits if temperature is None else logits / temperature
    return function(logits, axis).reshape(data.shape).astype(dtype or data.dtype)


def _without_length(
    name: str, data: jax.Array, function: Any, *, use_length: bool = False, **given: Any
) -> jax.Array:
    """`_normalized` without lengths."""
    if use_length:
        raise NotSupportedError(
            f"{name}: use_length needs a length input, which this operator does not have "
            "(nor has it in MXNet). Use softmax(data, length, use_length=True) and log"
        )
    return _normalized(name, data, function=function, **given)


def _dtypes(ins: Any, attrs: Any) -> tuple[list[Any], list[Any]]:
    """One type for data and output, unless a parameter sets the output's; any for length."""
    asked = attrs.get("dtype")
    return [ins[0], *(d or "int32" for d in ins[1:])], [asked or ins[0]]


def _softmax_params(data: Any, *, axis: int, **_: Any) -> dict[str, tuple[int, ...]]:
    axis %= max(len(data), 1)
    return {"length": _without(data, axis) or (1,)}


@op(
    "softmax",
    precision="float32",
    params=_softmax_params,
    when={"length": lambda attrs: attrs["use_length"]},
    dtypes=_dtypes,
)
def softmax(
    data: jax.Array,
    length: jax.Array | None = None,
    *,
    axis: int = -1,
    temperature: float | None = None,
    dtype: _FloatType | None = None,
    use_length: bool | None = False,
) -> jax.Array:
    """Softmax along an axis, ``exp(x / temperature) / sum(exp(x / temperature))``.

    Args:
        length: how many elements along ``axis`` count; the others get 0. With
            ``use_length=True`` only.
        axis: the axis that sums to 1.
        temperature: the divisor; default 1.
        dtype: type of the result; default that of ``data``.

    Shapes:
        data: any.
        length: as ``data`` without ``axis``.
        returns: as ``data``.

    Differs: ``length`` may be of any type; MXNet requires whole numbers.
    """
    if not use_length or length is None:
        return _normalized("softmax", data, axis, temperature, dtype)

    def masked(logits: jax.Array, axis: int) -> jax.Array:
        axis %= logits.ndim
        position = lax.broadcasted_iota(jnp.int32, logits.shape, axis)
        lengths = length.astype(jnp.int32).reshape(_without(logits.shape, axis))
        counts = position < jnp.expand_dims(lengths, axis)
        return jax.nn.softmax(logits, axis, where=counts)

    return _normalized("softmax", data, axis, temperature, dtype, masked)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


@op("softmin", precision="float32", like=softmax, same_shape=True, dtypes=_dtypes)
def softmin(data: jax.Array, **given: Any) -> jax.Array:
    """Softmax of ``-data`` along an axis. Parameters as for `softmax`.

    Shapes:
        data: any.
        returns: as ``data``.
    """
    return _without_length(
        "softmin", data, lambda logits, axis: softmax_along(-logits, axis), **given
    )


@op("log_softmax", precision="float32", like=softmax, same_shape=True, dtypes=_dtypes)
def log_softmax(data: jax.Array, **given: Any) -> jax.Array:
    """Logarithm of the softmax along an axis. Parameters as for `softmax`.

    Shapes:
        data: any.
        returns: as ``data``.
    """
    return _without_length("log_softmax", data, _log_softmax_along, **given)


@op("SoftmaxActivation", precision="float32", same_shape=True)
def softmax_activation(
    data: jax.Array, *, mode: Literal["channel", "instance"] = "instance"
) -> jax.Array:
    """Softmax over the last axis, or with ``mode="channel"`` over axis 1.

    Shapes:
        data: any; with ``mode="channel"``, (N, C, ...) of at least three dimensions.
        returns: as ``data``.

    Differs: the gradient is the derivative in both modes; that of MXNet 1.9.1 always sums over axis
    1.
    """
    if mode == "channel" and data.ndim < 3:
        raise ShapeError(
            f"SoftmaxActivation: got data of shape {data.shape}, expected at least three "
            "dimensions with mode='channel'"
        )
    return _normalized("SoftmaxActivation", data, 1 if mode == "channel" else -1)


_SMALLEST_PROBABILITY = 1e-8


@CustomVjp
def _cross_entropy(data: jax.Array, label: jax.Array) -> jax.Array:
    return _cross_entropy_forward(data, label)[0]


def _cross_entropy_forward(data: jax.Array, label: jax.Array) -> Any:
    prob = softmax_along(data.astype(accumulator(data)), -1)
    classes = lax.broadcasted_iota(jnp.int32, data.shape, 1)
    target = classes == label.astype(jnp.int32)[:, None]
    losses = -jnp.log(jnp.maximum(prob, _SMALLEST_PROBABILITY))
    total = jnp.sum(jnp.where(target, losses, 0)).reshape(1)
    return total.astype(data.dtype), (prob, target, jnp.zeros((), data.dtype))


def _cross_entropy_backward(saved: Any, cotangent: jax.Array) -> Any:
    # The gradient is that of the unclipped loss: a probability of 0 still learns.
    prob, target, like = saved
    return ((prob - target) * cotangent.astype(prob.dtype)).astype(like.dtype), None


_cross_entropy.defvjp(_cross_entropy_forward, _cross_entropy_backward)


@op(
    "softmax_cross_entropy",
    precision="float32",
    dtypes=label_like_data,
    params=lambda data: {"label": (data[0],)},
)
def softmax_cross_entropy(data: jax.Array, label: jax.Array) -> jax.Array:
    """Sum over the batch of ``-log softmax(data)[label]``.

    Shapes:
        data: (N, C).
        label: (N,), classes from 0.
        returns: (1,).

    Raises:
        ShapeError: ``data`` is not a matrix, or there is not one label a row.
    """
    if data.ndim != 2 or label.shape != data.shape[:1]:
        raise ShapeError(
            f"softmax_cross_entropy: got data {data.shape} and label {label.shape}, "
            "expected (N, C) and (N,)"
        )
    return _cross_entropy(data, label)
