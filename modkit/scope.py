"""Classes whose objects are entered by ``with``: ``Class.current`` is the innermost of a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Self


class _Stack(threading.local):
    """The entered objects of a thread, above a default one; ``value`` is MXNet's attribute."""

    def __init__(self, outermost: Callable[[], Any]):
        self.entered: list[Any] = [outermost()]

    @property
    def value(self) -> Any:
        """The innermost object."""
        return self.entered[-1]

    @value.setter
    def value(self, scope: Any) -> None:
        self.entered[-1] = scope


class Scoped(type):
    """The metaclass of `Scope`: subclasses of a scope share its stack."""

    _current: _Stack

    def __init__(cls, name: str, bases: tuple[type, ...], *args: Any):
        super().__init__(name, bases, *args)
        if bases and not hasattr(cls, "_current"):
            cls._current = _Stack(cls._outermost)  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def current(cls) -> Any:
        """The innermost object of this thread."""
        return cls._current.value

    @current.setter
    def current(cls, scope: Any) -> None:
        cls._current.value = scope


class Scope(metaclass=Scoped):
    """The base of such a class."""

    __slots__ = ()

    @classmethod
    def _outermost(cls) -> Self:
        """The object that is the innermost outside of all ``with`` blocks."""
        return cls()

    def __enter__(self) -> Self:
        type(self)._current.entered.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        type(self)._current.entered.pop()
