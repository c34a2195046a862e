"""Automatic names of operators: ``fullyconnected0``, ``fullyconnected1``, ..."""

from __future__ import annotations

import threading


class _Stack(threading.local):
    """The stack of entered managers of a thread, above a default manager."""

    def __init__(self) -> None:
        self.managers: list[NameManager] = [NameManager()]


class _Innermost:
    """The innermost manager of the present thread, as the attribute ``value`` that MXNet has."""

    @property
    def value(self) -> NameManager:
        """The manager."""
        return _stack.managers[-1]

    @value.setter
    def value(self, manager: NameManager) -> None:
        _stack.managers[-1] = manager


class _Current(type):
    """Makes ``NameManager.current`` readable and assignable on the class."""

    _current = _Innermost()

    @property
    def current(cls) -> NameManager:
        """The innermost manager of this thread."""
        return cls._current.value

    @current.setter
    def current(cls, manager: NameManager) -> None:
        cls._current.value = manager


class NameManager(metaclass=_Current):
    """Generates automatic names; ``with NameManager():`` restarts the counters.

    >>> with NameManager() as names:
    ...     names.get(None, "pooling"), names.get(None, "pooling"), names.get("pool", "pooling")
    ('pooling0', 'pooling1', 'pool')
    """

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """``name`` if given, else ``hint`` and the next number.

        Args:
            name: the user's name for the node, or ``None``.
            hint: the prefix of the automatic name.
        """
        if name:
            return name
        count = self._counter.get(hint, 0)
        self._counter[hint] = count + 1
        return f"{hint}{count}"

    def __enter__(self) -> NameManager:
        _stack.managers.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _stack.managers.pop()


class Prefix(NameManager):
    """Prepends ``prefix`` to every name, given or automatic.

    >>> with Prefix("stage1_") as names:
    ...     names.get(None, "fc"), names.get("head", "fc")
    ('stage1_fc0', 'stage1_head')
    """

    def __init__(self, prefix: str):
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The name from `NameManager` with the prefix."""
        return self._prefix + super().get(name, hint)


_stack = _Stack()
