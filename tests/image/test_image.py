"""``mx.image`` beside MXNet 1.9.1: functions and augmenters by a table, iterators by rows."""

import json
import random
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import modkit as mx
from modkit.errors import MissingFileError
from tests.image import cases

pytest.importorskip("PIL")

RECORDED = np.load(Path(__file__).parents[1] / "reference" / "image.npz")


@pytest.mark.parametrize("name", cases.CASES)
def test_as_recorded(name):
    """Grey levels that a decoder makes of colours can differ by 1; all others are OpenCV's."""
    got = cases.run(mx, name)
    atol = 1 if name == "imdecode grey" else 1e-3
    for at, array in enumerate(got):
        want = RECORDED[f"{name}/{at}"]
        assert (array.dtype, array.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(
            array.astype("float64"), want.astype("float64"), rtol=1e-5, atol=atol
        )
    assert f"{name}/{len(got)}" not in RECORDED


NAMES = """Augmenter BrightnessJitterAug CastAug CenterCropAug ColorJitterAug ColorNormalizeAug
    ContrastJitterAug CreateAugmenter CreateDetAugmenter CreateMultiRandCropAugmenter DetAugmenter
    DetBorrowAug DetHorizontalFlipAug DetRandomCropAug DetRandomPadAug DetRandomSelectAug
    ForceResizeAug HorizontalFlipAug HueJitterAug ImageDetIter ImageIter LightingAug RandomCropAug
    RandomGrayAug RandomOrderAug RandomSizedCropAug ResizeAug SaturationJitterAug SequentialAug
    center_crop color_normalize copyMakeBorder det detection fixed_crop image imdecode imread
    imresize imrotate random_crop random_rotate random_size_crop resize_short scale_down"""


IMAGE, PAIR = mx.nd.ones((5, 4, 3)), mx.nd.ones((2, 3, 4, 4))


def test_the_names_of_mxnet_are_there():
    assert set(NAMES.split()) <= set(dir(mx.image))
    assert mx.img.det.DetAugmenter is mx.image.DetAugmenter


def test_augmenters_are_dumped():
    made = mx.image.CreateAugmenter((3, 5, 6), resize=7, rand_crop=True, rand_resize=True, hue=0.1)
    assert [json.loads(a.dumps()) for a in made] == [
        ["resizeaug", {"size": 7, "interp": 2}],
        ["randomsizedcropaug", {"size": [6, 5], "area": 0.08, "ratio": [0.75, 4 / 3], "interp": 2}],
        ["castaug", {"type": "float32"}],
        ["huejitteraug", {"hue": 0.1}],
    ]
    jitter = mx.image.ColorJitterAug(0.1, 0, 0).dumps()
    assert jitter == ["colorjitteraug", ['["brightnessjitteraug", {"brightness": 0.1}]']]
    borrowed, *_ = mx.image.CreateDetAugmenter((3, 2, 2), resize=4)
    assert borrowed.dumps() == ["detborrowaug", '["resizeaug", {"size": 4, "interp": 2}]']
    for flips in (mx.image.DetHorizontalFlipAug(0.5), (mx.image.DetHorizontalFlipAug(0.5),)):
        assert mx.image.DetRandomSelectAug(flips, 0.3).dumps() == [
            "detrandomselectaug", ['["dethorizontalflipaug", {"p": 0.5}]'],
        ]  # fmt: skip


def test_sizes_and_older_names_of_parameters():
    """The shapes are MXNet 1.9.1's."""
    assert mx.image.resize_short(IMAGE, 2).shape == (2, 2, 3)
    assert mx.image.resize_short(IMAGE.transpose((1, 0, 2)), 2).shape == (2, 2, 3)
    with pytest.warns(DeprecationWarning, match="use area"):
        crop, place = mx.image.random_size_crop(
            IMAGE, (2, 3), ratio=(1, 1), area=9, min_area=(0.2, 0.2)
        )
    assert (crop.shape, place[2:]) == ((3, 2, 3), (2, 2))
    augmenter = mx.image.RandomSizedCropAug((2, 3), 9, (1, 1), min_area=(0.2, 0.2))
    assert augmenter(IMAGE).shape == (3, 2, 3)
    gray = mx.image.CreateAugmenter((3, 2, 2), rand_gray=0.5)
    assert [type(each).__name__ for each in gray][-1] == "RandomGrayAug"
    divided = mx.image.color_normalize(IMAGE, None, mx.nd.array([1.0, 2.0, 4.0]))
    assert divided.asnumpy()[0, 0].tolist() == [1, 0.5, 0.25]


BAD = [
    (lambda: mx.image.imdecode("a.png"), ValueError, "imread takes the name"),
    (lambda: mx.image.imdecode(b""), mx.MXNetError, "empty buffer"),
    (lambda: mx.image.imdecode(b"abc"), mx.MXNetError, "no image"),
    (lambda: mx.image.imdecode(cases.PNG, flag=-1), mx.MXNetError, "flag"),
    (lambda: mx.image.imread("absent.png"), MissingFileError, "absent.png"),
    (lambda: mx.image.imresize(mx.nd.ones((2, 2, 3)), 0, 5), ValueError, "1 or more"),
    (lambda: mx.image.imresize(mx.nd.ones((2, 2, 3)), [], 5), mx.MXNetError, r"got w=\[\], h=5"),
    (lambda: mx.image.imresize(mx.nd.ones((2, 2, 3)), 3, 2.7), ValueError, "h=2.7, expected int"),
    (lambda: mx.image.imresize(mx.nd.ones((2, 2, 3)), 3, 5, 7), ValueError, "interp"),
    (lambda: mx.image.imresize(mx.nd.ones((2, 2)), 3, 5), ValueError, "height, width"),
    (lambda: mx.image.CreateAugmenter((3, 5, 5), rand_resize=True), ValueError, "rand_crop"),
    (lambda: mx.image.CreateAugmenter((3, 5, 5), mean=[1, 2]), ValueError, "1 or 3"),
    (lambda: mx.image.imrotate(mx.nd.ones((3, 4, 4), dtype="uint8"), 3), TypeError, "float32"),
    (lambda: mx.image.imrotate(mx.nd.ones((3, 4, 4)), 3, True, True), ValueError, "at most one"),
    (lambda: mx.image.ImageIter(2, (3, 4, 4)), ValueError, "no images"),
    (lambda: mx.image.ImageIter(2, (3, 4, 4), imglist=[]), mx.MXNetError, "no images"),
    (lambda: mx.image.ImageIter(mx.nd.ones((2,)), (3, 4, 4)), ValueError, "ImageIter: batch_size"),
    (lambda: mx.image.ImageDetIter("a", (3, 4, 4)), ValueError, "ImageDetIter: batch_size"),
    (lambda: mx.image.ImageIter(2, (1, 4, 4), imglist=[[1, "a"]]), ValueError, "three channels"),
    (lambda: mx.image.fixed_crop(mx.nd.ones((5, 6, 3)), -1, 0, 3, 3), mx.MXNetError, "6 by 5"),
    (lambda: mx.image.fixed_crop(mx.nd.ones((5, 6, 3)), 0, 0, 0, 3), mx.MXNetError, "0 by 3"),
    (lambda: mx.image.fixed_crop(mx.nd.ones((5, 6, 3)), 7, 0, 2, 2), mx.MXNetError, "(7, 0)"),
    (
        lambda: mx.image.ImageIter(1, (3, 4, 4), imglist=[[1, "a"]], path_root="", dtype="nope"),
        AssertionError,
        "ImageIter: dtype",
    ),
    (lambda: mx.image.DetBorrowAug(3), TypeError, "expected an Augmenter"),
    (lambda: mx.image.imrotate(mx.nd.ones((3, 4, 4)), [3, 4]), TypeError, "one number"),
    (lambda: mx.image.imrotate(PAIR, mx.nd.ones((3,))), ValueError, "3 angles for 2 images"),
    (lambda: mx.image.random_size_crop(IMAGE, (2, 2), 0.5, (1, 1), a=1), ValueError, "parameter a"),
    (lambda: mx.image.RandomSizedCropAug((2, 2), 0.5, (1, 1), a=1), ValueError, "unexpected a"),
    (lambda: mx.image.Augmenter()(IMAGE), NotImplementedError, "src"),
    (lambda: mx.image.DetAugmenter()(IMAGE, IMAGE), NotImplementedError, "label"),
    (
        lambda: mx.image.copyMakeBorder(mx.nd.ones((2, 2, 3)), 1, "a", 0, 0),
        ValueError,
        "copyMakeBorder: bot: got 'a', expected a number of pixels",
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD, ids=[row[2] for row in BAD])
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()


# ── Iterators ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def folder(tmp_path):
    """Seven images as files, lists and records: the label is the number of the image."""
    plain = mx.recordio.MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "w")
    boxed = mx.recordio.MXIndexedRecordIO(tmp_path / "d.idx", tmp_path / "d.rec", "w")
    lines = []
    for i in range(7):
        data = cases.png(cases.pixels(12 + i, 20 - i))
        (tmp_path / f"{i}.png").write_bytes(data)
        header = mx.recordio.IRHeader(0, float(i), i, 0)
        plain.write_idx(i, mx.recordio.pack(header, data))
        boxes = [2, 5, i, 0.1, 0.2, 0.5, 0.6] + [1, 0.3, 0.3, 0.9, 0.8] * (i % 2)
        boxed.write_idx(i, mx.recordio.pack(header._replace(label=boxes), data))
        lines.append(f"{i}\t{i}\t{i}.png\n")
    plain.close()
    boxed.close()
    (tmp_path / "x.lst").write_text("".join(lines))
    return tmp_path


def labels(it):
    """Labels and paddings of two epochs."""
    epochs = []
    for _ in range(2):
        epochs.append([(b.label[0].asnumpy().astype(int).ravel().tolist(), b.pad) for b in it])
        it.reset()
    return epochs


FIRST = [([0, 1, 2], 0), ([3, 4, 5], 0)]
MIXED = [([3, 6, 5], 0), ([2, 0, 4], 0)]
ORDERS = [
    # last_batch_handle, shuffle, labels and paddings of two epochs in MXNet 1.9.1 from seed 1
    ("pad", False, [[*FIRST, ([6, 0, 1], 2)]] * 2),
    ("discard", False, [FIRST] * 2),
    ("roll_over", False, [FIRST, [([6, 0, 1], 2), ([2, 3, 4], 0)]]),
    ("pad", True, [[*MIXED, ([1, 3, 6], 2)],
                   [([6, 5, 3], 0), ([0, 4, 2], 0), ([1, 6, 5], 2)]]),
    ("roll_over", True, [MIXED, [([1, 6, 5], 2), ([3, 0, 4], 0)]]),
]  # fmt: skip


@pytest.mark.parametrize(("handle", "shuffle", "want"), ORDERS)
@pytest.mark.parametrize("source", ["records", "list"])
def test_orders(folder, source, handle, shuffle, want):
    files = {
        "records": {"path_imgrec": folder / "x.rec", "path_imgidx": folder / "x.idx"},
        "list": {"path_imglist": folder / "x.lst", "path_root": folder},
    }[source]
    random.seed(1)
    it = mx.image.ImageIter(3, (3, 8, 8), shuffle=shuffle, last_batch_handle=handle, **files)
    assert labels(it) == want


def test_batches_are_float32_and_described_by_pairs(folder):
    it = mx.image.ImageIter(3, (3, 8, 8), path_imgrec=folder / "x.rec", dtype="int32")
    batch = it.next()
    assert (batch.data[0].dtype, batch.label[0].dtype) == (np.float32, np.float32)
    pairs = [("data", (3, 3, 8, 8))], [("softmax_label", (3,))]
    assert repr((it.provide_data, it.provide_label)) == repr(pairs)


def test_records_without_an_index(folder):
    it = mx.image.ImageIter(3, (3, 8, 8), path_imgrec=folder / "x.rec", last_batch_handle="discard")
    assert labels(it) == [FIRST] * 2
    assert it.num_image is None and it.provide_label == [("softmax_label", (3,))]
    with pytest.raises(ValueError, match="path_imgidx"):
        mx.image.ImageIter(3, (3, 8, 8), path_imgrec=folder / "x.rec", shuffle=True)


def test_lists_parts_and_labels(folder):
    files = [[1, 4, "1.png"], [[2, 5], "2.png"], [3.0, 6, "3.png"]]
    it = mx.image.ImageIter(2, (3, 8, 8), 2, imglist=files, path_root=folder)
    assert it.seq == list(it.imglist) == ["1", "2", "3"]
    assert it.next_sample()[0].asnumpy().tolist() == [1, 4]
    it.reset()
    assert it.next().label[0].asnumpy().tolist() == [[1, 4], [2, 5]]
    last = it.next()
    assert last.label[0].asnumpy().tolist() == [[3, 6], [1, 4]] and last.pad == 1
    part = mx.image.ImageIter(2, (3, 8, 8), path_imglist=folder / "x.lst", path_root=folder,
                              num_parts=2, part_index=1)  # fmt: skip
    assert labels(part)[0] == [([3, 4], 0), ([5, 3], 1)]


def test_an_image_of_another_shape_is_an_error(folder):
    it = mx.image.ImageIter(2, (3, 8, 8), imglist=[[1, "1.png"]], path_root=folder, aug_list=[])
    with pytest.raises(ValueError, match=r"\(3, 13, 19\) after augmentation"):
        it.next()


def test_a_module_learns_from_it(folder):
    it = mx.image.ImageIter(
        7, (3, 8, 8), path_imgrec=folder / "x.rec", rand_mirror=True, mean=True, std=True
    )
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=7)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.fit(it, num_epoch=15, optimizer_params={"learning_rate": 0.1})
    assert dict(module.score(it, "acc"))["accuracy"] >= 0.7


