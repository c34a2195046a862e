"""ImageDetRecordIter, by what MXNet 1.9.1 does with the same records."""

import io

import numpy as np
import pytest

import modkit as mx
from modkit.errors import FileFormatError, MXNetError, NotSupportedError, ParameterError
from modkit.io import recordio

Image = pytest.importorskip("PIL.Image")

BOXES = (1, 2, 3, 1, 2)
"""Boxes of each image."""


def box(i, j):
    return [j % 3, 0.1 * j, 0.05 * i, 0.5 + 0.1 * j, 0.6 + 0.05 * i]


LABELS = [[2, 5, *np.ravel([box(i, j) for j in range(n)])] for i, n in enumerate(BOXES)]


def write(path, labels):
    """Images of 24 rows and 32 columns of (10 i, 20 i, 30), with 100 more red in the upper half."""
    with recordio.MXRecordIO(path, "w") as file:
        for i, label in enumerate(labels):
            pixels = np.full((24, 32, 3), (10 * i, 20 * i, 30), np.uint8)
            pixels[:12, :, 0] += 100
            png = io.BytesIO()
            Image.fromarray(pixels).save(png, "PNG")
            header = recordio.IRHeader(0, np.array(label, np.float32), i, 0)
            file.write(recordio.pack(header, png.getvalue()))
    return str(path)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return write(tmp_path_factory.mktemp("boxes") / "x.rec", LABELS)


@pytest.fixture
def make(records):
    def make(**options):
        given = {"path_imgrec": records, "data_shape": (3, 24, 32), "batch_size": 2, **options}
        return mx.io.ImageDetRecordIter(**given)

    return make


def first(it):
    batch = it.next()
    return batch.data[0].asnumpy(), batch.label[0].asnumpy()


def test_the_bits_of_normalised_pixels_are_those_of_mxnet(make):
    """Divided first, unlike those of `ImageRecordIter`."""
    pixels = first(make())[0]
    seen = first(make(mean_r=123.68, mean_b=0.4, std_r=58.393, std_g=3.0, scale=1 / 255))[0]
    mean, std = np.float32([123.68, 0, 0.4]), np.float32([58.393, 3, 1])
    expected = (pixels - mean[:, None, None]) / std[:, None, None] * np.float32(1 / 255)
    np.testing.assert_array_equal(seen, expected)


def test_batches_in_order(make):
    it = make()
    assert it.provide_data == [("data", (2, 3, 24, 32))]
    assert it.provide_label == [("softmax_label", (2, 21))]
    rows, corners, orders = [], [], []
    for batch in it:
        rows += batch.label[0].asnumpy().tolist()
        corners += batch.data[0].asnumpy()[:, :, 0, 0].tolist()
        orders.append((batch.index.tolist(), batch.pad))
    for i, row in zip((0, 1, 2, 3, 4, 0), rows, strict=True):
        label = [3, 24, 32, len(LABELS[i]), *LABELS[i]]
        np.testing.assert_allclose(row, label + [-1] * (21 - len(label)), rtol=1e-6)
    assert corners == [[100 + 10 * i, 20 * i, 30] for i in (0, 1, 2, 3, 4, 0)]
    assert orders == [([0, 1], 0), ([2, 3], 0), ([4, 0], 1)]
    it.reset()
    assert [b.index.tolist() for b in it] == [[1, 2], [3, 4]]
    without = make(round_batch=False)
    assert [(b.index.tolist(), b.pad) for b in without][-1] == ([4, 3], 1)


@pytest.mark.parametrize(
    ("options", "width"),
    [
        ({"label_pad_width": 20}, 24),
        ({"label_pad_width": -1}, 21),
        ({"label_pad_width": 24, "label_pad_value": -7}, 28),
        ({"num_parts": 2, "part_index": 1}, 16),
    ],
)
def test_labels_are_padded(make, options, width):
    it = make(**options)
    assert it.provide_label[0].shape == (2, width)
    label = first(it)[1][0]
    assert (label[4 + int(label[3]) :] == options.get("label_pad_value", -1)).all()


