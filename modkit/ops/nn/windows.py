"""Sliding windows over data: their geometry, maxima and sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.ops.registry import Shape


class Windows(NamedTuple):
    """Size, stride, padding and number of windows for each axis, batch and channels too."""

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
        """The number of elements in each window, at least 1; broadcasts to the output.

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

    def taps(self, data: jax.Array, fill: Any) -> list[jax.Array]:
        """The first tap of every window, the second one, and so on; ``fill`` is the padding."""
        padded = jnp.pad(data, self.margins(data.shape), constant_values=fill)
        taps = []
        for start in np.ndindex(self.size):
            each = zip(start, self.stride, self.number, strict=True)
            ends = [at + (n - 1) * s + 1 for at, s, n in each]
            taps.append(lax.slice(padded, start, ends, self.stride))
        return taps


def floor(data: jax.Array) -> Any:
    """The maximum of a window without numbers: the lowest finite one."""
    return jnp.finfo(data.dtype).min


# ── As XLA has it ───────────────────────────────────────────────────────────────────────────


def largest(data: jax.Array, windows: Windows) -> jax.Array:
    """The maximum of each window. Of equal elements the first has the gradient."""
    margins, lowest = windows.margins(data.shape), data.dtype.type(-np.inf)
    return lax.reduce_window(data, lowest, lax.max, windows.size, windows.stride, margins)


def largest_number(data: jax.Array, windows: Windows) -> jax.Array:
    """`largest`, passing over NaN; at least `floor`."""
    found = largest(jnp.where(data > floor(data), data, floor(data)), windows)
    return jnp.maximum(found, floor(data)) if windows.some_empty(data.shape) else found


def total(data: jax.Array, windows: Windows) -> jax.Array:
    """The sum of each window."""
    if windows.size == data.shape and not any(windows.pad):
        return data.sum(tuple(i for i, k in enumerate(windows.size) if k > 1), keepdims=True)
    margins = windows.margins(data.shape)
    zero = data.dtype.type(0)
    return lax.reduce_window(data, zero, lax.add, windows.size, windows.stride, margins)


# ── As a pair ───────────────────────────────────────────────────────────────────────────────


class Form(NamedTuple):
    """A pair of functions of data and windows."""

    largest: Callable[[jax.Array, Windows], jax.Array]
    total: Callable[[jax.Array, Windows], jax.Array]


PLAIN = Form(largest_number, total)
