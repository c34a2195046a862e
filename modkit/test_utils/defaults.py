"""Defaults of the test helpers: context, dtype, and tolerances by dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from modkit.context import Context, current_context, num_gpus
from modkit.errors import DTypeError

Tolerance = float | Mapping[Any, float] | None

_EXACT = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "int16", "uint16")
_RTOLS = {"float16": 1e-2, "bfloat16": 4e-2, "float32": 1e-4, "float64": 1e-5}
_ATOLS = {"float16": 1e-1, "bfloat16": 4e-1, "float32": 1e-3, "float64": 1e-20}
_STEPS = {"float16": 1 / 2**6, "float32": 1 / 2**9, "float64": 1 / 2**14}


def default_context() -> Context:
    """The context of the innermost ``with``, else that of `set_default_context`."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Set the present context of this thread: in a ``with ctx`` block to its end."""
    Context._default_ctx.value = ctx


def default_dtype() -> type:
    """The default dtype of the helpers: float32."""
    return np.float32


def default_rtols() -> dict[np.dtype, float]:
    """Relative tolerance of each element type."""
    return _by_dtype(_RTOLS)


def default_atols() -> dict[np.dtype, float]:
    """Absolute tolerance of each element type."""
    return _by_dtype(_ATOLS)


def default_numeric_eps() -> dict[np.dtype, float]:
    """Step of finite differences for each element type."""
    return {np.dtype(name): step for name, step in _STEPS.items()}


def _by_dtype(table: Mapping[str, float]) -> dict[np.dtype, float]:
    named = {name: value for name, value in table.items() if name != "bfloat16"}
    return {np.dtype(name): named.get(name, 0.0) for name in (*named, *_EXACT)}


def _of(table: Mapping[str, float], dtype: Any) -> float:
    name = np.dtype(dtype).name
    if name in _EXACT:
        return 0.0
    if name not in table:
        raise DTypeError(f"no default for element type {name}; known: {', '.join(table)}")
    return table[name]


def get_rtol(rtol: float | None = None, dtype: Any = np.float64) -> float:
    """``rtol``, or the default of the element type."""
    return _of(_RTOLS, dtype) if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: Any = np.float64) -> float:
    """``atol``, or the default of the element type."""
    return _of(_ATOLS, dtype) if atol is None else atol


def get_etol(etol: float | None = None) -> float:
    """``etol``, the fraction of elements that may be wrong, or 0."""
    return 0 if etol is None else etol


def step_of(eps: float | None, dtype: Any) -> float:
    """``eps``, or the default step of the element type."""
    return _of(_STEPS, dtype) if eps is None else eps


def effective_dtype(dat: Any) -> np.dtype:
    """The dtype that determines the tolerance of an array."""
    dtype = getattr(dat, "dtype", None)
    return np.dtype(np.asarray(dat).dtype if dtype is None else dtype)


def get_tolerance(dat: Any, tol: Tolerance, default_tol: Mapping[Any, float]) -> float:
    """The tolerance for ``dat``: a number, or that of its element type in a mapping.

    Args:
        dat: an array, or a number, which has the type that NumPy gives it.
        tol: a number, a mapping from element types, or ``None`` for ``default_tol``.
        default_tol: a mapping from element types.
    """
    if isinstance(tol, int | float):
        return tol
    table = {np.dtype(k).name: v for k, v in (default_tol if tol is None else tol).items()}
    return table.get(effective_dtype(dat).name, 0)


def get_tols(x: Any, y: Any, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """The tolerances for comparing ``x`` and ``y``: those of the less precise dtype."""
    found = [
        max(get_tolerance(each, tol, table) for each in (x, y))
        for tol, table in ((rtol, _RTOLS), (atol, _ATOLS))
    ]
    return found[0], found[1]


def list_gpus() -> range:
    """Indices of the accelerators."""
    return range(num_gpus())
