"""The operators box_iou and box_nms: overlaps of boxes, and those without a better one nearby."""

from __future__ import annotations

import math
from typing import Literal

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError
from modkit.ops.detection.box_shifts import centers, corners
from modkit.ops.detection.greedy_nms import best, iou, nms
from modkit.ops.registry import op

_Format = Literal["center", "corner"]


@op("_contrib_box_iou", precision="float32", costly=True)
def box_iou(lhs: jax.Array, rhs: jax.Array, *, format: _Format = "corner") -> jax.Array:
    """Intersection over union of every box of ``lhs`` with every box of ``rhs``. No gradient.

    Args:
        lhs, rhs: boxes.
        format: ``"corner"`` is (left, top, right, bottom), ``"center"`` (x, y, width, height).

    Shapes:
        lhs: (..., N, 4).
        rhs: (..., M, 4).
        returns: the leading dimensions of both.

    Raises:
        ShapeError: an array of boxes has another shape.
    """
    for name, boxes in (("lhs", lhs), ("rhs", rhs)):
        if boxes.ndim < 2 or boxes.shape[-1] != 4:
            raise ShapeError(
                f"_contrib_box_iou: {name}: got shape {boxes.shape}, expected (..., 4) with two "
                "axes or more"
            )
    if format == "center":
        lhs, rhs = corners(lhs), corners(rhs)
    left, right = lhs.reshape(-1, 1, 4), rhs.reshape(1, -1, 4)
    shape = (*lhs.shape[:-1], *rhs.shape[:-1])
    return jax.lax.stop_gradient(iou(left, right).reshape(shape))


@op(
    "_contrib_box_nms",
    precision="float32",
    costly=True,
    aliases=("_contrib_box_non_maximum_suppression",),
    outputs=("output0",),
)
def box_nms(
    data: jax.Array,
    *,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: _Format = "corner",
    out_format: _Format = "corner",
) -> jax.Array:
    """Keep the boxes that overlap no better one by more than ``overlap_thresh``.

    The kept ones come first, the best ahead; the other rows are -1.

    Args:
        data: a row a box.
        overlap_thresh: largest intersection over union with a better box.
        valid_thresh: a box must score more.
        topk: consider this many of the best; -1 for all.
        coord_start: where the four coordinates start in a row.
        score_index: where the score is.
        id_index: where the class number is; -1 if there is none.
        background_id: class number of boxes to drop, -1 included.
        force_suppress: boxes of different classes compete, too.
        in_format: ``"corner"`` or ``"center"``.
        out_format: the same for the result.

    Shapes:
        data: (..., A, K).
        returns: as ``data``.

    Raises:
        ShapeError: ``data`` has one axis.
        ParameterError: a place is outside of the rows, or two of them are one.

    Differs: where the two formats differ, the gradient is that of the conversion too; MXNet 1.9.1
    passes it on as if the boxes had not been converted.
    """
    if data.ndim < 2:
        raise ShapeError(
            f"_contrib_box_nms: got data of shape {data.shape}, expected (..., boxes, numbers)"
        )
    for name, index in (("score_index", score_index), ("id_index", id_index)):
        if coord_start <= index < coord_start + 4:
            raise ParameterError(
                f"_contrib_box_nms: {name}: got {index}, which is one of the coordinates "
                f"{coord_start} .. {coord_start + 3}"
            )
    width = data.shape[-1]
    if not (0 <= score_index < width and id_index < width and 0 <= coord_start <= width - 4):
        raise ParameterError(
            f"_contrib_box_nms: got coord_start={coord_start}, score_index={score_index} and "
            f"id_index={id_index}, expected places in rows of {width} numbers"
        )
    if id_index == score_index:
        raise ParameterError(
            f"_contrib_box_nms: id_index: got {id_index}, which is score_index, too"
        )
    span, count = slice(coord_start, coord_start + 4), data.shape[-2]
    first = count if topk < 0 else min(count, max(topk, 1))

    def one(rows: jax.Array) -> jax.Array:
        scores = rows[:, score_index]
        alive = scores > valid_thresh
        if id_index >= 0:
            alive &= rows[:, id_index] != background_id
        order = best(jnp.where(alive, scores, -jnp.inf), first)
        rows, alive = rows[order], alive[order] & (topk != 0)
        boxes = corners(rows[:, span]) if in_format == "center" else rows[:, span]
        ids = None if force_suppress or id_index < 0 else jnp.trunc(rows[:, id_index])
        kept = nms(boxes, alive, lambda overlaps: overlaps > overlap_thresh, ids)
        if in_format != out_format:
            coordinates = boxes if out_format == "corner" else centers(rows[:, span])
            rows = rows.at[:, span].set(coordinates)
        front = jnp.argsort(~kept, stable=True)
        made = jnp.where(kept[front][:, None], rows[front], -1)
        return jnp.pad(made, ((0, count - first), (0, 0)), constant_values=-1)

    flat = data.reshape(math.prod(data.shape[:-2]), *data.shape[-2:])
    return jax.vmap(one)(flat).reshape(data.shape)
