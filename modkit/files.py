"""Files that are whole or not there, and readers that believe no size they read."""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from modkit.errors import FileFormatError, ModkitError


class MissingFileError(ModkitError, FileNotFoundError):
    """A file to be read is not there."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


@contextlib.contextmanager
def atomic_write(fname: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file to write, which takes the place of ``fname`` once everything is on the disk.

    Whoever reads ``fname`` meanwhile, or after a crash, finds the old file or the new one. Where
    ``fname`` is a pipe or a device it is written to directly.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "x.bin") as file:
    ...         _ = file.write(b"abc")
    ...     (Path(folder) / "x.bin").read_bytes()
    b'abc'
    """
    target = Path(os.path.realpath(fname))
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            yield file
        return
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


@contextlib.contextmanager
def mapped(fname: str | os.PathLike[str]) -> Iterator[memoryview]:
    """The bytes of a file as a read-only window, of which only what is touched takes memory.

    Raises:
        MissingFileError: there is no such file.
    """
    try:
        handle = os.open(fname, os.O_RDONLY)
    except FileNotFoundError as error:
        raise MissingFileError(f"{os.fspath(fname)}: there is no such file") from error
    with os.fdopen(handle, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            yield memoryview(file.read())
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages:
            window = memoryview(pages)
            try:
                yield window
            finally:
                window.release()


class Reader:
    """Reads fields one after another and checks each against the bytes that are left.

    Args:
        window: all bytes.
        where: name of the file, for errors.
    """

    def __init__(self, window: memoryview, where: str):
        self.window, self.where, self.offset = window, where, 0

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self.window) - self.offset

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
        layout = "<" + layout
        return struct.unpack_from(layout, self.window, self.skip(struct.calcsize(layout), what))

    def copy(self, begin: int, target: memoryview) -> None:
        """Copy bytes from ``begin`` on to ``target``, and let go of the pages they were read to."""
        target[:] = self.window[begin : begin + len(target)]
        pages = self.window.obj
        if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            first = begin - begin % mmap.PAGESIZE
            pages.madvise(mmap.MADV_DONTNEED, first, begin + len(target) - first)

    def text(self, what: str) -> str:
        """The next string: a 64-bit length and UTF-8."""
        begin = self.offset
        (size,) = self.fields("Q", f"the length of {what}")
        at = self.skip(size, what)
        try:
            return bytes(self.window[at : at + size]).decode()
        except UnicodeDecodeError as error:
            raise self.bad(f"{what} is not UTF-8", begin) from error
