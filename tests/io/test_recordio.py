"""RecordIO against files that MXNet wrote, and against damage."""

import concurrent.futures
import gc
import io
import os
import pickle
import select
import struct
import sys
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from modkit.errors import (
    FileFormatError,
    MissingFileError,
    NotReadyError,
    NotSupportedError,
    ParameterError,
)
from modkit.io import recordio
from modkit.io.image_decoding import decode_image
from modkit.io.recordio import IRHeader, MXIndexedRecordIO, MXRecordIO
from tests.io.forks import forking, in_child
from tests.io.records import HEADERS, MAGIC, RECORDS

FILES = Path(__file__).parents[1] / "reference" / "files"


def write(path, records):
    with MXRecordIO(path, "w") as file:
        for record in records:
            file.write(record)


def read(path):
    with MXRecordIO(path, "r") as file:
        return list(iter(file.read, None))


def test_written_as_mxnet_writes(tmp_path):
    write(tmp_path / "x.rec", RECORDS)
    assert (tmp_path / "x.rec").read_bytes() == (FILES / "plain.rec").read_bytes()


def test_read_what_mxnet_wrote():
    assert read(FILES / "plain.rec") == RECORDS


def test_indexed_as_mxnet_writes(tmp_path):
    with MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "w") as file:
        for number, (header, data) in enumerate(HEADERS):
            file.write_idx(3 * number, recordio.pack(IRHeader(*header), data))
    for end in ("idx", "rec"):
        assert (tmp_path / f"x.{end}").read_bytes() == (FILES / f"indexed.{end}").read_bytes()


def test_indexed_reading_of_what_mxnet_wrote():
    file = MXIndexedRecordIO(FILES / "indexed.idx", FILES / "indexed.rec", "r")
    assert file.keys == [0, 3, 6, 9]
    for number in (2, 0, 3, 1):
        header, data = recordio.unpack(file.read_idx(3 * number))
        given_header, given_data = HEADERS[number]
        assert data == given_data
        np.testing.assert_array_equal(header.label, np.asarray(given_header[1]))
        assert (header.id, header.id2) == given_header[2:]
    assert file.read() == file.read_idx(6)
    file.seek(0)
    assert recordio.unpack(file.read())[1] == b"abc"


pieces = st.lists(st.sampled_from([b"a", b"bcd", b"efgh", MAGIC, MAGIC[:2]]), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(pieces.map(b"".join), max_size=5))
@example([MAGIC * 3, b"a" + MAGIC, b""])
def test_any_record_comes_back(tmp_path, records):
    path = tmp_path / "x.rec"
    write(path, records)
    assert read(path) == records
    assert path.stat().st_size % 4 == 0


def test_tell_is_where_the_next_record_begins(tmp_path):
    with MXIndexedRecordIO(tmp_path / "i", tmp_path / "r", "w", key_type=str) as file:
        for name in ("a b", "k"):
            place = file.tell()
            file.write_idx(name, b"12345")
            assert file.idx[name] == place
    again = MXIndexedRecordIO(tmp_path / "i", tmp_path / "r", "r", key_type=str)
    assert again.idx == {"a b": 0, "k": 16}
    with pytest.raises(
        KeyError, match=r"i: no record has the key 'c' \(str\); .* 2 keys of type str"
    ):
        again.read_idx("c")


def test_opening_a_writer_again_begins_a_new_file(tmp_path):
    """The buffer of a writer belongs to the file that it empties."""
    with MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "w") as file:
        for number in range(5):
            file.write_idx(number, b"old")
        file.open()
        file.write_idx(0, b"new")
    with MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "r") as file:
        assert file.keys == [0]
        assert file.read_idx(0) == b"new"
        assert file.read() is None


def test_records_of_several_threads_are_all_there(tmp_path):
    with MXRecordIO(tmp_path / "x.rec", "w") as file:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(file.write, [b"%05d" % n * 50 for n in range(4000)]))
        assert file._file.tell() == 4000 * (8 + 252)
    with MXRecordIO(tmp_path / "x.rec", "r") as file:
        found = sorted(iter(file.read, None))
    assert found == [b"%05d" % n * 50 for n in range(4000)]


def test_reset_begins_again(tmp_path):
    file = MXRecordIO(FILES / "plain.rec", "r")
    file.read()
    file.reset()
    assert file.read() == RECORDS[0]
    writer = MXRecordIO(tmp_path / "x", "w")
    writer.write(b"gone")
    writer.reset()
    writer.write(b"kept")
    writer.close()
    assert read(tmp_path / "x") == [b"kept"]


