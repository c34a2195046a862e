"""Convolutions over two spatial axes without groups, in the fastest form on CPUs."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.ops.floating import accumulator
from modkit.ops.nn.convolution import by_xla
from modkit.ops.nn.strides import Moves
from modkit.ops.registry import Shape
from modkit.tuning.cpu import conv_phases
from modkit.tuning.cpu.conv_slices import pad, views, weighted

_FEW = 4
"""Largest number of input channels for which XLA is slow (`benchmarks.conv_sweep`)."""

_MOST_TERMS = 32
"""Largest number of taps times input channels for a convolution by slices."""

_MANY = 1 << 12
"""Least number of positions (batch and spatial) for it: XLA runs fewer on one thread."""

_LEAST_PHASES = 32
"""Least number of phases times channels for a gradient by phases."""

_MOST_PARTS = 64
"""Largest number of kernel taps, and of stride phases, for col2im: it compiles an operation for
each, and a transposed convolution that enlarges by 32 has kernels of 64x64."""


# ── 1x1 ─────────────────────────────────────────────────────────────────────────────────────


@jax.custom_vjp
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


def _pointwise_forward(data: jax.Array, weight: jax.Array) -> tuple[jax.Array, tuple[Any, Any]]:
    return pointwise(data, weight), (data, weight)


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


pointwise.defvjp(_pointwise_forward, _pointwise_backward)


# ── All channels ────────────────────────────────────────────────────────────────────────────


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def convolve_ungrouped(data: jax.Array, weight: jax.Array, moves: Moves) -> jax.Array:
    """Convolution without groups: by slices for few channels, else by XLA.

    Forward-mode differentiation is not supported.
    """
    if not _slices_are_faster(data, weight):
        return _by_xla_apart(data, weight, moves)
    kernel, channels = weight.shape[1:3], weight.shape[3]
    counts = moves.counts(data.shape[1:3], kernel)
    slices = views(pad(data, moves.pads), kernel, moves, counts)
    each = [part[..., c : c + 1] for part in slices for c in range(channels)]
    return weighted(each, jnp.moveaxis(weight, 0, -1))


def _ungrouped_forward(data: jax.Array, weight: jax.Array, moves: Moves) -> tuple[jax.Array, Any]:
    return convolve_ungrouped(data, weight, moves), (data, weight)


def _ungrouped_backward(
    moves: Moves, residuals: Any, cotangent: jax.Array
) -> tuple[jax.Array, jax.Array]:
    data, weight = residuals
    pullback = jax.vjp(lambda x, w: _by_xla_apart(x, w, moves), data, weight)[1]
    data_grad, weight_grad = pullback(cotangent)
    if _phases_are_faster(data, cotangent, moves):
        data_grad = conv_phases.data_gradient(cotangent, weight, moves, data.shape[1:3])
    elif _col2im_is_faster(data, weight, cotangent, moves):
        data_grad = _col2im(cotangent, weight, moves, data.shape[1:3])
    return data_grad, weight_grad


convolve_ungrouped.defvjp(_ungrouped_forward, _ungrouped_backward)


def _by_xla_apart(data: jax.Array, weight: jax.Array, moves: Moves) -> jax.Array:
    """Convolution by XLA, with barriers that keep its neighbours out of the fusion."""
    return lax.optimization_barrier(by_xla(lax.optimization_barrier(data), weight, moves))


def _slices_are_faster(data: jax.Array, weight: jax.Array) -> bool:
    """Whether a sum over taps and channels of weighted slices is fastest.

    Never for integers, since sums of slices are computed in float32 at least.
    """
    few = data.shape[3] <= _FEW and math.prod(weight.shape[1:]) <= _MOST_TERMS
    many = math.prod(data.shape[:3]) >= _MANY
    return few and many and jnp.issubdtype(data.dtype, jnp.floating)


def _phases_are_faster(data: jax.Array, cotangent: jax.Array, moves: Moves) -> bool:
    """Whether the data's gradient is fastest by `conv_phases`.

    Not where it has few channels in all phases, nor where much of it lies at the borders, which
    its convolutions pad, unless they have few input channels.
    """
    *_, channels = data.shape
    if math.prod(moves.stride) * channels < _LEAST_PHASES or math.prod(moves.dilate) > 1:
        return False
    padded = conv_phases.steps(moves, data.shape[1:3])
    borders = math.prod(padded) / math.prod(cotangent.shape[1:3])
    return math.prod(moves.stride) > 1 and (borders <= 1.25 or cotangent.shape[3] <= 32)


def _col2im_is_faster(
    data: jax.Array, weight: jax.Array, cotangent: jax.Array, moves: Moves
) -> bool:
    """Whether the data's gradient is faster by `_col2im` than by XLA.

    It is with few channels, and with large strides: XLA dilates the cotangent with zeros, and
    multiplies every position of the data by every tap.
    """
    if max(math.prod(weight.shape[1:3]), math.prod(moves.stride)) > _MOST_PARTS:
        return False
    positions, results = math.prod(data.shape[1:3]), math.prod(cotangent.shape[1:3])
    return data.shape[3] <= _FEW or 2 * positions > 3 * results


def _col2im(cotangent: jax.Array, weight: jax.Array, moves: Moves, space: Shape) -> jax.Array:
    """The data's gradient: one matmul, then col2im, which sums kernel taps per stride phase.

    Along an axis, positions that differ by a multiple of the stride form a phase: the same taps
    contribute to all of them. The sums of the phases are then interleaved. The product needs
    memory for each position of ``cotangent``, tap and input channel.
    """
    filters, *kernel, channels = weight.shape
    times = [-(-size // stride) for size, stride in zip(space, moves.stride, strict=True)]
    phases = [_taps_by_phase(*each) for each in zip(kernel, *moves, strict=True)]
    operands = lax.optimization_barrier(cotangent), weight.reshape(filters, -1)
    dtype = accumulator(cotangent)
    parts = lax.dot_general(*operands, (((3,), (0,)), ((), ())), preferred_element_type=dtype)
    parts = lax.optimization_barrier(parts).reshape(*cotangent.shape[:3], *kernel, channels)
    zero = jnp.zeros((), dtype)

    def total(rows: list[tuple[int, int]], columns: list[tuple[int, int]]) -> jax.Array:
        result = jnp.zeros((cotangent.shape[0], *times, channels), dtype)
        for i, down in rows:
            for j, right in columns:
                each = zip((down, right), times, cotangent.shape[1:3], strict=True)
                moved = [(-step, n + step - count, 0) for step, n, count in each]
                result += lax.pad(parts[:, :, :, i, j], zero, [(0, 0, 0), *moved, (0, 0, 0)])
        return result

    rows = [jnp.stack([total(down, right) for right in phases[1]], 3) for down in phases[0]]
    interleaved = jnp.stack(rows, 2)
    sizes = [n * stride for n, stride in zip(times, moves.stride, strict=True)]
    whole = interleaved.reshape(cotangent.shape[0], *sizes, channels)
    return lax.optimization_barrier(whole[:, : space[0], : space[1]].astype(cotangent.dtype))


def _taps_by_phase(
    kernel: int, stride: int, dilate: int, pads: tuple[int, int]
) -> list[list[tuple[int, int]]]:
    """Kernel taps that contribute to each phase of an axis, with the offset of their output.

    Input position ``stride * n + phase`` is read by ``tap`` for output position ``n + offset``.
    """
    return [
        [
            (tap, (phase + pads[0] - tap * dilate) // stride)
            for tap in range(kernel)
            if (phase + pads[0] - tap * dilate) % stride == 0
        ]
        for phase in range(stride)
    ]