def test_boxes(folder):
    it = mx.image.ImageDetIter(
        3, (3, 8, 8), path_imgrec=folder / "d.rec", rand_mirror=True, rand_crop=0.5, rand_pad=0.5,
        brightness=0.1, mean=True,
    )  # fmt: skip
    assert it.provide_label == [("label", (3, 2, 5))] and it.label_shape == (2, 5)
    for batch in it:
        label, (left, top, right, bottom) = batch.label[0].asnumpy(), range(1, 5)
        real = label[..., 0] >= 0
        assert real[:, 0].all() and (label[~real] == -1).all()
        boxes = label[real]
        assert (boxes[:, left] < boxes[:, right]).all()
        assert (boxes[:, top] < boxes[:, bottom]).all()
        assert (boxes[:, 1:] >= 0).all() and (boxes[:, 1:] <= 1).all()
    plain = mx.image.ImageDetIter(7, (3, 8, 8), path_imgrec=folder / "d.rec")
    want = [[1, 0.1, 0.2, 0.5, 0.6], [1, 0.3, 0.3, 0.9, 0.8]]
    np.testing.assert_allclose(plain.next().label[0][1].asnumpy(), want, rtol=1e-6)


def test_boxes_are_drawn(folder, monkeypatch):
    shape, red = (3, 40, 50), (255, 0, 0)
    it = mx.image.ImageDetIter(3, shape, path_imgrec=folder / "d.rec", mean=True, std=True)
    drawn = list(it.draw_next(red, 1, mean=True, std=True))
    assert [each.shape for each in drawn] == [(40, 50, 3)] * 7
    edges = (drawn[1] == red).all(2)
    assert edges[8, 5:26].all() and edges[24, 5:26].all() and edges[8:25, [5, 25]].all()  # box 1
    assert edges[12, 15:45].all() and not edges[:8].any() and not edges[33:].any()
    plain = mx.image.ImageDetIter(7, shape, path_imgrec=folder / "d.rec").next().data[0].asnumpy()
    off = np.abs(drawn[1] - plain[1].transpose(1, 2, 0))[~edges]
    assert off.max() <= 1  # cut off, not rounded

    it.reset()
    named = next(it.draw_next(red, 1, mean=True, std=True, id2labels={0: "cat", 1: "dog"}))
    assert (named != drawn[0]).any()
    with pytest.raises(mx.MXNetError, match="waitKey: windows need OpenCV"):
        next(it.draw_next(waitKey=1))
    shown = []
    opencv = types.SimpleNamespace(imshow=lambda *a: shown.append(a), waitKey=shown.append)
    monkeypatch.setitem(sys.modules, "cv2", opencv)
    image = next(it.draw_next(np.array(red), waitKey=7, window_name="boxes"))
    (name, blue_first), wait_ms = shown
    assert (name, wait_ms) == ("boxes", 7) and (blue_first == image[..., ::-1]).all()


