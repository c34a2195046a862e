"""Batch normalisation, its first version, and the one whose statistics span replicas."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import DTypeError
from modkit.interpreter.reverse import CustomVjp
from modkit.ops.elementwise.arithmetic import is_whole
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.nn.layout import with_channels_last
from modkit.ops.parameters import Attrs, Inert, Shape
from modkit.ops.partial_shapes import check_axis
from modkit.ops.registry import op

REPLICAS, WORKERS = "replica", "workers"
"""Names of the axes that a program is mapped over: replicas, and processes."""

_AUX = ("moving_mean", "moving_var")
_INPUTS = ("data", "gamma", "beta", *_AUX)


def _params(data: Shape, *, axis: int = 1, **_: Any) -> Mapping[str, Shape]:
    return dict.fromkeys(_INPUTS[1:], (data[check_axis("BatchNorm", axis, len(data))],))


def _dtypes(ins: Sequence[str | None], _attrs: Attrs) -> Any:
    """Statistics and parameters are float32 where the data is 16-bit."""
    data = ins[0]
    if data is None:
        return list(ins), [None] * 3
    if is_whole(jnp.dtype(data)):
        raise DTypeError(f"data: got {data}, expected a floating-point type")
    wide = "float64" if data == "float64" else "float32"
    return [data, *[wide] * 4], [data, wide, wide]


_schema = functools.partial(
    op,
    precision="through",  # sums are in float32 whatever is read
    params=_params,
    dtypes=_dtypes,
    aux=_AUX,
    rewrites=("gamma",),
    input_init={"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'},
    outputs=("output", "mean", "var"),
    visible=lambda attrs: 3 if attrs["output_mean_var"] else 1,
)


def moments(data: jax.Array, axes: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
    """Mean and (biased) variance over ``axes``, kept with size 1."""
    mean = data.mean(axes, keepdims=True)
    return mean, jnp.square(data - mean).mean(axes, keepdims=True)


Standardised = tuple[jax.Array, jax.Array, jax.Array]
"""The result, the mean and the biased variance; these two have size 1 along batch and space."""


def _scaled(
    data: jax.Array, mean: jax.Array, inverse: jax.Array, scale: Any, shift: Any
) -> jax.Array:
    return (data - mean) * (inverse * scale) + shift


def _inverse_deviation(var: jax.Array, eps: float) -> jax.Array:
    """``1 / sqrt(var + eps)`` of a batch; 0 where both are 0, as in MXNet's training."""
    found = lax.rsqrt(var + eps)
    return found if eps else jnp.where(var == 0, jnp.zeros_like(found), found)


@functools.partial(CustomVjp, nondiff_argnums=(0, 1))
def _standardise(
    axes: tuple[int, ...], eps: float, data: jax.Array, scale: jax.Array, shift: jax.Array
) -> Standardised:
    """Data moved and stretched to mean ``shift`` and standard deviation ``scale`` over ``axes``.

    The gradient is that of the first result, and written out (Ioffe and Szegedy, 2015, section
    3): the derivative of each line by itself goes through the data three times more, which makes
    forward and backward 1.5 times slower on CPUs. Statistics in one pass, from the mean of the
    squares, would gain a tenth at most, and lose the variance where the mean is large.

    The gradient does not use ``data - mean``: XLA would write it down in the forward pass, and
    keep it beside the data. Where the mean is large beside the deviation, sums along the data lose
    a few times more to rounding, in proportion to mean / deviation: the scale's gradient 1e-4
    instead of 2e-5 for a mean of 1000 and a deviation of 1.
    """
    return _standardise_forward(axes, eps, data, scale, shift)[0]


def _standardise_forward(
    axes: tuple[int, ...], eps: float, data: jax.Array, scale: jax.Array, shift: jax.Array
) -> tuple[Standardised, tuple[jax.Array, ...]]:
    mean, var = moments(data, axes)
    inverse = _inverse_deviation(var, eps)
    return (_scaled(data, mean, inverse, scale, shift), mean, var), (data, scale, mean, inverse)


