"""``mx.engine``: bulk execution, which XLA does by itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

_bulk_size = 0


def set_bulk_size(size: int) -> int:
    """Remember how many operators MXNet would run at once, and return the last number.

    It changes nothing: whole graphs are compiled, and eager operators run one by one.
    """
    global _bulk_size
    before, _bulk_size = _bulk_size, int(size)
    return before


@contextlib.contextmanager
def bulk(size: int) -> Iterator[None]:
    """`set_bulk_size` inside a ``with``."""
    before = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(before)
