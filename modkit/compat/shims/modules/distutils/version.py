"""``packaging.version``: version numbers that compare."""

from __future__ import annotations

import functools
import re
from typing import Any


@functools.total_ordering
class LooseVersion:
    """A version as a list of numbers and words, compared element by element.

    >>> LooseVersion("1.10") > LooseVersion("1.9.1"), LooseVersion("1.2b").version
    (True, [1, 2, 'b'])
    """

    def __init__(self, vstring: str | None = None):
        self.vstring = vstring or ""
        parts = re.findall(r"\d+|[a-zA-Z]+", self.vstring)
        self.version: list[Any] = [int(part) if part.isdigit() else part for part in parts]

    def _key(self) -> list[tuple[bool, Any]]:
        return [(isinstance(part, int), part) for part in self.version]

    def _other(self, other: Any) -> LooseVersion:
        return other if isinstance(other, LooseVersion) else type(self)(str(other))

    def __eq__(self, other: object) -> bool:
        return self.version == self._other(other).version

    def __lt__(self, other: Any) -> bool:
        return self._key() < self._other(other)._key()

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"{type(self).__name__} ({self.vstring!r})"


class StrictVersion(LooseVersion):
    """A version of two or three numbers, and perhaps ``a`` or ``b`` with a number.

    Raises:
        ValueError: another form.
    """

    def __init__(self, vstring: str | None = None):
        if vstring and not re.fullmatch(r"\d+\.\d+(\.\d+)?([ab]\d+)?", vstring):
            raise ValueError(f"invalid version number {vstring!r}")
        super().__init__(vstring)
        numbers = [int(n) for n in re.findall(r"\d+", re.split("[ab]", self.vstring)[0])]
        found = re.search(r"([ab])(\d+)$", self.vstring)
        self.prerelease = (found[1], int(found[2])) if found else None
        self.version = [*numbers, *[0] * (3 - len(numbers)), *(self.prerelease or ("c", 0))]
