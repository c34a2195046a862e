"""Tests of floating-point numbers: ``isfinite``, ``isinf``, ``isnan``."""

from __future__ import annotations

import math

from modkit.ndarray.ndarray import NDArray


def isinf(data: NDArray) -> NDArray:
    """1 where an element is infinite, else 0, in the type of ``data``."""
    return abs(data) == math.inf


def isnan(data: NDArray) -> NDArray:
    """1 where an element is NaN, else 0, in the type of ``data``."""
    return data != data


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is neither infinite nor NaN, else 0, in the type of ``data``."""
    return (abs(data) != math.inf) * (data == data)
