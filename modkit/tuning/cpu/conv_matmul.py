"""Convolutions over two spatial axes without groups, in the fastest form on CPUs."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.interpreter.reverse import CustomVjp, vjp
from modkit.ops.nn.convolution import Moves, by_xla
from modkit.ops.own_gradient import gradient_of
from modkit.ops.parameters import Shape
from modkit.tuning.cpu.conv_data_gradient import (
    FEW,
    by_phases,
    col2im,
    col2im_is_faster,
    phases_are_faster,
)
from modkit.tuning.cpu.conv_slices import pad, surround, views, weighted

_MOST_TERMS = 32
"""Largest number of taps times input channels for a convolution by slices."""

_MANY = 1 << 12
"""Least number of positions (batch and spatial) for it: XLA runs fewer on one thread."""

_SAMPLES = 8
"""Least number of samples of a weight gradient: XLA takes them as channels, and few are slow."""

_MOST_STRIPS = 16
"""Largest number of strips of an image that are samples of their own."""


@CustomVjp
def pointwise(data: jax.Array, weight: jax.Array) -> jax.Array:
    """Pointwise (1x1) convolution, ``data @ weight.T``; its gradients are matrix products too.

    The weight's gradient contracts the batch and spatial positions. For that XLA transposes a copy
    of the first operand, so the operand with fewer channels comes first. Where XLA drops barriers
    it also fuses the computation of that operand into the copy: in a residual network the sum of
    all incoming cotangents.

    Shapes:
        data: (N, H, W, C).
        weight: (num_filter, C).
        returns: (N, H, W, num_filter).
    """
    return lax.dot_general(data, weight, (((3,), (1,)), ((), ())))


@gradient_of(pointwise, slice(2))
def _pointwise_backward(
    residuals: tuple[jax.Array, jax.Array], cotangent: jax.Array
) -> tuple[jax.Array, jax.Array]:
    data, weight = residuals
    filters, channels = weight.shape
    positions = (((0, 1, 2), (0, 1, 2)), ((), ()))
    if channels < filters:
        # Without the barrier XLA swaps the operands again.
        weight_grad = lax.optimization_barrier(lax.dot_general(data, cotangent, positions)).T
    else:
        weight_grad = lax.dot_general(cotangent, data, positions)
    data_grad = lax.dot_general(cotangent, weight, (((3,), (0,)), ((), ())))
    return data_grad.astype(data.dtype), weight_grad.astype(weight.dtype)


@functools.partial(CustomVjp, nondiff_argnums=(2,))
def convolve_ungrouped(data: jax.Array, weight: jax.Array, moves: Moves) -> jax.Array:
    """Convolution without groups: by slices for few channels, else by XLA.

    Forward-mode differentiation is not supported.
    """
    if not _slices_are_faster(data, weight):
        return _by_xla_unfused(data, weight, moves)
    kernel, channels = weight.shape[1:3], weight.shape[3]
    counts = moves.counts(data.shape[1:3], kernel)
    slices = views(pad(data, moves.pads), kernel, moves, counts)
    each = [part[..., c : c + 1] for part in slices for c in range(channels)]
    return weighted(each, jnp.moveaxis(weight, 0, -1))


@gradient_of(convolve_ungrouped, slice(2))
def _ungrouped_backward(
    moves: Moves, residuals: Any, cotangent: jax.Array
) -> tuple[jax.Array, jax.Array]:
    data, weight = residuals
    pullback = vjp(lambda x: _by_xla_unfused(x, weight, moves), data)[1]
    (data_grad,) = pullback(cotangent)
    if phases_are_faster(data, weight, cotangent, moves):
        fast = by_phases(cotangent, weight, moves, data.shape[1:3])
        finite = jnp.isfinite(weight).all() & jnp.isfinite(cotangent).all()
        # In its branches XLA runs convolutions on one thread.
        data_grad = lax.cond(finite, lambda: fast, lambda: pullback(cotangent)[0])
    elif math.prod(moves.stride) == 1 and _is_smaller(cotangent, weight):
        data_grad = _data_gradient_of_small(cotangent, weight, moves, data.shape[1:3])
    elif col2im_is_faster(data, weight, cotangent, moves):
        data_grad = col2im(cotangent, weight, moves, data.shape[1:3])
    return data_grad, _weight_gradient(data, weight, moves, cotangent)


def _weight_gradient(
    data: jax.Array, weight: jax.Array, moves: Moves, cotangent: jax.Array
) -> jax.Array:
    """The weight's gradient, by XLA over at least `_SAMPLES` samples where images can be cut."""
    for axis, size in enumerate(cotangent.shape[1:3]):
        parts = math.ceil(_SAMPLES / max(len(data), 1))
        while 1 < parts <= _MOST_STRIPS and size % parts:
            parts += 1
        if 1 < parts <= _MOST_STRIPS:
            data, cotangent, moves = _strips(data, weight, moves, cotangent, axis, parts)
            break
    return vjp(lambda w: _by_xla_unfused(data, w, moves), weight)[1](cotangent)[0]


