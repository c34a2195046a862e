"""CSVIter, LibSVMIter and MNISTIter: what they refuse, and what MXNet has no word on."""

import concurrent.futures
import copy
import functools
import gzip
import pickle
import random
import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import modkit as mx
from modkit.errors import (
    FileAccessError,
    FileFormatError,
    MissingFileError,
    MXNetError,
    NotReadyError,
    ParameterError,
    ShapeError,
)
from modkit.io.base import seed_all
from modkit.io.file_iter import FileTable, HostBatch, MXDataIter, PaddedBatches
from modkit.io.mnist import read_idx
from modkit.io.order import Shuffler
from tests.io.scenarios import batches, idx_files, lines, text


@given(st.integers(1, 20), st.integers(1, 30), st.integers(1, 5))
def test_round_batches_go_round_without_a_gap(count, size, epochs):
    table = FileTable(np.arange(count), np.arange(count))
    epoch = PaddedBatches(size, round_batch=True).epoch
    seen = [i for _ in range(epochs) for rows in epoch(table) for i in rows.data.tolist()]
    assert seen == [i % count for i in range(len(seen))]


@given(st.integers(1, 20), st.integers(1, 30))
def test_without_round_batch_each_epoch_shows_all_once(count, size):
    table = FileTable(np.arange(count), np.arange(count))
    rounds = PaddedBatches(size, round_batch=False)
    for _ in range(2):
        rows = list(rounds.epoch(table))
        real = [i for row in rows for i in row.data[: size - row.pad].tolist()]
        assert real == list(range(count))
        assert all(len(row.data) == size for row in rows)


def csv(folder, rows, **kwargs):
    path = text(folder, "x.csv", rows)
    return mx.io.CSVIter(data_csv=path, **{"data_shape": (2,), "batch_size": 1, **kwargs})


@pytest.mark.parametrize(
    ("rows", "kwargs", "says"),
    [
        ("1,2\n3,4\n", {"data_shape": (3,)}, r"x\.csv: line 1: got 2 numbers, expected 3"),
        ("1,2\n\n3\n", {}, r"x\.csv: line 3: got 1 number, expected 2"),
        ("1,2\n\n\n1,x\n", {}, r"x\.csv: line 4: got 'x' in column 2, expected a number"),
        ("1,\n", {}, r"x\.csv: line 1: got '' in column 2, expected a number"),
        (
            "1,2\n1.5,2\n",
            {"dtype": "int32"},
            r"x\.csv: line 2: got '1\.5' in column 1, expected an integer of int32",
        ),
        ("9007199254740993,2\n1.0e+01,2\n", {"dtype": "int64"}, r"x\.csv: could .* at column 1"),
        ("9007199254740993,1.0e+01\n", {"dtype": "int64"}, r"x\.csv"),
    ],
)
def test_csv_lines_that_do_not_fit(tmp_path, rows, kwargs, says):
    with pytest.raises(FileFormatError, match=says):
        csv(tmp_path, rows, **kwargs)


def test_csv_integers_may_be_written_as_floats(tmp_path):
    batch = next(csv(tmp_path, "1.0e+01,-2\n", dtype="int32"))
    assert batch.data[0].asnumpy().tolist() == [[10, -2]]
    assert batch.data[0].dtype == np.int32


def test_several_files_follow_each_other_as_in_mxnet(tmp_path):
    paths = [text(tmp_path, f"{n}.csv", f"{n},0\n") for n in (2, 1)]
    empty = text(tmp_path, "empty.csv", "")
    made = mx.io.CSVIter(";".join([*paths, empty, ""]), (2,), batch_size=1)
    assert [b.data[0].asnumpy()[0, 0] for b in made] == [2, 1]
    with pytest.raises(MissingFileError, match=r"no\.csv: there is no such file"):
        mx.io.CSVIter(f"{paths[0]};{tmp_path}/no.csv", (2,), batch_size=1)
    with pytest.raises(FileFormatError, match="all files are empty"):
        mx.io.CSVIter(f"{empty};{empty}", (2,), batch_size=1)
    lines = [text(tmp_path, f"{n}.t", f"{n} 0:1\n") for n in (3, 4)]
    parts = [mx.io.LibSVMIter(";".join(lines), (2,), batch_size=1, num_parts=2, part_index=n)
             for n in (0, 1)]  # fmt: skip
    assert [[b.label[0].asscalar() for b in part] for part in parts] == [[3], [4]]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(
    "rows", ["1,2,\n3,4,\n", "1,2\n3,4,\n", "1,2,\r\n3,4", "\ufeff1,2\n3,4\n", "\ufeff1,2\n3,4,"]
)
def test_csv_lines_may_end_with_a_comma_as_in_mxnet(tmp_path, rows, dtype):
    (batch,) = csv(tmp_path, rows, batch_size=2, dtype=dtype)
    assert batch.data[0].asnumpy().tolist() == [[1, 2], [3, 4]]


