"""Operators on regions: both forms of the sums, gradients that the reference lacks, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.errors import DTypeError, ParameterError, ShapeError
from modkit.ops.detection import (
    deformable_convolution,
    greedy_nms,
    psroi_pooling,
    roi_align,
)

C = mx.nd.contrib

ROIS = np.array(
    [[0, 0, 0, 6, 7], [1, 1, 1, 7, 9], [0, -4, -4, 3, 3], [2, 0, 0, 4, 4], [-1, 0, 0, 4, 4]],
    np.float32,
)
TURNED = np.array([[0, 3, 3, 4, 2, 30], [1, 4, 4, 6, 3, -70], [5, 1, 1, 2, 2, 0]], np.float32)


def _align(x, rois=ROIS):
    return roi_align.roi_align(x, rois, pooled_size=(2, 3), spatial_scale=1.0)


def _turned(x, rois=TURNED):
    return roi_align.rotated_roi_align(x, rois, pooled_size=(2, 3), spatial_scale=1.0)


def _by_position(x, rois):
    return psroi_pooling.psroi_pooling(
        x, rois, spatial_scale=1.0, output_dim=2, pooled_size=3, group_size=2
    )


def _with_gradients(operator, head, *arrays):
    """The result, and the gradients for a head of its shape, by one program, traced anew."""

    def run(*arrays):
        out, pull = jax.vjp(operator, *arrays)
        return out, pull(head(out.shape))

    return jax.jit(run)(*arrays)


def _head(shape):
    return np.random.RandomState(1).uniform(-1, 1, shape).astype("float32")


def _many(sides):
    """Regions for several tiles, the last of them not full; every third image is missing."""
    stream = np.random.RandomState(2)
    sizes = stream.uniform(0.5, 9, (203, 2))
    at = stream.uniform(-3, 7, (203, 2))
    ends = [sizes, stream.uniform(-90, 90, (203, 1))] if sides else [at + sizes]
    return np.hstack([np.arange(203)[:, None] % 3, at, *ends]).astype("float32")


@pytest.mark.parametrize(
    ("operator", "rois"),
    [(_align, _many(False)), (_turned, _many(True)), (_by_position, _many(False))],
)
def test_forms_of_both_kinds_of_device_agree_and_the_gradient_is_the_transpose(
    operator, rois, monkeypatch
):
    """On CPUs by tiles of regions, elsewhere all regions at once."""
    data = np.random.RandomState(0).uniform(-1, 1, (2, 8, 8, 9)).astype("float32")
    results = {}
    for device in ("cpu", "default"):
        monkeypatch.setattr(
            jax.lax,
            "platform_dependent",
            lambda *args, device=device, **forms: forms[device](*args),
        )
        out, (grad, _) = _with_gradients(operator, _head, data, rois)
        results[device] = out, grad
    for one, other in zip(results["cpu"], results["default"], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    out, grad = results["cpu"]
    assert np.abs(grad).max() > 0
    # The operator is linear, so <head, f(x)> = <gradient, x>.
    np.testing.assert_allclose((_head(out.shape) * out).sum(), (grad * data).sum(), rtol=1e-4)


def test_images_that_there_are_not_give_zeros():
    aligned, turned = jax.jit(lambda x: (_align(x), _turned(x)))(jnp.ones((2, 3, 8, 9)))
    assert np.asarray(aligned)[:2].min() > 0
    assert np.abs(aligned[3:]).max() == 0
    assert np.abs(turned[2:]).max() == 0


def _plain_modulated(data, offset, mask, weight, pad):
    """Zhu et al., 2019, equation 1, tap by tap; the image goes on with zeros."""
    count, channels, height, width = data.shape
    filters, _, kh, kw = weight.shape
    down, across = offset.shape[2:]

    def read(n, y, x):
        total = np.zeros(channels)
        for v in (int(np.floor(y)), int(np.floor(y)) + 1):
            for u in (int(np.floor(x)), int(np.floor(x)) + 1):
                if 0 <= v < height and 0 <= u < width:
                    total += (1 - abs(y - v)) * (1 - abs(x - u)) * data[n, :, v, u]
        return total

    out = np.zeros((count, filters, down, across))
    for n, i, j, tap in np.ndindex(count, down, across, kh * kw):
        y = i - pad + tap // kw + offset[n, 2 * tap, i, j]
        x = j - pad + tap % kw + offset[n, 2 * tap + 1, i, j]
        taps = weight[:, :, tap // kw, tap % kw]
        out[n, :, i, j] += mask[n, tap, i, j] * taps @ read(n, y, x)
    return out


def test_gradients_of_modulated_deformable_convolution():
    """The reference has them on GPUs only: they are differences of the paper's formula."""
    stream = np.random.RandomState(2)
    arrays = [
        stream.uniform(-1, 1, (1, 2, 4, 3)),
        stream.uniform(-1.5, 1.5, (1, 8, 5, 4)),
        stream.uniform(0, 1, (1, 4, 5, 4)),
        stream.uniform(-1, 1, (3, 2, 2, 2)),
    ]
    head = stream.uniform(-1, 1, (1, 3, 5, 4))

    def run(*arrays):
        return deformable_convolution.modulated_deformable_convolution(
            *arrays, kernel=(2, 2), num_filter=3, pad=(1, 1), no_bias=True
        )

    inputs = [np.float32(a) for a in arrays]
    out, grads = _with_gradients(run, lambda _: np.float32(head), *inputs)
    np.testing.assert_allclose(out, _plain_modulated(*arrays, 1), rtol=1e-4, atol=1e-5)
    for at, grad in enumerate(grads):
        for index in stream.choice(arrays[at].size, 12, replace=False):
            sides = []
            for step in (1e-4, -1e-4):
                moved = [a.copy() for a in arrays]
                moved[at].flat[index] += step
                sides.append((_plain_modulated(*moved, 1) * head).sum())
            want = (sides[0] - sides[1]) / 2e-4
            assert np.asarray(grad).flat[index] == pytest.approx(want, rel=1e-2, abs=1e-3)


