"""Random numbers computed ahead: the steps that depend on key data alone, for several keys at once.

The passes of a network with dropout have keys that follow one another, as those of a stream do. For
few numbers NumPy's calls take the time, not the numbers: the cipher alone is a hundred of them, for
one key or for many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from modkit.interpreter.array_primitives import Array, Run
from modkit.interpreter.elementwise import ELEMENTWISE

MOST = 1 << 10
"""Most elements of a value that is computed ahead: for more, NumPy's loops take the time."""
FEWEST_KEYS = 8
_MOST_KEYS = 64
"""Limits of the number of keys whose values are computed at once."""
_IN_CACHE = 1 << 13
"""Number of keys times elements of the largest value, between the limits: it stays in the cache."""
_NEAR = 4
"""Draws of the stream between two calls whose keys count as successive."""

_RESHAPED = frozenset({"expand_dims", "reshape", "squeeze"})
_BY_ROW = frozenset({
    "convert_element_type", "random_bits", "random_fold_in", "random_split", "slice",
})  # fmt: skip
"""Primitives whose functions take rows, besides elementwise ones."""


def by_row(
    name: str, run: Run, shape: tuple[int, ...], operands: Sequence[tuple[int, ...]]
) -> Run | None:
    """A primitive's function of rows of values, a row for each key; ``None`` where there is none.

    Args:
        run: its function of single values.
        shape: the shape of its result.
        operands: those of the operands that depend on the key.
    """
    if name in _RESHAPED:
        return lambda x, *_: x.reshape(len(x), *shape)
    if name in _BY_ROW or (name in ELEMENTWISE and all(each == shape for each in operands)):
        return run
    return None


class Ahead:
    """Values that depend on key data alone, those of the next keys computed with the first of them.

    Args:
        run: the values of several keys, rows for each, from key data in rows.
        largest: the number of elements of the largest value.
    """

    __slots__ = ("_block", "_keys", "_last", "_run")

    def __init__(self, run: Callable[[Array], list[Array]], largest: int):
        self._run = run
        self._keys = min(max(_IN_CACHE // max(largest, 1), FEWEST_KEYS), _MOST_KEYS)
        self._last: tuple[list[int], int] = ([], 0)  # the latest key data, and their number
        self._block: tuple[list[int], int, list[Array]] = ([], 0, [])  # of the first computed

    def __call__(self, key: Array) -> list[Array]:
        words = key.tolist()
        number, words[1] = words[1], 0
        last, self._last = self._last, (words, number)
        fixed, first, values = self._block  # read once: another thread may replace it
        if fixed == words and 0 <= number - first < self._keys:
            return [each[number - first] for each in values]
        if last[0] != words or not 0 < number - last[1] <= _NEAR:
            return [each[0] for each in self._run(key[None])]
        keys = np.repeat(key[None], self._keys, 0)
        keys[:, 1] += np.arange(self._keys, dtype=np.uint32)
        values = self._run(keys)
        self._block = words, number, values
        return [each[0] for each in values]