def test_csv_that_is_no_integer_warns_of_nothing(tmp_path):
    with pytest.raises(FileFormatError, match="line 1: got 'nan' in column 1, expected an integer"):
        csv(tmp_path, "nan,1\n", dtype="int32")


def test_csv_needs_a_label_for_each_sample(tmp_path):
    label = lines(tmp_path, "y.csv", [[1]])
    with pytest.raises(FileFormatError, match="got 1 labels, expected 2"):
        csv(tmp_path, "1,2\n3,4\n", label_csv=label)


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"dtype": "float16"}, "expected one of float32, int32, int64"),
        ({"batch_size": 0}, "expected at least 1"),
        ({"round_batch": "perhaps"}, "round_batch"),
    ],
)
def test_csv_parameters(tmp_path, kwargs, says):
    with pytest.raises(ParameterError, match=says):
        csv(tmp_path, "1,2\n", **kwargs)


def test_a_parameter_that_no_iterator_has_is_a_warning(tmp_path):
    with pytest.warns(UserWarning, match="CSVIter: no parameter 'prefetch'. Did you .*_buffer'"):
        it = csv(tmp_path, "1,2\n", prefetch=3)
    assert batches(it)[0][0][0] == [[[1, 2]]]


def test_csv_takes_the_strings_that_mxnet_takes(tmp_path):
    it = csv(tmp_path, "1,2\n3,4\n", batch_size="2", round_batch="False", ctx="cpu")
    assert batches(it)[0][0][0] == [[[1, 2], [3, 4]]]


def test_mnist_takes_round_batch_and_leaves_out_the_rest_all_the_same(tmp_path):
    it = mx.io.MNISTIter(**idx_files(tmp_path, 10), batch_size=4, round_batch=True, silent=True,
                         data_shape=(784,))  # fmt: skip
    assert [batch.pad for batch in it] == [0, 0]


def test_csv_reads_a_folder_by_name_and_an_empty_file_is_no_sample(tmp_path):
    for name, rows in (("b", "3,4\n"), ("a", "1,2\n"), ("c", "\n")):
        text(tmp_path, name, rows)
    it = mx.io.CSVIter(data_csv=str(tmp_path), data_shape=(2,), batch_size=2)
    assert batches(it)[0][0][0] == [[[1, 2], [3, 4]]]


@pytest.mark.parametrize(
    ("kind", "lacks"),
    [("CSVIter", "data_csv"), ("LibSVMIter", "data_libsvm"), ("ImageRecordIter", "path_imgrec"),
     ("ImageDetRecordIter", "path_imgrec")],
)  # fmt: skip
def test_a_missing_parameter_is_an_error_of_mxnet(kind, lacks):
    with pytest.raises(MXNetError, match=f"^{kind}: got no {lacks} and no data_shape. It takes: "):
        getattr(mx.io, kind)(batch_size=1)


@pytest.mark.parametrize(
    "read",
    [
        lambda path: mx.io.CSVIter(data_csv=path, data_shape=(2,), batch_size=1),
        lambda path: mx.io.LibSVMIter(data_libsvm=path, data_shape=(2,), batch_size=1),
        lambda path: mx.io.ImageRecordIter(path_imgrec=path, data_shape=(3, 2, 2), batch_size=1),
    ],
    ids=["csv", "libsvm", "images"],
)
def test_empty_files_are_refused(tmp_path, read):
    with pytest.raises(FileFormatError, match=r"none\.x: the file is empty"):
        read(text(tmp_path, "none.x", ""))


def test_files_that_are_not_there(tmp_path):
    gone = str(tmp_path / "gone")
    with pytest.raises(MissingFileError, match="gone"):
        mx.io.CSVIter(data_csv=gone, data_shape=(2,), batch_size=2)
    with pytest.raises(FileNotFoundError, match="gone"):
        mx.io.MNISTIter(image=gone, label=gone)


def test_reset_in_the_middle_goes_to_the_beginning(tmp_path):
    it = csv(tmp_path, "1,2\n3,4\n5,6\n", batch_size=2)
    it.next()
    it.reset()
    assert it.next().index.tolist() == [0, 1]