def test_a_pickled_reader_begins_again_and_a_writer_is_not_pickled(tmp_path):
    file = MXIndexedRecordIO(FILES / "indexed.idx", FILES / "indexed.rec", "r")
    again = pickle.loads(pickle.dumps(file))
    assert again.read_idx(6) == file.read_idx(6)
    closed = MXRecordIO(FILES / "plain.rec", "r")
    closed.close()
    assert not pickle.loads(pickle.dumps(closed)).is_open
    with pytest.raises(NotSupportedError, match="empty the file"):
        pickle.dumps(MXRecordIO(tmp_path / "x", "w"))


@forking
def test_after_a_fork(tmp_path):
    plain = MXRecordIO(FILES / "plain.rec", "r")
    plain.read()
    assert in_child(plain.read) == "NotReadyError"
    assert in_child(lambda: (plain.reset(), plain.read())[1]) == repr(RECORDS[0])
    assert plain.read() == RECORDS[1]
    indexed = MXIndexedRecordIO(FILES / "indexed.idx", FILES / "indexed.rec", "r")
    assert in_child(lambda: recordio.unpack(indexed.read_idx(3))[1]) == repr(b"abc")
    writer = MXIndexedRecordIO(tmp_path / "i", tmp_path / "x", "w")
    writer.write_idx(1, b"one")
    assert in_child(lambda: writer.write(b"two")) == "NotReadyError"
    assert in_child(writer.close) == "None"  # there is nothing in a buffer that it would write too
    writer.write_idx(2, b"two")
    writer.close()
    assert read(tmp_path / "x") == [b"one", b"two"]
    assert (tmp_path / "i").read_text() == "1\t0\n2\t12\n"


@forking
@pytest.mark.parametrize("leave", [MXIndexedRecordIO.close, vars])
def test_a_child_does_not_write_what_is_in_a_buffer(tmp_path, leave):
    writer = MXIndexedRecordIO(tmp_path / "i", tmp_path / "x", "w")
    writer._settle = lambda: None  # as where a thread writes after it, before the fork
    writer.write_idx(1, b"one")

    def end():
        nonlocal writer
        leave(writer)
        writer = None
        gc.collect()

    assert in_child(end) == "None"
    writer.close()
    assert read(tmp_path / "x") == [b"one"]
    assert (tmp_path / "i").read_text() == "1\t0\n"


@forking
def test_a_child_does_not_wait_for_a_thread_that_writes(tmp_path):
    """The thread, which the child lacks, holds the lock of the buffer."""
    os.mkfifo(tmp_path / "x")
    reader = os.open(tmp_path / "x", os.O_RDONLY | os.O_NONBLOCK)
    writer = MXRecordIO(tmp_path / "x", "w")
    writer._settle = lambda: None  # which waits until the pipe is read
    thread = threading.Thread(target=writer.write, args=(bytes(1 << 20),))
    thread.start()
    while not select.select([reader], [], [], 0)[0]:
        time.sleep(0)
    assert in_child(writer.close) == "None"
    os.set_blocking(reader, True)
    left = (1 << 20) + 8
    while left:
        left -= len(os.read(reader, left))
    thread.join()
    writer.close()
    os.close(reader)


def test_index_lines_of_several_threads_are_all_there(tmp_path):
    """Also while another thread empties the buffers, as a fork does."""
    file = MXIndexedRecordIO(tmp_path / "i", tmp_path / "x", "w")
    with file, concurrent.futures.ThreadPoolExecutor(3) as pool:
        written = pool.map(lambda n: file.write_idx(n, b"x"), range(3000))
        for _ in range(300):
            file._settle()
        list(written)
    lines = (tmp_path / "i").read_text().splitlines()
    assert sorted(int(line.split("\t")[0]) for line in lines) == list(range(3000))


def test_threads_may_reset_a_reader_that_others_read():
    file = MXRecordIO(FILES / "plain.rec", "r")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            found = pool.map(lambda _: (file.reset(), file.read())[1], range(300))
            assert {*found} <= {*RECORDS, None}
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("place", [-1, 10**30, 1.5, "0", True, None])
def test_places_where_no_record_begins(place):
    file = MXRecordIO(FILES / "plain.rec", "r")
    with pytest.raises((FileFormatError, ParameterError), match=r"plain\.rec: .*expected|outside"):
        file.read_at(place)
    assert file.read_at(np.int64(0)) == RECORDS[0]


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (int, 1.5), (int, "a"), (int, None), (int, float("nan")), (float, float("nan")),
        (str, "a\tb"), (str, "a\nb"), (str, "a\rb"), (str, " a"), (str, ""), (str, "\ud800"),
    ],
)  # fmt: skip
def test_keys_that_an_index_cannot_have(tmp_path, kind, key):
    with MXIndexedRecordIO(tmp_path / "i", tmp_path / "x", "w", kind) as file:
        with pytest.raises(ParameterError, match="write_idx: got the key"):
            file.write_idx(key, b"x")
        assert file.tell() == 0
        file.write_idx("7", b"y")
    assert read(tmp_path / "x") == [b"y"]
    assert MXIndexedRecordIO(tmp_path / "i", tmp_path / "x", "r", kind).keys == [kind("7")]


