"""Convolutions as sums of slices of the data, each times its cell of the kernel."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.ops.floating import accumulator
from modkit.ops.moves import Moves, Pads
from modkit.ops.registry import Shape

_FOLDS = 8
"""Slices that are added to each other before the sum over places. With 16 XLA fuses no more."""


def views(padded: jax.Array, kernel: Shape, moves: Moves, counts: Shape) -> list[jax.Array]:
    """What each cell of the kernel meets, row by row."""
    (down, right), (far, wide), _ = moves
    rows, columns = counts
    return [
        padded[:, i : i + (rows - 1) * down + 1 : down, j : j + (columns - 1) * right + 1 : right]
        for i in range(0, kernel[0] * far, far)
        for j in range(0, kernel[1] * wide, wide)
    ]


def surround(data: jax.Array, pads: Pads, between: Shape = (0, 0)) -> jax.Array:
    """Zeros around, and between the cells."""
    config = [(0, 0, 0), *((*p, b) for p, b in zip(pads, between, strict=True)), (0, 0, 0)]
    return lax.pad(data, jnp.zeros((), data.dtype), config)


def pad(data: jax.Array, pads: Pads, between: Shape = (0, 0)) -> jax.Array:
    """`surround`, written once, not for each of its readers."""
    return lax.optimization_barrier(surround(data, pads, between))


def weighted(slices: list[jax.Array], kernel: jax.Array) -> jax.Array:
    """The sum of slices, each times its cell of the kernel."""
    cells = lax.optimization_barrier(kernel.reshape(-1, kernel.shape[-1]))
    wide = accumulator(kernel)
    products = [part.astype(wide) * cell for part, cell in zip(slices, cells, strict=True)]
    return lax.optimization_barrier(functools.reduce(jnp.add, products).astype(kernel.dtype))


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def depthwise(data: jax.Array, kernel: jax.Array, moves: Moves) -> jax.Array:
    """Each channel with its own kernel, which is (kh, kw, C)."""
    counts = moves.counts(data.shape[1:3], kernel.shape[:2])
    padded = pad(data, moves.pads)
    slices = views(padded, kernel.shape[:2], moves, counts)
    return weighted(slices, kernel)


def _depthwise_forward(data: jax.Array, kernel: jax.Array, moves: Moves) -> tuple[jax.Array, Any]:
    return depthwise(data, kernel, moves), (data, kernel)


def _depthwise_backward(moves: Moves, kept: Any, head: jax.Array) -> tuple[jax.Array, jax.Array]:
    data, kernel = kept
    space, counts, size = data.shape[1:3], head.shape[1:3], kernel.shape[:2]
    head, wide = lax.optimization_barrier(head), accumulator(head)
    # The kernel turned around over all that each place was seen by, cells between steps as zeros.
    each = zip(space, counts, size, *moves, strict=True)
    pads = tuple((d * (k - 1) - lo, n + lo - (c - 1) * s - 1) for n, c, k, s, d, (lo, _) in each)
    spread = pad(head, pads, tuple(s - 1 for s in moves.stride))
    whole = Moves((1, 1), moves.dilate, pads)
    data_grad = weighted(views(spread, size, whole, space), kernel[::-1, ::-1])
    padded = pad(data, moves.pads)
    cells = [
        jnp.sum(lax.optimization_barrier(_folded(part.astype(wide) * head)), (0, 1, 2))
        for part in views(padded, size, moves, counts)
    ]
    return data_grad, jnp.stack(cells).reshape(kernel.shape).astype(kernel.dtype)


depthwise.defvjp(_depthwise_forward, _depthwise_backward)


def _folded(array: jax.Array) -> jax.Array:
    """The array with parts of it added to each other, which is faster than to sum it all."""
    sizes = array.shape[:2]
    parts, axis = max(
        (math.gcd(size, n), axis) for axis, size in enumerate(sizes) for n in range(1, _FOLDS + 1)
    )
    return functools.reduce(jnp.add, jnp.split(array, parts, axis))
