"""Windows that move over data: where they are, their largest cells and their sums."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.ops.registry import Shape


class Windows(NamedTuple):
    """Where the windows are: for each axis of the data, batch and channels too."""

    size: Shape
    stride: Shape
    pad: Shape
    number: Shape

    def margins(self, data: Shape) -> list[tuple[int, int]]:
        """Cells to add at both ends of each axis so that every window is inside."""
        each = zip(data, self.size, self.stride, self.pad, self.number, strict=True)
        return [(p, max((n - 1) * s + k - length - p, 0)) for length, k, s, p, n in each]

    def some_empty(self, data: Shape) -> bool:
        """Whether a window has nothing but padding."""
        each = zip(data, *self, strict=True)
        return any(k <= p or (n - 1) * s - p >= length for length, k, s, p, n in each)

    def counts(self, data: Shape, *, include_pad: bool) -> np.ndarray:
        """How many cells each window has, 1 where it has none; broadcasts to the output.

        Padding counts with ``include_pad``, but nothing beyond it does.
        """
        counts = np.ones((1,) * len(data), np.int64)
        for axis, (length, k, s, p, n) in enumerate(zip(data, *self, strict=True)):
            if (k, s, p) == (1, 1, 0):
                continue  # samples and channels: the constant must not grow with them
            starts = np.arange(n) * s - p
            ends = np.minimum(starts + k, length + p if include_pad else length)
            inside = ends - (starts if include_pad else np.maximum(starts, 0))
            sizes = [1] * len(data)
            sizes[axis] = n
            counts = counts * np.maximum(inside, 0).reshape(sizes)
        return np.maximum(counts, 1)

    def cells(self, data: jax.Array, fill: Any) -> list[jax.Array]:
        """The first cell of every window, the second one, and so on; ``fill`` is the padding."""
        padded = jnp.pad(data, self.margins(data.shape), constant_values=fill)
        cells = []
        for start in np.ndindex(self.size):
            each = zip(start, self.stride, self.number, strict=True)
            ends = [at + (n - 1) * s + 1 for at, s, n in each]
            cells.append(lax.slice(padded, start, ends, self.stride))
        return cells


def lowest(data: jax.Array) -> Any:
    """What a search for the largest starts from."""
    return data.dtype.type(-np.inf)


# ── As XLA has it ───────────────────────────────────────────────────────────────────────────


def largest(data: jax.Array, windows: Windows) -> jax.Array:
    """The largest cell of each window. Of equal ones the first has the gradient."""
    margins = windows.margins(data.shape)
    return lax.reduce_window(data, lowest(data), lax.max, windows.size, windows.stride, margins)


def total(data: jax.Array, windows: Windows) -> jax.Array:
    """The sum of each window."""
    if windows.size == data.shape and not any(windows.pad):
        return data.sum(tuple(i for i, k in enumerate(windows.size) if k > 1), keepdims=True)
    margins = windows.margins(data.shape)
    zero = data.dtype.type(0)
    return lax.reduce_window(data, zero, lax.add, windows.size, windows.stride, margins)


# ── Cell by cell, for CPUs ──────────────────────────────────────────────────────────────────
#
# There XLA runs windows on one thread, and the derivative of the largest (select-and-scatter)
# goes through memory many times: 286 ms for 3x3 windows by steps of 2 over (16, 112, 112, 64),
# against 30 ms here, on two cores. What goes in and what comes out is computed once, not for each
# cell, where `modkit.executor.compiler` has XLA keep barriers; gradients too.

_FEW = 25
"""The number of cells up to which a program that names each of them stays small."""


def total_by_cell(data: jax.Array, windows: Windows) -> jax.Array:
    """`total`, as a sum of slices."""
    if math.prod(windows.size) > _FEW:
        return total(data, windows)
    cells = windows.cells(lax.optimization_barrier(data), 0)
    return lax.optimization_barrier(functools.reduce(jnp.add, cells))


def largest_by_cell(data: jax.Array, windows: Windows) -> jax.Array:
    """`largest`, as comparisons of slices."""
    if math.prod(windows.size) > _FEW:
        return largest(data, windows)
    return lax.optimization_barrier(_largest(lax.optimization_barrier(data), windows))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _largest(data: jax.Array, windows: Windows) -> jax.Array:
    return functools.reduce(jnp.maximum, windows.cells(data, lowest(data)))


def _largest_forward(data: jax.Array, windows: Windows) -> tuple[jax.Array, jax.Array]:
    return _largest(data, windows), data


def _largest_backward(windows: Windows, data: jax.Array, head: jax.Array) -> tuple[jax.Array]:
    # Without the barrier XLA finds the place again for each cell that it writes.
    place = lax.optimization_barrier(_place(data, windows))
    parts = [jnp.where(place == at, head, 0) for at in range(math.prod(windows.size))]
    return jax.vjp(lambda x: windows.cells(x, 0), data)[1](parts)


_largest.defvjp(_largest_forward, _largest_backward)


def _place(data: jax.Array, windows: Windows) -> jax.Array:
    """Which cell of each window is the first of its largest, counted from 0."""
    best, *others = windows.cells(data, lowest(data))
    place = jnp.zeros(best.shape, jnp.int8)
    for at, cell in enumerate(others, 1):
        place = jnp.where(cell > best, jnp.int8(at), place)
        best = jnp.maximum(best, cell)
    return place


# ── Which of the two ────────────────────────────────────────────────────────────────────────


class Form(NamedTuple):
    """A pair of functions of data and windows."""

    largest: Callable[[jax.Array, Windows], jax.Array]
    total: Callable[[jax.Array, Windows], jax.Array]


PLAIN = Form(largest, total)
BY_CELL = Form(largest_by_cell, total_by_cell)
