"""ROIPooling on each kind of device against plain loops: ties, NaN, half floats, empty bins."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from modkit.ops.detection import roi_pooling as vision

ROIS = [
    # image, left, top, right, bottom
    [0, 0, 0, 8, 6],
    [1, 2, 1, 3, 5],
    [1, 4, 4, 4, 4],
    [0, -3, 2, 20, 4],
    [0, 12, 12, 15, 15],
    [2, 0, 0, 8, 6],
]
SIZE = (2, 3)


def _plain(data, rois, head):
    """Output and gradient, bin by bin; the first of equal pixels has the gradient."""
    out, grad = np.zeros_like(head), np.zeros_like(data)
    height, width = data.shape[2:]
    for r, c, i, j in np.ndindex(*out.shape):
        image, left, top, right, bottom = rois[r]
        tall, broad = (bottom - top + 1) / SIZE[0], (right - left + 1) / SIZE[1]
        rows = range(
            max(int(i * tall // 1) + top, 0), min(int(-(-(i + 1) * tall // 1)) + top, height)
        )
        columns = range(
            max(int(j * broad // 1) + left, 0), min(int(-(-(j + 1) * broad // 1)) + left, width)
        )
        places = [(y, x) for y in rows for x in columns]
        if image < len(data) and places:
            place = places[np.argmax([data[image, c, y, x] for y, x in places])]
            out[r, c, i, j] = data[image, c, *place]
            grad[image, c, *place] += head[r, c, i, j]
    return out, grad


@pytest.mark.parametrize("device", ["cpu", "default"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_roi_pooling(dtype, device, monkeypatch):
    monkeypatch.setattr(
        vision.lax, "platform_dependent", lambda *args, **forms: forms[device](*args)
    )
    stream = np.random.RandomState(0)
    data = stream.choice(
        [0, 1, -1, 2, np.nan, -np.inf], (2, 4, 7, 9), p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.05]
    )
    data[0, 0] = -np.inf
    data = data.astype(dtype)
    head = stream.randint(1, 4, (len(ROIS), 4, *SIZE)).astype(dtype)

    @jax.jit
    def run(x, h):
        regions = jnp.asarray(ROIS, "float32")
        out, pull = jax.vjp(
            lambda x: vision.roi_pooling(x, regions, pooled_size=SIZE, spatial_scale=1.0), x
        )
        return out, pull(h)[0]

    for got, want in zip(run(data, head), _plain(data, ROIS, head), strict=True):
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("count", [3, 7, 14])
def test_edges_of_bins_are_those_of_a_division(count):
    """In a program too, where XLA may multiply by a reciprocal instead."""
    start = np.arange(3, dtype=np.int32).repeat(200)
    end = start + np.tile(np.arange(200, dtype=np.int32), 3)
    width = ((end - start + 1).astype(np.float32) / np.float32(count))[:, None]
    at = np.arange(count, dtype=np.float32)
    begin = np.floor(at * width).astype(int) + start[:, None]
    finish = np.ceil((at + 1) * width).astype(int) + start[:, None]
    got = jax.jit(lambda a, b: vision._bins(a, b, count, 1000))(start, end)
    for ours, theirs in zip(got, (begin, finish), strict=True):
        np.testing.assert_array_equal(ours, theirs)
