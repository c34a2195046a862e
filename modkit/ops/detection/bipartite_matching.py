"""Bipartite matching: pairs of rows and columns, the best scores first."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops import loops
from modkit.ops.floating import require_floating
from modkit.ops.registry import op


def _match(scores: jax.Array, limit: int) -> tuple[jax.Array, jax.Array]:
    """Greedy matching of one matrix, the largest score first; -inf is no pair.

    A pair that is the best of its row and of its column is one of the greedy matching, whatever
    the other pairs are. So each round takes all such pairs at once: a few rounds instead of a sort.

    Shapes:
        scores: (N, M).
        returns: column of each row (N,), row of each column (M,); -1 for none.
    """
    rows, columns = scores.shape

    def unfinished(state: Any) -> jax.Array:
        return state[2]

    def take(state: Any) -> Any:
        row_match, column_match, _ = state
        free = (row_match < 0)[:, None] & (column_match < 0)
        left = jnp.where(free, scores, -jnp.inf)
        column = jnp.argmax(left, 1).astype(jnp.int32)
        row = jnp.argmax(left, 0).astype(jnp.int32)
        best = jnp.max(left, 0)
        mutual = (column[row] == jnp.arange(columns)) & (best > -jnp.inf)
        column_match = jnp.where(mutual, row, column_match)
        at = jnp.where(mutual, row, rows)
        row_match = row_match.at[at].set(jnp.arange(columns, dtype=jnp.int32), mode="drop")
        return row_match, column_match, mutual.any()

    none = jnp.full((rows,), -1, jnp.int32), jnp.full((columns,), -1, jnp.int32)
    row_match, column_match, _ = loops.while_loop(unfinished, take, (*none, jnp.array(True)))
    if 0 < limit < min(rows, columns):
        taken = jnp.where(row_match >= 0, scores[jnp.arange(rows), row_match], -jnp.inf)
        rank = jnp.argsort(jnp.argsort(-taken, stable=True), stable=True)
        row_match = jnp.where(rank < limit, row_match, -1)
        kept = jnp.where(row_match >= 0, row_match, columns)
        found = jnp.full((columns,), -1, jnp.int32)
        column_match = found.at[kept].set(jnp.arange(rows, dtype=jnp.int32), mode="drop")
    return row_match, column_match


@op("_contrib_bipartite_matching", precision="float32", costly=True, outputs=("output0", "output1"))
def bipartite_matching(
    data: jax.Array, *, is_ascend: bool = False, threshold: float, topk: int = -1
) -> tuple[jax.Array, jax.Array]:
    """Match rows with columns greedily by score, the best pair first. No gradient.

    Of equal scores the first in row-major order is matched first.

    Args:
        data: scores, a row for each of N things and a column for each of M others.
        threshold: only scores above it are matched, or below it with ``is_ascend``.
        is_ascend: the smallest scores are the best.
        topk: ``topk + 1`` pairs are matched, as in MXNet 1.9.1; 0 or less for no limit.

    Shapes:
        data: (..., N, M).
        returns: the column of each row (..., N), the row of each column (..., M); -1 for none.

    Raises:
        ShapeError: ``data`` has one axis.
    """
    require_floating(data, "_contrib_bipartite_matching")
    if data.ndim < 2:
        raise ShapeError(
            f"_contrib_bipartite_matching: got data of shape {data.shape}, expected (..., N, M)"
        )
    valid = data < threshold if is_ascend else data > threshold
    scores = jnp.where(valid, -data if is_ascend else data, -jnp.inf)
    lead, sizes = data.shape[:-2], data.shape[-2:]
    limit = topk + 1 if topk > 0 else 0
    if not data.size:
        none = [jnp.full((*lead, size), -1, data.dtype) for size in sizes]
        return none[0], none[1]
    flat = scores.reshape(math.prod(lead), *sizes)
    rows, columns = loops.map_rows(lambda each: _match(each, limit), flat)
    dtype = data.dtype
    return rows.astype(dtype).reshape(*lead, -1), columns.astype(dtype).reshape(*lead, -1)
