"""Overlap of boxes, and greedy non-maximum suppression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def overlap(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    """Intersection over union of boxes (left, top, right, bottom), with broadcasting."""
    left, right = ([boxes[..., i] for i in range(4)] for boxes in (lhs, rhs))
    return _overlap(left, _area(left), right, _area(right))


def _overlap(
    lhs: Sequence[jax.Array], lhs_area: jax.Array, rhs: Sequence[jax.Array], rhs_area: jax.Array,
    edge: float = 0.0,
) -> jax.Array:  # fmt: skip
    """`overlap` of boxes as four arrays, which on CPUs is faster than one with an axis of four."""
    across, down = (
        jnp.minimum(lhs[i + 2], rhs[i + 2]) - jnp.maximum(lhs[i], rhs[i]) for i in (0, 1)
    )
    if edge:
        across, down = across + edge, down + edge
    shared = jnp.maximum(across, 0) * jnp.maximum(down, 0)
    union = lhs_area + rhs_area - shared
    some = union > 0
    return jnp.where(some, shared / jnp.where(some, union, 1), 0)


def _area(boxes: Sequence[jax.Array], edge: float = 0.0) -> jax.Array:
    return (boxes[2] - boxes[0] + edge) * (boxes[3] - boxes[1] + edge)


def _first(alive: jax.Array, ranks: jax.Array) -> jax.Array:
    """The first true place of (A,), or A: on CPUs a minimum is faster than ``argmax``."""
    return jnp.where(alive, ranks, len(ranks)).min(initial=len(ranks))


def _at(column: jax.Array, place: jax.Array) -> jax.Array:
    return lax.dynamic_index_in_dim(column, place, keepdims=False, allow_negative_indices=False)


def suppress(
    boxes: jax.Array,
    alive: jax.Array,
    too_near: Callable[[jax.Array], jax.Array],
    ids: jax.Array | None = None,
    *,
    edge: float = 0.0,
    most: int | None = None,
) -> jax.Array:
    """Greedy non-maximum suppression: a kept box removes later ones whose overlap is too large.

    Args:
        boxes: corners, the best first.
        alive: which boxes are there at all.
        too_near: which overlaps are too large.
        ids: boxes compete with those of the same number; all do by default.
        edge: added to sides: 1 if both ends of a side are inside of the box.
        most: stop after as many kept boxes.

    Shapes:
        boxes: (A, 4).
        alive, ids: (A,).
        returns: (A,), which boxes are kept.
    """
    sides = [boxes[:, i] for i in range(4)]
    areas = _area(sides, edge)
    ranks = lax.iota(jnp.int32, len(boxes))
    end = len(boxes) if most is None else most

    def unfinished(state: Any) -> jax.Array:
        _, first, count = state
        return (first < len(ranks)) & (count < end)

    def keep(state: Any) -> Any:
        alive, first, count = state
        *corners, area = (_at(column, first) for column in (*sides, areas))
        later = ranks > first
        removed = later & too_near(_overlap(corners, area, sides, areas, edge))
        if ids is not None:
            removed &= ids == _at(ids, first)
        alive &= ~removed
        return alive, _first(alive & later, ranks), count + 1

    start = alive, _first(alive, ranks), jnp.int32(0)
    alive, first, _ = lax.while_loop(unfinished, keep, start)
    return alive & (ranks < first)
