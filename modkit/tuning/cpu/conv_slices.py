"""Convolutions as sums of slices of the data, each times its kernel tap."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.interpreter.reverse import CustomVjp
from modkit.ops.floating import accumulator
from modkit.ops.nn.convolution import Moves, Pads
from modkit.ops.own_gradient import gradient_of
from modkit.ops.parameters import Shape

_FOLDS = 8
"""Slices that are added before the reduction over positions. With 16, XLA no longer fuses them."""


def views(padded: jax.Array, kernel: Shape, moves: Moves, counts: Shape) -> list[jax.Array]:
    """The slice of the data that each kernel tap reads, row by row."""
    (down, right), (dilate_y, dilate_x), _ = moves
    rows, columns = counts
    return [
        padded[:, i : i + (rows - 1) * down + 1 : down, j : j + (columns - 1) * right + 1 : right]
        for i in range(0, kernel[0] * dilate_y, dilate_y)
        for j in range(0, kernel[1] * dilate_x, dilate_x)
    ]


def surround(data: jax.Array, pads: Pads, between: Shape = (0, 0)) -> jax.Array:
    """Pad the spatial axes with zeros, and dilate them by ``between``."""
    config = [(0, 0, 0), *((*p, b) for p, b in zip(pads, between, strict=True)), (0, 0, 0)]
    return lax.pad(data, jnp.zeros((), data.dtype), config)


def pad(data: jax.Array, pads: Pads, between: Shape = (0, 0)) -> jax.Array:
    """`surround` behind a barrier: computed once, not fused into each of its users."""
    return lax.optimization_barrier(surround(data, pads, between))


def weighted(slices: list[jax.Array], kernel: jax.Array) -> jax.Array:
    """The sum of slices, each times its kernel tap."""
    taps = lax.optimization_barrier(kernel.reshape(-1, kernel.shape[-1]))
    dtype = accumulator(kernel)
    products = [part.astype(dtype) * tap for part, tap in zip(slices, taps, strict=True)]
    return lax.optimization_barrier(functools.reduce(jnp.add, products).astype(kernel.dtype))


@functools.partial(CustomVjp, nondiff_argnums=(2,))
def depthwise(data: jax.Array, kernel: jax.Array, moves: Moves) -> jax.Array:
    """Depthwise convolution with a kernel of shape (kh, kw, C)."""
    counts = moves.counts(data.shape[1:3], kernel.shape[:2])
    padded = pad(data, moves.pads)
    slices = views(padded, kernel.shape[:2], moves, counts)
    return weighted(slices, kernel)


@gradient_of(depthwise, slice(2))
def _depthwise_backward(moves: Moves, residuals: Any, ct: jax.Array) -> tuple[jax.Array, jax.Array]:
    data, kernel = residuals
    space, counts, size = data.shape[1:3], ct.shape[1:3], kernel.shape[:2]
    ct, dtype = lax.optimization_barrier(ct), accumulator(ct)
    # Correlation of the flipped kernel with the cotangent, dilated by the stride.
    each = zip(space, counts, size, *moves, strict=True)
    pads = tuple((d * (k - 1) - lo, n + lo - (c - 1) * s - 1) for n, c, k, s, d, (lo, _) in each)
    dilated = pad(ct, pads, tuple(s - 1 for s in moves.stride))
    whole = Moves((1, 1), moves.dilate, pads)
    data_grad = weighted(views(dilated, size, whole, space), kernel[::-1, ::-1])
    padded = pad(data, moves.pads)
    taps = [
        jnp.sum(lax.optimization_barrier(_folded(part.astype(dtype) * ct)), (0, 1, 2))
        for part in views(padded, size, moves, counts)
    ]
    return data_grad, jnp.stack(taps).reshape(kernel.shape).astype(kernel.dtype)


def _folded(array: jax.Array) -> jax.Array:
    """Add up to `_FOLDS` parts of the array: the reduction of the rest is faster then."""
    sizes = array.shape[:2]
    parts, axis = max(
        (math.gcd(size, n), axis) for axis, size in enumerate(sizes) for n in range(1, _FOLDS + 1)
    )
    return functools.reduce(jnp.add, jnp.split(array, parts, axis))
