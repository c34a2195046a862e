"""Convolutions with channels last, in the forms that are fastest on CPUs.

XLA for CPUs has one good form: a convolution over two axes that sees all of more than a few
channels. Others run up to hundreds of times slower there, some gradients above all, so they are
made of that one, of matrix products and of sums of slices. `benchmarks.layers` measures them.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.ops.conv_slices import depthwise
from modkit.ops.conv_whole import over_all, product
from modkit.ops.floating import accumulator
from modkit.ops.layout import spatial_axes
from modkit.ops.moves import Moves, Pads
from modkit.ops.platforms import Form

_BLOCK = 32
"""Channels that groups are put together for, at most: the others' work is for nothing.

ms of 3x3 in 32 groups, forward, for the gradient of the data and for that of the weight:

    channels of a block    (16, 28, 28, 256)    (16, 56, 56, 128)
                      8           21, 45, 25          74, 104, 82
                     16           15, 29, 19           53, 55, 61
                     32           25, 24, 27           54, 48, 85
                     64           45, 43, 45          88, 82, 101

16 is a tenth faster than 32, and has twice as many convolutions to compile.
"""

_MOST_CELLS = 64
"""Cells of the largest kernel that one channel is summed with slice by slice."""


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
        channels, cells = data.shape[-1], math.prod(weight.shape[1:-1])
        if groups == channels and cells <= _MOST_CELLS:
            return _channel_by_channel(data, weight, moves)
        return _in_blocks(data, weight, moves, groups)
    data, weight = _fold_covered(data, weight, moves)
    if weight.shape[1:3] == (1, 1) and not any(map(any, moves.pads)):
        down, right = moves.stride
        seen = lax.optimization_barrier(data[:, ::down, ::right])
        return lax.optimization_barrier(product(seen, weight[:, 0, 0]))
    return over_all(data, weight, moves)


def for_layout(form: Form, layout: str) -> Form:
    """``form``, which takes data and weights with channels last, for those of a layout."""
    at = layout.index("C")
    if at == len(layout) - 1:
        return form

    def moved(data: jax.Array, weight: jax.Array) -> jax.Array:
        return jnp.moveaxis(form(jnp.moveaxis(data, at, -1), jnp.moveaxis(weight, at, -1)), -1, at)

    return moved


# ── Kernels as large as the data ────────────────────────────────────────────────────────────


def _fold_covered(data: jax.Array, weight: jax.Array, moves: Moves) -> tuple[jax.Array, jax.Array]:
    """The same convolution without the axes that the kernel covers: their cells are channels.

    XLA's gradient of the data pads such an axis by the kernel on both sides: that of a kernel of
    (5, 300) over (60, 300) took 22 s.
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
    """One axis made part of the last one; it stays, with one cell."""
    shape = [*array.shape[:axis], 1, *array.shape[axis + 1 : -1], -1]
    return jnp.moveaxis(array, axis, -2).reshape(shape)


# ── A kernel for each channel ───────────────────────────────────────────────────────────────


def _channel_by_channel(data: jax.Array, weight: jax.Array, moves: Moves) -> jax.Array:
    """As many groups as channels: one multiplication a cell of the kernel."""
    times = weight.shape[0] // data.shape[-1]
    kernel = jnp.transpose(weight[..., 0], (1, 2, 0))
    return depthwise(jnp.repeat(data, times, -1) if times > 1 else data, kernel, moves)


# ── Groups ──────────────────────────────────────────────────────────────────────────────────


def _in_blocks(data: jax.Array, weight: jax.Array, moves: Moves, groups: int) -> jax.Array:
    """A convolution for each block of groups, in which weights between two groups are zeros.

    So what is not finite in one group is seen by the others of its block, in gradients too.
    """
    own, filters = weight.shape[-1], weight.shape[0] // groups
    fitting = [n for n in range(2, groups + 1) if n * max(own, filters) <= _BLOCK]
    together = max((n for n in fitting if groups % n == 0), default=1)
    blocks = groups // together
    split = weight.reshape(blocks, together, filters, *weight.shape[1:-1], 1, own)
    same = jnp.eye(together, dtype=bool)[:, None, None, None, :, None]
    split = jnp.where(same, split, 0)
    split = split.reshape(blocks, together * filters, *weight.shape[1:-1], together * own)
    parts = lax.split(data, [together * own] * blocks, 3)
    results = [convolve_last(part, split[i], moves) for i, part in enumerate(parts)]
    return lax.optimization_barrier(lax.concatenate(results, 3))


# ── Three spatial axes ──────────────────────────────────────────────────────────────────────


def _by_depth(data: jax.Array, weight: jax.Array, moves: Moves, groups: int) -> jax.Array:
    """A convolution over two axes for each cell of the kernel along the first, and their sum.

    16-bit types are computed in float32, as parts of the sum would be rounded, or overflow.
    """
    if data.dtype != accumulator(data):
        wide = data.astype(accumulator(data)), weight.astype(accumulator(data))
        return _by_depth(*wide, moves, groups).astype(data.dtype)
    stride, dilate, pads = moves.stride[0], moves.dilate[0], moves.pads[0]
    deep = weight.shape[1]
    (count,) = moves.only(slice(1)).counts(data.shape[1:2], (deep,))
    padded = lax.pad(data, jnp.zeros((), data.dtype), [(0, 0, 0), (*pads, 0), *[(0, 0, 0)] * 3])
    results = []
    for cell in range(deep):
        begin = cell * dilate
        part = padded[:, begin : begin + (count - 1) * stride + 1 : stride]
        flat = part.reshape(-1, *part.shape[2:])
        results.append(convolve_last(flat, weight[:, cell], moves.only(slice(1, None)), groups))
    total = functools.reduce(jnp.add, results)
    return total.reshape(-1, count, *total.shape[1:])


# ── Transposed ──────────────────────────────────────────────────────────────────────────────


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def deconvolve_last(data: jax.Array, weight: jax.Array, moves: Moves, groups: int) -> jax.Array:
    """The transpose of `convolve_last` in its data.

    Its gradients are a convolution, and a convolution's gradient of the weight: XLA's own was 60
    times slower.

    Shapes:
        data: (N, *space, C).
        weight: (C, *kernel, num_filter / groups).
        returns: (N, *space, num_filter).
    """
    space = moves.spans(data.shape[1:-1], weight.shape[1:-1])
    result = jnp.zeros((data.shape[0], *space, weight.shape[-1] * groups), data.dtype)
    return jax.vjp(lambda each: convolve_last(each, weight, moves, groups), result)[1](data)[0]


def _deconvolve_forward(
    data: jax.Array, weight: jax.Array, moves: Moves, groups: int
) -> tuple[jax.Array, Any]:
    return deconvolve_last(data, weight, moves, groups), (data, weight)


def _deconvolve_backward(
    moves: Moves, groups: int, kept: Any, head: jax.Array
) -> tuple[jax.Array, jax.Array]:
    data, weight = kept
    data_grad, pull = jax.vjp(lambda each: convolve_last(head, each, moves, groups), weight)
    return data_grad, pull(data)[0]


deconvolve_last.defvjp(_deconvolve_forward, _deconvolve_backward)
