"""AttrScope: attributes of all symbols created inside a ``with`` block."""

from __future__ import annotations

from collections.abc import Mapping

from modkit.errors import wrong
from modkit.lazy import dir_of
from modkit.scope import Scope

__dir__ = dir_of(__name__)


class AttrScope(Scope):
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
                raise wrong(f"AttrScope: {name!r}", value, f"a string such as {str(value)!r}")
        self._attr = dict(kwargs)

    def get(self, attr: Mapping[str, str] | None) -> dict[str, str]:
        """The scope's attributes, overridden by those in ``attr``.

        Inside the scope, attributes of this thread's outer scopes count, too.
        """
        entered = AttrScope._current.entered
        if len(entered) == 1 and entered[0] is self:  # as for most symbols
            return self._attr | dict(attr or {})
        last = next((i for i in reversed(range(len(entered))) if entered[i] is self), None)
        around = [self] if last is None else entered[: last + 1]
        return {n: v for scope in around for n, v in scope._attr.items()} | dict(attr or {})
