"""Anchor boxes of single-shot detectors: their positions, training targets, and decoding."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ParameterError, ShapeError, expect
from modkit.interpreter.tracing import platform_dependent
from modkit.ops import loops
from modkit.ops.detection.box_shifts import centers, moved, shifts_of
from modkit.ops.detection.greedy_nms import area_of, best, first_of, iou_of_sides, nms
from modkit.ops.floating import require_floating
from modkit.ops.parameters import Inert
from modkit.ops.registry import op

_Numbers = tuple[float, ...]
_VARIANCES: _Numbers = (0.1, 0.1, 0.2, 0.2)
_LEAST_OVERLAP = 1e-6


def _check_variances(operator: str, variances: _Numbers) -> None:
    expect(len(variances) == 4, f"{operator}: variances", variances, "four numbers")


@op("_contrib_MultiBoxPrior", precision="float32", costly=True)
def multi_box_prior(
    data: jax.Array,
    *,
    sizes: _Numbers = (1.0,),
    ratios: _Numbers = (1.0,),
    clip: bool = False,
    steps: _Numbers = (-1.0, -1.0),
    offsets: _Numbers = (0.5, 0.5),
) -> jax.Array:
    """Anchor boxes around every position of a feature map, in fractions of the image.

    Each position has a box of every size with the first ratio, and then one of the first size with
    every other ratio.

    Args:
        data: a feature map; only its shape counts.
        sizes: heights of the boxes.
        ratios: width over height.
        clip: cut the boxes at the image's border.
        steps: distance of positions (down, across); default one over the number of them.
        offsets: of the centre from a position's corner (down, across), in steps.

    Shapes:
        data: (N, C, H, W), or with more axes.
        returns: (1, H * W * (sizes + ratios - 1), 4), corners.
    """
    if data.ndim < 4 or 0 in data.shape[2:4]:
        raise ShapeError(
            f"MultiBoxPrior: got data of shape {data.shape}, expected (N, C, H, W, ...), H and W "
            "from 1"
        )
    if not sizes or not ratios or len(steps) != 2 or len(offsets) != 2:
        raise ParameterError(
            f"MultiBoxPrior: got sizes {sizes}, ratios {ratios}, steps {steps}, offsets {offsets}, "
            "expected at least one size and ratio, and two steps and offsets"
        )
    expect(min(ratios) > 0, "MultiBoxPrior: ratios", ratios, "numbers above 0")
    height, width = data.shape[2:4]
    down, across = (s if s > 0 else 1 / n for s, n in zip(steps, (height, width), strict=True))
    y = (np.arange(height) + offsets[0]) * down
    x = (np.arange(width) + offsets[1]) * across
    pairs = [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
    half = np.array([(s * height / width * math.sqrt(r), s / math.sqrt(r)) for s, r in pairs]) / 2
    middle = np.stack(np.meshgrid(x, y), -1).reshape(-1, 1, 2)
    boxes = np.concatenate([middle - half, middle + half], -1).reshape(1, -1, 4)
    return jnp.asarray(np.clip(boxes, 0, 1) if clip else boxes, data.dtype)


def _matched(
    anchors: Sequence[jax.Array], objects: Sequence[jax.Array], count: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Greedy matching of the first ``count`` objects with anchors, the largest overlap first.

    An object's bound is its largest overlap with anchors that were free when it was last compared
    with all of them, infinity before that. The object of the largest bound is compared again, and
    matched if its anchor is the same: few passes over the anchors, and no matrix of all pairs.

    Args:
        anchors: their left, top, right and bottom sides.
        objects: the same; the rows from ``count`` on are void.
        count: of the objects.

    Shapes:
        anchors: (A,).  objects: (L,).
        returns: thrice (A,): the matched object, -1 for none; the largest overlap, -1 without
            objects; the object that has it.
    """
    areas, ranks = area_of(anchors), lax.iota(jnp.int32, len(anchors[0]))

    def compare(state: Any) -> Any:
        matched, most, nearest, bounds, places = state
        top = bounds.max()
        place = jnp.where(bounds == top, places, len(ranks))
        thing = jnp.argmin(place).astype(jnp.int32)
        sides = [side[thing] for side in objects]
        found = iou_of_sides(sides, area_of(sides), anchors, areas)
        nearest = jnp.where(found > most, thing, nearest)
        most = jnp.maximum(found, most)
        free = jnp.where(matched < 0, found, -1)
        bound = free.max()
        at = first_of(free == bound, ranks)
        same = (bound == top) & (at == place[thing])
        matched = jnp.where(same & (ranks == at), thing, matched)
        bounds = bounds.at[thing].set(jnp.where(same, -1, bound))
        return matched, most, nearest, bounds, places.at[thing].set(at)

    numbers = lax.iota(jnp.int32, len(objects[0]))
    none, unknown = jnp.full_like(ranks, -1), jnp.full_like(numbers, -1)
    most = jnp.full_like(areas, -1)
    bounds = jnp.where(numbers < count, jnp.inf, -1).astype(areas.dtype)
    start = none, most, none, bounds, unknown
    matched, most, nearest, _, _ = loops.while_loop(
        lambda state: state[3].max() > _LEAST_OVERLAP, compare, start
    )
    return matched, most, nearest