def _standardise_backward(
    axes: tuple[int, ...], _eps: float, kept: Sequence[jax.Array], cotangents: Sequence[jax.Array]
) -> tuple[jax.Array, jax.Array, jax.Array]:
    data, scale, mean, inverse = kept
    cotangent = cotangents[0]
    count = float(math.prod(data.shape[axis] for axis in axes))
    along, shift_grad = (x.sum(axes, keepdims=True) for x in (cotangent * data, cotangent))
    scale_grad = (along - mean * shift_grad) * inverse
    slope = scale_grad * inverse / count
    offset = shift_grad / count - mean * slope
    data_grad = (cotangent - (data * slope + offset)) * (inverse * scale)
    return data_grad, scale_grad, shift_grad


_standardise.defvjp(_standardise_forward, _standardise_backward)


def _standardise_replicas(
    axes: tuple[int, ...], eps: float, data: jax.Array, scale: jax.Array, shift: jax.Array
) -> Standardised:
    """`_standardise` over the data of all replicas of all workers together."""
    over = mapped_over()
    mean = lax.pmean(data.mean(axes, keepdims=True), over)
    var = lax.pmean(jnp.square(data - mean).mean(axes, keepdims=True), over)
    return _scaled(data, mean, _inverse_deviation(var, eps), scale, shift), mean, var


def mapped_over() -> tuple[str, ...]:
    """Those of the axes of replicas and workers that the program is mapped over."""
    found = []
    for axis in (WORKERS, REPLICAS):
        with contextlib.suppress(NameError):
            lax.axis_index(axis)
            found.append(axis)
    return tuple(found)


def _normalise(
    axis: int,
    standardise: Callable[..., Any],
    /,
    data: jax.Array,
    gamma: jax.Array,
    beta: jax.Array,
    moving_mean: jax.Array,
    moving_var: jax.Array,
    *,
    train: bool,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: Inert[bool] = False,
) -> tuple[tuple[jax.Array, jax.Array, jax.Array], dict[str, jax.Array]]:
    """The result, mean and variance by channel; and the new moving statistics.

    Its inputs and parameters are those of all batch norms.
    """
    require_floating(data, "BatchNorm")
    axis = axis % data.ndim
    wide = data.astype(accumulator(data))
    kept = [n if i == axis else 1 for i, n in enumerate(data.shape)]
    scale, shift = jnp.ones_like(gamma) if fix_gamma else gamma, beta
    scale, shift = (x.reshape(kept).astype(wide.dtype) for x in (scale, shift))
    new: dict[str, jax.Array] = {}
    if train and not use_global_stats:
        others = tuple(i for i in range(data.ndim) if i != axis)
        result, mean, var = standardise(others, eps, wide, scale, shift)
        for name, old, now in zip(_AUX, (moving_mean, moving_var), (mean, var), strict=True):
            blend = momentum * old + (1 - momentum) * now.reshape(old.shape)
            new[name] = lax.stop_gradient(blend.astype(old.dtype))
    else:
        mean, var = moving_mean.reshape(kept), moving_var.reshape(kept)
        mean, var = lax.stop_gradient((mean, var))
        result = _scaled(wide, mean, lax.rsqrt(var + eps), scale, shift)
    if fix_gamma:
        new["gamma"] = jnp.ones_like(gamma)
    mean, var = (lax.stop_gradient(s.reshape(gamma.shape)) for s in (mean, var))
    return (result.astype(data.dtype), mean, var), new


def _channels_last(_attrs: Attrs) -> Callable[..., Any]:
    return lambda *, axis, **rest: batch_norm(axis=with_channels_last(axis), **rest)


