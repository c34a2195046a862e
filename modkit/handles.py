"""Handles: numbers of arrays and symbols, for programs that pass these through ctypes."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

from modkit.errors import ParameterError

_ALIVE: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def handle_of(owner: Any) -> ctypes.c_void_p:
    """The number of an array or a symbol; it is valid as long as that lives."""
    _ALIVE[id(owner)] = owner
    return ctypes.c_void_p(id(owner))


def owner_of(handle: ctypes.c_void_p, kind: type) -> Any:
    """The array or symbol of a number; ParameterError if it is of another class, or gone."""
    owner = _ALIVE.get(handle.value or 0)
    if not isinstance(owner, kind):
        name = kind.__name__
        raise ParameterError(
            f"{name}: got the handle {handle.value}, which is that of no present {name}; keep a "
            f"reference to the {name} while its handle is used"
        )
    return owner
