"""Placeholders for names that modkit does not implement: they import, and raise when used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from modkit.errors import NotSupportedError


class AbsentName:
    """A function or class that modkit does not implement."""

    def __init__(self, name: str, instead: str):
        self._text = f"{name} is not part of modkit: {instead}"

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        """Raise NotSupportedError."""
        raise NotSupportedError(self._text)


def absent_names(module: str, instead: str, *names: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module whose names are each an `AbsentName`."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return AbsentName(f"{module.replace('modkit', 'mx', 1)}.{name}", instead)

    return find
