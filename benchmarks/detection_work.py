"""The rows of `benchmarks.detection`, and their worker process; compatible with Python 3.8.

    python -m benchmarks.detection_work modkit

The worker answers as that of `benchmarks.sweep_work`.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks.layers_work import Row, generator, layer
from benchmarks.sweep_work import serve

MOVED = ("loc", "deltas")  # inputs around 0; other inputs that are no boxes are scores
SIDES = {"rois": 50, "lhs": 1, "rhs": 1, "anchors": 1, "labels": 1, "rows": 1}  # of images of boxes


class Scene(Row):
    """A row with inputs that are boxes."""

    def draw(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """The values of an argument, equal in all processes."""
        random = generator(name)
        if name in MOVED:
            return super().draw(name, shape)
        if name == "info":
            return np.tile(np.float32([600, 800, 1]), (shape[0], 1))
        made = random.uniform(size=shape).astype(np.float32)
        if name not in SIDES:
            return made
        ends = made[..., -4:] * SIDES[name]
        made[..., -4:-2] = np.minimum(ends[..., :2], ends[..., 2:])
        made[..., -2:] = np.maximum(ends[..., :2], ends[..., 2:])
        if name == "rois":
            made[:, 0] = random.randint(0, 2, len(made))
        if name == "labels":
            made[..., 0] = random.randint(0, 20, made.shape[:-1])
            made[:, made.shape[1] // 2 :] = -1  # void rows
        return made


def _regions(op: str, count: int, channels: int, **attributes: Any) -> list[Scene]:
    """Regions of two images, in the forward pass and in both."""
    build = layer(op, pooled_size=(7, 7), spatial_scale=1.0, **attributes)
    shapes = {"data": (2, channels, 50, 50), "rois": (count, 5)}
    held = {"rois": (0, 1)}
    return [
        Scene(f"{op.split('.')[-1]}{said}", build, shapes, held, trained=trained)
        for said, trained in (("", False), (", both passes", True))
    ]


def _alone(op: str, shapes: dict[str, tuple[int, ...]], said: str = "", **attributes: Any) -> Scene:
    """An operator without a backward pass."""
    title = op.split(".")[-1] + said
    return Scene(title, layer(op, **attributes), shapes, trained=False)


def _targets(images: int, anchors: int, objects: int, **attributes: Any) -> Scene:
    shapes = {"anchors": (1, anchors, 4), "labels": (images, objects, 5)}
    shapes["scores"] = (images, 21, anchors)
    said = ", mining 3 to 1" if attributes else ""
    return _alone("contrib.MultiBoxTarget", shapes, said, **attributes)


MINING = {"negative_mining_ratio": 3.0, "negative_mining_thresh": 0.5}

ROWS = [
    *(each for sizes in ((300, 256), (300, 16), (20_000, 16), (20_000, 4))
      for each in _regions("ROIPooling", *sizes)),
    *(each for sizes in ((300, 256), (20_000, 16), (20_000, 4))
      for each in _regions("contrib.ROIAlign", *sizes, sample_ratio=2)),
    _targets(32, 8732, 50, **MINING),
    _targets(4, 20_000, 32, **MINING),
    _targets(4, 20_000, 32),
    _alone("contrib.MultiBoxDetection",
           {"scores": (4, 21, 20_000), "loc": (4, 80_000), "anchors": (1, 20_000, 4)},
           nms_topk=400),
    _alone("contrib.box_nms", {"rows": (4, 20_000, 6)}, coord_start=2, score_index=1, id_index=0,
           topk=400),
    _alone("contrib.box_iou", {"lhs": (20_000, 4), "rhs": (50, 4)}),
    _alone("contrib.bipartite_matching", {"scores": (4, 20_000, 32)}, threshold=0.5),
    _alone("contrib.MultiProposal",
           {"scores": (2, 24, 38, 50), "deltas": (2, 48, 38, 50), "info": (2, 3)},
           rpn_post_nms_top_n=300),
]  # fmt: skip


if __name__ == "__main__":
    serve(sys.argv[1], ROWS)
