"""Boxes and anchors of object detection."""

import numpy as np
from case import Case, Input

_MAP = (1, 3, 3, 4)


def _boxes(count, seed, lead=()):
    """Corners of random boxes, in fractions of the image."""
    stream = np.random.RandomState(seed)
    low = stream.uniform(0, 0.7, (*lead, count, 2))
    side = stream.uniform(0.1, 0.6, (*lead, count, 2))
    return np.concatenate([low, low + side], -1)


def _rows(count, seed, classes, lead=()):
    """Class, score, corners."""
    stream = np.random.RandomState(seed)
    kinds = stream.randint(0, classes, (*lead, count, 1))
    scores = stream.uniform(-0.1, 1, (*lead, count, 1))
    return Input(values=np.concatenate([kinds, scores, _boxes(count, seed, lead)], -1))


def _labels():
    """Two images: three objects, and one object with void rows behind."""
    kinds = np.array([[[1], [0], [2]], [[2], [-1], [-1]]])
    rows = np.concatenate([kinds, _boxes(3, 8, (2,))], -1)
    return Input(values=np.where(kinds < 0, -1, rows))


_ANCHORS = Input(values=_boxes(12, 7)[None])
_TARGETS = [_ANCHORS, _labels(), Input((2, 4, 12), -2, 2)]
_TWINS = Input(values=[[[0, 0, 0, 0.5, 0.5], [1, 0, 0, 0.5, 0.5]]])
_VOID = Input(values=-np.ones((1, 2, 5)))
_PROBABILITIES = Input((2, 4, 12), 0, 1)
_DETECTIONS = [_PROBABILITIES, Input((2, 48), -1, 1), _ANCHORS]
_OPTIONS = (
    {},
    {"id_index": 0},
    {"id_index": 0, "force_suppress": True},
    {"overlap_thresh": 0.1, "topk": 4},
    {"valid_thresh": 0.5, "overlap_thresh": 0.2},
    {"id_index": 0, "background_id": 1},
)

_FOUR = [
    Input(values=[[[0.4, 0.5, 0.5, 0.8], [0.5, 0.1, 0.4, 0.1], [0.1, 0.4, 0.1, 0.1]]]),
    Input((1, 16), -0.3, 0.3),
    Input(values=[[[0, 0, 0.5, 0.5], [0.2, 0.2, 0.7, 0.9], [0.5, 0.5, 1, 1], [0, 0.4, 0.3, 1]]]),
]
"""Detections whose order by score is that of the anchors: MXNet leaves those behind nms_topk so."""

CASES = [
    Case("_contrib_box_iou", [Input(values=_boxes(4, 1)), Input(values=_boxes(3, 2))]),
    Case(
        "_contrib_box_iou",
        [Input(values=_boxes(4, 1)), Input(values=_boxes(3, 2))],
        {"format": "center"},
    ),
    Case("_contrib_box_iou", [Input(values=_boxes(4, 1, (2,))), Input(values=_boxes(3, 2, (1,)))]),
    *[
        Case("_contrib_box_nms", [_rows(8, 3, 2)], dict({"overlap_thresh": 0.2}, **o))
        for o in _OPTIONS
    ],
    # The reference hands the gradient of the result's format on as that of the input's.
    Case("_contrib_box_nms", [_rows(8, 3, 2)], {"out_format": "center"}, grad=False),
    Case("_contrib_box_nms", [_rows(8, 3, 2)], {"in_format": "center"}, grad=False),
    Case("_contrib_MultiBoxDetection", _FOUR, {"nms_topk": 2}, grad=False),
    Case("_contrib_box_nms", [_rows(6, 4, 2, (2, 2))], {"overlap_thresh": 0.1}),
    Case("_contrib_box_non_maximum_suppression", [_rows(6, 5, 2)], {"overlap_thresh": 0.1}),
    Case("_contrib_MultiBoxPrior", [_MAP], grad=False),
    Case("_contrib_MultiBoxPrior", [(*_MAP, 2)], grad=False),
    Case(
        "_contrib_MultiBoxPrior", [_MAP], {"sizes": (0.5, 0.25), "ratios": (1, 2, 0.5)}, grad=False
    ),
    Case("_contrib_MultiBoxPrior", [_MAP], {"sizes": (0.5, 0.2), "ratios": (2, 0.5)}, grad=False),
    Case(
        "_contrib_MultiBoxPrior",
        [_MAP],
        {"sizes": (0.9,), "clip": True, "steps": (0.3, 0.4), "offsets": (0.1, 0.2)},
        grad=False,
    ),
    *[
        Case("_contrib_MultiBoxTarget", _TARGETS, attrs, grad=False)
        for attrs in (
            {},
            {"overlap_threshold": 0.2},
            {"overlap_threshold": 0},
            {"negative_mining_ratio": 1.5, "overlap_threshold": 0.3},
            {"negative_mining_ratio": 1, "negative_mining_thresh": 0.3, "ignore_label": -5},
            {"negative_mining_ratio": 0.1, "minimum_negative_samples": 2},
            {"variances": (1, 0.5, 0.3, 0.2)},
        )
    ],
    Case(
        "_contrib_MultiBoxTarget",
        [_FOUR[2], _TWINS, (1, 3, 4)],
        {"overlap_threshold": 0.1},
        grad=False,
    ),
    Case("_contrib_MultiBoxTarget", [_ANCHORS, _VOID, (1, 4, 12)], grad=False),
    *[
        Case("_contrib_MultiBoxDetection", _DETECTIONS, attrs, grad=False)
        for attrs in (
            {},
            {"clip": False, "nms_threshold": 0.2},
            {"threshold": 0.7, "nms_threshold": 0.3},
            {"force_suppress": True, "nms_threshold": 0.1},
            {"nms_threshold": 0},
            {"background_id": 1, "variances": (0.2, 0.3, 0.4, 0.5)},
        )
    ],
]
