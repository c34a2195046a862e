"""Tests of floating-point numbers: ``isfinite``, ``isinf``, ``isnan``."""

from __future__ import annotations

import math

import numpy as np

from modkit.ndarray.ndarray import NDArray


def isinf(data: NDArray) -> NDArray:
    """1 where an element is infinite, else 0, in the type of ``data``."""
    return abs(data) == math.inf if np.issubdtype(data.dtype, np.inexact) else data * 0


def isnan(data: NDArray) -> NDArray:
    """1 where an element is NaN, else 0, in the type of ``data``."""
    return data != data


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is neither infinite nor NaN, else 0, in the type of ``data``."""
    return 1 - isinf(data) - isnan(data)
