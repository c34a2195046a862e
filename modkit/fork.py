"""Forked processes: JAX's threads do not exist in a child, so its computations raise an error."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from modkit.errors import NotSupportedError

_locks: weakref.WeakSet[Any] = weakref.WeakSet()


_RLock: Any = type(threading.RLock())


class _Lock(_RLock):
    """A re-entrant lock; copies and pickles of it are new locks."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return lock, ()


def lock() -> Any:
    """A re-entrant lock that a forked child finds released by the parent's other threads."""
    made = _Lock()
    _locks.add(made)
    return made


class ForkState:
    """Whether this process was forked after JAX's threads had started.

    A child has none of these threads; without the error it would wait for them for ever.

    Attributes:
        started: whether modkit has used a device, which starts JAX's threads.
        forked: whether this is a child that was forked after that.
    """

    def __init__(self) -> None:
        self.started = self.forked = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self) -> None:
        self.forked = self.started
        for each in list(_locks):
            if not each._is_owned():
                each._at_fork_reinit()

    def start(self) -> None:
        """Note that a device is used; NotSupportedError in a child that was forked after that."""
        if self.forked:
            raise self.error()
        self.started = True

    def error(self) -> NotSupportedError:
        """The error of a computation in a forked child."""
        return NotSupportedError(
            f"process {os.getpid()} was forked after modkit had started JAX, whose threads do not "
            "exist in the child; got a computation, which would never end. Start processes by "
            "multiprocessing.get_context('spawn'), or fork before the first computation"
        )


process = ForkState()
