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
_USUAL = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGBREAK")
_NUMBERS = tuple(int(getattr(signal, name)) for name in _USUAL if hasattr(signal, name))
_MAIN = threading.main_thread().ident
_RAISES = _signal.default_int_handler


class Installed(NamedTuple):
    """The handlers of signals at present.

    Attributes:
        all: of each signal in ``_NUMBERS``.
        numbers: the signals among them whose handlers are written in Python.
        handlers: these handlers.
        only_raise: whether they are Python's own of Ctrl-C, which reads no arrays.
    """

    all: tuple[Any, ...]
    numbers: tuple[int, ...]
    handlers: tuple[Any, ...]
    only_raise: bool


_latest = Installed((), (), (), only_raise=False)
_deferring = False
"""Whether the main thread is in a block; a block within that defers nothing of its own."""


class DeferredSignals:
    """A block that no handler written in Python interrupts: ``with DeferredSignals(): ...``.

    A handler may raise, as that of Ctrl-C does, between any two bytecodes. Inside the block
    signals are recorded, and after the outermost one each runs the handler that it would have
    run. Python runs handlers in the main thread only, so other threads have nothing to defer.
    """

    __slots__ = ("_caught", "_installed")

    def __enter__(self) -> None:
        global _latest, _deferring
        self._caught: list[tuple[int, Any]] = []
        self._installed: Installed | None = None
        if threading.get_ident() != _MAIN or _deferring:
            return
        present = tuple(map(_signal.getsignal, _NUMBERS))
        if present != _latest.all:
            own = [(n, h) for n, h in zip(_NUMBERS, present, strict=True) if callable(h)]
            numbers, handlers = tuple(n for n, _ in own), tuple(h for _, h in own)
            _latest = Installed(present, numbers, handlers, set(handlers) <= {_RAISES})
        installed = _latest
        try:
            deque(map(_set, installed.numbers, [self._record] * len(installed.numbers)), maxlen=0)
        except BaseException:
            deque(map(_set, installed.numbers, installed.handlers), maxlen=0)
            raise
        self._installed, _deferring = installed, True

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

    def __enter__(self) -> None:
        self._installed = None
        if tuple(map(_signal.getsignal, _NUMBERS)) != _latest.all or not _latest.only_raise:
            super().__enter__()
