"""The data's gradient of a convolution: one matmul and col2im, or by phases of the stride.

Along an axis, positions that differ by a multiple of the stride form a phase, and the same kernel
taps contribute to all of them (sub-pixel convolution: Shi et al., 2016). XLA dilates the cotangent
with zeros instead, and multiplies every position by every tap.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.ops.floating import accumulator
from modkit.ops.nn.convolution import Moves, by_xla
from modkit.ops.parameters import Shape

FEW = 4
"""Largest number of input channels for which XLA is slow (`benchmarks.conv_sweep`)."""

_MOST_BLOCKS = 64
"""Largest number of blocks of a kernel for col2im: it compiles an addition for each."""

_FEW_FILTERS = 64
"""Largest number of filters for a gradient by phases: the terms of the products of col2im."""

_LEAST_TAPS = 25
"""Least number of taps for it: the additions of col2im."""

_LEAST_PHASES = 32
"""Least number of phases times channels for it: they are the filters of a convolution."""


def positions_per_phase(moves: Moves, space: Shape) -> list[int]:
    """Number of positions of each phase, by axis, with those in the padding before the data."""
    each = zip(moves.pads, space, moves.stride, strict=True)
    return [-(-(low + size) // stride) for (low, _), size, stride in each]


def interleaved(phases: jax.Array, moves: Moves, space: Shape) -> jax.Array:
    """Phases interleaved, without the positions in the padding.

    Shapes:
        phases: (N, positions, positions, phases, phases, C).
        returns: (N, *space, C).
    """
    samples, *positions, _, _, channels = phases.shape
    sizes = [n * stride for n, stride in zip(positions, moves.stride, strict=True)]
    whole = lax.optimization_barrier(phases).transpose(0, 1, 3, 2, 4, 5)
    whole = whole.reshape(samples, *sizes, channels)
    each = zip(moves.pads, space, sizes, strict=True)
    inside = [(-low, low + size - made, 0) for (low, _), size, made in each]
    zero = jnp.zeros((), whole.dtype)
    return lax.optimization_barrier(lax.pad(whole, zero, [(0, 0, 0), *inside, (0, 0, 0)]))


def phases_are_faster(
    data: jax.Array, weight: jax.Array, cotangent: jax.Array, moves: Moves
) -> bool:
    """Whether the data's gradient is much faster by `by_phases` than by `col2im`.

    It is for large kernels of few filters, where padding does not double the positions.
    """
    filters, *kernel, channels = weight.shape
    phases = math.prod(moves.stride)
    if phases == 1 or math.prod(moves.dilate) > 1 or phases * channels < _LEAST_PHASES:
        return False
    padded = math.prod(positions_per_phase(moves, data.shape[1:3]))
    few = filters <= _FEW_FILTERS and math.prod(kernel) >= _LEAST_TAPS
    return few and padded <= 2 * math.prod(cotangent.shape[1:3])


def by_phases(cotangent: jax.Array, weight: jax.Array, moves: Moves, space: Shape) -> jax.Array:
    """The data's gradient of a convolution without dilation, as one without stride.

    Phases are its filters, of taps that zeros complete to a multiple of the stride; it pads with
    zeros too. Both turn infinite numbers into NaN.

    Shapes:
        cotangent: (N, H', W', num_filter).
        weight: (num_filter, kh, kw, C).
        returns: (N, *space, C).
    """
    filters, *_, channels = weight.shape
    positions, taps = positions_per_phase(moves, space), blocks(weight, moves)
    (rows, columns), (y, x), zero = taps, moves.stride, jnp.zeros((), weight.dtype)
    each = zip(taps, moves.stride, weight.shape[1:3], strict=True)
    rest = [(0, n * stride - size, 0) for n, stride, size in each]
    kernel = lax.pad(weight, zero, [(0, 0, 0), *rest, (0, 0, 0)])
    kernel = kernel.reshape(filters, rows, y, columns, x, channels)[:, ::-1, :, ::-1]
    kernel = kernel.transpose(2, 4, 5, 1, 3, 0).reshape(-1, rows, columns, filters)
    each = zip(taps, positions, cotangent.shape[1:3], strict=True)
    pads = tuple((n - 1, whole - size) for n, whole, size in each)
    padded = lax.pad(
        lax.optimization_barrier(cotangent), zero, [(0, 0, 0), *((*p, 0) for p in pads), (0, 0, 0)]
    )
    made = lax.optimization_barrier(by_xla(padded, kernel, Moves((1, 1), (1, 1), ((0, 0), (0, 0)))))
    return interleaved(made.reshape(len(made), *positions, y, x, channels), moves, space)


def col2im_is_faster(
    data: jax.Array, weight: jax.Array, cotangent: jax.Array, moves: Moves
) -> bool:
    """Whether the data's gradient is faster by `col2im` than by XLA.

    It is with few channels, and with large strides: XLA dilates the cotangent with zeros, and
    multiplies every position of the data by every tap.
    """
    if math.prod(moves.dilate) > 1 or math.prod(blocks(weight, moves)) > _MOST_BLOCKS:
        return False
    positions, results = math.prod(data.shape[1:3]), math.prod(cotangent.shape[1:3])
    return data.shape[3] <= FEW or 2 * positions > 3 * results


def col2im(cotangent: jax.Array, weight: jax.Array, moves: Moves, space: Shape) -> jax.Array:
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
