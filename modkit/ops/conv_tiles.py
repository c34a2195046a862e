"""3x3 convolutions in tiles of 2x2 results, each from 16 products where a plain one needs 36.

F(2x2, 3x3) of A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks" (CVPR
2016). The 4x4 cells that a tile sees, the kernel, and the tile itself are turned into 16 numbers
each, by sums and halves. There a convolution is number times number, and a sum over channels: 16
matrix products over all tiles. It rounds about as much as a plain convolution.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from modkit.ops.moves import Pads
from modkit.ops.registry import Shape

Matrix = tuple[tuple[float, ...], ...]

_SEEN: Matrix = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
"""What is made of the cells that a tile sees: B of the paper, transposed."""

_KERNEL: Matrix = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
"""What is made of the kernel: G."""

_MADE: Matrix = ((1, 1, 1, 0), (0, 1, -1, -1))
"""What the tile is made of: A, transposed."""

_ROOM = 1 << 22
"""Numbers of one of the 16 factors, at most: samples that have more go one part after another."""


_PARTS = 8
"""Parts at most: each is compiled."""


def tile_counts(counts: Shape) -> Shape:
    """How many tiles there are along each axis of so many results."""
    return tuple(-(-count // 2) for count in counts)


def samples_at_once(samples: int, counts: Shape, channels: int) -> int:
    """The most samples that find room, in equal parts of all; 0 where there are too many parts."""
    most = _ROOM // max(1, math.prod(tile_counts(counts)) * channels)
    parts = (n for n in range(1, _PARTS + 1) if samples % n == 0 and samples <= n * most)
    return samples // next(parts, samples + 1)


def tiled(data: jax.Array, weight: jax.Array, pads: Pads) -> jax.Array:
    """The convolution of ``data``, (N, H, W, C), with ``weight``, (F, 3, 3, C), by steps of 1."""
    return _convolution(data, weight, 1, pads)


def tiled_data_gradient(head: jax.Array, weight: jax.Array, pads: Pads) -> jax.Array:
    """Of `tiled`: the convolution of ``head`` with the kernel turned around."""
    (top, bottom), (left, right) = pads
    rest = (2 - top, 2 - bottom), (2 - left, 2 - right)
    return _convolution(head, lax.rev(weight, (1, 2)), 0, rest)


def tiled_weight_gradient(data: jax.Array, head: jax.Array, pads: Pads) -> jax.Array:
    """Of `tiled`."""
    counts = head.shape[1:3]
    tiles = tile_counts(counts)
    spare = tuple((0, 2 * n - count) for n, count in zip(tiles, counts, strict=True))

    def of_some(data: jax.Array, head: jax.Array) -> jax.Array:
        made = _numbers(_transposed(_MADE), _padded(head, spare), tiles)
        seen = _numbers(_SEEN, _padded(data, _reach(data, pads, tiles)), tiles)
        over = ((0,), (0,)), ((), ())
        numbers = [lax.dot_general(*each, over) for each in zip(made, seen, strict=True)]
        cells = _combined(_transposed(_KERNEL), numbers)
        return jnp.stack([jnp.stack(row, 1) for row in cells], 1)

    most = max(data.shape[3], head.shape[3])
    return functools.reduce(jnp.add, _by_parts(of_some, counts, most, data, head))


def _convolution(data: jax.Array, weight: jax.Array, axis: int, pads: Pads) -> jax.Array:
    """With a weight (F, 3, 3, C); the data has its C where ``axis`` is 1, its F where it is 0."""
    counts = tuple(n + sum(pad) - 2 for n, pad in zip(data.shape[1:3], pads, strict=True))
    tiles = tile_counts(counts)
    factors = _numbers(_KERNEL, weight, (1, 1))
    channels = factors[0].shape[1 - axis]

    def of_some(data: jax.Array) -> jax.Array:
        seen = _numbers(_SEEN, _padded(data, _reach(data, pads, tiles)), tiles)
        over = ((1,), (axis,)), ((), ())
        numbers = [lax.dot_general(*each, over) for each in zip(seen, factors, strict=True)]
        made = _combined(_MADE, [n.reshape(len(data), *tiles, channels) for n in numbers])
        whole = jnp.stack([jnp.stack(row, 3) for row in made], 2)
        whole = whole.reshape(len(data), *(2 * n for n in tiles), channels)
        return lax.optimization_barrier(whole[:, : counts[0], : counts[1]])

    most = max(data.shape[3], channels)
    return jnp.concatenate(_by_parts(of_some, counts, most, data))


def _by_parts(
    run: Callable[..., jax.Array], counts: Shape, channels: int, *arrays: jax.Array
) -> list[jax.Array]:
    """``run`` of some samples, then of others, so that all share the room of the first."""
    samples = len(arrays[0])
    at_once = samples_at_once(samples, counts, channels)
    results: list[jax.Array] = []
    for begin in range(0, samples, at_once):
        part = [each[begin : begin + at_once] for each in arrays]
        if results:
            results[-1], *part = lax.optimization_barrier((results[-1], *part))
        results.append(run(*part))
    return results


def _reach(data: jax.Array, pads: Pads, tiles: Shape) -> Pads:
    """Pads to all that the tiles see."""
    each = zip(data.shape[1:3], pads, tiles, strict=True)
    return tuple((low, 2 * n + 2 - size - low) for size, (low, _), n in each)


def _padded(data: jax.Array, pads: Pads) -> jax.Array:
    if not any(map(any, pads)):
        return data
    config = [(0, 0, 0), *((*pad, 0) for pad in pads), (0, 0, 0)]
    return lax.optimization_barrier(lax.pad(data, jnp.zeros((), data.dtype), config))


def _numbers(matrix: Matrix, array: jax.Array, tiles: Shape) -> list[jax.Array]:
    """The 16 numbers of each tile as factors of a matrix product: (other axes, last axis).

    First along one axis, then along the other, which has XLA compile fewer operations.
    """
    rows = _along(1, matrix, array, tiles[0])
    numbers = [each for row in rows for each in _along(2, matrix, row, tiles[1])]
    return [each.reshape(-1, each.shape[-1]) for each in numbers]


def _along(axis: int, matrix: Matrix, array: jax.Array, tiles: int) -> list[jax.Array]:
    """``matrix`` times what tiles have along an axis, one tile 2 places after the other."""
    reach = 2 * tiles - 1
    parts = [lax.slice_in_dim(array, i, i + reach, 2, axis) for i in range(len(matrix[0]))]
    return [lax.optimization_barrier(_weighted(row, parts)) for row in matrix]


def _combined(matrix: Matrix, numbers: Sequence[jax.Array]) -> list[list[jax.Array]]:
    """``matrix @ numbers @ matrix.T`` for 4x4 numbers."""
    columns = [numbers[i::4] for i in range(4)]
    halves = [[_weighted(row, column) for column in columns] for row in matrix]
    return [[_weighted(row, half) for row in matrix] for half in halves]


def _weighted(factors: Sequence[float], arrays: Sequence[jax.Array]) -> jax.Array:
    terms = [a if f == 1 else a * f for f, a in zip(factors, arrays, strict=True) if f]
    return functools.reduce(jnp.add, terms)


def _transposed(matrix: Matrix) -> Matrix:
    return tuple(zip(*matrix, strict=True))
