"""What several threads share, such as programs: made for the first that asks, then kept."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class MadeOnce(Generic[P, T]):
    """A function whose results are kept, and made by one thread where several ask at once.

    With `functools.lru_cache` each of them would make its own, and compile it once more.
    """

    def __init__(self, make: Callable[P, T], maxsize: int):
        functools.update_wrapper(self, make)
        self._kept = functools.lru_cache(maxsize)(make)
        self._turn = threading.RLock()
        self.cache_clear = self._kept.cache_clear

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result for arguments that can be hashed."""
        with self._turn:
            return self._kept(*args, **kwargs)


def made_once(maxsize: int) -> Callable[[Callable[P, T]], MadeOnce[P, T]]:
    """A decorator: results for the ``maxsize`` arguments of which one was asked for last."""
    return lambda make: MadeOnce(make, maxsize)
