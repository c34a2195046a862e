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
    resumes = large and gc.isenabled()
    try:
        if resumes:
            gc.disable()  # within `try`: an interrupt that arrives here must not leave it disabled
        yield
    finally:
        if resumes:
            gc.enable()
