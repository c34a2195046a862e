"""Automatic names of operators: ``fullyconnected0``, ``fullyconnected1``, ..."""

from __future__ import annotations

from modkit.lazy import dir_of
from modkit.scope import Scope

__dir__ = dir_of(__name__)


class NameManager(Scope):
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
