"""Signals deferred for a moment: their Python handlers run when the block has ended."""

from __future__ import annotations

import importlib
import signal
import threading
from collections import deque
from typing import Any, NamedTuple

_signal: Any = importlib.import_module("_signal")
"""The C module behind `signal`, whose own functions, around enums, take 15 times as long."""

_set = _signal.signal  # consumed by ``deque(map(...))``: in C, without bytecode in between
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGBREAK")
_USUAL = tuple(int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))
"""Signals compared at every block, together with those that have a Python handler."""

_ALL = tuple(map(int, signal.valid_signals()))
_EVERY = 256
"""Blocks between two scans of all signals' handlers; a scan costs as much as 8 blocks."""

MAIN = threading.main_thread().ident
"""The thread in which Python runs handlers."""

_RAISES = _signal.default_int_handler


class Installed(NamedTuple):
    """The handlers of signals at present.

    Attributes:
        watched: the signals whose handlers are compared at each block.
        present: what is installed for each of them.
        numbers: the signals whose handlers are written in Python.
        only_raise: whether they are Python's own of Ctrl-C, which reads no arrays.
    """

    watched: tuple[int, ...]
    present: tuple[Any, ...]
    numbers: tuple[int, ...]
    handlers: tuple[Any, ...]
    only_raise: bool


_latest = Installed((), (), (), (), only_raise=False)
_blocks_left = 0
_deferring = False
"""Whether the main thread is in a block; a block within that defers nothing of its own."""


def _look() -> Installed:
    """The handlers of all signals."""
    found = {number: _signal.getsignal(number) for number in _ALL}
    own = {number: handler for number, handler in found.items() if callable(handler)}
    watched, handlers = tuple({*_USUAL, *own}), tuple(own.values())
    present = tuple(found[number] for number in watched)
    return Installed(watched, present, tuple(own), handlers, set(handlers) <= {_RAISES})


class DeferredSignals:
    """A block that no handler written in Python interrupts: ``with DeferredSignals(): ...``.

    A handler may raise, as that of Ctrl-C does, between any two bytecodes. Inside the block
    signals are recorded, and after the outermost one each runs the handler that it would have
    run. Python runs handlers in the main thread only, so other threads have nothing to defer.

    A handler of a rare signal that is installed between two blocks is found after at most 256 more.
    """

    __slots__ = ("_caught", "_installed")
    _caught: list[tuple[int, Any]]
    only_reads = False  # see `DeferredReads`

    def __enter__(self) -> None:
        global _latest, _deferring, _blocks_left
        self._installed: Installed | None = None
        if threading.get_ident() != MAIN or _deferring:
            return
        latest = _latest
        if _blocks_left > 0 and tuple(map(_signal.getsignal, latest.watched)) == latest.present:
            _blocks_left -= 1
        else:
            _blocks_left, _latest = _EVERY, _look()
        if self.only_reads and _latest.only_raise:
            return
        installed, self._caught = _latest, []
        try:
            deque(map(_set, installed.numbers, [self._record] * len(installed.numbers)), maxlen=0)
        except BaseException:
            deque(map(_set, installed.numbers, installed.handlers), maxlen=0)
            raise
        self._installed, _deferring = installed, True

    @property
    def defers(self) -> bool:
        """Whether the block, once entered, defers handlers itself."""
        return self._installed is not None

    def __exit__(self, *exc: object) -> None:
        global _deferring
        installed = self._installed
        if installed is None:
            return
        _deferring = False
        try:
            deque(map(_set, installed.numbers, installed.handlers), maxlen=0)
        except BaseException:  # a handler that is back has raised: restore the others too
            deque(map(_set, installed.numbers, installed.handlers), maxlen=0)
            self._run_handlers(installed)
            raise
        if self._caught:
            self._run_handlers(installed)

    def _run_handlers(self, installed: Installed) -> None:
        """Run the handlers of the recorded signals, each also if one before it raises."""
        raised: BaseException | None = None
        for number, frame in self._caught:
            try:
                installed.handlers[installed.numbers.index(number)](number, frame)
            except BaseException as error:
                error.__context__, raised = raised, error
        if raised is not None:
            raise raised

    def _record(self, number: int, frame: Any) -> None:
        self._caught.append((number, frame))


class DeferredReads(DeferredSignals):
    """A block that defers handlers which may read arrays.

    Python's own handler of Ctrl-C reads none: where no other is installed, nothing is deferred.
    """

    __slots__ = ()
    only_reads = True
