"""Convolutions with channels last, in the fastest form on CPUs.

XLA for CPUs is fast for one kind of convolution: over two spatial axes, without groups, with more
than a few channels. Others, above all some gradients, are up to hundreds of times slower, so they
are composed of that kind, of matrix products and of sums of slices. `benchmarks.layers` measures
them.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.interpreter.reverse import CustomVjp, vjp
from modkit.ops.floating import accumulator
from modkit.ops.nn.convolution import Moves, Pads
from modkit.ops.nn.layout import spatial_axes
from modkit.ops.own_gradient import gradient_of
from modkit.tuning.cpu.conv_data_gradient import FEW
from modkit.tuning.cpu.conv_matmul import convolve_ungrouped, pointwise
from modkit.tuning.cpu.conv_slices import depthwise
from modkit.tuning.cpu.platforms import Form

_MOST_TAPS = 64
"""Largest number of kernel taps of a depthwise convolution by slices."""


def convolve_last(data: jax.Array, weight: jax.Array, moves: Moves, groups: int = 1) -> jax.Array:
    """Cross-correlation of ``data`` with ``weight``.

    Shapes:
        data: (N, *space, C), space of one to three axes.
        weight: (num_filter, *kernel, C / groups).
        returns: (N, *space, num_filter).
    """
    if data.ndim == 3:
        flat = Moves((1, *moves.stride), (1, *moves.dilate), ((0, 0), *moves.pads))
        return convolve_last(data[:, None], weight[:, None], flat, groups)[:, 0]
    if data.ndim == 5:
        return _by_depth(data, weight, moves, groups)
    if groups > 1:
        channels, taps = data.shape[-1], math.prod(weight.shape[1:-1])
        if groups == channels and taps <= _MOST_TAPS:
            return _channel_by_channel(data, weight, moves)
        return _by_group(data, weight, moves, groups)
    data, weight = _fold_covered(data, weight, moves)
    if weight.shape[1:3] == (1, 1) and not any(map(any, moves.pads)):
        down, right = moves.stride
        seen = lax.optimization_barrier(data[:, ::down, ::right])
        return lax.optimization_barrier(pointwise(seen, weight[:, 0, 0]))
    return convolve_ungrouped(data, weight, moves)


def for_layout(form: Form, layout: str) -> Form:
    """``form``, a function of arrays with channels last, for arrays of another layout."""
    at = layout.index("C")
    if at == len(layout) - 1:
        return form

    def moved(data: jax.Array, weight: jax.Array) -> jax.Array:
        return jnp.moveaxis(form(jnp.moveaxis(data, at, -1), jnp.moveaxis(weight, at, -1)), -1, at)

    return moved


def _fold_covered(data: jax.Array, weight: jax.Array, moves: Moves) -> tuple[jax.Array, jax.Array]:
    """The same convolution with the axes that the kernel covers folded into the channels.

    For the data's gradient XLA pads such an axis by the kernel's size on both sides: with a kernel
    of (5, 300) over (60, 300) it took 22 s.
    """
    for axis in covered_axes(data, weight, "NHWC", moves.pads):
        data, weight = (_with_channels(each, axis) for each in (data, weight))
    return data, weight


def covered_axes(data: jax.Array, weight: jax.Array, layout: str, pads: Pads) -> list[int]:
    """The spatial axes along which the kernel is as large as the data, and larger than 1."""
    return [
        axis
        for axis, pad in zip(spatial_axes(layout), pads, strict=True)
        if 1 < data.shape[axis] == weight.shape[axis] and pad == (0, 0)
    ]


def _with_channels(array: jax.Array, axis: int) -> jax.Array:
    """Fold one axis into the last one, and keep it with size 1."""
    shape = [*array.shape[:axis], 1, *array.shape[axis + 1 : -1], -1]
    return jnp.moveaxis(array, axis, -2).reshape(shape)


def _channel_by_channel(data: jax.Array, weight: jax.Array, moves: Moves) -> jax.Array:
    """As many groups as channels: one multiplication for each tap."""
    times = weight.shape[0] // data.shape[-1]
    kernel = jnp.transpose(weight[..., 0], (1, 2, 0))
    return depthwise(jnp.repeat(data, times, -1) if times > 1 else data, kernel, moves)


def _by_group(data: jax.Array, weight: jax.Array, moves: Moves, groups: int) -> jax.Array:
    """One convolution for each group, so that infinities and NaN stay in their group.

    Groups merged into blocks of 32 channels, with zeros for off-diagonal weights, take 0.7 to 0.95
    of the time at 32 groups of 4 and 8 channels, but spread infinities and NaN.
    """
    own, filters = weight.shape[-1], weight.shape[0] // groups
    parts = lax.split(data, [own] * groups, 3)
    weights = lax.split(weight, [filters] * groups, 0)
    results = [convolve_last(*each, moves) for each in zip(parts, weights, strict=True)]
    return lax.optimization_barrier(lax.concatenate(results, 3))


def _by_depth(data: jax.Array, weight: jax.Array, moves: Moves, groups: int) -> jax.Array:
    """The sum of a two-dimensional convolution for each tap along the first spatial axis.

    Of few channels, those of all taps are the channels of one.
    16-bit types are computed in float32: partial sums would be rounded, or overflow.
    """
    if data.dtype != accumulator(data):
        arrays = data.astype(accumulator(data)), weight.astype(accumulator(data))
        return _by_depth(*arrays, moves, groups).astype(data.dtype)
    stride, dilate, pads = moves.stride[0], moves.dilate[0], moves.pads[0]
    deep = weight.shape[1]
    (count,) = moves.only(slice(1)).counts(data.shape[1:2], (deep,))
    padded = lax.pad(data, jnp.zeros((), data.dtype), [(0, 0, 0), (*pads, 0), *[(0, 0, 0)] * 3])
    begins, flat = range(0, deep * dilate, dilate), moves.only(slice(1, None))
    parts = [padded[:, at : at + (count - 1) * stride + 1 : stride] for at in begins]
    parts = [part.reshape(-1, *part.shape[2:]) for part in parts]
    kernels = [weight[:, tap] for tap in range(deep)]
    if groups == 1 and data.shape[-1] <= FEW:
        total = convolve_last(lax.concatenate(parts, 3), lax.concatenate(kernels, 3), flat)
    else:
        each = zip(parts, kernels, strict=True)
        total = functools.reduce(jnp.add, [convolve_last(*two, flat, groups) for two in each])
    return total.reshape(-1, count, *total.shape[1:])


@functools.partial(CustomVjp, nondiff_argnums=(2, 3))
def deconvolve_last(data: jax.Array, weight: jax.Array, moves: Moves, groups: int) -> jax.Array:
    """The transpose of `convolve_last` in its data.

    Its gradients are a convolution and the weight gradient of a convolution. Those derived by XLA
    were 60 times slower.

    Shapes:
        data: (N, *space, C).
        weight: (C, *kernel, num_filter / groups).
        returns: (N, *space, num_filter).
    """
    space = moves.spans(data.shape[1:-1], weight.shape[1:-1])
    result = jnp.zeros((data.shape[0], *space, weight.shape[-1] * groups), data.dtype)
    return vjp(lambda each: convolve_last(each, weight, moves, groups), result)[1](data)[0]


@gradient_of(deconvolve_last, slice(2))
def _deconvolve_backward(
    moves: Moves, groups: int, residuals: Any, cotangent: jax.Array
) -> tuple[jax.Array, jax.Array]:
    data, weight = residuals
    data_grad, pullback = vjp(lambda w: convolve_last(cotangent, w, moves, groups), weight)
    return data_grad, pullback(data)[0]
