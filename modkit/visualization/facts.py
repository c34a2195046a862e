"""What both pictures of a net need: its internal shapes and types by output name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from modkit.errors import DTypeError, ShapeError
from modkit.symbol import Symbol

Shapes = dict[str, tuple[int, ...]]


def check_symbol(symbol: Any, called: str) -> None:
    """Raise ``DTypeError``, a ``TypeError``, unless ``symbol`` is one."""
    if not isinstance(symbol, Symbol):
        raise DTypeError(f"{called}: symbol must be a Symbol, got {type(symbol).__name__}")


def internal_shapes(symbol: Symbol, given: Mapping[str, Any] | None) -> Shapes | None:
    """The shape of every output of every node; ``None`` where no shapes are given.

    Raises:
        ShapeError: they do not decide all shapes.
    """
    if given is None:
        return None
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
    """The name of the type of every output of every node; empty where no types are given."""
    if given is None:
        return {}
    internals = symbol.get_internals()
    _, found, _ = internals.infer_type(**given)
    names = internals.list_outputs()
    return {n: np.dtype(t).name for n, t in zip(names, found or (), strict=True)}


def spelled(shape: tuple[int, ...] | None) -> str:
    """Sizes without the batch: ``3x12x12``."""
    return "x".join(map(str, (shape or ())[1:]))