def test_there_is_no_present_batch_before_the_first(tmp_path):
    with pytest.raises(NotReadyError, match="next"):
        csv(tmp_path, "1,2\n").getdata()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("1 0:x\n", r"x\.t: line 1: got the element '0:x', expected index:value"),
        ("1 0:1\n2 3:1\n", "line 2: element 3"),
        ("1 0:1\n1 0\n", r"x\.t: line 2: got the element '0', expected index:value"),
        ("1 0.5:2\n", "line 1: got the element '0.5:2', expected index:value"),
        ("a 0:1\n", "line 1: got the label 'a', expected a number"),
    ],
)
def test_libsvm_lines_that_do_not_fit(tmp_path, content, says):
    path = text(tmp_path, "x.t", content)
    with pytest.raises(FileFormatError, match=says):
        mx.io.LibSVMIter(data_libsvm=path, data_shape=(3,), batch_size=1)


def test_libsvm_comments_and_queries_are_passed_over_as_in_mxnet(tmp_path):
    path = text(tmp_path, "x.t", "# head\n1 qid:7 0:1#x\n\n #\n2#\n3:0.5 qid:8 1:4 # 2:9\n")
    made = [
        mx.io.LibSVMIter(path, (3,), batch_size=1, num_parts=n, part_index=n - 1) for n in (1, 2)
    ]
    data = [[b.data[0].asnumpy()[0].tolist() for b in it] for it in made]
    assert data == [[[1, 0, 0], [0, 0, 0], [0, 4, 0]], [[0, 4, 0]]]
    made[0].reset()
    assert [b.label[0].asscalar() for b in made[0]] == [1, 2, 3]


def test_a_line_of_libsvm_data_has_one_label(tmp_path):
    path = text(tmp_path, "x.t", "1 0:1\n")
    with pytest.raises(MXNetError, match=r"label_shape: got \(2,\) without label_libsvm"):
        mx.io.LibSVMIter(data_libsvm=path, data_shape=(3,), label_shape=(2,), batch_size=1)


def test_labels_that_fit_into_no_memory(tmp_path):
    path = text(tmp_path, "x.t", "1 0:1\n2 1:1\n" * 50)
    make = functools.partial(mx.io.LibSVMIter, path, (3,), path, batch_size=2)
    assert next(make(10**6)).label[0].shape == (2, 10**6)  # of the file's lines: 400 MB
    for width in (2**40, 2**70):
        with pytest.raises(MXNetError, match=r"label_shape.* fewer than 2\*\*40"):
            make(width)
        with pytest.raises(MXNetError, match=r"label_shape.* fewer than 2\*\*40"):
            csv(tmp_path, "1,2\n", label_shape=(width,))
    with pytest.raises(ParameterError, match=r"a batch of 1000000 labels .* not fit into memory"):
        make(2**40 - 1, batch_size=10**6)
    with pytest.raises(ParameterError, match=r"a batch of \d+ labels .* not fit into memory"):
        csv(tmp_path, "1,2\n", batch_size=2**60)


def test_mnist_packed_or_plain(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plain = mx.io.MNISTIter(**idx_files(tmp_path / "a", 10), batch_size=4)
    packed = mx.io.MNISTIter(**idx_files(tmp_path / "b", 10, pack=True), batch_size=4)
    assert batches(plain, 2) == batches(packed, 2)


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "beginning of an idx file"),
        (b"\0\0\x08\x01" + bytes(12), "beginning of an idx file"),
        (struct.pack(">IIII", 2051, 2, 2, 2) + bytes(7), "takes 8 bytes"),
        (struct.pack(">IIII", 2051, 2**31, 2**31, 2**31), "takes"),
    ],
)
def test_damaged_idx_files(tmp_path, content, says, pack):
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(content) if pack else content)
    with pytest.raises(FileFormatError, match=says):
        read_idx(str(path), 3)


def test_a_packed_file_may_be_much_smaller_than_its_content(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(struct.pack(">IIII", 2051, 90, 90, 90) + bytes(90**3)))
    assert read_idx(str(path), 3).shape == (90, 90, 90)


def test_a_packed_file_that_is_cut_off(tmp_path):
    files = idx_files(tmp_path, 500, pack=True)
    whole = (tmp_path / "image").read_bytes()
    (tmp_path / "image").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileFormatError, match="image"):
        mx.io.MNISTIter(**files)


def test_mnist_labels_and_images_belong_together(tmp_path):
    files = idx_files(tmp_path, 5)
    files["label"] = str(tmp_path / "other")
    (tmp_path / "other").write_bytes(struct.pack(">II", 2049, 4) + bytes(4))
    with pytest.raises(FileFormatError, match="got 4 labels, expected 5"):
        mx.io.MNISTIter(**files)


@pytest.mark.parametrize("kwargs", [{"part_index": 2, "num_parts": 2}, {"dtype": "uint8"}])
def test_mnist_parameters(tmp_path, kwargs):
    with pytest.raises(ParameterError):
        mx.io.MNISTIter(**idx_files(tmp_path, 5), **kwargs)