def _smallest(values: jax.Array, count: jax.Array) -> jax.Array:
    """A mask of the ``count`` smallest of values from 0 on, the earlier of equals first; NaN last.

    Bisection finds the largest of them, bit by bit; a sort takes twenty times as long on CPUs.
    """
    width = jnp.finfo(values.dtype).bits
    values = jnp.where(jnp.isnan(values), jnp.nan, values)
    keys = lax.bitcast_convert_type(values, f"int{width}")

    def step(i: jax.Array, last: jax.Array) -> jax.Array:
        tried = last | jnp.left_shift(jnp.ones_like(last), width - 2 - i)
        return jnp.where((keys < tried).sum() < count, tried, last)

    last = loops.fori_loop(0, width - 1, step, jnp.zeros((), keys.dtype))
    below, equal = keys < last, keys == last
    return below | equal & (jnp.cumsum(equal) <= count - below.sum())


def _hardest(
    scores: jax.Array, matched: jax.Array, most: jax.Array, ratio: float, limit: float
) -> jax.Array:
    """Unmatched anchors that look least like background: ``ratio`` for each matched one."""
    positive = matched >= 0
    count = jnp.sum(positive, dtype=jnp.int32)
    wanted = jnp.floor(count * jnp.float32(ratio)).astype(jnp.int32)
    background = jax.nn.softmax(scores, 0)[0]
    free = ~positive & (most < limit)
    return free & _smallest(jnp.where(free, background, jnp.inf), wanted)


@op(
    "_contrib_MultiBoxTarget",
    precision="float32",
    costly=True,
    outputs=("loc_target", "loc_mask", "cls_target"),
)
def multi_box_target(
    anchor: jax.Array,
    label: jax.Array,
    cls_pred: jax.Array,
    *,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: Inert[int] = 0,
    variances: _Numbers = _VARIANCES,
) -> Any:
    """The training targets of a single-shot detector for each anchor. No gradient.

    Every object gets the anchor that overlaps it best; every other anchor goes to the object that
    it overlaps best, if by more than ``overlap_threshold``.

    Args:
        anchor: corners.
        label: a row an object: class number from 0, corners; rows from the first -1 on are void.
        cls_pred: class scores, class 0 the background.
        overlap_threshold: for an anchor to be given an object; 0 for the best anchors only.
        ignore_label: class target of anchors that are neither object nor background.
        negative_mining_ratio: background anchors for each object anchor, those that look least
            like background; -1 for all.
        negative_mining_thresh: a background anchor must overlap all objects by less.
        minimum_negative_samples: no effect.
        variances: divisors of the target's centre and of the logarithm of its sides.

    Shapes:
        anchor: (1, A, 4).
        label: (N, L, 5 or more).
        cls_pred: (N, classes + 1, A).
        returns: location targets (N, 4 A), their mask (N, 4 A), class targets (N, A).
    """
    require_floating(anchor, "_contrib_MultiBoxTarget")
    _check_variances("MultiBoxTarget", variances)
    if negative_mining_ratio > 0 and negative_mining_thresh <= 0:
        raise ParameterError(
            f"MultiBoxTarget: negative_mining_thresh: got {negative_mining_thresh:g} with "
            f"negative_mining_ratio={negative_mining_ratio:g}, expected a number above 0"
        )
    if anchor.ndim != 3 or anchor.shape[0] != 1 or anchor.shape[2] != 4:
        raise ShapeError(f"MultiBoxTarget: anchor: got {anchor.shape}, expected (1, A, 4)")
    if label.ndim != 3 or label.shape[2] < 5 or cls_pred.shape[0] != label.shape[0]:
        raise ShapeError(
            f"MultiBoxTarget: got label {label.shape} and cls_pred {cls_pred.shape}, expected "
            "(N, L, 5) and (N, classes + 1, A)"
        )
    if cls_pred.shape[2:] != anchor.shape[1:2]:
        raise ShapeError(
            f"_contrib_MultiBoxTarget: got {anchor.shape[1]} anchors and predictions for "
            f"{' x '.join(map(str, cls_pred.shape[2:]))}, expected one prediction an anchor"
        )
    anchors = [anchor[0, :, i] for i in range(4)]

    def one(each: tuple[jax.Array, jax.Array]) -> Any:
        label, scores = each
        count = jnp.cumprod((label[:, 0] != -1).astype(jnp.int32)).sum()
        matched, most, nearest = _matched(anchors, [label[:, i] for i in range(1, 5)], count)
        if overlap_threshold > 0:
            near = jnp.where(most > overlap_threshold, nearest, -1)
            matched = jnp.where(matched >= 0, matched, near)
        positive = matched >= 0
        background = ~positive
        if negative_mining_ratio > 0:
            background = _hardest(
                scores, matched, most, negative_mining_ratio, negative_mining_thresh
            )
        kind, *sides = (label[:, i][jnp.maximum(matched, 0)] for i in range(5))
        shifts = zip(shifts_of(anchors, sides), variances, strict=True)
        location = jnp.stack([jnp.where(positive, x / v, 0) for x, v in shifts], 1)
        mask = jnp.broadcast_to(positive[:, None], location.shape)
        classes = jnp.where(background & (count > 0), 0, ignore_label)
        classes = jnp.where(positive, kind + 1, classes)
        return tuple(x.reshape(-1).astype(anchor.dtype) for x in (location, mask, classes))

    # On CPUs one image after the other stays in the cache; other devices run all at once.
    images = label.astype(anchor.dtype), cls_pred
    by_turns = functools.partial(loops.map_rows, one)
    outputs = platform_dependent(images, cpu=by_turns, default=jax.vmap(one))
    return tuple(lax.stop_gradient(o) for o in outputs)


