"""Python's cyclic garbage collector, paused while large structures are built."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected(large: bool) -> Iterator[None]:
    """Pause the collector: each of its passes would visit the whole of a growing structure.

    Args:
        large: ``False`` pauses nothing.
    """
    if not large or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
