"""Loading a compiled program without what XLA's loader writes to the terminal meanwhile."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterator

_NOTE = b"cpu_aot_loader.cc"
_STDERR = 2
_one_at_a_time = threading.Lock()


@contextlib.contextmanager
def without_loader_notes() -> Iterator[None]:
    """Leave out lines of XLA's loader; everything else that is written meanwhile comes after.

    For programs that were compiled on this very machine XLA notes, as an error, that the machine
    lacks "prefer-no-gather", which is a preference and no feature. Programs of other machines are
    never loaded: the processor is part of their key.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(_one_at_a_time)  # else one would keep another's file as its stderr
        try:
            kept = stack.enter_context(tempfile.TemporaryFile())
            original = os.dup(_STDERR)
        except OSError:  # there is no stderr, or no room
            yield
            return
        stack.callback(os.close, original)
        os.dup2(kept.fileno(), _STDERR)
        try:
            yield
        finally:
            os.dup2(original, _STDERR)
            kept.seek(0)
            said = b"".join(n for n in kept if _NOTE not in n)
            if said:
                os.write(_STDERR, said)
