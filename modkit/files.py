"""Files that are whole or not there, and readers that believe no size they read."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import stat
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar

from modkit.allocator import keep_pages
from modkit.errors import FileFormatError, ModkitError

T = TypeVar("T")


class MissingFileError(ModkitError, FileNotFoundError):
    """A file to be read is not there."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class FileAccessError(ModkitError, OSError):
    """A file that the system does not let us read or write: a full disk, missing rights."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


@contextlib.contextmanager
def named_errors(fname: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Make errors of the system modkit's own, which name the file.

    Args:
        fname: the file.
        what: what is done to it: ``"read"`` or ``"written"``.

    Raises:
        MissingFileError: there is no such file or folder.
        FileAccessError: anything else.
    """
    name = os.fspath(fname)
    try:
        yield
    except ModkitError:
        raise
    except FileNotFoundError as error:
        missing = "file" if what == "read" else "folder"
        raise MissingFileError(f"{name}: there is no such {missing}") from error
    except OSError as error:
        made = FileAccessError(f"{name}: cannot be {what}: {error.strerror or error}")
        made.errno = error.errno
        raise made from error


@contextlib.contextmanager
def atomic_write(fname: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write, which takes the place of ``fname`` once everything is on the disk.

    Whoever reads ``fname`` meanwhile, or after a crash, finds the old file or the new one; a
    process that is killed may leave a draft beside it, ``.<name>.<random>.tmp``. Where ``fname``
    is a pipe or a device it is written to directly.

    Raises:
        MissingFileError: there is no such folder.
        FileAccessError: it cannot be written, for want of room or rights; the old file is as it
            was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "x.bin") as file:
    ...         _ = file.write(b"abc")
    ...     (Path(folder) / "x.bin").read_bytes()
    b'abc'
    """
    target = Path(os.path.realpath(fname))
    with named_errors(fname, "written"):
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        with _draft_of(target) as file:
            yield file


@contextlib.contextmanager
def _draft_of(target: Path) -> Iterator[BinaryIO]:
    draft = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.tmp")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _settle(target.parent)


def _settle(folder: Path) -> None:
    """Make the renaming itself durable, where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


_BLOCK_BYTES = 4096
# About how much one thread reads at a time, and how many there are at most.
_SHARE_BYTES, _MOST_THREADS = 2**22, 4


class FileWindow:
    """The bytes of an open file, of which only those are read that are asked for.

    They are read, not mapped to memory: where another program cuts the file short meanwhile, a
    mapping ends the process, and this gives an error. Any thread may read.

    Args:
        fname: the file. What is no plain file, a pipe for one, is read to its end at once.

    Raises:
        MissingFileError: there is no such file.
        FileAccessError: it cannot be read.
    """

    def __init__(self, fname: str | os.PathLike[str]):
        self.name = os.fspath(fname)
        self._lock = threading.Lock()
        self._whole: bytes | None = None
        self._block: tuple[int, bytes] = (0, b"")
        with contextlib.ExitStack() as opened, named_errors(self.name, "read"):
            self._file = opened.enter_context(Path(fname).open("rb", buffering=0))
            state = os.fstat(self._file.fileno())
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
        # Short fields stand close together: most are in the block that was read last.
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
        """Fill ``target`` with the bytes from ``begin`` on.

        Raises:
            FileFormatError: the file has become shorter.
        """
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
        """Read as many bytes as the system gives at once; their number."""
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [target], begin)
        with self._lock:
            self._file.seek(begin)
            return self._file.readinto(target)

    def read_all_into(self, parts: Iterable[tuple[int, memoryview]]) -> None:
        """`read_into` for several parts; where they are large several threads do it."""
        shares = list(_shares(parts))
        if len(shares) < 2:
            for share in shares:
                self._read_share(share)
            return
        keep_pages()
        with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_THREADS)) as pool:
            for _ in pool.map(self._read_share, shares):
                pass

    def _read_share(self, share: list[tuple[int, memoryview]]) -> None:
        for begin, target in share:
            self.read_into(begin, target)


def _shares(parts: Iterable[tuple[int, memoryview]]) -> Iterator[list[tuple[int, memoryview]]]:
    """Parts, cut and put together, so that each share is worth a thread's while."""
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
    """What ``parse`` makes of the bytes of a file; its errors name the file.

    Raises:
        MissingFileError: there is no such file.
    """
    with FileWindow(fname) as window:
        content = bytes(window)
    try:
        return parse(content)
    except ModkitError as error:
        raise type(error)(f"{os.fspath(fname)}: {error}") from error


def text_lines(fname: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers, from 1, without what ends them.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: a line is not UTF-8.
    """
    name, number = os.fspath(fname), 0
    with named_errors(name, "read"), Path(fname).open(encoding="utf-8") as file:
        try:
            for number, line in enumerate(file, 1):
                yield number, line.removesuffix("\n")
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{name}: after line {number}: not UTF-8 text") from error


@functools.lru_cache(maxsize=256)
def _layout(layout: str) -> struct.Struct:
    return struct.Struct("<" + layout)


class Reader:
    """Reads fields one after another and checks each against the bytes that are left.

    Args:
        window: all bytes, or the file that has them.
        where: name of the file, for errors.
    """

    def __init__(self, window: memoryview | FileWindow, where: str):
        self.window, self.where, self.offset = window, where, 0
        self._end = len(window)

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return self._end - self.offset

    def bad(self, reason: str, offset: int | None = None) -> FileFormatError:
        """The error to raise: file, offset and reason."""
        at = self.offset if offset is None else offset
        return FileFormatError(f"{self.where}: at byte {at}: {reason}")

    def skip(self, size: int, what: str) -> int:
        """Step over ``size`` bytes and return where they begin.

        Raises:
            FileFormatError: fewer are left.
        """
        if size > self.left:
            raise self.bad(f"{what} takes {size} bytes, but the file has only {self.left} more")
        self.offset += size
        return self.offset - size

    def fields(self, layout: str, what: str) -> tuple[Any, ...]:
        """The next values, of little-endian ``struct`` layout ``layout``."""
        known = _layout(layout)
        begin = self.skip(known.size, what)
        return known.unpack(self.window[begin : begin + known.size])

    def copy(self, parts: Sequence[tuple[int, memoryview]]) -> None:
        """Fill each target with the bytes from its place on."""
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
