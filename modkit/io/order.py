"""Selection and order of a file's samples: parts, and MXNet's shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np

from modkit.errors import expect
from modkit.ops.parameters import parse_value

T = TypeVar("T")
_MOST_WORDS = 1 << 20


def part_of(count: int, num_parts: int, part_index: int, caller: str) -> slice:
    """The range of a part among ``count`` samples; see `checked_part`.

    >>> [part_of(10, 3, i, "") for i in range(3)]
    [slice(0, 3, None), slice(3, 6, None), slice(6, 10, None)]
    """
    parts, index = checked_part(num_parts, part_index, caller)
    return slice(count * index // parts, count * (index + 1) // parts)


def checked_part(num_parts: int | str, part_index: int | str, caller: str) -> tuple[int, int]:
    """The number of parts, and the index of one; a ParameterError if there is no such part."""
    parts = parse_value(num_parts, int, where=f"{caller}: num_parts")
    index = parse_value(part_index, int, where=f"{caller}: part_index")
    expect(0 <= index < parts, f"{caller}: part_index", index, f"0 to {parts - 1}")
    return parts, index


def generator(seed: int) -> np.random.Generator:
    """NumPy's generator of a seed, which may be negative: its low 64 bits are used."""
    return np.random.default_rng(int(seed) & 0xFFFFFFFFFFFFFFFF)


class Shuffler:
    """MXNet's random orders: a Fisher-Yates shuffle from below, over the 32-bit Mersenne twister.

    A number below k is drawn by dividing the twister's range evenly, with rejection of the rest.

    Args:
        seed: of the twister, which is shared by successive orders; its low 32 bits are used.

    Attributes:
        drawn: number of 32-bit words drawn so far.
    """

    def __init__(self, seed: int):
        self._seed = int(seed) & 0xFFFFFFFF
        self.move_to(0)

    def __getstate__(self) -> tuple[int, int]:
        return self._seed, self.drawn

    def __setstate__(self, state: tuple[int, int]) -> None:
        self._seed, drawn = state
        self.move_to(drawn)

    def move_to(self, drawn: int) -> None:
        """Go to the position after ``drawn`` words."""
        self.drawn = drawn
        twister = np.random.RandomState(self._seed)
        for begin in range(0, drawn, _MOST_WORDS):
            twister.bytes(4 * min(_MOST_WORDS, drawn - begin))
        self._words = self._counted(twister)

    def _counted(self, twister: np.random.RandomState) -> Iterator[int]:
        while True:
            for word in np.frombuffer(twister.bytes(4096), "<u4").tolist():
                self.drawn += 1
                yield word

    def shuffled(self, items: Iterable[T]) -> list[T]:
        """The items in a new order.

        >>> Shuffler(0).shuffled(range(10))
        [0, 2, 3, 5, 9, 1, 6, 8, 4, 7]
        """
        order = list(items)
        for i in range(1, len(order)):
            scale = (2**32 - 1) // (i + 1)
            j = next(word for word in self._words if word < scale * (i + 1)) // scale
            order[i], order[j] = order[j], order[i]
        return order
