"""Methods that a class, or an object, has in place of those of another class."""

from __future__ import annotations

from typing import Any


def overrides(made: Any, base: type, *names: str) -> bool:
    """Whether a class or an object has other methods of these names than ``base``."""
    kind, own = (made, {}) if isinstance(made, type) else (type(made), vars(made))
    return any(n in own or getattr(kind, n) is not getattr(base, n) for n in names)


def replaced(made: Any, *names: str) -> bool:
    """Whether a user's functions stand in place of methods of a class or an object of modkit's.

    Their globals tell: ``functools.wraps`` gives a user's function the ``__module__`` of modkit's.
    """
    scopes = (getattr(getattr(made, n), "__globals__", {}) for n in names)
    return any(not scope.get("__name__", "").startswith("modkit.") for scope in scopes)


def of_modkit(kind: type) -> type:
    """The class of modkit that a user's class is made of; modkit's own is itself."""
    return next(each for each in kind.__mro__ if each.__module__.startswith("modkit."))
