"""Region proposals of Faster R-CNN: anchors moved by predictions, the best that do not overlap."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ParameterError, ShapeError
from modkit.ops import loops
from modkit.ops.detection.greedy_nms import nms
from modkit.ops.registry import op

_Numbers = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class _Settings:
    """Parameters of both operators."""

    rpn_pre_nms_top_n: int = 6000
    rpn_post_nms_top_n: int = 300
    threshold: float = 0.7
    rpn_min_size: int = 16
    scales: _Numbers = (4.0, 8.0, 16.0, 32.0)
    ratios: _Numbers = (0.5, 1.0, 2.0)
    feature_stride: int = 16
    output_score: bool = False
    iou_loss: bool = False


def _anchors(settings: _Settings, height: int, width: int) -> np.ndarray:
    """Corners of all anchors, row by row, (H W A, 4), sides rounded as in Faster R-CNN."""
    side, middle = settings.feature_stride, (settings.feature_stride - 1) / 2
    base = []
    for ratio in settings.ratios:
        broad = math.floor(math.sqrt(math.floor(side * side / ratio)) + 0.5)
        tall = math.floor(broad * ratio + 0.5)
        for scale in settings.scales:
            half = np.array([broad * scale - 1, tall * scale - 1]) / 2
            base.append(np.concatenate([middle - half, middle + half]))
    x, y = np.meshgrid(np.arange(width) * side, np.arange(height) * side)
    shift = np.stack([x, y, x, y], -1)[:, :, None]
    return (shift + np.array(base)).reshape(-1, 4).astype(np.float32)


def _moved(anchors: jax.Array, deltas: jax.Array, plain: bool) -> jax.Array:
    """Corners after predicted shifts: of the corners if ``plain``, else of centre and log sides."""
    if plain:
        return anchors + deltas
    sides = anchors[:, 2:] - anchors[:, :2] + 1
    middle = anchors[:, :2] + 0.5 * (sides - 1) + deltas[:, :2] * sides
    half = 0.5 * (jnp.exp(deltas[:, 2:]) * sides - 1)
    return jnp.concatenate([middle - half, middle + half], 1)


def _of_image(scores: Any, deltas: Any, info: Any, settings: _Settings) -> Any:
    """Boxes (after, 4) and scores (after,) of one image; the last repeat from the start.

    Shapes:
        scores: (A, H, W).  deltas: (4 A, H, W).  info: (3,), height, width, scale.
    """
    kinds, *space = scores.shape
    anchors = _anchors(settings, *space)
    shifts = deltas.reshape(kinds, 4, *space).transpose(2, 3, 0, 1).reshape(-1, 4)
    boxes = _moved(jnp.asarray(anchors), shifts, settings.iou_loss)
    corner = jnp.stack([info[1], info[0], info[1], info[0]]) - 1
    boxes = jnp.maximum(jnp.minimum(boxes, corner), 0)
    # Positions in the image, rounded down as in MXNet 1.9.1.
    down, across = (jnp.arange(n) < info[i] // settings.feature_stride for i, n in enumerate(space))
    ranks = scores.transpose(1, 2, 0)
    ranks = jnp.where((down[:, None] & across)[..., None], ranks, -1).reshape(-1)
    least = settings.rpn_min_size * info[2]
    small = (boxes[:, 2:] - boxes[:, :2] + 1 < least).any(1)
    grown = boxes + jnp.array([-0.5, -0.5, 0.5, 0.5]) * least
    boxes, ranks = jnp.where(small[:, None], grown, boxes), jnp.where(small, -1, ranks)
    most = settings.rpn_pre_nms_top_n
    count = min(most, len(anchors)) if most > 0 else len(anchors)
    ranks, order = lax.top_k(ranks, count)
    boxes = boxes[order]
    kept = nms(
        boxes,
        jnp.ones(count, bool),
        lambda overlaps: overlaps > settings.threshold,
        edge=1.0,
        most=settings.rpn_post_nms_top_n,
    )
    first = jnp.argsort(~kept, stable=True)
    rows = first[jnp.arange(settings.rpn_post_nms_top_n) % jnp.maximum(kept.sum(), 1)]
    return boxes[rows], ranks[rows]


def _propose(
    name: str, cls_prob: jax.Array, bbox_pred: jax.Array, im_info: jax.Array, settings: _Settings
) -> tuple[jax.Array, jax.Array]:
    kinds = len(settings.scales) * len(settings.ratios)
    count, space = cls_prob.shape[0], cls_prob.shape[2:]
    wanted = (count, 2 * kinds, *space), (count, 4 * kinds, *space), (count, 3)
    if len(space) != 2 or (cls_prob.shape, bbox_pred.shape, im_info.shape) != wanted:
        raise ShapeError(
            f"{name}: got cls_prob {cls_prob.shape}, bbox_pred {bbox_pred.shape} and im_info "
            f"{im_info.shape}, expected (N, {2 * kinds}, H, W), (N, {4 * kinds}, H, W) and (N, 3) "
            f"for {kinds} anchors a position (scales times ratios)"
        )
    if 0 in space:
        raise ShapeError(
            f"{name}: got cls_prob {cls_prob.shape}, which has no positions; expected H and W from "
            f"1 in (N, {2 * kinds}, H, W)"
        )
    if settings.rpn_post_nms_top_n < 1 or settings.feature_stride < 1 or min(settings.ratios) <= 0:
        raise ParameterError(
            f"{name}: got rpn_post_nms_top_n {settings.rpn_post_nms_top_n}, feature_stride "
            f"{settings.feature_stride} and ratios {settings.ratios}, expected numbers above 0"
        )

    def one(each: tuple[jax.Array, jax.Array, jax.Array]) -> Any:
        scores, deltas, info = each
        return _of_image(scores, deltas, info, settings)

    inputs = cls_prob[:, kinds:], bbox_pred, im_info
    boxes, scores = loops.map_rows(one, jax.tree.map(lambda x: x.astype(jnp.float32), inputs))
    image = jnp.arange(count, dtype=boxes.dtype)[:, None, None]
    image = jnp.broadcast_to(image, (*boxes.shape[:2], 1))
    rois = jnp.concatenate([image, boxes], -1).reshape(-1, 5).astype(cls_prob.dtype)
    scores = scores.reshape(-1, 1).astype(cls_prob.dtype)
    return lax.stop_gradient(rois), lax.stop_gradient(scores)


_schema = functools.partial(
    op,
    precision="float32",
    costly=True,
    like=_Settings,
    params=lambda data, **_: {
        "bbox_pred": (data[0], 2 * data[1], *data[2:]),
        "im_info": (data[0], 3),
    },
    outputs=("output", "score"),
    visible=lambda attrs: 1 + attrs["output_score"],
)


@_schema("_contrib_MultiProposal")
def multi_proposal(
    cls_prob: jax.Array, bbox_pred: jax.Array, im_info: jax.Array, **given: Any
) -> tuple[jax.Array, jax.Array]:
    """Region proposals (Ren et al., 2015) of each image of a batch. No gradient.

    Anchors are moved by the predictions, cut at the image's border, sorted by score, and kept if
    they overlap no better one by more than ``threshold``. If too few are left, they repeat.

    Args:
        cls_prob: probabilities of background, then of object, for each anchor.
        bbox_pred: shifts of the centre in units of the sides, and logarithms of the sides' growth.
        im_info: height, width and scale of each image.
        rpn_pre_nms_top_n: consider this many of the best; 0 or less for all.
        rpn_post_nms_top_n: return this many.
        threshold: largest overlap with a better box.
        rpn_min_size: smaller boxes, in pixels of the unscaled image, have score -1.
        scales: of the anchors' sides, in units of ``feature_stride``.
        ratios: height over width.
        feature_stride: distance of two positions in pixels.
        output_score: the scores show as the second output.
        iou_loss: predictions are shifts of the corners in pixels.

    Shapes:
        cls_prob: (N, 2 A, H, W), with A = scales times ratios.
        bbox_pred: (N, 4 A, H, W).
        im_info: (N, 3).
        returns: (N rpn_post_nms_top_n, 5), number of the image and corners, and the scores
            (N rpn_post_nms_top_n, 1).

    Raises:
        ShapeError: the arrays do not fit each other or the anchors.
    """
    return _propose("_contrib_MultiProposal", cls_prob, bbox_pred, im_info, _Settings(**given))


@_schema("_contrib_Proposal")
def proposal(
    cls_prob: jax.Array, bbox_pred: jax.Array, im_info: jax.Array, **given: Any
) -> tuple[jax.Array, jax.Array]:
    """`multi_proposal` of a single image, with its parameters. No gradient.

    Shapes:
        cls_prob: (1, 2 A, H, W), with A = scales times ratios.
        bbox_pred: (1, 4 A, H, W).
        im_info: (1, 3), height, width and scale of the image.
        returns: (rpn_post_nms_top_n, 5), zeros and corners, and the scores
            (rpn_post_nms_top_n, 1).

    Raises:
        ShapeError: the arrays do not fit, or there are several images.
    """
    if cls_prob.shape[0] != 1:
        raise ShapeError(
            f"_contrib_Proposal: got {cls_prob.shape[0]} images, expected one; "
            "_contrib_MultiProposal takes a batch"
        )
    return _propose("_contrib_Proposal", cls_prob, bbox_pred, im_info, _Settings(**given))
