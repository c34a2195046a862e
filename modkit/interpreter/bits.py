"""NumPy forms of JAX's random primitives: the same bits, by Threefry-2x32.

Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from modkit.interpreter.array_primitives import Array, Run

_SHIFTS = tuple(
    tuple((np.array(n, np.uint32), np.array(32 - n, np.uint32)) for n in distances)
    for distances in ((13, 15, 26, 6), (17, 29, 16, 24))
)
"""To the left and to the right, as arrays, which NumPy reads twice as fast as scalars."""

_PARITY = 0x1BD11BDA


def threefry(key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """20 rounds of the cipher over counters of 64 bits, as two halves.

    The key is an array of two words, or of rows of them: the results have a row for each.
    """
    first, second = key if key.ndim == 1 else (key[:, :1], key[:, 1:])
    keys = (first, second, first ^ second ^ np.uint32(_PARITY))
    x, y = high + keys[0], low + keys[1]
    p, q = np.empty_like(x), np.empty_like(y)
    for turn in range(5):
        for left, right in _SHIFTS[turn % 2]:  # no result overlaps with an operand: quicker
            np.add(x, y, p)
            np.left_shift(y, left, q)
            np.right_shift(y, right, x)
            np.bitwise_or(q, x, y)
            np.bitwise_xor(y, p, q)
            x, y, p, q = p, q, x, y
        x, y = x + keys[(turn + 1) % 3], y + (keys[(turn + 2) % 3] + np.uint32(turn + 1))
    return x, y


def _counters(shape: tuple[int, ...]) -> tuple[Array, Array]:
    count = math.prod(shape)
    if count < 1 << 32:
        return np.zeros(count, np.uint32), np.arange(count, dtype=np.uint32)
    flat = np.arange(count, dtype=np.uint64)
    return (flat >> np.uint64(32)).astype(np.uint32), flat.astype(np.uint32)


def _single(out: Any, rank: int) -> None:
    if len(out.shape) != rank:
        raise NotImplementedError("several keys")


def random_bits(out: Any, params: Any) -> Run:
    """Random bits of 8 to 64 bits an element."""
    shape, width, dtype = tuple(params["shape"]), params["bit_width"], out.dtype
    _single(out, len(shape))

    def run(key: Array) -> Array:
        x, y = threefry(key, *_counters(shape))
        if width == 64:
            made = (x.astype(np.uint64) << np.uint64(32)) | y.astype(np.uint64)
        else:
            made = (x ^ y).astype(dtype, copy=False)
        return made.reshape(key.shape[:-1] + shape)

    return run


def random_split(out: Any, params: Any) -> Run:
    """New keys from one."""
    shape = tuple(params["shape"])
    _single(out, len(shape))

    def run(key: Array) -> Array:
        made = np.stack(threefry(key, *_counters(shape)), -1)
        return made.reshape(*key.shape[:-1], *shape, 2)

    return run


def random_fold_in(out: Any, params: Any) -> Run:
    """A key from one and a number."""
    _single(out, 0)

    def run(key: Array, number: Array) -> Array:
        word = np.asarray(number).astype(np.uint32)[..., None]
        return np.stack(threefry(key, np.zeros_like(word), word), -1).reshape(key.shape)

    return run


MAKERS: dict[str, Callable[[Any, Any], Run]] = {
    "random_bits": random_bits,
    "random_fold_in": random_fold_in,
    "random_split": random_split,
}
"""Their functions take one key, or several as rows, which have a row each of the result."""
