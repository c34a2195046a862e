"""``where``: a choice between two arrays, element by element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.parameters import Attrs
from modkit.ops.partial_shapes import Rule, Sizes, link, merge
from modkit.ops.registry import op


def _where_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], _attrs: Attrs) -> Rule:
    condition, x, y = ins
    full = merge("where", merge("where", x, y), outs[0])
    if full is not None and condition is not None and len(condition) == len(full):
        condition = full = merge("where", condition, full)
    elif full is not None and condition is not None and len(condition) == 1:
        rows, sizes = list(condition), list(full)
        link("where", rows, 0, sizes, 0)
        condition, full = tuple(rows), tuple(sizes)
    return [condition, full, full], [full]


def _where_types(ins: Sequence[Any], _attrs: Attrs) -> tuple[list[Any], list[Any]]:
    both = ins[1] or ins[2]
    return [ins[0], both, both], [both]


@op(
    "where",
    precision="through",
    aliases=("_sparse_where",),
    partial=_where_partial,
    dtypes=_where_types,
)
def where(condition: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """``x`` where the condition is not 0, else ``y``.

    Args:
        condition: numbers; one for each element, or one for each row.
        x: values where it holds.
        y: values where it does not.

    Shapes:
        condition: as ``x``, or (N,).
        x: (N, ...).
        y: as ``x``.
        returns: as ``x``.

    Raises:
        ShapeError: the shapes do not fit.
    """
    rowwise = condition.ndim == 1 and x.ndim > 1
    if x.shape != y.shape or condition.shape != (x.shape[:1] if rowwise else x.shape):
        raise ShapeError(
            f"where: got condition {condition.shape}, x {x.shape}, y {y.shape}; expected x and y "
            "of one shape, and a condition of that shape or with one number for each row"
        )
    if rowwise:
        condition = condition.reshape(-1, *(1,) * (x.ndim - 1))
    return jnp.where(condition != 0, x, y)
