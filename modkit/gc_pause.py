"""Python's cyclic garbage collector, paused in the whole process while large structures are built.

These are imported modules, graphs read from large files, and traces. ``MODKIT_TUNING=off`` leaves
the collector alone.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

from modkit.tuning_switch import active_pieces


@contextlib.contextmanager
def uncollected(large: bool = True, lasting: bool = False) -> Iterator[None]:
    """Pause the collector: each of its passes would visit the whole of a growing structure.

    Args:
        large: ``False`` pauses nothing.
        lasting: what is built stays, as imported modules do: all objects are moved to the oldest
            generation, so that collections of young objects do not visit them either.
    """
    resumes = large and gc.isenabled() and bool(active_pieces())
    try:
        if resumes:
            gc.disable()  # within `try`: an interrupt that arrives here must not leave it disabled
        yield
    finally:
        if resumes:
            if lasting and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
