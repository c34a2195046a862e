"""Rollback of arrays after an interrupted or failed write."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from modkit.ndarray import NDArray
from modkit.signals import DeferredSignals


@contextlib.contextmanager
def rolled_back_on_error(arrays: Sequence[NDArray]) -> Iterator[None]:
    """A block after which all arrays are written or, if it raises, none.

    Args:
        arrays: the arrays that the block writes without donating their buffers.
    """
    before = [(array, array._cell.peek()) for array in arrays]
    try:
        yield
    except BaseException:
        with DeferredSignals():
            for array, value in before:
                if not array._cell.holds(value):
                    array._cell.set(value, aliased=True)
        raise