def test_a_subclass_reads_labels_of_another_form(folder):
    class Same(mx.image.ImageDetIter):
        def _parse_label(self, label):
            return np.array([[label, 0.1, 0.1, 0.6, 0.6]])

    labels = Same(2, (3, 8, 8), path_imgrec=folder / "x.rec").next().label[0]
    want = [[[0, 0.1, 0.1, 0.6, 0.6]], [[1, 0.1, 0.1, 0.6, 0.6]]]
    np.testing.assert_allclose(labels.asnumpy(), want, rtol=1e-6)


def test_a_bad_sample_is_named_with_its_file(tmp_path):
    """By number without an index, by key with one; MXNet raises errors of NumPy and of files."""
    image = (np.arange(8 * 9 * 3) % 251).reshape(8, 9, 3).astype(np.uint8)
    box, wide = [1, 0.1, 0.1, 0.9, 0.9], [1, 0.1, 0.1, 0.9, 0.9, 7]

    def written(*labels, encoded=None):
        index, records = str(tmp_path / "x.idx"), str(tmp_path / "x.rec")
        with mx.recordio.MXIndexedRecordIO(index, records, "w") as file:
            for key, label in enumerate(labels):
                header = mx.recordio.IRHeader(0, label, key, 0)
                whole = mx.recordio.pack_img(header, image, img_fmt=".png")
                file.write_idx(key, whole if encoded is None else mx.recordio.pack(header, encoded))
        return {"path_imgrec": records, "path_imgidx": index}

    def boxes(*labels, **options):
        given = {**written(*labels), **options}
        return list(mx.image.ImageDetIter(1, (3, 8, 8), **given))

    good = [2, 5, *box]
    with pytest.raises(ValueError, match=r"x\.rec: key 1: got a label of 7 numbers"):
        boxes(good, [float("nan"), 5, *box])
    with pytest.raises(ValueError, match=r"x\.rec: record 1: ImageDetIter: a sample has no box"):
        boxes(good, [2, 5, 0, 0, 0, 0, 0], path_imgidx=None)
    with pytest.raises(ValueError, match=r"x\.rec: key 0: .*got boxes of 5 numbers, expected 6"):
        boxes(good, [2, 6, *wide])
    for encoded, reason in ((b"", "an empty buffer"), (b"GIF89a", "no image")):
        given = written(1.0, encoded=encoded)
        with pytest.raises(ValueError, match=rf"x\.rec: key 0: imdecode: .*{reason}"):
            mx.image.ImageIter(1, (3, 8, 8), **given).next()
    with mx.recordio.MXRecordIO(tmp_path / "short.rec", "w") as file:
        file.write(b"short")
    with pytest.raises(ValueError, match=r"short\.rec: record 0: unpack: got 5 bytes"):
        mx.image.ImageIter(1, (3, 8, 8), path_imgrec=str(tmp_path / "short.rec")).next()
    (tmp_path / "one.lst").write_text("7\t1\ta.png\n")
    with pytest.raises(ValueError, match=r"x\.rec: key 0: path_imglist has no line with this key"):
        lists = {"path_imglist": str(tmp_path / "one.lst")}
        mx.image.ImageIter(1, (3, 8, 8), **written(1.0), **lists).next()
    with pytest.raises(MissingFileError, match=r"missing\.png"):
        mx.image.ImageIter(1, (3, 8, 8), imglist=[[1, "missing.png"]], path_root=".").next()


