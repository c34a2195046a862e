"""ImageRecordIter over images without loss, by what MXNet does with the same ones."""

import io
import threading

import numpy as np
import pytest

import modkit as mx
from modkit.errors import FileFormatError, NotSupportedError, ParameterError, ShapeError
from modkit.io import image_augmentation, image_decoding, image_record_base, recordio
from modkit.io.image_record_base import resized

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


def test_a_negative_seed_is_that_of_mxnet(make):
    for each in (-1, np.int64(-1)):
        assert next(make(shuffle=True, seed=each)).index.tolist() == [1, 4, 5]
    assert next(make(seed=-(2**31))).index.tolist() == [0, 1, 2]


def test_a_batch_is_aligned_for_programs(make):
    assert next(make()).data[0]._cell.rows.ctypes.data % 64 == 0


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


def test_an_epoch_that_is_left_waits_for_no_thread(make, monkeypatch):
    """Garbage collection may end it while `threading` holds the lock that a join takes."""
    joined = []
    rows = make()._epoch()
    next(rows)
    monkeypatch.setattr(threading.Thread, "join", lambda self, timeout=None: joined.append(self))
    rows.close()
    assert joined == []


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


# MXNet 1.9.1: a part begins with an indexed record, and the last ends with the file.
@pytest.mark.parametrize(
    ("keys", "parts"),
    [
        (range(7), [[0, 1, 2], [3, 4, 5], [6]]),
        ([6, 2, 4, 0, 1, 3, 5], [[0, 1, 2, 3], [4, 5, 6]]),
        ([5, 3, 1], [[1, 2, 3, 4], [5, 6]]),
        ([5, 3, 1], [[1, 2, 3, 4, 5, 6]]),
        ([5, 3, 1], [[1, 2], [3, 4], [5, 6], []]),
    ],
)
def test_parts_of_an_index_have_equal_numbers_of_its_records(make, records, tmp_path, keys, parts):
    index = tmp_path / "x.idx"
    with recordio.MXRecordIO(records, "r") as file:
        offsets, _ = file.places()
    index.write_text("".join(f"{key}\t{offsets[key]}\n" for key in keys))
    given = {"num_parts": len(parts), "path_imgidx": str(index), "batch_size": 1}
    found = [labels(make(part_index=i, **given))[0] for i in range(len(parts))]
    assert [[ids[0] for ids, _ in part] for part in found] == parts
    assert labels(mx.io.ImageRecordIter_v1(
        path_imgrec=records, data_shape=(3, 8, 10), part_index=0, **{**given, "num_parts": 2}
    ))[0][-1] == ([3], 0)  # which reads no index  # fmt: skip


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
        (
            {"min_crop_size": 9, "max_crop_size": 9},
            ShapeError,
            r"at byte 0: .*crop of 9 x 9 .* of \(8, 10\)",
        ),
        ({"data_shape": (2, 8, 10)}, ParameterError, "1 or 3"),
        ({"label_width": 2}, FileFormatError, "has a label of length 1, but"),
        ({"label_width": -1}, ParameterError, "label_width: got -1, expected a positive"),
        ({"aug_seq": "mine"}, NotSupportedError, "aug_seq"),
        ({"max_random_scale": 0.5}, ParameterError, "above max_random_scale"),
        ({"inter_method": 7, "resize": 12}, ParameterError, "interp"),
        ({"path_imglist": "gone"}, FileNotFoundError, "gone"),
        ({"path_imgidx": "/dev/null"}, FileFormatError, "got no lines, expected one for each"),
        ({"part_index": 1}, ParameterError, "part_index"),
        ({"path_imgrec": "gone"}, FileNotFoundError, "gone"),
    ],
)
def test_refusals(make, kwargs, error, says):
    with pytest.raises(error, match=says):
        make(**kwargs).next()


def test_a_parameter_that_no_iterator_has_is_a_warning(make):
    with pytest.warns(UserWarning, match="no parameter 'shufle'. Did you mean 'shuffle'"):
        make(shufle=True)


