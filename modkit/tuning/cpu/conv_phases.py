"""The data's gradient of a strided convolution, as convolutions without stride.

Along an axis, positions that differ by a multiple of the stride form a phase, and the same kernel
taps contribute to all of them (sub-pixel convolution: Shi et al., 2016). XLA dilates the cotangent
with zeros instead, and multiplies every position by every tap.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from modkit.ops.nn.convolution import Moves, by_xla
from modkit.ops.registry import Shape

_PLAIN = Moves((1, 1), (1, 1), ((0, 0), (0, 0)))


class Phases(NamedTuple):
    """Successive phases of an axis with equal numbers of taps."""

    begin: int
    end: int
    taps: int

    @classmethod
    def of(cls, kernel: int, stride: int) -> list[Phases]:
        """The phases of an axis: those below ``kernel % stride`` have one more tap."""
        taps, more = divmod(kernel, stride)
        both = cls(0, more, taps + 1), cls(more, stride, taps)
        return [each for each in both if each.begin < each.end]


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


def data_gradient(cotangent: jax.Array, weight: jax.Array, moves: Moves, space: Shape) -> jax.Array:
    """The data's gradient of a convolution without dilation: one convolution for each pair of
    `Phases`. It pads with zeros, which infinite weights turn into NaN.

    Shapes:
        cotangent: (N, H', W', num_filter).
        weight: (num_filter, kh, kw, C).
        returns: (N, *space, C).
    """
    cotangent, positions = lax.optimization_barrier(cotangent), positions_per_phase(moves, space)
    rows, columns = map(Phases.of, weight.shape[1:3], moves.stride)
    parts = [
        lax.concatenate([_part(cotangent, weight, moves, positions, (y, x)) for x in columns], 4)
        for y in rows
    ]
    return interleaved(lax.concatenate(parts, 3), moves, space)


def _part(
    cotangent: jax.Array, weight: jax.Array, moves: Moves, positions: list[int],
    phases: tuple[Phases, Phases],
) -> jax.Array:  # fmt: skip
    """The gradient at the positions of some phases, in the shape that `interleaved` reads."""
    sizes = [each.end - each.begin for each in phases]
    shape = (len(cotangent), *positions, *sizes, weight.shape[3])
    if not all(each.taps for each in phases):
        return jnp.zeros(shape, cotangent.dtype)
    before = [(each.taps - 1, n - size, 0) for each, n, size in
              zip(phases, positions, cotangent.shape[1:3], strict=True)]  # fmt: skip
    padded = lax.pad(cotangent, jnp.zeros((), cotangent.dtype), [(0, 0, 0), *before, (0, 0, 0)])
    kernel = weight
    for each, stride in zip(phases, moves.stride, strict=True):
        last_first = [
            lax.slice_in_dim(kernel, tap * stride + each.begin, tap * stride + each.end, axis=1)
            for tap in reversed(range(each.taps))
        ]
        kernel = jnp.moveaxis(jnp.stack(last_first, -1), 1, 2)
    # (num_filter, phases..., C, taps...) after both axes
    kernel = kernel.reshape(len(weight), -1, *(each.taps for each in phases))
    made = by_xla(padded, jnp.moveaxis(kernel, 0, -1), _PLAIN)
    return lax.optimization_barrier(made).reshape(shape)