def _in_front(valid: jax.Array) -> jax.Array:
    """The places of the valid elements, in their order; after them zeros."""
    ranks = lax.iota(jnp.int32, len(valid))
    to = jnp.where(valid, jnp.cumsum(valid) - 1, len(valid))
    return jnp.zeros_like(ranks).at[to].set(ranks, mode="drop")


@op("_contrib_MultiBoxDetection", precision="float32", costly=True)
def multi_box_detection(
    cls_prob: jax.Array,
    loc_pred: jax.Array,
    anchor: jax.Array,
    *,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: Inert[int] = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: _Numbers = _VARIANCES,
    nms_topk: int = -1,
) -> jax.Array:
    """Detections from a single-shot detector's predictions. No gradient.

    Anchors whose best class is likely enough, the likeliest first; those that overlap a likelier
    one of their class by ``nms_threshold`` or more get class -1. Behind the first ``nms_topk`` rows
    stand, with class -1, the anchors that would be there without sorting.

    Args:
        cls_prob: class probabilities, class 0 the background.
        loc_pred: shifts and growths of the anchors.
        anchor: corners.
        clip: cut boxes at the image's border.
        threshold: least probability.
        background_id: no effect.
        nms_threshold: overlap that removes a box; no sorting or removal outside (0, 1].
        force_suppress: boxes of different classes compete, too.
        variances: factors of shifts and growths.
        nms_topk: keep this many; -1 for all.

    Shapes:
        cls_prob: (N, classes + 1, A).
        loc_pred: (N, 4 A).
        anchor: (1, A, 4).
        returns: (N, A, 6): class from 0, probability, corners; unused rows are -1.
    """
    _check_variances("MultiBoxDetection", variances)
    count = cls_prob.shape[-1]
    if cls_prob.ndim != 3 or loc_pred.shape[1:] != (4 * count,) or anchor.shape != (1, count, 4):
        raise ShapeError(
            f"MultiBoxDetection: got cls_prob {cls_prob.shape}, loc_pred {loc_pred.shape}, anchor "
            f"{anchor.shape}, expected (N, classes + 1, A), (N, 4 A), (1, A, 4)"
        )
    competing = 0 < nms_threshold <= 1
    first = min(nms_topk, count) if nms_topk > 0 else count

    def one(prob: jax.Array, location: jax.Array) -> jax.Array:
        classes = jnp.argmax(prob[1:], 0).astype(prob.dtype)
        scores = prob[1:].max(0)
        valid = scores >= threshold
        order = _in_front(valid) if first < count or not competing else None
        if competing:
            front = best(jnp.where(valid, scores, -jnp.inf), first)
            order = front if order is None else jnp.concatenate([front, order[first:]])
        present = jnp.arange(count) < valid.sum()
        shifts = location.reshape(-1, 4) * jnp.array(variances, anchor.dtype)
        boxes = moved(centers(anchor[0]), shifts)[order]
        boxes = jnp.clip(boxes, 0, 1) if clip else boxes
        classes, scores = classes[order], scores[order]
        kept = present
        if competing:
            ids = None if force_suppress else classes[:first]
            kept = nms(
                boxes[:first], present[:first], lambda overlaps: overlaps >= nms_threshold, ids
            )
            kept = jnp.pad(kept, (0, count - first))
        rows = jnp.column_stack([jnp.where(kept, classes, -1), scores, boxes])
        return jnp.where(present[:, None], rows, -1)

    return lax.stop_gradient(jax.vmap(one)(cls_prob, loc_pred).astype(cls_prob.dtype))