def test_a_record_that_is_no_image(tmp_path):
    with recordio.MXRecordIO(tmp_path / "x", "w") as file:
        file.write(recordio.pack((0, 1, 1, 1), b"nothing"))
    it = mx.io.ImageRecordIter(tmp_path / "x", (3, 4, 4), 1)
    for _ in range(2):  # it does not look like the end of an epoch
        with pytest.raises(FileFormatError, match="no image"):
            it.next()
    it.reset()
    with pytest.raises(FileFormatError, match="no image"):
        it.next()


LARGE = {"data_shape": (3, 12, 15)}
CHANGED = [
    # options; in MXNet 1.9.1: mean of the first image, green of 5 pixels in its middle row
    ({"pad": 2, "fill_value": 7, "data_shape": (3, 12, 14)}, 65.02, [7, 7, 39, 73, 44]),
    ({"rotate": 90, "fill_value": 9}, 102.61, [9, 184, 170, 7, 231]),
    ({"rotate": 30}, 150.16, [149, 175, 168, 199, 146]),
    ({"max_random_scale": 1.5, "min_random_scale": 1.5, **LARGE}, 135.41, [39, 61, 63, 44, 159]),
    ({"max_aspect_ratio": 1.5, "min_aspect_ratio": 1.5, "max_random_scale": 2,
      "min_random_scale": 2}, 122.88, [48, 132, 201, 111, 64]),
    ({"resize": 12, "inter_method": 0, **LARGE}, 129.3, [39, 39, 73, 44, 44]),
    ({"resize": 12, "inter_method": 1, **LARGE}, 128.75, [61, 76, 88, 79, 146]),
    ({"resize": 12, "inter_method": 2, **LARGE}, 128.74, [53, 75, 88, 62, 166]),
    ({"resize": 4, "inter_method": 3, "data_shape": (3, 4, 5)}, 128.93, [57, 83, 72, 115, 28]),
    ({"resize": 12, "inter_method": 4, **LARGE}, 128.7, [46, 87, 88, 60, 175]),
    ({"max_crop_size": 6, "min_crop_size": 6, "data_shape": (3, 8, 8)}, 125.92,
     [69, 160, 169, 90, 72]),
    ({"data_shape": (3, 12, 12)}, 128.28, [76, 88, 79, 146, 195]),
    ({"data_shape": (3, 9, 14)}, 128.07, [105, 117, 131, 152, 185]),
    ({"data_shape": (3, 12, 12), "resize": 5}, 121.56, [106, 117, 128, 136, 145]),
    ({"data_shape": (3, 12, 9), "pad": 1}, 154.94, [70, 71, 116, 189, 85]),
    ({"data_shape": (3, 9, 12), "inter_method": 9}, 128.66, [110, 122, 127, 205, 210]),
]  # fmt: skip


