"""Operators on boxes of detectors."""

from __future__ import annotations

import numpy as np

from modkit.onnx.graph_builder import Call, Operand, ints
from modkit.onnx.writers.table import writes


def _part(call: Call, x: str, begin: int, end: int) -> str:
    """Numbers of each row, from ``begin`` up to ``end``."""
    return call.emit("Slice", x, ints([begin]), ints([end]), ints([-1]))


def _as_corners(call: Call, middle: str, side: str) -> str:
    half = call.emit("Div", side, call.number(2))
    ends = (call.emit(op_type, middle, half) for op_type in ("Sub", "Add"))
    return call.emit("Concat", *ends, axis=-1)


@writes("_contrib_box_decode")
def _box_decode(call: Call) -> str:
    dtype = call.inputs[0].dtype
    stds = np.asarray([call.std0, call.std1, call.std2, call.std3], dtype)
    moved, anchors = call.emit("Mul", call.x, stds), call.inputs[1].name
    middle, side = _part(call, anchors, 0, 2), _part(call, anchors, 2, 4)
    if call.format == "corner":
        first, last = middle, side
        side = call.emit("Sub", last, first)
        middle = call.emit("Add", first, call.emit("Div", side, call.number(2)))
    growth = _part(call, moved, 2, 4)
    if call.clip > 0:
        growth = call.emit("Min", growth, call.number(call.clip))
    middle = call.emit("Add", middle, call.emit("Mul", _part(call, moved, 0, 2), side))
    return _as_corners(call, middle, call.emit("Mul", call.emit("Exp", growth), side))


@writes("_contrib_box_nms")
def _box_nms(call: Call) -> str:
    if call.in_format != call.out_format:
        raise call.refuse("in_format and out_format that differ", "convert the boxes before it")
    if call.topk == 0:
        raise call.refuse("topk=0, which keeps no box")
    count, width = call.static(call.inputs[0], -2, -1)
    best = count if call.topk < 0 else min(count, call.topk)
    rows = call.x if call.rank == 3 else call.reshape(call.x, (None, count, width))
    rows, score = _sorted(call, rows, _scores(call, rows), best)
    kept = _kept(call, rows, score, best)
    low = np.asarray(-np.inf, call.inputs[0].dtype)
    rows, score = _sorted(call, rows, call.emit("Where", kept, score, low), best)
    none = call.number(-1)
    alive = call.emit("Unsqueeze", call.emit("Greater", score, low), ints([2]))
    found = call.emit("Where", alive, rows, none)
    if best < count:
        found = call.emit("Pad", found, ints([0, 0, 0, 0, count - best, 0]), none)
    return found if call.rank == 3 else call.shaped(found)


def _scores(call: Call, rows: str) -> str:
    """Scores by batch and box; those of boxes that do not count are minus infinity."""
    score = call.emit(
        "Squeeze", _part(call, rows, call.score_index, call.score_index + 1), ints([2])
    )
    alive = call.emit("Greater", score, call.number(call.valid_thresh))
    if call.id_index >= 0:
        background = call.emit("Equal", _ids(call, rows), call.number(call.background_id))
        other = call.emit("Not", call.emit("Squeeze", background, ints([2])))
        alive = call.emit("And", alive, other)
    return call.emit("Where", alive, score, np.asarray(-np.inf, call.inputs[0].dtype))


def _ids(call: Call, rows: str) -> str:
    return _part(call, rows, call.id_index, call.id_index + 1)


def _sorted(call: Call, rows: str, score: str, count: int) -> tuple[str, str]:
    """The rows of the best scores, and these scores."""
    score, where = call.emit_many("TopK", (score, ints([count])), 2, axis=1)
    at = call.emit("Unsqueeze", where, ints([2]))
    return call.emit("GatherND", rows, at, batch_dims=1), score


def _kept(call: Call, rows: str, score: str, count: int) -> str:
    """Whether each box overlaps no better one."""
    boxes = _part(call, rows, call.coord_start, call.coord_start + 4)
    if call.in_format == "center":
        boxes = _as_corners(call, _part(call, boxes, 0, 2), _part(call, boxes, 2, 4))
    if call.id_index >= 0 and not call.force_suppress:
        # Boxes of different classes are moved apart, so that they do not overlap.
        sides = [call.emit(f"Reduce{end}", boxes, keepdims=1) for end in ("Max", "Min")]
        step = call.emit("Add", call.emit("Sub", *sides), call.number(1))
        boxes = call.emit("Add", boxes, call.emit("Mul", _ids(call, rows), step))
    limits: list[Operand] = [np.asarray(n, t) for n, t in (
        (count, "int64"), (call.overlap_thresh, "float32"), (np.finfo("float32").min, "float32"),
    )]  # fmt: skip
    chosen = call.emit(
        "NonMaxSuppression", boxes, call.emit("Unsqueeze", score, ints([1])), *limits
    )
    where = call.emit("Gather", chosen, ints([0, 2]), axis=1)
    ones = call.emit("Greater", call.emit("Gather", chosen, np.asarray(0), axis=1), np.asarray(-1))
    nothing = call.emit("Less", score, score)
    return call.emit("ScatterND", nothing, where, ones)
