"""NumPy forms of JAX's random primitives: the same bits, by Threefry-2x32.

Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from modkit.interpreter.layout import Array, Run

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """20 rounds of the cipher over counters of 64 bits, as two halves."""
    first, second = key[..., 0], key[..., 1]
    keys = (first, second, first ^ second ^ np.uint32(0x1BD11BDA))
    x, y = high + keys[0], low + keys[1]
    for turn in range(5):
        for distance in _ROTATIONS[turn % 2]:
            x = x + y
            y = ((y << np.uint32(distance)) | (y >> np.uint32(32 - distance))) ^ x
        x, y = x + keys[(turn + 1) % 3], y + keys[(turn + 2) % 3] + np.uint32(turn + 1)
    return x, y


def _counters(shape: tuple[int, ...]) -> tuple[Array, Array]:
    flat = np.arange(math.prod(shape), dtype=np.uint64)
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
            x = (x.astype(np.uint64) << np.uint64(32)) | y.astype(np.uint64)
            return x.reshape(shape)
        return (x ^ y).astype(dtype).reshape(shape)

    return run


def random_split(out: Any, params: Any) -> Run:
    """New keys from one."""
    shape = tuple(params["shape"])
    _single(out, len(shape))
    return lambda key: np.stack(threefry(key, *_counters(shape)), -1).reshape(*shape, 2)


def random_fold_in(out: Any, params: Any) -> Run:
    """A key from one and a number."""
    del params
    _single(out, 0)

    def run(key: Array, number: Array) -> Array:
        word = np.asarray(number).astype(np.uint32)
        return np.stack(threefry(key, np.zeros_like(word), word), -1)

    return run


def _same(out: Any, params: Any) -> Run:
    del out, params
    return lambda key: key


MAKERS: dict[str, Callable[[Any, Any], Run]] = {
    "random_bits": random_bits,
    "random_fold_in": random_fold_in,
    "random_split": random_split,
    "random_unwrap": _same,
    "random_wrap": _same,
}