def test_half_floats_are_summed_in_float32():
    data = np.random.RandomState(0).uniform(-1, 1, (2, 8, 8, 9)).astype("float16")
    out, wide = jax.jit(lambda *images: [_align(x) for x in images])(data, np.float32(data))
    assert out.dtype == "float16"
    np.testing.assert_allclose(out, wide, atol=1e-3)


C, ONES = mx.nd.contrib, mx.nd.ones


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: C.bipartite_matching(ONES((3,)), threshold=0.5), ShapeError, "(..., N, M)"),
        (
            lambda: C.bipartite_matching(ONES((3, 3), dtype="int32"), threshold=0.5),
            DTypeError,
            "floating point",
        ),
        (
            lambda: C.box_encode(*(ONES(s) for s in [(1, 4), (1, 4), (1, 4, 4), (1, 3), 4, 4])),
            ShapeError,
            "(B, M, 4)",
        ),
        (lambda: C.box_decode(ONES((2, 4, 4)), ONES((2, 4, 4))), ShapeError, "(1, N, 4)"),
        (
            lambda: C.ROIAlign(
                ONES((1, 4, 5, 5)), ONES((2, 4)), pooled_size=(2, 2), spatial_scale=1
            ),
            ShapeError,
            "(R, 5)",
        ),
        (
            lambda: C.ROIAlign(ONES((1, 4, 5, 5)), ONES((2, 5)), pooled_size=(2,), spatial_scale=1),
            ParameterError,
            "(height, width)",
        ),
        (
            lambda: C.ROIAlign(
                ONES((1, 5, 5, 5)),
                ONES((2, 5)),
                pooled_size=(2, 2),
                spatial_scale=1,
                position_sensitive=True,
            ),
            ShapeError,
            "a multiple of the 4 bins",
        ),
        (
            lambda: C.PSROIPooling(
                ONES((1, 7, 5, 5)), ONES((2, 5)), spatial_scale=1, output_dim=2, pooled_size=2
            ),
            ShapeError,
            "expected 8",
        ),
        *(
            (
                lambda factor=factor: C.DeformablePSROIPooling(
                    ONES((1, 8, 5, 5)),
                    ONES((2, 5)),
                    ONES((2, 2, 2, 2)),
                    spatial_scale=1,
                    output_dim=2,
                    pooled_size=2,
                    group_size=2,
                    trans_std=factor,
                ),
                ParameterError,
                f"trans_std: got {factor}, expected a number from 0 to 1",
            )
            for factor in (-0.1, 1.1)
        ),
        (
            lambda: C.DeformableConvolution(
                ONES((1, 4, 5, 5)),
                ONES((1, 17, 3, 3)),
                ONES((2, 4, 3, 3)),
                kernel=(3, 3),
                num_filter=2,
                no_bias=True,
            ),
            ShapeError,
            "expected (1, 18, 3, 3)",
        ),
        (
            lambda: C.Proposal(ONES((2, 24, 3, 3)), ONES((2, 48, 3, 3)), ONES((2, 3))),
            ShapeError,
            "_contrib_MultiProposal takes a batch",
        ),
        (
            lambda: C.MultiProposal(ONES((1, 24, 3, 3)), ONES((1, 44, 3, 3)), ONES((1, 3))),
            ShapeError,
            "12 anchors",
        ),
    ],
)
def test_bad_input_is_refused(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


def test_shapes_of_learnable_inputs_are_inferred():
    data, offset = mx.sym.Variable("data"), mx.sym.Variable("offset")
    net = mx.sym.contrib.DeformableConvolution(
        data, offset, kernel=(3, 3), pad=(1, 1), num_filter=6, num_deformable_group=2, name="d"
    )
    shapes, out, _ = net.infer_shape(data=(2, 4, 7, 8))
    named = dict(zip(net.list_arguments(), shapes, strict=True))
    assert named["offset"] == (2, 36, 7, 8)
    assert named["d_weight"] == (6, 4, 3, 3)
    assert named["d_bias"] == (6,)
    assert out == [(2, 6, 7, 8)]


@pytest.mark.parametrize(
    "run",
    [
        lambda r, n: C.box_nms(mx.nd.array(r.uniform(size=(2, n, 6)))),
        lambda r, n: C.MultiBoxDetection(
            mx.nd.array(r.uniform(size=(1, 3, n))),
            mx.nd.array(r.uniform(size=(1, 4 * n))),
            mx.nd.array(r.uniform(size=(1, n, 4))),
        ),
    ],
    ids=["box_nms", "MultiBoxDetection"],
)
def test_new_numbers_of_boxes_compile_nothing(run, compilations):
    stream = np.random.RandomState(0)
    assert compilations.during(lambda: [run(stream, n).asnumpy() for n in (7, 12, 33)]) == []


def test_equal_scores_keep_their_order():
    rows = np.array([[0, 0, 0, 1, 1], [-0.0, 2, 2, 3, 3], [0, 4, 4, 5, 5]], np.float32)
    found = C.box_nms(mx.nd.array(rows), valid_thresh=-1, coord_start=1, score_index=0, id_index=-1)
    assert found.asnumpy()[:, 1].tolist() == [0, 2, 4]


def greedy(boxes, alive, ids, edge, most):
    """Kept boxes, by the definition."""
    kept = []
    for i in np.flatnonzero(alive):
        for j in kept:
            sides = np.minimum(boxes[i, 2:], boxes[j, 2:]) - np.maximum(boxes[i, :2], boxes[j, :2])
            shared = np.maximum(sides + edge, 0).prod()
            areas = [(b[2:] - b[:2] + edge).prod() for b in (boxes[i], boxes[j])]
            if ids[i] == ids[j] and shared / (sum(areas) - shared) >= 0.3:
                break
        else:
            kept.append(i)
    return kept[:most]


@pytest.mark.parametrize("form", ["_one_by_one", "_by_tiles"])
@pytest.mark.parametrize(("classes", "edge", "most"), [(1, 0, None), (3, 1, None), (1, 0, 20)])
def test_suppression_of_boxes(form, classes, edge, most, monkeypatch):
    monkeypatch.setattr(greedy_nms, "_TILE", 16)
    stream = np.random.RandomState(0)
    low = stream.randint(0, 12, (100, 2))
    boxes = np.concatenate([low, low + stream.randint(1, 6, (100, 2))], 1).astype("float32")
    alive, ids = stream.rand(100) < 0.9, stream.randint(0, classes, 100)
    kept = jax.jit(
        lambda boxes, alive, ids: getattr(greedy_nms, form)(
            boxes, alive, lambda overlaps: overlaps >= 0.3, ids, edge, most
        )
    )(boxes, alive, ids if classes > 1 else None)
    wanted = greedy(boxes.astype(float), alive, ids, edge, most)
    assert np.flatnonzero(kept).tolist() == wanted
    assert len(wanted) in range(10, 60)
