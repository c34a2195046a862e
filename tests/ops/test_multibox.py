"""MultiBoxTarget on each kind of device against plain loops: ties, crowds, NaN, void rows."""

import jax
import numpy as np
import pytest

from modkit.ops.detection import multibox

VARIANCES = (0.1, 0.1, 0.2, 0.2)


def _overlap(a, b):
    across, down = (min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in (0, 1))
    shared = max(across, 0) * max(down, 0)
    union = sum((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)) - shared
    return shared / union if union > 0 else np.float32(0)


def _plain(anchors, rows, scores, threshold, ratio, limit):
    """Object of each anchor, -1 for none, and whether it is background; the first of equals."""
    void = np.flatnonzero(rows[:, 0] == -1)
    objects = rows[: void[0] if len(void) else None, 1:5]
    if not len(objects):
        return np.full(len(anchors), -1), np.zeros(len(anchors), bool)
    overlaps = np.array([[_overlap(a, b) for b in objects] for a in anchors])
    matched, left = np.full(len(anchors), -1), overlaps.copy()
    while left.max() > 1e-6:
        anchor, thing = divmod(left.argmax(), len(objects))
        matched[anchor] = thing
        left[anchor], left[:, thing] = -1, -1
    most = overlaps.max(1)
    matched = np.where((matched < 0) & (most > threshold), overlaps.argmax(1), matched)
    free = (matched < 0) & (most < limit)
    background = np.asarray(jax.nn.softmax(scores, 0))[0]
    order = np.argsort(np.where(free, background, np.inf), kind="stable")
    chosen = np.zeros(len(anchors), bool)
    chosen[order[: int((matched >= 0).sum() * ratio)]] = True
    return matched, free & chosen


def _boxes(stream, count):
    """Corners on a grid, which makes equal overlaps."""
    low, side = stream.randint(0, 6, (count, 2)), stream.randint(1, 6, (count, 2))
    return np.concatenate([low, low + side], 1) / np.float32(8)


@pytest.mark.parametrize("device", ["cpu", "default"])
@pytest.mark.parametrize(("anchors", "objects"), [(40, 5), (2, 9)])
def test_targets(anchors, objects, device, monkeypatch):
    monkeypatch.setattr(
        multibox.lax, "platform_dependent", lambda *args, **forms: forms[device](*args)
    )
    held = {"overlap_threshold": 0.2, "negative_mining_ratio": 1.5, "negative_mining_thresh": 0.1}
    run = jax.jit(lambda *arrays: multibox.multi_box_target(*arrays, **held))
    stream = np.random.RandomState(0)
    for images in np.split(np.arange(40), 10):
        boxes = _boxes(stream, anchors).astype("float32")
        labels = np.zeros((len(images), objects, 5), "float32")
        for image, rows in zip(images, labels, strict=True):
            rows[:, 0] = np.arange(objects)
            rows[:, 1:] = _boxes(stream, objects)
            rows[stream.randint(objects + 1) :, 0] = -1
            if image % 4 == 1:
                rows[:, 1:] = rows[0, 1:]
        scores = stream.randint(0, 3, (len(images), 3, anchors)).astype("float32")
        scores[2, 0, ::5] = -np.float32(np.nan)
        location, mask, classes = map(np.asarray, run(boxes[None], labels, scores))
        for i in range(len(images)):
            matched, hard = _plain(boxes, labels[i], scores[i], 0.2, 1.5, 0.1)
            want = np.where(matched >= 0, matched + 1, np.where(hard, 0, -1))
            np.testing.assert_array_equal(classes[i], want)
            np.testing.assert_array_equal(mask[i], (matched >= 0).repeat(4))
            thing, have = labels[i, np.maximum(matched, 0), 1:].astype("f8"), boxes.astype("f8")
            side = have[:, 2:] - have[:, :2]
            shift = (thing[:, :2] + thing[:, 2:] - have[:, :2] - have[:, 2:]) / 2 / side
            growth = np.log((thing[:, 2:] - thing[:, :2]) / side)
            want = np.concatenate([shift, growth], 1) / VARIANCES * (matched >= 0)[:, None]
            np.testing.assert_allclose(location[i], want.ravel(), 1e-5, 1e-5)