@_schema("BatchNorm", like=_normalise, channels_last=_channels_last)
def batch_norm(
    *,
    axis: int = 1,
    cudnn_off: Inert[bool] = False,
    min_calib_range: Inert[float | None] = None,
    max_calib_range: Inert[float | None] = None,
    **given: Any,
) -> Any:
    """Normalise each channel over batch and space, then scale and shift it.

    ``y = gamma (x - mean) / sqrt(var + eps) + beta``, with the batch's statistics in training and
    the moving ones otherwise. Training moves these by
    ``moving = momentum moving + (1 - momentum) batch``, with the biased variance.

    Args:
        gamma: scale of each channel; taken as 1, without gradient, with ``fix_gamma``.
        beta: shift of each channel.
        moving_mean, moving_var: auxiliary state.
        eps: added to the variance.
        momentum: how much of the moving statistics stays.
        fix_gamma: keep ``gamma`` at 1: training overwrites it.
        use_global_stats: use the moving statistics in training too, and leave them.
        output_mean_var: show the mean and ``1 / sqrt(var + eps)`` as second and third output.
        axis: the channels.
        cudnn_off, min_calib_range, max_calib_range: no effect.

    Shapes:
        data: (..., C, ...), C at ``axis``.
        gamma, beta, moving_mean, moving_var: (C,), float32 where the data is 16-bit.
        returns: as data; with ``output_mean_var`` (C,) twice more.

    Differs: after a forward pass without training, moving statistics are constants of the gradient.
    MXNet differentiates as if they were the mean and variance of the batch.
    They change with each forward pass of training, in MXNet with each `backward`. Layers that share
    them change them in the order of MXNet's backward pass in both, but for eager calls, steps of
    a loop, and graphs with recomputation or `group2ctx`: there in the order of the calls. On one
    context a fixed gamma is set to 1 before each update. On several it keeps its value, apart from
    weight decay. MXNet writes 1 in each forward pass of each context; the KVStore's copy decays.
    """
    (result, mean, var), new = _normalise(axis, _standardise, **given)
    of_batch, eps = given["train"] and not given["use_global_stats"], given["eps"]
    return (result, mean, _inverse_deviation(var, eps) if of_batch else lax.rsqrt(var + eps)), new


@_schema("_contrib_BatchNormWithReLU", like=batch_norm)
def batch_norm_with_relu(**given: Any) -> Any:
    """`BatchNorm`, and ``max(y, 0)`` of its result.

    Args:
        given: see `BatchNorm`, also for the shapes.

    Differs: it takes any shape and element type; MXNet has it for float32 images only.
    """
    (result, *statistics), new = batch_norm(**given)
    return (jax.nn.relu(result), *statistics), new


@_schema("BatchNorm_v1", like=_normalise)
def batch_norm_v1(**given: Any) -> Any:
    """`BatchNorm` as early models have it: channels at axis 1, variance as third output.

    Shapes:
        data: (N, C, ...).
        gamma, beta, moving_mean, moving_var: (C,).
        returns: as data; with ``output_mean_var`` (C,) twice more.
    """
    return _normalise(1, _standardise, **given)


@_schema("_contrib_SyncBatchNorm", like=_normalise, costly=True)
def sync_batch_norm(*, ndev: int = 1, key: Inert[str] = "", **given: Any) -> Any:
    """`BatchNorm` with the statistics of the batches of all replicas of all workers together.

    The third output is the variance.

    Args:
        data, gamma, beta, moving_mean, moving_var, train, eps, momentum, fix_gamma: see
            `BatchNorm`.
        use_global_stats: use the moving statistics in training too.
        output_mean_var: show the mean and the variance as second and third output.
        ndev: with 1, each replica keeps to its own batch; otherwise all count, whatever it is.
        key: no effect.

    Shapes:
        data: (N, C, ...).
        gamma, beta, moving_mean, moving_var: (C,).
        returns: as data; with ``output_mean_var`` (C,) twice more.

    Differs: replicas that are not one program (batches of unequal sizes) keep their own
    statistics. The mean and variance of a pass without training are the moving ones, where MXNet
    returns memory that it never wrote.
    """
    shared = ndev > 1 and mapped_over()
    return _normalise(1, _standardise_replicas if shared else _standardise, **given)
