"""Streams: the positions of all random streams of a process."""

from __future__ import annotations

import random
from typing import Any, TypedDict

import numpy as np

from modkit import stream


class Streams(TypedDict):
    """The positions of the random streams: modkit's, NumPy's and Python's."""

    modkit: Any
    numpy: Any
    python: Any


def streams() -> Streams:
    """The present positions."""
    version, words, normal = random.getstate()
    return {
        "modkit": stream.position(),
        "numpy": np.random.get_state(),  # noqa: NPY002 - the stream that iterators shuffle by
        # 625 words, which as one array are quicker to write
        "python": (version, np.array(words, np.uint32), normal),
    }


def set_streams(position: Streams) -> None:
    """Set the positions."""
    stream.move_to(position["modkit"])
    np.random.set_state(position["numpy"])  # noqa: NPY002
    version, words, normal = position["python"]
    random.setstate((version, tuple(np.asarray(words).tolist()), normal))


def seed_streams(seed: int) -> int:
    """Seed all of them; returns the seed as Python's integer.

    Raises:
        ParameterError: it is no integer.
    """
    stream.seed(seed)
    seed = int(seed)
    np.random.seed(seed & 0xFFFFFFFF)  # noqa: NPY002
    random.seed(seed)
    return seed
