"""Thread-safe ``lru_cache`` and ``cached_property``: concurrent callers share one computation."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class MadeOnce(Generic[P, T]):
    """A memoized function that computes one result at a time.

    Under `functools.lru_cache`, threads that miss at the same time each get a result of their own,
    which here holds compiled programs.
    """

    def __init__(self, make: Callable[P, T], maxsize: int):
        functools.update_wrapper(self, make)
        self._kept = functools.lru_cache(maxsize)(make)
        self._turn = threading.RLock()
        self.cache_clear = self._kept.cache_clear

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._turn:
            return self._kept(*args, **kwargs)


def made_once(maxsize: int) -> Callable[[Callable[P, T]], MadeOnce[P, T]]:
    """A decorator that memoizes a function for the ``maxsize`` most recently used arguments."""
    return lambda make: MadeOnce(make, maxsize)


class MadeOnceEach(Generic[T]):
    """An attribute computed once for each object, under the object's lock ``turn``.

    `functools.cached_property` has no lock from Python 3.12 on.
    """

    def __init__(self, make: Callable[[Any], T]):
        self._make, self._name, self.__doc__ = make, make.__name__, make.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        with instance.turn:
            known = vars(instance)  # later reads find it there, without this call
            if self._name not in known:
                known[self._name] = self._make(instance)
            return known[self._name]
