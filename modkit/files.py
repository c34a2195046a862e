"""Atomic writes of files, and readers that check every size against the file's length."""

from __future__ import annotations

import contextlib
import errno
import itertools
import math
import os
import re
import secrets
import stat
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar

from modkit.errors import (
    FileAccessError,
    FileFormatError,
    MissingFileError,
    ModkitError,
    NameNotFoundError,
    NotSupportedError,
    ParameterError,
    ShapeError,
    nearest,
    wrong,
)

try:
    import fcntl
except ImportError:  # Windows
    fcntl: Any = None

T = TypeVar("T")
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)


def missing_file(path: str | os.PathLike[str]) -> MissingFileError:
    """The error of a missing file, with similar names in its folder; for a prefix, its files."""
    name = os.fspath(path)
    folder, own = os.path.split(name)
    try:
        with os.scandir(folder or ".") as beside:
            names = [each.name for each in itertools.islice(beside, 1000)]
        of_prefix = sorted(name for name in names if name.startswith(f"{own}-"))[-3:]
        close = nearest(own, (name for name in names if nearest(_stem(own), [_stem(name)])))
        if of_prefix:
            close = f" Did you mean {', '.join(map(repr, of_prefix))}?"
        hint = close and f".{close}"
    except OSError as error:  # a folder that is there may refuse to be listed
        absent = isinstance(error, FileNotFoundError | NotADirectoryError)
        hint = f"; nor is there the folder {folder}" if absent else ""
    return MissingFileError(f"{name}: there is no such file{hint}")


def _stem(name: str) -> str:
    """A name up to its ending: ``digits`` of ``digits-symbol.json``."""
    return re.split(r"[.-]", name, maxsplit=1)[0]


def _may_be_name(name: str) -> bool:
    """Whether the system accepts a name, which has no NUL and characters that it encodes."""
    try:
        return bool(name) and b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def path_of(name: Any) -> str:
    """``os.fspath``; a ParameterError, not a TypeError, for what is no path."""
    try:
        return os.fspath(name)
    except TypeError as error:
        raise wrong("the name of a file", name, "a str or a Path") from error


@contextlib.contextmanager
def named_errors(fname: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Turn errors of the operating system into modkit's, which name the file.

    Args:
        what: the operation: ``"read"`` or ``"written"``.

    Raises:
        MissingFileError: there is no such file or folder.
        FileAccessError: anything else.
    """
    name = path_of(fname)
    if not _may_be_name(name):
        raise FileAccessError(f"{name!r}: cannot be {what}: no file can have such a name")
    try:
        yield
    except ModkitError:
        raise
    except FileNotFoundError as error:
        if what == "read":
            raise missing_file(name) from error
        raise MissingFileError(f"{name}: there is no such folder") from error
    except OSError as error:
        made = FileAccessError(f"{name}: cannot be {what}: {error.strerror or error}")
        made.errno = error.errno
        raise made from error


def check_writable(folder: Path) -> None:
    """Check that files can be made in a folder."""
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(folder))


def check_is_file(path: Path) -> None:
    """Raise MissingFileError for no file, FileFormatError for a folder or a device."""
    with named_errors(path, "read"):
        path.stat()
    if not path.is_file():
        what = "a folder" if path.is_dir() else "a device or a pipe"
        raise FileFormatError(f"{path}: it is {what}, expected a file")


@contextlib.contextmanager
def atomic_write(fname: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write, which replaces ``fname`` once everything is on the disk.

    Readers of ``fname``, meanwhile or after a crash, find the old file or the new one. A process
    that is killed may leave a draft beside it, ``.<name>.<random>.tmp``, which the next writer of
    that name removes. A pipe or a device is written to directly.

    Raises:
        MissingFileError: there is no such folder.
        FileAccessError: it cannot be written, for lack of space or permission; the old file is
            unchanged.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "x.bin") as file:
    ...         _ = file.write(b"abc")
    ...     (Path(folder) / "x.bin").read_bytes()
    b'abc'
    """
    with named_errors(fname, "written"):
        target = Path(os.path.realpath(fname))
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        with _draft_of(target) as file:
            yield file


@contextlib.contextmanager
def located(where: str) -> Iterator[None]:
    """A block, or function, whose errors name file and place of what is read, or the caller."""
    try:
        yield
    except (FileFormatError, NameNotFoundError, ParameterError, ShapeError) as error:
        raise type(error)(f"{where}: {error}") from error


@contextlib.contextmanager
def _draft_of(target: Path) -> Iterator[BinaryIO]:
    _sweep(target)
    draft, lock = _owned_draft(target)
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    with contextlib.suppress(OSError):  # the renaming too, where the system syncs a folder
        sync(target.parent)


_DRAFT_ENDING = re.compile(r"[0-9a-f]{12}\.tmp")


def _draft_prefix(target: Path) -> str:
    return f".{target.name[:200]}."


def _owned_draft(target: Path) -> tuple[Path, int | None]:
    """An empty draft, and its owner's lock, which the system releases if the process is killed."""
    while True:
        draft = target.with_name(f"{_draft_prefix(target)}{secrets.token_hex(6)}.tmp")
        handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | _CLOEXEC, 0o666)
        if fcntl is None:
            os.close(handle)
            return draft, None
        # Before it is locked, another writer may delete the draft as an abandoned one.
        if _locks(handle) and os.fstat(handle).st_nlink:
            return draft, handle
        os.close(handle)


