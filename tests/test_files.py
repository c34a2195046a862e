"""Writing files whole, and reading them with suspicion."""

import itertools
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from modkit.errors import FileFormatError, ModkitError, NotSupportedError
from modkit.files import (
    FileAccessError,
    FileWindow,
    MissingFileError,
    Reader,
    atomic_write,
    parse_file,
    text_lines,
)


def test_a_file_appears_only_when_it_is_whole(tmp_path):
    path = tmp_path / "x"
    with atomic_write(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(KeyError), atomic_write(path) as file:
        file.write(b"half")
        raise KeyError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "x", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    with atomic_write(tmp_path / "x") as file:
        file.write(b"")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_drafts_of_killed_writers_go_and_those_of_others_stay(tmp_path):
    path, kept = tmp_path / "x", [".y.0123456789ab.tmp", ".x.y.0123456789ab.tmp", ".x.abc.tmp"]
    for name in (*kept, ".x.0123456789ab.tmp", ".x.ba9876543210.tmp"):
        (tmp_path / name).write_bytes(b"left")
    with atomic_write(path) as first:
        first.write(b"first")
        (mine,) = set(tmp_path.iterdir()) - {tmp_path / name for name in kept}
        with atomic_write(path) as second:
            second.write(b"second")
        assert mine.exists()
        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"
    assert {p.name for p in tmp_path.iterdir()} == {"x", *kept}


def test_a_pipe_is_written_to_directly(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(path.read_bytes)
        with atomic_write(path) as file:
            file.write(b"x")
        stays = stat.S_ISFIFO(path.stat().st_mode)
        if not stays:  # the reader waits for a writer
            path.write_bytes(b"")
        assert stays and got.result(10) == b"x"


def test_a_window_on_a_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    with FileWindow(path) as window:
        assert bytes(window[1:]) == b"bc"
    path.write_bytes(b"")
    with FileWindow(path) as window:
        assert len(window) == 0


def test_parts_of_any_size_are_read_by_several_threads(tmp_path):
    path, numbers = tmp_path / "x", np.arange(3_000_000, dtype=np.uint32)
    path.write_bytes(numbers.tobytes())
    ends = [0, 1, 5, 5, 700_000, 700_003, 2_900_000, 3_000_000]
    parts = [np.zeros(b - a, np.uint32) for a, b in itertools.pairwise(ends)]
    with FileWindow(path) as window:
        places = [(4 * a, p.view(np.uint8).data) for a, p in zip(ends, parts, strict=False)]
        window.read_all_into(places)
        np.testing.assert_array_equal(np.concatenate(parts), numbers)
        os.truncate(path, 9_000_000)
        with pytest.raises(FileFormatError, match="at byte 9000000: the file ends here"):
            window.read_all_into(places)


def test_what_is_no_plain_file_is_read_to_its_end(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(path.write_bytes, b"abc")
        with FileWindow(path) as window:
            assert (len(window), bytes(window), window[1:9]) == (3, b"abc", b"bc")


def test_lines_are_counted(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"a\n\r\nb")
    assert list(text_lines(path)) == [(1, "a"), (2, ""), (3, "b")]
    path.write_bytes(b"a\n" + b"b" * 10**5 + b"\n\xff")
    with pytest.raises(FileFormatError, match=r"x: after line \d: not UTF-8"):
        list(text_lines(path))


def test_an_error_of_a_parser_names_the_file(tmp_path):
    def refuse(content):
        raise NotSupportedError(f"{len(content)} bytes")

    path = tmp_path / "x"
    path.write_bytes(b"abc")
    assert parse_file(path, len) == 3
    with pytest.raises(NotSupportedError, match=r"/x: 3 bytes"):
        parse_file(path, refuse)


def test_a_missing_file_is_both_errors(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"gone: there is no such file"),
        FileWindow(tmp_path / "gone"),
    ):
        pass
    assert issubclass(MissingFileError, ModkitError)


@pytest.mark.parametrize("name", ["", "a\0b", "a\ud800"])
def test_names_that_no_file_has(name):
    for use in (FileWindow, lambda name: atomic_write(name).__enter__()):
        with pytest.raises(FileAccessError, match="no file can have such a name"):
            use(name)


@pytest.mark.skipif(not os.path.exists(os.devnull), reason="no such device")  # noqa: PTH110
def test_a_device_which_may_never_end_is_not_read():
    with pytest.raises(FileFormatError, match="it is a device"):
        FileWindow(os.devnull)


def test_fields_and_texts():
    reader = Reader(memoryview(b"\1\0\0\0" + b"\3" + bytes(7) + b"abc"), "x")
    assert reader.fields("I", "a number") == (1,)
    assert reader.text("a name") == "abc"
    assert reader.left == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\1", r"x: at byte 0: the length of a name takes 8 bytes, but the file has only 1 more"),
        (b"\xff" * 8, r"x: at byte 8: a name takes 18446744073709551615 bytes"),
        (b"\1" + bytes(7) + b"\xff", r"x: at byte 0: a name is not UTF-8"),
    ],
)
def test_texts_that_are_none(content, says):
    with pytest.raises(FileFormatError, match=says):
        Reader(memoryview(content), "x").text("a name")
