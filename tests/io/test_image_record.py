"""ImageRecordIter over images without loss, by what MXNet does with the same ones."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import FileFormatError, NotSupportedError, ParameterError, ShapeError
from modkit.io import recordio
from modkit.io.image_record import resized

pytest.importorskip("PIL")

IMAGES = np.random.default_rng(0).integers(0, 256, (7, 8, 10, 3), np.uint8)
"""Red, green, blue."""


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "x.rec"
    with recordio.MXRecordIO(path, "w") as file:
        for i, image in enumerate(IMAGES):
            blue_first = image[..., ::-1]
            file.write(recordio.pack_img((0, float(i), i, 0), blue_first, 9, ".png"))
    return str(path)


@pytest.fixture
def make(records):
    def make(**kwargs):
        return mx.io.ImageRecordIter(
            **{"path_imgrec": records, "data_shape": (3, 8, 10), "batch_size": 3, **kwargs}
        )

    return make


def labels(it, epochs=1):
    seen = []
    for _ in range(epochs):
        seen.append([(b.label[0].asnumpy().astype(int).tolist(), b.pad) for b in it])
        it.reset()
    return seen


def pixels(it):
    return np.concatenate([b.data[0].asnumpy()[: 3 - b.pad] for b in it]).transpose(0, 2, 3, 1)


def test_images_and_labels_in_order(make):
    it = make()
    assert it.provide_data == [("data", (3, 3, 8, 10))]
    assert it.provide_label == [("softmax_label", (3,))]
    np.testing.assert_array_equal(pixels(it), IMAGES)
    it.reset()
    assert labels(it, 2) == [[([2, 3, 4], 0), ([5, 6, 0], 1)], [([1, 2, 3], 0), ([4, 5, 6], 0)]]


# Recorded from MXNet 1.9.1.
@pytest.mark.parametrize(
    ("seed", "epochs"),
    [
        (0, [[3, 4, 5, 2, 1, 6, 0], [5, 6, 0, 1, 3, 2, 4]]),
        (1, [[1, 4, 3, 2, 0, 6, 5], [1, 6, 0, 4, 5, 3, 2]]),
    ],
)
def test_shuffled_as_mxnet_does(make, seed, epochs):
    it = make(shuffle=True, seed=seed, batch_size=7)
    assert [rows[0][0] for rows in labels(it, 2)] == epochs


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_a_shuffled_stream_has_no_gap(make, size):
    it = make(shuffle=True, batch_size=size)
    seen = [i for rows in labels(it, 4) for ids, _ in rows for i in ids]
    for start in range(0, len(seen) - 6, 7):
        assert sorted(seen[start : start + 7]) == list(range(7))


def test_parts_are_cut_by_bytes(make):
    parts = [labels(make(num_parts=2, part_index=i, batch_size=1))[0] for i in range(2)]
    assert [[ids[0] for ids, _ in part] for part in parts] == [[0, 1, 2, 3], [4, 5, 6]]


def test_the_cut_is_at_the_centre_or_anywhere(make):
    np.testing.assert_array_equal(pixels(make(data_shape=(3, 5, 5))), IMAGES[:, 1:6, 2:7])
    windows = np.lib.stride_tricks.sliding_window_view(IMAGES, (5, 5), axis=(1, 2))
    places = set()
    for image, shown in zip(
        windows, pixels(make(data_shape=(3, 5, 5), rand_crop=True)), strict=True
    ):
        same = (image == shown.transpose(2, 0, 1)).all(axis=(2, 3, 4))
        assert same.sum() == 1
        places.add(tuple(np.argwhere(same)[0]))
    assert len(places) > 2


def test_mirrored(make):
    np.testing.assert_array_equal(pixels(make(mirror=True)), IMAGES[:, :, ::-1])
    shown = pixels(make(rand_mirror=True))
    turned = [(a == b[:, ::-1]).all() for a, b in zip(shown, IMAGES, strict=True)]
    straight = [(a == b).all() for a, b in zip(shown, IMAGES, strict=True)]
    assert all(np.logical_xor(turned, straight))
    assert 0 < sum(turned) < 7


def test_mean_deviation_and_scale(make):
    options = {"mean_r": 10, "mean_g": 20, "mean_b": 30, "std_r": 2, "std_g": 4, "std_b": 8}
    shown = pixels(make(scale=0.5, **options))
    np.testing.assert_allclose(shown, (IMAGES - [10.0, 20, 30]) * 0.5 / [2, 4, 8], rtol=1e-6)


def test_grey_and_bytes(make):
    grey = IMAGES @ [0.299, 0.587, 0.114]
    np.testing.assert_allclose(pixels(make(data_shape=(1, 8, 10)))[..., 0], grey, atol=1)
    it = make(dtype="uint8")
    assert it.provide_data[0].dtype is np.uint8
    assert it.next().data[0].dtype is np.uint8


def test_resized_halves_and_keeps_the_shape():
    image = IMAGES[0]
    half = image.reshape(4, 2, 5, 2, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(resized(image, 4), half, atol=1)
    assert resized(image, 6).shape == (6, 7, 3)
    np.testing.assert_array_equal(resized(image, 8), image)


def test_resized_in_the_iterator(make):
    assert make(resize=4, data_shape=(3, 4, 5)).next().data[0].shape == (3, 3, 4, 5)


@pytest.mark.parametrize(
    ("kwargs", "error", "says"),
    [
        ({"data_shape": (3, 12, 12)}, ShapeError, r"at byte 0: .*smaller than data_shape"),
        ({"data_shape": (2, 8, 10)}, ParameterError, "1 or 3"),
        ({"label_width": 2}, FileFormatError, "has 1 labels"),
        ({"brightness": 0.1}, NotSupportedError, "brightness"),
        ({"shufle": True}, ParameterError, "Did you mean 'shuffle'"),
        ({"part_index": 1}, ParameterError, "part_index"),
        ({"path_imgrec": "gone"}, FileNotFoundError, "gone"),
    ],
)
def test_refusals(make, kwargs, error, says):
    with pytest.raises(error, match=says):
        make(**kwargs).next()


def test_a_record_that_is_no_image(tmp_path):
    with recordio.MXRecordIO(tmp_path / "x", "w") as file:
        file.write(recordio.pack((0, 1, 1, 1), b"nothing"))
    it = mx.io.ImageRecordIter(tmp_path / "x", (3, 4, 4), 1)
    with pytest.raises(FileFormatError, match="no image"):
        it.next()


def test_what_is_not_there_says_what_to_do():
    with pytest.raises(NotSupportedError, match="MXIndexedRecordIO"):
        _ = mx.io.ImageDetRecordIter
    assert not hasattr(mx.io, "ImageRecordInt8Iter")
