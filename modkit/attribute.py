"""AttrScope: attributes of all symbols created inside a ``with`` block."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from modkit.errors import ParameterError


class _Stack(threading.local):
    """The stack of entered scopes of a thread, above an empty default scope."""

    def __init__(self) -> None:
        self.scopes: list[AttrScope] = [AttrScope()]


class _Innermost:
    """The innermost scope of the present thread, as the attribute ``value`` that MXNet has."""

    @property
    def value(self) -> AttrScope:
        """The scope."""
        return _stack.scopes[-1]

    @value.setter
    def value(self, scope: AttrScope) -> None:
        _stack.scopes[-1] = scope


class _Current(type):
    """Makes ``AttrScope.current`` readable and assignable on the class."""

    _current = _Innermost()

    @property
    def current(cls) -> AttrScope:
        """The innermost scope of this thread."""
        return cls._current.value

    @current.setter
    def current(cls, scope: AttrScope) -> None:
        cls._current.value = scope


class AttrScope(metaclass=_Current):
    """Adds attributes to every symbol created inside; nested scopes combine.

    >>> with AttrScope(ctx_group="dev1"), AttrScope(__stage__="2"):
    ...     sorted(AttrScope.current.get({"__stage__": "3"}).items())
    [('__stage__', '3'), ('ctx_group', 'dev1')]

    Args:
        **kwargs: attributes, all strings.

    Raises:
        ParameterError: a value is not a string.
    """

    def __init__(self, **kwargs: str):
        for name, value in kwargs.items():
            if not isinstance(value, str):
                raise ParameterError(
                    f"AttrScope: {name!r}: got {value!r}, expected a string such as {str(value)!r}"
                )
        self._own = dict(kwargs)
        self._attr = self._own

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """The scope's attributes, overridden by those in ``attr``."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> AttrScope:
        self._attr = {**AttrScope.current._attr, **self._own}
        _stack.scopes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _stack.scopes.pop()
        self._attr = self._own


_stack = _Stack()