def test_shapes_of_labels_are_shared(folder):
    train, test = (mx.image.ImageDetIter(3, (3, 8, 8), path_imgrec=folder / "d.rec") for _ in "ab")
    train.reshape(label_shape=(4, 5), data_shape=(3, 6, 6))
    assert train.sync_label_shape(test) is test
    assert test.next().label[0].shape == (3, 4, 5)
    for shape in ((1, 5), (4, 6)):
        with pytest.raises(ValueError, match="label_shape"):
            train.reshape(label_shape=shape)


def test_augmenters_of_boxes_move_both():
    """A white square stays where its box is, wherever crops, canvases and mirrors put them."""
    random.seed(3)
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[10:20, 15:45] = 255
    boxes = np.array([[0, 15 / 60, 10 / 40, 45 / 60, 20 / 40]], np.float32)
    both = [
        mx.image.DetRandomCropAug(min_object_covered=0.5, area_range=(0.3, 0.9)),
        mx.image.DetRandomPadAug(area_range=(1.2, 3.0), pad_val=(0, 0, 0)),
        mx.image.DetHorizontalFlipAug(0.5),
    ]
    moved = set()
    for _ in range(10):
        image, label = mx.nd.array(pixels, dtype="uint8"), boxes
        for augmenter in both:
            image, label = augmenter(image, label)
        bright = image.asnumpy()[..., 0] > 0
        rows, columns = np.flatnonzero(bright.any(1)), np.flatnonzero(bright.any(0))
        found = [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]
        height, width = bright.shape
        want = label[0, 1:] * [width, height, width, height]
        np.testing.assert_allclose(found, want, atol=1e-3)
        moved.add(tuple(found))
    assert len(moved) > 5


def test_one_of_several_crops():
    made = mx.image.CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5], max_attempts=10)
    kept = [json.loads(each.dumps())[1]["min_object_covered"] for each in made.aug_list]
    assert kept == [0.1, 0.5]
    with pytest.raises(ValueError, match="one length"):
        mx.image.CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5], max_attempts=[1, 2, 3])


def test_images_of_two_channels_are_halved_to_the_even_level():
    """Recorded from MXNet 1.9.1; with one, three or four channels halves are rounded upward."""
    pixels = (np.arange(32).reshape(4, 4, 2) * 37 % 251).astype(np.uint8)
    image = mx.nd.array(pixels, dtype="uint8")
    for made in (mx.image.imresize(image, 2, 2, 1), mx.nd.image.resize(image, size=2)):
        assert made.asnumpy().ravel().tolist() == [60, 96, 145, 119, 150, 186, 109, 84]
