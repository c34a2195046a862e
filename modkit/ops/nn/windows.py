"""Sliding windows over data: their geometry, maxima and sums."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.interpreter.reverse import CustomVjp
from modkit.ops.own_gradient import gradient_of
from modkit.ops.parameters import Shape


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

    def whole(self, data: Shape) -> tuple[int, ...]:
        """Axes that one window covers, without padding."""
        each = zip(data, self.size, self.pad, self.number, strict=True)
        return tuple(i for i, (a, k, p, n) in enumerate(each) if 1 < a == k and p == 0 and n == 1)

    def only_whole(self, data: Shape) -> tuple[int, ...]:
        """The axes of `whole`, if all others stay as they are; else none."""
        axes = self.whole(data)
        return axes if axes == self.axes(data) else ()

    def axes(self, data: Shape) -> tuple[int, ...]:
        """The axes that do not stay as they are."""
        each = zip(data, self.size, self.pad, self.number, strict=True)
        return tuple(i for i, (a, k, p, n) in enumerate(each) if (k, p, n) != (1, 0, a))

    def along(self, axis: int, data: Shape) -> Windows:
        """The same windows along one axis, of one element along all others."""
        one = Windows((1,) * len(data), (1,) * len(data), (0,) * len(data), data)
        parts = zip(one, self, strict=True)
        return Windows(*((*a[:axis], b[axis], *a[axis + 1 :]) for a, b in parts))

    def covered(self, data: Shape, axis: int) -> np.ndarray:
        """For each position of an axis whether a window covers it, for broadcasting."""
        found = np.zeros(data[axis], bool)
        for number in range(self.number[axis]):
            start = number * self.stride[axis] - self.pad[axis]
            found[max(start, 0) : max(start + self.size[axis], 0)] = True
        return found.reshape([-1 if each == axis else 1 for each in range(len(data))])

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


def lowest_finite(data: jax.Array) -> Any:
    """The maximum of a window without numbers: the lowest finite number."""
    return jnp.finfo(data.dtype).min


def largest(data: jax.Array, windows: Windows) -> jax.Array:
    """The maximum of each window. Of equal elements the first has the gradient."""
    margins, lowest = windows.margins(data.shape), data.dtype.type(-np.inf)
    return lax.reduce_window(data, lowest, lax.max, windows.size, windows.stride, margins)


def largest_number(data: jax.Array, windows: Windows) -> jax.Array:
    """`largest`, passing over NaN; at least `lowest_finite`."""
    if axes := windows.only_whole(data.shape):
        return largest_of_axes(data, axes)
    found = largest(jnp.where(data > lowest_finite(data), data, lowest_finite(data)), windows)
    return jnp.maximum(found, lowest_finite(data)) if windows.some_empty(data.shape) else found


@functools.partial(CustomVjp, nondiff_argnums=(1,))
def largest_of_axes(data: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    """The maximum over axes, which stay with size 1; the first of equal ones has the gradient."""
    return jnp.where(data > lowest_finite(data), data, lowest_finite(data)).max(axes, keepdims=True)


@gradient_of(largest_of_axes, 0, and_result=True)
def _largest_of_axes_backward(
    axes: tuple[int, ...], kept: tuple[jax.Array, jax.Array], ct: jax.Array
) -> tuple[jax.Array]:
    data, found = kept
    sizes = tuple(a if i in axes else 1 for i, a in enumerate(data.shape))
    place = lax.iota(jnp.int32, math.prod(sizes)).reshape(sizes)
    first = jnp.where(data == found, place, math.prod(sizes)).min(axes, keepdims=True)
    first = jnp.where(first < math.prod(sizes), first, 0)  # NaN alone: as with other windows
    return (jnp.where(place == first, ct, 0),)


def total(data: jax.Array, windows: Windows) -> jax.Array:
    """The sum of each window."""
    if axes := windows.only_whole(data.shape):
        return data.sum(axes, keepdims=True)
    margins = windows.margins(data.shape)
    zero = data.dtype.type(0)
    return lax.reduce_window(data, zero, lax.add, windows.size, windows.stride, margins)


class WindowForm(NamedTuple):
    """A pair of functions of data and windows."""

    largest: Callable[[jax.Array, Windows], jax.Array]
    total: Callable[[jax.Array, Windows], jax.Array]


PLAIN = WindowForm(largest_number, total)