def _strips(
    data: jax.Array, weight: jax.Array, moves: Moves, cotangent: jax.Array, axis: int, parts: int
) -> tuple[jax.Array, jax.Array, Moves]:
    """Strips of images and of their cotangents as samples; those of images overlap."""
    count, stride, at = cotangent.shape[axis + 1] // parts, moves.stride[axis], axis + 1
    span = (count - 1) * stride + moves.dilate[axis] * (weight.shape[at] - 1) + 1
    padded = surround(data, moves.pads)
    strips = [
        lax.slice_in_dim(padded, begin, begin + span, axis=at)
        for begin in range(0, parts * count * stride, count * stride)
    ]
    moves = moves._replace(pads=((0, 0), (0, 0)))
    cotangents = lax.split(cotangent, [count] * parts, at)
    return lax.concatenate(strips, 0), lax.concatenate(cotangents, 0), moves


def _by_xla_unfused(data: jax.Array, weight: jax.Array, moves: Moves) -> jax.Array:
    """Convolution by XLA, with barriers that keep its neighbours out of the fusion.

    Its fast form is for kernels no larger than the data, so that smaller data are padded before.
    """
    data = lax.optimization_barrier(data)
    if _is_smaller(data, weight):
        data, moves = pad(data, moves.pads), moves._replace(pads=((0, 0), (0, 0)))
    return lax.optimization_barrier(by_xla(data, weight, moves))


def _is_smaller(data: jax.Array, weight: jax.Array) -> bool:
    """Whether the data are smaller than the kernel along an axis."""
    return any(map(operator.lt, data.shape[1:3], weight.shape[1:3]))


def _data_gradient_of_small(
    cotangent: jax.Array, weight: jax.Array, moves: Moves, space: Shape
) -> jax.Array:
    """The data's gradient of a convolution without stride, as a convolution of the cotangent."""
    each = zip(
        space, weight.shape[1:3], cotangent.shape[1:3], moves.dilate, moves.pads, strict=True
    )
    pads = tuple((d * (k - 1) - low, n + low - c) for n, k, c, d, (low, _) in each)
    flipped = jnp.swapaxes(weight[:, ::-1, ::-1], 0, 3)
    return _by_xla_unfused(cotangent, flipped, moves._replace(pads=pads))


def _slices_are_faster(data: jax.Array, weight: jax.Array) -> bool:
    """Whether a sum over taps and channels of weighted slices is fastest.

    Never for integers, since sums of slices are computed in float32 at least.
    """
    few = data.shape[3] <= FEW and math.prod(weight.shape[1:]) <= _MOST_TERMS
    many = math.prod(data.shape[:3]) >= _MANY
    return few and many and jnp.issubdtype(data.dtype, jnp.floating)