# Options, and the upper left pixel of the first two images in MXNet 1.9.1.
SCALED = [
    ({"mean_r": 10, "mean_g": 20, "mean_b": 30}, [[90, -20, 0], [100, 0, 0]]),
    ({"std_r": 2}, [[50, 0, 30], [55, 20, 30]]),
    ({"scale": 0.5, "mean_r": 10}, [[45, 0, 15], [50, 10, 15]]),
    (
        {"mean_r": 10, "mean_g": 20, "mean_b": 30, "std_r": 2, "std_g": 4, "std_b": 5,
         "scale": 0.5}, [[22.5, -2.5, 0], [25, 0, 0]],
    ),
    ({"data_shape": (1, 24, 32)}, [[33], [48]]),
]  # fmt: skip


@pytest.mark.parametrize(("options", "pixels"), SCALED)
def test_pixels_are_scaled(make, options, pixels):
    np.testing.assert_allclose(first(make(**options))[0][:, :, 0, 0], pixels, atol=1e-5)


# Mode, data_shape; height and width in the label, red in the first column of the first image.
RESIZED = [
    ("force", (17, 13), (17, 13), [100] * 8 + [50] + [0] * 8),
    ("shrink", (12, 12), (9, 12), [100] * 4 + [50] + [0] * 7),
    ("shrink", (40, 48), (24, 32), [100] * 12 + [0] * 28),
    ("shrink", (48, 29), (21, 29), None),
    ("shrink", (17, 99), (17, 22), None),
    ("fit", (48, 40), (30, 40), [100] * 14 + [90, 10] + [0] * 32),
    ("fit", (48, 37), (27, 37), None),
    ("fit", (37, 99), (37, 49), None),
]


@pytest.mark.parametrize(("mode", "shape", "size", "column"), RESIZED)
def test_resize_modes(make, mode, shape, size, column):
    data, label = first(make(data_shape=(3, *shape), resize_mode=mode))
    assert tuple(label[0, 1:3]) == size
    assert data.shape == (2, 3, *shape)
    if column:
        np.testing.assert_array_equal(data[0, 0, :, 0], column)
        assert not data[0, :, size[0] :].any() and not data[0, :, :, size[1] :].any()


def test_resize_comes_first(make):
    data, _ = first(make(data_shape=(3, 17, 13), resize=10, inter_method=0))
    np.testing.assert_array_equal(data[0, 0, :, 0], [100] * 9 + [0] * 8)


def test_mirrored_boxes_and_images(make, tmp_path):
    path = write(tmp_path / "m", [[2, 5, 0, -0.1, 0.1, 1.5, 0.5, 1, 0.2, 0.2, 0.9, 0.9]])
    label = first(make(path_imgrec=path, batch_size=1, rand_mirror_prob=1))[1][0]
    np.testing.assert_allclose(label[6:11], [0, -0.5, 0.1, 1.1, 0.5], rtol=1e-5)
    np.testing.assert_allclose(label[11:], [1, 0.1, 0.2, 0.8, 0.9], rtol=1e-5)
    it = make(batch_size=1, rand_mirror_prob=0.5)
    lefts = []
    for _ in range(8):
        lefts += [float(b.label[0].asnumpy()[0, 7]) for b in it]
        it.reset()
    assert 8 < lefts.count(0.5) < 32


def test_boxes_without_area_are_left_out(make, tmp_path):
    flat, narrow = [1, 0.1, 0.5, 0.5, 0.5], [1, 0.5, 0.1, 0.1, 0.5]
    labels = [[4, 5, 32, 24, 1, 0.1, 0.1, 0.5, 0.5], [2, 5, *flat, *narrow]]
    label = first(make(path_imgrec=write(tmp_path / "a", labels)))[1]
    np.testing.assert_allclose(label[0, 3:9], [9, 4, 5, 32, 24, 1])
    assert label[1].tolist() == [3, 24, 32, 2, 2, 5] + [-1] * 10


def test_labels_of_a_list(make, tmp_path):
    (tmp_path / "list").write_text(
        "".join(f"{i}\t2\t5\t{i}\t0\t0\t1\t1\tx.png\n" for i in range(5))
    )
    it = make(path_imglist=str(tmp_path / "list"))
    assert it.provide_label[0].shape == (2, 11)
    assert first(it)[1][1].tolist() == [3, 24, 32, 7, 2, 5, 1, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("seed", "orders"),
    [(0, [[1, 2, 4, 3, 0], [4, 2, 1, 3, 0]]), (1, [[4, 3, 0, 2, 1], [0, 2, 4, 3, 1]])],
)
def test_orders_are_those_of_mxnet(make, seed, orders):
    it = make(batch_size=1, shuffle=True, seed=seed)
    for order in orders:
        assert [int(b.index[0]) for b in it] == order
        it.reset()