@pytest.mark.parametrize(("options", "mean", "row"), CHANGED, ids=lambda v: str(v)[:40])
def test_changes_beside_mxnet(make, options, mean, row):
    """OpenCV's numbers are of fixed point: positions of 1/32 pixel where images are turned."""
    image = make(**options).next().data[0].asnumpy()[0]
    assert image.mean() == pytest.approx(mean, abs=0.3)
    np.testing.assert_allclose(image[1, image.shape[1] // 2, :5], row, atol=2)


RANDOM = [
    {"max_rotate_angle": 30},
    {"max_shear_ratio": 0.3},
    {"max_aspect_ratio": 0.3, "max_random_scale": 2.0, "min_random_scale": 1.5},
    {"random_resized_crop": True, "min_random_area": 0.2},
    {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4},
    {"pca_noise": 0.5},
    {"random_h": 36, "random_s": 50, "random_l": 50},
    {"max_random_contrast": 0.3, "max_random_illumination": 20},
    {"min_crop_size": 4, "max_crop_size": 8, "data_shape": (3, 8, 8), "rand_crop": True},
    {"inter_method": 10, "resize": 13},
]


@pytest.mark.parametrize("options", RANDOM, ids=lambda v: next(iter(v)))
def test_random_changes_come_from_the_seed(make, options):
    first, again, other = (pixels(make(seed_aug=seed, **options)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert first.shape == other.shape and not np.array_equal(first, other)
    changed = np.abs(first - other).reshape(7, -1).max(1)
    assert (changed > 0).sum() >= 5  # each image has numbers of its own


@pytest.mark.parametrize("name", ["brightness", "contrast", "saturation", "pca_noise"])
@pytest.mark.parametrize("dtype", ["float32", "uint8", "int8"])
def test_changed_colours_are_whole_numbers_from_0_to_255(make, name, dtype):
    """As MXNet's are: a bright pixel does not become a dark one."""
    options = {name: 0.9, "dtype": dtype, "batch_size": 7}
    seen = next(make(**options)).data[0].asnumpy().transpose(0, 2, 3, 1)
    assert (seen == np.rint(seen)).all()
    assert seen.min() >= 0
    assert seen.max() == {"float32": 255, "uint8": 255, "int8": 127}[dtype]
    if name == "brightness":  # all pixels become brighter, or darker
        change = seen.astype(int) - IMAGES.clip(0, 127 if dtype == "int8" else 255)
        assert all((each >= 0).all() or (each <= 0).all() for each in change)


NORMAL = {
    "mean_r": 123.68, "mean_g": 116.5, "mean_b": -0.4,
    "std_r": 58.393, "std_g": 3.0, "std_b": 57.375, "scale": 1 / 255,
}  # fmt: skip
"""Means, deviations and a factor, of which MXNet makes the numbers below."""


def test_the_bits_of_normalised_pixels_are_those_of_mxnet(make):
    mean, std = (np.float32([NORMAL[f"{n}_{c}"] for c in "rgb"]) for n in ("mean", "std"))
    expected = (IMAGES[:3].astype(np.float32) - mean) * (np.float32(1 / 255) / std)
    seen = next(make(**NORMAL)).data[0].asnumpy()
    np.testing.assert_array_equal(seen, expected.transpose(0, 3, 1, 2))


def test_bytes_take_no_deviation_and_signed_ones_a_whole_mean(make):
    seen = {n: next(make(dtype=n, **NORMAL)).data[0].asnumpy() for n in ("uint8", "int8")}
    first = IMAGES[:3].transpose(0, 3, 1, 2)
    np.testing.assert_array_equal(seen["uint8"], first)
    mean = np.array([124, 117, 0]).reshape(3, 1, 1)
    np.testing.assert_array_equal(seen["int8"], (first.astype(int) - mean).clip(-128, 127))


def test_a_deviation_of_zero_is_refused(make):
    with pytest.raises(ParameterError, match="std_g: got 0"):
        make(std_g=0.0)


def test_records_of_several_files_follow_each_other_as_in_mxnet(make, records, tmp_path):
    other = tmp_path / "folder" / "y.rec"
    other.parent.mkdir()
    with recordio.MXRecordIO(other, "w") as file:
        file.write(recordio.pack_img((0, 7.0, 7, 0), IMAGES[0], 9, ".png"))
        file.write(recordio.pack((0, 8.0, 8, 0), b"no image"))
    path = f"{records};{other}"
    it = make(path_imgrec=path, batch_size=1)
    assert [next(it).label[0].asscalar() for _ in range(8)] == list(range(8))
    last = make(path_imgrec=path, batch_size=1, num_parts=2, part_index=1)
    first = make(path_imgrec=path, batch_size=1, num_parts=2, part_index=0)
    count = len(list(first))
    assert 3 <= count <= 6
    assert next(last).label[0].asscalar() == count
    it = make(path_imgrec=str(other.parent), batch_size=1)
    assert next(it).label[0].asscalar() == 7
    with pytest.raises(FileFormatError, match=r"y\.rec: at byte [0-9]+: a record of"):
        next(it)


@pytest.mark.parametrize(("form", "turned"), [("JPEG", True), ("PNG", False)])
def test_jpeg_files_are_turned_upright_as_in_mxnet(make, tmp_path, form, turned):
    """By both iterators over records, and by `unpack_img` unless it leaves the image as it is."""
    image_module = pytest.importorskip("PIL.Image")
    pixels = np.zeros((16, 24, 3), np.uint8)
    pixels[:8, :12, 0] = 255  # red at the upper left
    exif, stream = image_module.Exif(), io.BytesIO()
    exif[0x0112] = 6  # a quarter turn, to the upper right
    image_module.fromarray(pixels).save(stream, form, exif=exif)
    record = recordio.pack((0, [2, 5, 1, 0.1, 0.1, 0.5, 0.5], 0, 0), stream.getvalue())
    with recordio.MXRecordIO(tmp_path / "x.rec", "w") as file:
        file.write(record)
    given = {"path_imgrec": str(tmp_path / "x.rec"), "batch_size": 1}
    for channels in (3, 1):
        shape = {"data_shape": (channels, 16, 16)}
        square = next(make(**given, **shape, label_width=7)).data[0].asnumpy()[0, 0]
        boxes = next(mx.io.ImageDetRecordIter(**given, **shape)).data[0].asnumpy()[0, 0]
        for made in (square, boxes):
            assert (made[2, -3] > made[2, 2] + 50) == turned
        assert recordio.unpack_img(record, channels == 3)[1].shape[:2] == (
            (24, 16) if turned else (16, 24)
        )
    assert recordio.unpack_img(record)[1].shape[:2] == (16, 24)
    assert mx.image.imdecode(stream.getvalue()).shape[:2] == (16, 24)


def test_a_few_of_many_files_are_open_at_once(tmp_path, monkeypatch):
    for number in range(20):
        with recordio.MXRecordIO(tmp_path / f"{number:02}.rec", "w") as file:
            file.write(recordio.pack_img((0, float(number), number, 0), IMAGES[0], 9, ".png"))
    it = mx.io.ImageRecordIter(path_imgrec=str(tmp_path), data_shape=(3, 8, 10), batch_size=4)
    monkeypatch.setattr(image_record_base, "_OPEN", 3)
    opened, closed = [], []
    start, close = recordio.MXRecordIO._open, recordio.MXRecordIO.close

    def counted(self):
        closed.append(self._file) if self._file else None
        close(self)

    monkeypatch.setattr(recordio.MXRecordIO, "_open", lambda f: opened.append(f) or start(f))
    monkeypatch.setattr(recordio.MXRecordIO, "close", counted)
    next(it)
    assert (len(opened), len(closed)) == (4, 1)
    assert [b.label[0].asnumpy().tolist() for b in it][-1] == [16, 17, 18, 19]
    assert len(opened) == len(closed) == 20


def test_16_bit_grey_png_files_have_their_levels_in_any_pillow(monkeypatch):
    image_module, stream = pytest.importorskip("PIL.Image"), io.BytesIO()
    levels = np.array([[0, 255, 256, 40000]], np.uint16)
    image_module.fromarray(levels).save(stream, "PNG")

    def wide(data):  # as Pillow 10.0 opens it
        image = image_module.open(io.BytesIO(data)).convert("I")
        image.format = "PNG"
        return image

    for opened in (image_decoding.open_image, wide):
        monkeypatch.setattr(image_decoding, "open_image", opened)
        for mode in ("L", "RGB"):
            made = np.asarray(image_decoding.decoded(stream.getvalue(), mode))
            np.testing.assert_array_equal(made.reshape(4, -1)[:, 0], [0, 0, 1, 156])
        np.testing.assert_array_equal(image_decoding.decoded(stream.getvalue()), levels)


@pytest.mark.parametrize(("kind", "last"), [("BMP", 88), ("TIFF", 88), ("PNG", 87)])
def test_grey_pixels_are_those_of_mxnet(kind, last):
    """Of these colours Pillow makes 137, 111, 140 and 87."""
    image_module, stream = pytest.importorskip("PIL.Image"), io.BytesIO()
    colours = np.array([[[93, 164, 109], [57, 153, 32], [7, 190, 227], [84, 82, 125]]], np.uint8)
    image_module.fromarray(colours).save(stream, kind)
    grey = mx.image.imdecode(stream.getvalue(), flag=0).asnumpy()
    assert grey.ravel().tolist() == [136, 110, 139, last]


def test_grey_pixels_of_a_jpeg_file_are_its_luminance(make, tmp_path):
    image_module, stream = pytest.importorskip("PIL.Image"), io.BytesIO()
    image = image_module.fromarray(IMAGES[0] // 128 * 255)  # the colours are cut off at 0 and 255
    image.save(stream, "JPEG", quality=30)
    through_rgb = image_module.open(stream).convert("RGB").convert("L")
    grey = mx.image.imdecode(stream.getvalue(), flag=0).asnumpy()[..., 0]
    luminance = image_module.open(stream)
    luminance.draft("YCbCr", None)
    np.testing.assert_array_equal(grey, np.asarray(luminance)[..., 0])
    assert np.abs(grey.astype(int) - np.asarray(through_rgb)).max() > 3


def test_a_mean_image_without_a_file_is_computed_as_in_mxnet(make, tmp_path):
    path = str(tmp_path / "mean.nd")
    made, again = (next(make(mean_img=path, scale=0.5)).data[0].asnumpy() for _ in range(2))
    mean = IMAGES.transpose(0, 3, 1, 2).mean(0).astype(np.float32)
    np.testing.assert_array_equal(mx.nd.load(path)["mean_img"].asnumpy(), mean)
    np.testing.assert_array_equal(made, again)
    first = IMAGES[:3].transpose(0, 3, 1, 2).astype(np.float32)
    np.testing.assert_array_equal(made, (first - mean) * np.float32(0.5))


def test_parameters_at_their_defaults_change_nothing(make):
    neutral = {name: default for name, (_, default) in image_augmentation.OPTIONS.items()}
    threads = {"aug_seq": "aug_default", "device_id": 0, "shuffle_chunk_size": 0}
    np.testing.assert_array_equal(pixels(make(**neutral, **threads)), IMAGES)


def test_hues_turn_round():
    """120 degrees are 60 units of hue: red becomes green."""
    red = np.array([[[200, 0, 0], [90, 90, 90]]], np.uint8)
    np.testing.assert_allclose(
        image_augmentation.hsl_shifted(red, 60, 0, 0), [[[0, 200, 0], [90, 90, 90]]], atol=1e-3
    )
    image = IMAGES[0]
    np.testing.assert_allclose(image_augmentation.hsl_shifted(image, 0, 0, 0), image, atol=1e-3)
    bright = image_augmentation.hsl_shifted(image, 0, 0, 300)
    np.testing.assert_allclose(bright, np.full_like(bright, 255), atol=1e-3)


def test_labels_from_a_list_and_a_mean_from_a_file(make, tmp_path):
    (tmp_path / "x.lst").write_text("".join(f"{i}\t{10 * i}\t{i}.png\n" for i in range(7)))
    mean = np.arange(240, dtype=np.float32).reshape(3, 8, 10)
    mx.nd.save(str(tmp_path / "mean.nd"), {"mean_img": mx.nd.array(mean)})
    batch = make(path_imglist=str(tmp_path / "x.lst"), mean_img=str(tmp_path / "mean.nd")).next()
    assert batch.label[0].asnumpy().tolist() == [0, 10, 20]
    np.testing.assert_allclose(
        batch.data[0].asnumpy()[1], IMAGES[1].transpose(2, 0, 1) - mean, atol=1e-4
    )
    with pytest.raises(ShapeError, match="mean_img has shape"):
        make(mean_img=str(tmp_path / "mean.nd"), data_shape=(3, 4, 4))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("ImageRecordInt8Iter", np.int8),
        ("ImageRecordUInt8Iter_v1", np.uint8),
        ("ImageRecordIter_v1", np.float32),
    ],
)
def test_other_names(records, name, dtype):
    it = getattr(mx.io, name)(records, (3, 8, 10), 3, mean_r=100)
    assert it.provide_data[0].dtype is dtype and it.provide_label[0].dtype is np.float32
    batch = it.next()
    assert batch.data[0].dtype is dtype and batch.label[0].dtype is np.float32
