"""AttrScope: attributes of all symbols created inside a ``with`` block."""

from __future__ import annotations

from collections.abc import Mapping

from modkit.errors import ParameterError
from modkit.lazy import dir_of
from modkit.scope import Scoped

__dir__ = dir_of(__name__)


class AttrScope(metaclass=Scoped):
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
        AttrScope._stack.entered.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        AttrScope._stack.entered.pop()
        self._attr = self._own
