"""Handles: numbers of arrays, for programs that pass arrays through ctypes."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

from modkit.errors import ParameterError

_ALIVE: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def handle_of(array: Any) -> ctypes.c_void_p:
    """The number of an array; it is valid as long as the array lives."""
    _ALIVE[id(array)] = array
    return ctypes.c_void_p(id(array))


def array_of(handle: ctypes.c_void_p) -> Any:
    """The array that has this number.

    Raises:
        ParameterError: there is none, or it is gone.
    """
    array = _ALIVE.get(handle.value or 0)
    if array is None:
        raise ParameterError(
            f"NDArray: got the handle {handle.value}, which is that of no present array; keep a "
            "reference to the array while its handle is used"
        )
    return array
