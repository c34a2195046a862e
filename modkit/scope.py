"""Classes whose objects are entered by ``with``: ``Class.current`` is the innermost of a thread."""

from __future__ import annotations

import threading
from typing import Any


class _Stack(threading.local):
    """The entered objects of a thread, above a default one."""

    def __init__(self, cls: type):
        self.entered: list[Any] = [cls()]


class _Innermost:
    """The innermost object, as the attribute ``value`` that MXNet has."""

    def __init__(self, cls: Any):
        self._cls = cls

    @property
    def value(self) -> Any:
        """The object."""
        return self._cls._stack.entered[-1]

    @value.setter
    def value(self, scope: Any) -> None:
        self._cls._stack.entered[-1] = scope


class Scoped(type):
    """The metaclass of such a class; its subclasses share its stack."""

    _stack: _Stack
    _current: _Innermost

    def __init__(cls, *args: Any):
        super().__init__(*args)
        if not hasattr(cls, "_stack"):
            cls._stack, cls._current = _Stack(cls), _Innermost(cls)

    @property
    def current(cls) -> Any:
        """The innermost object of this thread."""
        return cls._stack.entered[-1]

    @current.setter
    def current(cls, scope: Any) -> None:
        cls._stack.entered[-1] = scope
