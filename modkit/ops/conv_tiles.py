"""3x3 convolutions in tiles of 2x2 results, each from 16 products where a plain one needs 36.

F(2x2, 3x3) of A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks" (CVPR
2016). The 4x4 cells that a tile sees, the kernel, and the tile itself are turned into 16 numbers
each, by sums and halves. There a convolution is number times number, and a sum over channels: 16
matrix products over all tiles. It is off by up to twice as much as a plain convolution.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from modkit.ops.conv_slices import pad, surround
from modkit.ops.moves import Moves, Pads
from modkit.ops.registry import Shape

Matrix = tuple[tuple[float, ...], ...]

# As the paper names them.
_B_T: Matrix = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
_G: Matrix = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
_A_T: Matrix = ((1, 1, 1, 0), (0, 1, -1, -1))

_ROOM = 1 << 22
"""Numbers of one of the 16 factors or products, at most, in one part of the samples: 256 MiB for
all 16 in float32. A weight's gradient has twice 16 factors."""


def tile_counts(counts: Shape) -> Shape:
    """How many tiles there are along each axis of so many results."""
    return tuple(-(-count // 2) for count in counts)


def part_count(samples: int, counts: Shape, channels: int) -> int:
    """In how many parts the samples find room; more than samples where one of them has none."""
    return -(-samples * math.prod(tile_counts(counts)) * channels // _ROOM)


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

    def of_some(data: jax.Array, head: jax.Array) -> jax.Array:
        made = _numbers(_transposed(_A_T), pad(head, _spare(counts)), tiles)
        seen = _numbers(_B_T, pad(surround(data, pads), _spare(counts)), tiles)
        over = ((0,), (0,)), ((), ())
        numbers = [lax.dot_general(*each, over) for each in zip(made, seen, strict=True)]
        cells = _combined(_transposed(_G), numbers)
        return jnp.stack([jnp.stack(row, 1) for row in cells], 1)

    channels = max(data.shape[3], head.shape[3])
    return functools.reduce(jnp.add, _by_parts(of_some, counts, channels, data, head))


def _convolution(data: jax.Array, weight: jax.Array, axis: int, pads: Pads) -> jax.Array:
    """With a weight (F, 3, 3, C); the data has its C where ``axis`` is 1, its F where it is 0."""
    counts = Moves((1, 1), (1, 1), pads).counts(data.shape[1:3], (3, 3))
    tiles = tile_counts(counts)
    factors = _numbers(_G, weight, (1, 1))
    results = factors[0].shape[1 - axis]

    def of_some(data: jax.Array) -> jax.Array:
        seen = _numbers(_B_T, pad(surround(data, pads), _spare(counts)), tiles)
        over = ((1,), (axis,)), ((), ())
        numbers = [lax.dot_general(*each, over) for each in zip(seen, factors, strict=True)]
        made = _combined(_A_T, [n.reshape(len(data), *tiles, results) for n in numbers])
        whole = jnp.stack([jnp.stack(row, 3) for row in made], 2)
        whole = whole.reshape(len(data), *(2 * n for n in tiles), results)
        return lax.optimization_barrier(whole[:, : counts[0], : counts[1]])

    channels = max(data.shape[3], results)
    return jnp.concatenate(_by_parts(of_some, counts, channels, data))


def _by_parts(
    run: Callable[..., jax.Array], counts: Shape, channels: int, *arrays: jax.Array
) -> list[jax.Array]:
    """``run`` of some samples, then of others, so that all share the room of the first."""
    samples = len(arrays[0])
    at_once = -(-samples // part_count(samples, counts, channels))
    results: list[jax.Array] = []
    for begin in range(0, samples, at_once):
        part = [each[begin : begin + at_once] for each in arrays]
        if results:
            results[-1], *part = lax.optimization_barrier((results[-1], *part))
        results.append(run(*part))
    return results


def _spare(counts: Shape) -> Pads:
    """Zeros that the last tiles see behind everything, as they are not full."""
    return tuple((0, count % 2) for count in counts)


def _numbers(matrix: Matrix, array: jax.Array, tiles: Shape) -> list[jax.Array]:
    """The 16 numbers of each tile as factors of a matrix product: (other axes, last axis).

    First along one axis, then along the other, which has XLA compile half as many operations. Side
    by side in one array, for one product with 16 parts, they take much longer to make: those of
    (16, 14, 14, 256) 26 ms, not 1.1.
    """
    rows = _along(1, matrix, array, tiles[0])
    numbers = [each for row in rows for each in _along(2, matrix, row, tiles[1])]
    return [each.reshape(-1, each.shape[-1]) for each in numbers]


def _along(axis: int, matrix: Matrix, array: jax.Array, tiles: int) -> list[jax.Array]:
    """``matrix`` times what tiles have along an axis, one tile 2 places after the other."""
    span = 2 * tiles - 1
    parts = [lax.slice_in_dim(array, i, i + span, 2, axis) for i in range(len(matrix[0]))]
    return [lax.optimization_barrier(_weighted(row, parts)) for row in matrix]


def _combined(matrix: Matrix, numbers: Sequence[jax.Array]) -> list[list[jax.Array]]:
    """``matrix @ numbers @ matrix.T``, where the 16 numbers are 4x4, row by row."""
    columns = [numbers[i::4] for i in range(4)]
    halves = [[_weighted(row, column) for column in columns] for row in matrix]
    return [[_weighted(row, half) for row in matrix] for half in halves]


def _weighted(factors: Sequence[float], arrays: Sequence[jax.Array]) -> jax.Array:
    terms = [a if f == 1 else a * f for f, a in zip(factors, arrays, strict=True) if f]
    return functools.reduce(jnp.add, terms)


def _transposed(matrix: Matrix) -> Matrix:
    return tuple(zip(*matrix, strict=True))