@given(st.integers(1, 200), st.integers(-(2**40), 2**40))
def test_a_shuffle_is_a_permutation(count, seed):
    assert sorted(Shuffler(seed).shuffled(range(count))) == list(range(count))


def test_any_integer_is_a_seed(tmp_path):
    order = Shuffler(2**32 - 1).shuffled(range(9))
    for seed in (-1, np.int64(-1), np.int32(-1), 2**40 - 1):
        assert Shuffler(seed).shuffled(range(9)) == order
        made = mx.io.MNISTIter(**idx_files(tmp_path, 9), batch_size=9, seed=seed, silent=True)
        assert next(made).index.tolist() == order


@pytest.mark.parametrize("number", [np.int64(3), np.int32(3), np.uint8(3)])
def test_streams_are_seeded_by_integers_of_numpy(number):
    drawn = []
    for seed in (3, number):
        seed_all(seed, mx.io.NDArrayIter(np.zeros(2)))
        numpys = np.random.rand()  # noqa: NPY002 - the stream that iterators shuffle by
        drawn.append((random.random(), numpys, mx.nd.random.uniform().asscalar()))
    assert drawn[0] == drawn[1]


def test_threads_share_an_iterator(tmp_path):
    """Each batch goes to one of them."""
    path = text(tmp_path, "x.t", "".join(f"{i} 0:1\n" for i in range(400)))
    made = mx.io.LibSVMIter(path, (1,), batch_size=2)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for it in (made, mx.io.ResizeIter(made, 200)):
            it.reset()
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                parts = [list(part) for part in pool.map(lambda _, it=it: list(it), range(4))]
            labels = [b.label[0].asnumpy().tolist() for part in parts for b in part]
            assert sorted(np.concatenate(labels)) == list(range(400))
    finally:
        sys.setswitchinterval(before)


def test_links_in_a_folder_that_lead_nowhere_are_left_out(tmp_path):
    (tmp_path / "a.csv").symlink_to("nowhere")
    text(tmp_path, "b.csv", "1,2\n")
    made = mx.io.CSVIter(str(tmp_path), (2,), batch_size=1)
    assert [b.data[0].asnumpy().tolist() for b in made] == [[[1, 2]]]


def test_a_file_of_several_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    paths = [text(tmp_path, f"{n}.csv", "1,2\n") for n in range(2)]
    read = Path.stat

    def stat(self, **options):
        if self.name == "1.csv":
            raise PermissionError(13, "Permission denied")
        return read(self, **options)

    monkeypatch.setattr(Path, "exists", lambda self: ";" not in str(self))
    monkeypatch.setattr(Path, "is_dir", lambda self: False)
    monkeypatch.setattr(Path, "stat", stat)
    with pytest.raises(FileAccessError, match=f"^{re.escape(paths[1])}: cannot be read"):
        mx.io.CSVIter(";".join(paths), (2,), batch_size=1)


def test_a_copy_of_an_iterator_fails_where_it_has_failed():
    class Numbers(MXDataIter):
        def _epoch(self):
            for number in range(3):
                if number == 1 and not self._passing_over:
                    raise FileFormatError("number 1")
                yield HostBatch(np.array([number]), np.array([number]), 0, np.array([number]))

    made = Numbers(1)
    assert made.iter_next()
    for each in (made, copy.deepcopy(made)):
        with pytest.raises(FileFormatError, match="number 1"):
            each.next()
    for each in (made, copy.deepcopy(made)):
        with pytest.raises(FileFormatError, match="number 1"):
            each.next()


@pytest.mark.parametrize("read", [0, 1, 3])
def test_copies_of_an_iterator_go_on_where_it_is(tmp_path, read):
    made = csv(tmp_path, "".join(f"{n},{n}\n" for n in range(5)), batch_size=2)
    for _ in range(read):
        next(made, None)
    others = copy.deepcopy(made), pickle.loads(pickle.dumps(made))
    left = [[b.data[0].asnumpy().tolist() for b in it] for it in (made, *others)]
    assert left[1] == left[2] == left[0]
    assert len(left[0]) == 3 - read
    made.reset()
    for other in others:
        other.reset()
        assert next(other).data[0].asnumpy().tolist() == [[1, 1], [2, 2]]
    assert next(made).data[0].asnumpy().tolist() == [[1, 1], [2, 2]]


def test_a_copy_of_a_shuffler_goes_on():
    made = Shuffler(3)
    made.shuffled(range(9))
    assert copy.deepcopy(made).shuffled(range(9)) == made.shuffled(range(9))


def test_a_batch_that_fits_into_no_memory(tmp_path):
    row = ",".join(["1"] * 1024)
    with pytest.raises(ShapeError, match=r"CSVIter: data: shape .* fewer than 2\*\*40"):
        csv(tmp_path, row, data_shape=(1024,), batch_size=2**30)