def test_the_index_is_never_ahead_of_its_records(tmp_path):
    """Also while both are written, by whoever looks then."""
    with MXIndexedRecordIO(tmp_path / "i", tmp_path / "x", "w") as file:
        named = set()
        for number in range(2500):
            file.write_idx(number, bytes(number % 50))
            if number % 100 == 99:
                with MXIndexedRecordIO(tmp_path / "i", tmp_path / "x", "r") as found:
                    named.add(len(found.keys))
                    assert all(len(found.read_idx(key)) == key % 50 for key in found.keys)
        assert len(named) > 2


def part(kind, data, length=None):
    length = len(data) if length is None else length
    return MAGIC + struct.pack("<I", kind << 29 | length) + data + bytes(-len(data) % 4)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"garbage!", "at byte 0: no record begins here"),
        (part(0, b"abcd") + b"garbage!", "at byte 12: no record begins"),
        (MAGIC, "at byte 0: the file ends within a record's header"),
        (part(0, b"abc")[:-2], "at byte 0: a record takes 4 bytes, but 2 are left"),
        (part(0, b"abcd", 2**29 - 1), "takes 536870912 bytes, but 4 are left"),
        (part(2, b"abcd"), "later part"),
        (part(1, b"abcd"), "no last part"),
        (part(1, b"abcd") + part(0, b"abcd"), "no last part"),
    ],
)
def test_damaged_files(tmp_path, content, says):
    (tmp_path / "x.rec").write_bytes(content)
    with pytest.raises(FileFormatError, match=says):
        read(tmp_path / "x.rec")


def test_an_index_that_lies(tmp_path):
    (tmp_path / "i").write_text("0\t0\n1\t99999\n")
    file = MXIndexedRecordIO(tmp_path / "i", FILES / "indexed.rec", "r")
    with pytest.raises(FileFormatError, match="key 1 is at byte 99999"):
        file.read_idx(1)
    (tmp_path / "i").write_text("0\t0\nx\t4\n")
    with pytest.raises(FileFormatError, match="line 2"):
        MXIndexedRecordIO(tmp_path / "i", FILES / "indexed.rec", "r")
    with pytest.raises(MissingFileError, match="gone"):
        MXIndexedRecordIO(tmp_path / "gone", FILES / "indexed.rec", "r")


def test_the_wrong_way_round(tmp_path):
    reader, writer = MXRecordIO(FILES / "plain.rec", "r"), MXRecordIO(tmp_path / "x", "w")
    for call, says in (
        (lambda: reader.write(b"x"), "write needs flag 'w'"),
        (writer.read, "read needs flag 'r'"),
    ):
        with pytest.raises(AssertionError, match=says):
            call()
    reader.close()
    with pytest.raises(NotReadyError, match="closed"):
        reader.read()
    with pytest.raises(TypeError, match="expected bytes"):
        writer.write("text")
    with pytest.raises(ValueError, match="'a'"):
        MXRecordIO(tmp_path / "x", "a")
    with pytest.raises(MissingFileError, match="gone"):
        MXRecordIO(tmp_path / "gone", "r")


def test_headers_that_do_not_fit():
    with pytest.raises(FileFormatError, match="at least 24"):
        recordio.unpack(b"abc")
    with pytest.raises(FileFormatError, match="3 labels take 12 bytes"):
        recordio.unpack(recordio.pack(IRHeader(0, [1, 2, 3], 0, 0), b"")[:-1])
    with pytest.raises(ParameterError, match="cannot be stored"):
        recordio.pack(IRHeader(0, 1, -1, 0), b"")
    with pytest.raises(ParameterError, match="expected bytes"):
        recordio.pack(IRHeader(0, 1, 1, 0), "text")
    with pytest.raises(ParameterError, match="pack: label: got 'cat', expected a number"):
        recordio.pack(IRHeader(0, "cat", 1, 0), b"")
    with pytest.raises(ParameterError, match=r"got NoneType, expected bytes; read\(\) returns"):
        recordio.unpack(None)


@pytest.mark.parametrize("shape", [(5, 4), (5, 4, 3), (5, 4, 4)])
def test_an_image_without_loss_comes_back(shape):
    pytest.importorskip("PIL")
    image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    header, again = recordio.unpack_img(
        recordio.pack_img(IRHeader(0, 3.0, 7, 0), image, quality=9, img_fmt=".png")
    )
    assert header.label == 3
    np.testing.assert_array_equal(again, image)