def _locks(handle: int) -> bool:
    """True if the lock was taken; False where another process holds it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: drafts are never deleted
        return True
    return True


def _sweep(target: Path) -> None:
    """Remove the drafts of a file whose owners were killed."""
    if fcntl is None:
        return
    prefix = _draft_prefix(target)
    with contextlib.suppress(OSError):  # a folder that may be written to, but not listed
        for path in target.parent.iterdir():
            if path.name.startswith(prefix) and _DRAFT_ENDING.fullmatch(path.name, len(prefix)):
                with contextlib.suppress(OSError):
                    _remove_if_dead(path)


def _remove_if_dead(draft: Path) -> None:
    handle = os.open(draft, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | _CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.unlink()
    finally:
        os.close(handle)


def sync(path: str | os.PathLike[str]) -> None:
    """Force a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_BLOCK_BYTES = 4096
# Bytes that a thread reads at a time, and the maximum number of threads.
_SHARE_BYTES, _MOST_THREADS = 2**22, 4


class FileWindow:
    """The bytes of an open file, read on access.

    The file is not memory-mapped: if another program truncates it, access to a mapping kills the
    process, while reading raises an error. Any thread may read.

    Args:
        fname: the file. A pipe is read to its end at once.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is a device.
        FileAccessError: it cannot be read.
    """

    def __init__(self, fname: str | os.PathLike[str]):
        self.name = path_of(fname)
        self._lock = threading.Lock()
        self._whole: bytes | None = None
        self._block: tuple[int, bytes] = (0, b"")
        with contextlib.ExitStack() as opened, named_errors(self.name, "read"):
            self._file = opened.enter_context(Path(fname).open("rb", buffering=0))
            state = os.fstat(self._file.fileno())
            if stat.S_ISCHR(state.st_mode):  # some never end, as /dev/zero
                raise FileFormatError(f"{self.name}: it is a device, expected a file or a pipe")
            self._size = state.st_size
            if not stat.S_ISREG(state.st_mode) or not self._size:
                self._whole = self._file.readall()
                self._size = len(self._whole)
            self._close = opened.pop_all().close

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._close()

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        begin, end, _ = part.indices(self._size)
        if self._whole is not None:
            return self._whole[begin:end]
        if end - begin >= _BLOCK_BYTES:
            return self._read(begin, end)
        # Short fields are adjacent: most are in the block that was read last.
        first, block = self._block
        if not first <= begin <= end <= first + len(block):
            first, block = begin, self._read(begin, min(begin + _BLOCK_BYTES, self._size))
            self._block = first, block
        return block[begin - first : end - first]

    def _read(self, begin: int, end: int) -> bytes:
        content = bytearray(max(end - begin, 0))
        self.read_into(begin, memoryview(content))
        return bytes(content)

    def __bytes__(self) -> bytes:
        return self[:]

    def read_into(self, begin: int, target: memoryview) -> None:
        """Fill ``target`` with the bytes from ``begin`` on; FileFormatError if there are fewer."""
        if self._whole is not None:
            target[:] = self._whole[begin : begin + len(target)]
            return
        while target:
            with named_errors(self.name, "read"):
                count = self._read_some(begin, target)
            if not count:
                raise FileFormatError(
                    f"{self.name}: at byte {begin}: the file ends here, but had "
                    f"{self._size} bytes when it was opened: another program writes to it"
                )
            begin, target = begin + count, target[count:]

    def _read_some(self, begin: int, target: memoryview) -> int:
        """Read as many bytes as one system call returns; returns their number."""
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [target], begin)
        with self._lock:
            self._file.seek(begin)
            return self._file.readinto(target)

    def read_all_into(self, parts: Iterable[tuple[int, memoryview]]) -> None:
        """`read_into` for several parts; large ones are read by several threads."""
        shares = list(_shares(parts))
        if len(shares) < 2:
            for share in shares:
                self._read_share(share)
            return
        with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS)) as pool:
            for _ in pool.map(self._read_share, shares):
                pass

    def _read_share(self, share: list[tuple[int, memoryview]]) -> None:
        for begin, target in share:
            self.read_into(begin, target)


