"""Placeholders for names that modkit does not implement: they import, and raise when used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from modkit.errors import NotSupportedError


def absent_names(module: str, instead: str, *names: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module in which these names are functions that raise."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")

        def refuse(*_: Any, **__: Any) -> NoReturn:
            shown = f"{module.replace('modkit', 'mx', 1)}.{name}"
            raise NotSupportedError(f"{shown} is not part of modkit: {instead}")

        return refuse

    return find