def test_images_have_blue_first_and_can_be_grey():
    image_module = pytest.importorskip("PIL.Image")
    blue = np.zeros((8, 8, 3), np.uint8)
    blue[..., 0] = 255
    packed = recordio.pack_img((0, 0, 0, 0), blue, quality=100)
    data = recordio.unpack(packed)[1]

    assert image_module.open(io.BytesIO(data)).getpixel((3, 3))[2] > 250
    assert recordio.unpack_img(packed)[1][3, 3, 0] > 250
    grey = recordio.unpack_img(packed, iscolor=0)[1]
    assert grey.shape == (8, 8)
    assert abs(int(grey[3, 3]) - 29) <= 1
    grey[:] = 0  # as OpenCV's arrays allow
    with pytest.raises(ParameterError, match=r"'\.bmp'"):
        recordio.pack_img((0, 0, 0, 0), blue, img_fmt=".bmp")
    for array in (blue.astype("float64"), blue.transpose(2, 0, 1), blue[None]):
        with pytest.raises(TypeError, match=r"pack_img: img: got .* expected uint8 of shape"):
            recordio.pack_img((0, 0, 0, 0), array)
    assert recordio.pack_img((0, 0, 0, 0), blue[..., 0].astype("uint16"), 9, ".png")
    with pytest.raises(FileFormatError, match="no image"):
        decode_image(b"nothing")


def test_images_of_16_bits_are_not_cut_off():
    """Nor white: OpenCV's arrays of 8 bits have the upper ones."""
    deep = (np.arange(20, dtype=np.uint16) * 3000).reshape(4, 5)
    packed = recordio.pack_img((0, 0, 0, 0), deep, 9, ".png")
    same = recordio.unpack_img(packed)[1]
    assert same.dtype == np.uint16
    np.testing.assert_array_equal(same, deep)
    np.testing.assert_array_equal(recordio.unpack_img(packed, 0)[1], deep >> 8)
    np.testing.assert_array_equal(recordio.unpack_img(packed, 1)[1][..., 1], deep >> 8)


def test_png_files_become_grey_as_in_opencv():
    """Its PNG decoder cuts off, the others round."""
    pixels = np.array([[[105, 7, 246], [90, 90, 90], [255, 255, 255]]], np.uint8)  # blue first
    grey = recordio.unpack_img(recordio.pack_img((0, 0, 0, 0), pixels, 9, ".png"), 0)[1]
    assert grey.tolist() == [[89, 90, 255]]


def png(width, height):
    """The beginning of a PNG that claims to be so large."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [header, b"IDAT" + zlib.compress(bytes(99))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in chunks
    )


@pytest.mark.parametrize(
    ("image", "says"),
    [
        (b"", "a record of 0 bytes is no image"),
        (b"\xff\xd8\xff\xe0" + bytes(50), "is no image"),
        (png(9000, 9000), "so few bytes cannot be 9000 x 9000 pixels"),
        (png(10**5, 10**5), "is no image"),
        # Pillow would start Ghostscript for it.
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n", "is no image"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_images_that_are_none(image, says):
    pytest.importorskip("PIL")
    with pytest.raises(FileFormatError, match=says):
        recordio.unpack_img(recordio.pack(IRHeader(0, 1, 0, 0), image))


@pytest.mark.parametrize("form", ["BMP", "GIF", "TIFF", "WEBP", "PPM", "PNG"])
def test_images_of_other_formats(form):
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.full((5, 7, 3), 200, np.uint8)
    stream = io.BytesIO()
    pillow.fromarray(pixels).save(stream, form)
    image = recordio.unpack_img(recordio.pack(IRHeader(0, 1, 0, 0), stream.getvalue()), iscolor=1)[
        1
    ]
    np.testing.assert_array_equal(image, pixels)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (b"0\t0\n1\t-8\n", r"x\.idx: line 2: got '1\\t-8'"),
        (b"0\t0\n1\n", r"x\.idx: line 2: got '1', expected a key"),
        (b"0\t0\n\xff\n", r"x\.idx: after line \d: not UTF-8"),
        (b"0\t" + b"9" * 9999, r"x\.idx: line 1: got '0\\t9{78}', expected a key"),
    ],
)
def test_an_index_that_is_none(tmp_path, lines, says):
    with MXRecordIO(tmp_path / "x.rec", "w") as file:
        file.write(b"abc")
    (tmp_path / "x.idx").write_bytes(lines)
    with pytest.raises(FileFormatError, match=says):
        MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "x.rec", "r")


def test_a_new_file_in_a_folder_that_is_not_there_leaves_the_index(tmp_path):
    (tmp_path / "x.idx").write_text("0\t0\n")
    with pytest.raises(FileNotFoundError, match=r"x\.rec: there is no such folder"):
        MXIndexedRecordIO(tmp_path / "x.idx", tmp_path / "gone" / "x.rec", "w")
    assert (tmp_path / "x.idx").read_text() == "0\t0\n"
