"""Boxes by their centres and sides, and as shifts and growths relative to other boxes."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp


def corners(boxes: jax.Array) -> jax.Array:
    """(x, y, width, height) with the centre at (x, y), as (left, top, right, bottom)."""
    middle, half = boxes[..., :2], boxes[..., 2:] / 2
    return jnp.concatenate([middle - half, middle + half], -1)


def centers(boxes: jax.Array) -> jax.Array:
    """The reverse of `corners`."""
    low, high = boxes[..., :2], boxes[..., 2:]
    return jnp.concatenate([(low + high) / 2, high - low], -1)


def shifts_of(have: Sequence[jax.Array], want: Sequence[jax.Array]) -> list[jax.Array]:
    """Shifts of the centre (x, y) in units of the sides, and logarithms of the sides' growths.

    On CPUs boxes as four arrays are faster than one with an axis of four.

    Args:
        have: left, top, right and bottom sides.
        want: those of the boxes that shifts and growths make of them.
    """
    shifts, growths = [], []
    for low, high in ((0, 2), (1, 3)):
        side, wanted = have[high] - have[low], want[high] - want[low]
        middle = (want[low] + want[high]) / 2 - (have[low] + have[high]) / 2
        shifts.append(middle / side)
        growths.append(jnp.log(wanted / side))
    return shifts + growths


def moved(boxes: jax.Array, shifts: jax.Array, most: float | None = None) -> jax.Array:
    """Corners of boxes, given by centres and sides, after shifts and growths; see `shifts_of`.

    Args:
        most: the largest growth; ``None`` for no limit.
    """
    growths = shifts[..., 2:] if most is None else jnp.minimum(shifts[..., 2:], most)
    middle, half = boxes[..., :2] + shifts[..., :2] * boxes[..., 2:], boxes[..., 2:] / 2
    half = jnp.exp(growths) * half
    return jnp.concatenate([middle - half, middle + half], -1)