def test_a_drawn_interpolation_comes_from_the_seed(make):
    options = {"inter_method": 10, "data_shape": (3, 17, 13)}
    runs = [[b.data[0].asnumpy() for b in make(**options, seed=seed)] for seed in (1, 1, 2)]
    np.testing.assert_array_equal(*runs[:2])
    assert not np.array_equal(*runs[1:])


def test_a_place_is_kept(make):
    it, other = (make(batch_size=1, shuffle=True, rand_mirror_prob=0.5) for _ in range(2))
    list(it)
    it.reset()
    it.next()
    state = it.state_dict()
    want = [b.label[0].asnumpy().tolist() for b in it]
    other.load_state_dict(state)
    assert [b.label[0].asnumpy().tolist() for b in other] == want


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"label_pad_width": 10}, ParameterError, "got 10, expected 17"),
        ({"label_width": 7}, FileFormatError, "length 12, but label_width is 7"),
        ({"min_crop_scales": (0.5,), "max_crop_scales": (0.2,)}, ParameterError, "0.5 and 0.2"),
        ({"crop_emit_mode": "x"}, MXNetError, "crop_emit_mode"),
        ({"mean_img": "x"}, NotSupportedError, "mean_img"),
        ({"dtype": "uint8"}, MXNetError, "dtype"),
        ({"resize_mode": "stretch"}, MXNetError, "resize_mode"),
        ({"data_shape": (24, 32)}, ParameterError, "data_shape"),
    ],
)
def test_what_is_refused(make, options, error, told):
    with pytest.raises(error, match=told):
        make(**options)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "label",
    [[2, 5], [3], [2, 5, 0, 0, 0, 1], [2, 4, 0, 0, 0, 1, 1, 1, 1, 1], [NAN, 5, 0, 0, 0, 1, 1],
     [2, NAN, 0, 0, 0, 1, 1], [2, INF, 0, 0, 0, 1, 1], [-INF, 5, 0, 0, 0, 1, 1],
     [12, 5, 0, 0, 0, 1, 1]],
)  # fmt: skip
def test_labels_without_boxes_are_refused(make, tmp_path, label):
    it = make(path_imgrec=write(tmp_path / "bad", [label]), batch_size=1)
    with pytest.raises(FileFormatError, match="at byte 0: got a label of"):
        it.next()


def test_random_changes(make):
    """They differ from epoch to epoch, and come again by their seed."""
    options = {
        "rand_crop_prob": 0.5, "min_crop_scales": "(0.3,)", "max_crop_scales": (0.9,),
        "rand_pad_prob": 0.5, "max_pad_scale": 2, "resize_mode": "shrink", "fill_value": 250,
        "random_hue_prob": 0.5, "max_random_hue": 10, "batch_size": 3, "data_shape": (3, 60, 80),
    }  # fmt: skip

    def epochs(**more):
        it = make(**options, **more)
        made = []
        for _ in range(4):
            made += [b for batch in it for b in (*batch.data, *batch.label)]
            it.reset()
        return [array.asnumpy() for array in made]

    one, again, other = epochs(), epochs(), epochs(seed=3)
    assert all((a == b).all() for a, b in zip(one, again, strict=True))
    assert any((a != b).any() for a, b in zip(one, other, strict=True))
    labels = np.concatenate(one[1::2])
    assert len(np.unique(labels[:, 1:3], axis=0)) > 4
    assert np.concatenate([image.ravel() for image in one[::2]]).max() == 250


def test_parameters_without_effect_are_taken(make):
    make(
        min_crop_scales=(0.3,), num_crop_sampler=3, max_pad_scale=2, fill_value=9, verbose=False,
        mean_a=1, aug_seq="det_aug_default", prefetch_buffer=2, rand_crop_prob=0,
    )  # fmt: skip


def test_a_damaged_record_is_named_when_labels_are_measured(make, tmp_path):
    with recordio.MXRecordIO(tmp_path / "bad.rec", "w") as file:
        file.write(b"short")
    with pytest.raises(FileFormatError, match=r"bad\.rec: at byte 0: unpack: got 5 bytes"):
        make(path_imgrec=tmp_path / "bad.rec")
    path = write(tmp_path / "two", LABELS[:2])
    with pytest.raises(
        FileFormatError, match=r"two: at byte \d+: an image has a label of length 12, but"
    ):
        make(path_imgrec=path, label_width=7)
