"""Shapes and types of a network's internal outputs by name, for summaries and drawings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from modkit.errors import DTypeError, ShapeError, expect
from modkit.symbol import Symbol

Shapes = dict[str, tuple[int, ...]]


def check_symbol(symbol: Any, called: str) -> None:
    """Raise ``DTypeError``, a ``TypeError``, unless ``symbol`` is a Symbol."""
    if not isinstance(symbol, Symbol):
        raise DTypeError(f"{called}: symbol must be a Symbol, got {type(symbol).__name__}")


def internal_shapes(symbol: Symbol, given: Mapping[str, Any] | None) -> Shapes | None:
    """Shapes of all outputs of nodes; ``None`` if ``given`` is; ShapeError if some are unknown."""
    if given is None:
        return None
    expect(isinstance(given, Mapping), "shape", given, "a dictionary: {'data': (1, 3, 8, 8)}")
    internals = symbol.get_internals()
    _, found, _ = internals.infer_shape_partial(**given)
    shapes = dict(zip(internals.list_outputs(), found or (), strict=True))
    unknown = [n for n, s in shapes.items() if not s or 0 in s]
    if unknown:
        raise ShapeError(
            f"Input shape is incomplete: {', '.join(given) or 'nothing'} does not decide the shape "
            f"of {', '.join(unknown[:5])}; add the shapes of the data to shape={{name: (...)}}"
        )
    return shapes


def internal_types(symbol: Symbol, given: Mapping[str, Any] | None) -> dict[str, str]:
    """The dtype name of every output of every node; empty if ``given`` is ``None``."""
    if given is None:
        return {}
    internals = symbol.get_internals()
    _, found, _ = internals.infer_type(**given)
    names = internals.list_outputs()
    return {n: np.dtype(t).name for n, t in zip(names, found or (), strict=True)}


def format_shape(shape: tuple[int, ...] | None) -> str:
    """Sizes without the batch axis: ``3x12x12``."""
    return "x".join(map(str, (shape or ())[1:]))
