"""Messages about long compilations."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from types import TracebackType
from typing import Self

from modkit.signals import DeferredSignals

PATIENCE_S = 5.0

_log = logging.getLogger("modkit")


class CompilationProgress:
    """Logs that a program is traced and compiled, where that takes over five seconds.

    On a terminal or in a notebook the line goes to ``sys.stderr``; elsewhere to the logger
    ``modkit``, at level INFO. No thread outlives the block. Where none can be started, as at the
    end of Python, nothing is logged.
    """

    def __init__(self, name: str):
        self._name, self._said = name, False
        self._started = time.monotonic()
        self._timer = threading.Timer(PATIENCE_S, self._announce)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        with (
            DeferredSignals(),  # Python's locks raise RuntimeError when they are interrupted
            contextlib.suppress(RuntimeError),  # there can be no more threads
        ):
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        with DeferredSignals():
            if self._timer.ident is not None:
                self._timer.cancel()
                self._timer.join()
        if self._said:
            how = "failed after" if error else "took"
            _say(f"modkit: compiling {self._name} {how} {time.monotonic() - self._started:.0f} s")

    def _announce(self) -> None:
        self._said = True
        later = "later runs load it from disk, unless MODKIT_CACHE=off"
        _say(f"modkit: compiling {self._name} ... ({later})")


def _say(line: str) -> None:
    stderr = sys.stderr
    if _log.isEnabledFor(logging.INFO) or not (_is_seen(stderr) and stderr):
        _log.info(line)
    else:
        stderr.write(f"{line}\n")
        stderr.flush()


def _is_seen(stream: object) -> bool:
    """True for a terminal or a notebook."""
    if type(stream).__module__.split(".")[0] == "ipykernel":
        return True
    try:
        return bool(stream.isatty())  # type: ignore[attr-defined]
    except (AttributeError, ValueError):
        return False
