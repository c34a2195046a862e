"""Automatic names: ``fullyconnected0`` for an operator that was given none."""

from __future__ import annotations

import threading


class _Stack(threading.local):
    """The managers entered in this thread; the first one is never left."""

    def __init__(self) -> None:
        self.managers: list[NameManager] = [NameManager()]


class _Current(type):
    """Makes ``NameManager.current`` readable on the class."""

    @property
    def current(cls) -> NameManager:
        """The innermost manager of this thread."""
        return _stack.managers[-1]


class NameManager(metaclass=_Current):
    """Counts automatic names; ``with NameManager():`` starts the counts anew.

    >>> with NameManager() as names:
    ...     names.get(None, "pooling"), names.get(None, "pooling"), names.get("pool", "pooling")
    ('pooling0', 'pooling1', 'pool')
    """

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """``name`` if there is one, else ``hint`` and the next number.

        Args:
            name: what the user called the node, or ``None``.
            hint: the stem of the automatic name.
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
    """Puts ``prefix`` before every name, given or automatic.

    >>> with Prefix("stage1_") as names:
    ...     names.get(None, "fc"), names.get("head", "fc")
    ('stage1_fc0', 'stage1_head')
    """

    def __init__(self, prefix: str):
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The name that `NameManager` gives, after the prefix."""
        return self._prefix + super().get(name, hint)


_stack = _Stack()
