"""Convolutions over two spatial axes without groups, in the fastest form on CPUs."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.interpreter.reverse import CustomVjp, vjp
from modkit.ops.floating import accumulator
from modkit.ops.nn.convolution import Moves, by_xla
from modkit.ops.own_gradient import gradient_of
from modkit.ops.registry import Shape
from modkit.tuning.cpu.conv_phases import data_gradient, interleaved, positions_per_phase
from modkit.tuning.cpu.conv_slices import pad, surround, views, weighted

FEW = 4
"""Largest number of input channels for which XLA is slow (`benchmarks.conv_sweep`)."""

_MOST_TERMS = 32
"""Largest number of taps times input channels for a convolution by slices."""

_MANY = 1 << 12
"""Least number of positions (batch and spatial) for it: XLA runs fewer on one thread."""

_LEAST_PHASES = 32
"""Least number of phases times channels for a gradient by phases."""

_FEW_FILTERS = 32
"""Largest number of filters with which phases are faster although padding doubles positions."""

_SAMPLES = 8
"""Least number of samples of a weight gradient: XLA takes them as channels, and few are slow."""

_MOST_STRIPS = 16
"""Largest number of strips of an image that are samples of their own."""

_MOST_BLOCKS = 64
"""Largest number of blocks of a kernel for col2im: it compiles an addition for each."""


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
    if _phases_are_faster(data, cotangent, moves):
        fast = data_gradient(cotangent, weight, moves, data.shape[1:3])
        data_grad = lax.cond(  # in its branches XLA runs convolutions on one thread
            jnp.isfinite(weight).all(), lambda: fast, lambda: pullback(cotangent)[0]
        )
    elif math.prod(moves.stride) == 1 and _is_smaller(cotangent, weight):
        data_grad = _data_gradient_of_small(cotangent, weight, moves, data.shape[1:3])
    elif _col2im_is_faster(data, weight, cotangent, moves):
        data_grad = _col2im(cotangent, weight, moves, data.shape[1:3])
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


def _phases_are_faster(data: jax.Array, cotangent: jax.Array, moves: Moves) -> bool:
    """Whether the data's gradient is fastest by `conv_phases`.

    False without a stride, with dilation, for fewer than `_LEAST_PHASES` phases times channels, and
    where padding adds more than a quarter of positions, or as many again with few filters.
    """
    phases = math.prod(moves.stride)
    if phases == 1 or math.prod(moves.dilate) > 1 or phases * data.shape[3] < _LEAST_PHASES:
        return False
    padded = math.prod(positions_per_phase(moves, data.shape[1:3]))
    share = padded / math.prod(cotangent.shape[1:3])
    return share <= (2 if cotangent.shape[3] <= _FEW_FILTERS else 1.25)


def _col2im_is_faster(
    data: jax.Array, weight: jax.Array, cotangent: jax.Array, moves: Moves
) -> bool:
    """Whether the data's gradient is faster by `_col2im` than by XLA.

    It is with few channels, and with large strides: XLA dilates the cotangent with zeros, and
    multiplies every position of the data by every tap.
    """
    if math.prod(moves.dilate) > 1 or math.prod(blocks(weight, moves)) > _MOST_BLOCKS:
        return False
    positions, results = math.prod(data.shape[1:3]), math.prod(cotangent.shape[1:3])
    return data.shape[3] <= FEW or 2 * positions > 3 * results


def _col2im(cotangent: jax.Array, weight: jax.Array, moves: Moves, space: Shape) -> jax.Array:
    """The data's gradient of a convolution without dilation: one matmul, then col2im.

    Along an axis the taps of a kernel lie in blocks of the stride's size. Every block is added at
    once, so there are as many additions as blocks. The product needs memory for each position of
    ``cotangent``, tap and input channel.
    """
    filters, *kernel, channels = weight.shape
    samples, *results, _ = cotangent.shape
    operands = lax.optimization_barrier(cotangent), weight.reshape(filters, -1)
    dtype = accumulator(cotangent)
    parts = lax.dot_general(*operands, (((3,), (0,)), ((), ())), preferred_element_type=dtype)
    parts = lax.optimization_barrier(parts).reshape(samples, *results, *kernel, channels)
    zero, per_phase = jnp.zeros((), dtype), positions_per_phase(moves, space)
    total = jnp.zeros((samples, *per_phase, *moves.stride, channels), dtype)
    for at in np.ndindex(*blocks(weight, moves)):
        begins = [n * stride for n, stride in zip(at, moves.stride, strict=True)]
        block = parts[:, :, :, begins[0] :, begins[1] :][
            :, :, :, : moves.stride[0], : moves.stride[1]
        ]
        shifts = [
            (n, all_ - n - own, 0) for n, all_, own in zip(at, per_phase, results, strict=True)
        ]
        rests = [(0, s - own, 0) for s, own in zip(moves.stride, block.shape[3:5], strict=True)]
        total += lax.pad(block, zero, [(0, 0, 0), *shifts, *rests, (0, 0, 0)])
    return interleaved(total.astype(cotangent.dtype), moves, space)


def blocks(weight: jax.Array, moves: Moves) -> list[int]:
    """Number of blocks of the stride's size in the kernel, by axis."""
    return [-(-k // stride) for k, stride in zip(weight.shape[1:3], moves.stride, strict=True)]