def _shares(parts: Iterable[tuple[int, memoryview]]) -> Iterator[list[tuple[int, memoryview]]]:
    """Split and group parts into shares, each large enough for a thread."""
    share: list[tuple[int, memoryview]] = []
    size = 0
    for begin, target in parts:
        for i in range(0, len(target), _SHARE_BYTES):
            share.append((begin + i, target[i : i + _SHARE_BYTES]))
            size += len(share[-1][1])
            if size >= _SHARE_BYTES:
                yield share
                share, size = [], 0
    if share:
        yield share


def parse_file(fname: str | os.PathLike[str], parse: Callable[[bytes], T]) -> T:
    """Parse the bytes of a file; errors of ``parse`` name the file.

    Raises:
        MissingFileError: there is no such file.
    """
    with FileWindow(fname) as window:
        content = bytes(window)
    try:
        return parse(content)
    except ModkitError as error:
        raise type(error)(f"{os.fspath(fname)}: {error}") from error


_ANY_DENSE, _MOST_SPARSE = 2**26, 1024


def check_dense(where: str, shape: Sequence[int], itemsize: int, sparse_bytes: int) -> None:
    """Check that a sparse array does not become very much larger when made dense.

    Raises:
        NotSupportedError: the dense array takes more than 64 MiB, and more than 1024 times as
            much.
    """
    dense_bytes = math.prod(shape) * itemsize
    if dense_bytes > max(_ANY_DENSE, _MOST_SPARSE * sparse_bytes):
        raise NotSupportedError(
            f"{where}: sparse numbers of shape {tuple(shape)} take {sparse_bytes} bytes here, and "
            f"{dense_bytes} made dense; read a part of them, or as a sparse array (mx.nd.load)"
        )


def text_lines(fname: str | os.PathLike[str], encoding: str = "UTF-8") -> Iterator[tuple[int, str]]:
    """The lines of a text file with numbers from 1, without line endings and byte order mark.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: a line is not text in the encoding.
    """
    name, number = os.fspath(fname), 0
    with named_errors(name, "read"), Path(fname).open(encoding=encoding) as file:
        try:
            for number, line in enumerate(file, 1):
                begin = "\ufeff" if number == 1 else ""
                yield number, line.removesuffix("\n").removeprefix(begin)
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{name}: after line {number}: not {encoding} text") from error


class Reader:
    """Reads fields of the file ``where``, and checks each size against the remaining bytes."""

    def __init__(self, window: memoryview | FileWindow, where: str):
        self.window, self.where, self.offset = window, where, 0
        self._end = len(window)

    @property
    def left(self) -> int:
        """The number of remaining bytes."""
        return self._end - self.offset

    def bad(self, reason: str, offset: int | None = None) -> FileFormatError:
        """The error to raise: file, offset and reason."""
        at = self.offset if offset is None else offset
        return FileFormatError(f"{self.where}: at byte {at}: {reason}")

    def skip(self, size: int, what: str) -> int:
        """Skip ``size`` bytes and return their offset; FileFormatError where fewer remain."""
        if size > self.left:
            if not self._end:
                raise self.bad("the file is empty")
            raise self.bad(f"{what} takes {size} bytes, but the file has only {self.left} more")
        self.offset += size
        return self.offset - size

    def fields(self, layout: str, what: str) -> tuple[Any, ...]:
        """The next values, of little-endian ``struct`` layout ``layout``."""
        layout = f"<{layout}"
        size = struct.calcsize(layout)
        begin = self.skip(size, what)
        return struct.unpack(layout, self.window[begin : begin + size])

    def copy(self, parts: Sequence[tuple[int, memoryview]]) -> None:
        """Fill each target with the bytes from its offset on."""
        if isinstance(self.window, FileWindow):
            self.window.read_all_into(parts)
            return
        for begin, target in parts:
            target[:] = self.window[begin : begin + len(target)]

    def text(self, what: str) -> str:
        """The next string: a 64-bit length and UTF-8."""
        begin = self.offset
        (size,) = self.fields("Q", f"the length of {what}")
        at = self.skip(size, what)
        try:
            return bytes(self.window[at : at + size]).decode()
        except UnicodeDecodeError as error:
            raise self.bad(f"{what} is not UTF-8", begin) from error
