"""Replacements of dropped functions of NumPy and Python. A first line is the modern spelling."""

from __future__ import annotations

import functools
import inspect
import platform
import types
from typing import Any, NamedTuple

import numpy as np

NINF, PZERO, NZERO = float("-inf"), 0.0, -0.0


class _Casts(dict[Any, Any]):
    """``np.asarray(x, dtype)``."""

    def __missing__(self, dtype: Any) -> Any:
        return lambda x: np.asarray(x).astype(dtype)


CASTS = _Casts()


def asscalar(a: Any) -> Any:
    """``a.item()``."""
    return a.item()


def alen(a: Any) -> int:
    """``len(a)``."""
    return len(np.atleast_1d(a))


def asfarray(a: Any, dtype: Any = np.float64) -> np.ndarray:
    """``np.asarray(a, dtype=float)``."""
    return np.asarray(a, dtype=dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def find_common_type(array_types: Any, scalar_types: Any) -> np.dtype:
    """``np.result_type(*types)``."""
    return np.result_type(*array_types, *scalar_types)


def msort(a: Any) -> np.ndarray:
    """``np.sort(a, axis=0)``."""
    return np.sort(a, axis=0)


def fromstring(string: Any, dtype: Any = float, count: int = -1) -> np.ndarray:
    """``np.frombuffer(string, dtype).copy()``."""
    data = string.encode("latin-1") if isinstance(string, str) else string
    return np.frombuffer(data, dtype, count).copy()


def tostring(self: Any, order: Any = "C") -> bytes:
    """``a.tobytes()``."""
    return self.tobytes(order)


def ptp(self: np.ndarray, *args: Any, **kwargs: Any) -> Any:
    """``np.ptp(a)``."""
    return np.ptp(np.asarray(self), *args, **kwargs)


def itemset(self: np.ndarray, *args: Any) -> None:
    """``a[index] = value``."""
    *index, value = args
    if not index:
        self[...] = value
    elif len(index) == 1 and not isinstance(index[0], tuple):
        self.flat[index[0]] = value
    else:
        self[index[0] if len(index) == 1 else tuple(index)] = value


def newbyteorder(self: Any, new_order: str = "S") -> Any:
    """``a.view(a.dtype.newbyteorder())``."""
    return self.view(self.dtype.newbyteorder(new_order))


class ArgSpec(NamedTuple):
    """The first four fields of ``inspect.getfullargspec``."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(func: Any) -> ArgSpec:
    """``inspect.getfullargspec(func)``.

    Raises:
        ValueError: the function has keyword-only arguments or annotations.
    """
    spec = inspect.getfullargspec(func)
    if spec.kwonlyargs or spec.annotations:
        raise ValueError(
            f"getargspec: {func!r} has keyword-only arguments or annotations: "
            "use inspect.getfullargspec"
        )
    return ArgSpec(*spec[:4])


def coroutine(func: Any) -> Any:
    """``async def``."""
    made = types.coroutine(func)

    @functools.wraps(func)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        result = made(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    return awaited


def dist(*_: Any, **__: Any) -> tuple[str, str, str]:
    """``platform.freedesktop_os_release()``."""
    try:
        found = platform.freedesktop_os_release()
    except OSError:
        return "", "", ""
    return (found.get("NAME", ""), found.get("VERSION_ID", ""), found.get("VERSION_CODENAME", ""))
