"""RecordIO: files of byte records, read one after another or, with an index, by key."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Any, BinaryIO

from modkit import fork
from modkit.errors import (
    FileFormatError,
    NameNotFoundError,
    NotReadyError,
    NotSupportedError,
    ParameterError,
    expect,
    typed,
)
from modkit.files import named_errors, path_of
from modkit.io import record_format
from modkit.io.list_file import index_entry, index_lines
from modkit.io.packing import IRHeader as IRHeader
from modkit.io.packing import pack as pack
from modkit.io.packing import pack_img as pack_img
from modkit.io.packing import unpack as unpack
from modkit.io.packing import unpack_img as unpack_img
from modkit.lazy import dir_of

__dir__ = dir_of(__name__)

_BUFFER_BYTES = 2**18
# Number of index lines that are held back until their records are written.
_LINES = 1024

_WRITERS: weakref.WeakValueDictionary[int, MXRecordIO] = weakref.WeakValueDictionary()


def _writers() -> list[MXRecordIO]:
    # `valuerefs` is one copy: other threads open files meanwhile.
    return [writer for ref in _WRITERS.valuerefs() if (writer := ref()) is not None]


def _settle_all() -> None:
    for writer in _writers():
        # The next write, or close, raises the error.
        with contextlib.suppress(OSError):
            writer._settle()


def _abandon_all() -> None:
    for writer in _writers():
        writer._abandon()


# A child reads what has been written before the fork. It would write buffers again that threads
# have filled since then.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_settle_all, after_in_child=_abandon_all)


class MXRecordIO:
    """A file of byte records, to write or to read from one end to the other.

    A reader may be pickled, or used after a fork once `reset`; a writer may not.

    A writer empties the file when it opens and fills it as records come, as in MXNet, so that
    other programs may follow it. Records are buffered: where the writer is killed, or the disk is
    full, which raises an error, the file has all records up to one that may be cut short. To
    replace a file that must not be lost, write to another name, close, and rename it.

    Args:
        uri: path of the file.
        flag: ``"r"`` or ``"w"``.

    Raises:
        ParameterError: ``flag`` is neither.
        MissingFileError: there is no such file to read.

    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.rec")
    >>> file = MXRecordIO(path, "w")
    >>> file.write(b"one")
    >>> file.close()
    >>> MXRecordIO(path, "r").read()
    b'one'
    """

    def __init__(self, uri: str | os.PathLike[str], flag: str):
        self.uri, self.flag = path_of(uri), flag
        self.is_open = False
        self.writable = flag == "w"
        self.pid: int | None = None
        self._opener = 0  # the process that has opened the file; programs may write `pid`
        self._file: Any = None
        self._turn = fork.lock()  # held while a record is read, or its place noted
        self.open()

    def open(self) -> None:
        """Open the file at its beginning; a writer truncates it."""
        expect(self.flag in ("r", "w"), "MXRecordIO: flag", self.flag, "'r' or 'w'")
        with self._turn:
            self.close()  # the buffer belongs to the old file
            self._open()

    def _open(self) -> None:
        buffering = _BUFFER_BYTES if self.writable else -1
        with self._access():
            self._file = Path(self.uri).open(self.flag + "b", buffering)  # noqa: SIM115 - close()
        self._size = os.fstat(self._file.fileno()).st_size  # the limit of offsets of a reader
        self.pid = self._opener = os.getpid()
        if self.writable:
            _WRITERS[id(self)] = self
        self.is_open = True

    def close(self) -> None:
        """Close the file; a writer's records are then all in it."""
        with self._turn:
            if self._opener != os.getpid():
                self._abandon()
            file, self._file = self._file, None
            self.is_open, self.pid = False, None
            if file is not None:
                with self._access():
                    file.close()

    def _settle(self) -> None:
        """Write what is in the buffer to the file."""
        with self._turn:
            if self._file is not None:
                self._file.flush()

    def _abandon(self) -> None:
        """Close the file of another process, by its descriptor, and drop it with its buffer.

        A thread of that process may hold the buffer's lock for ever.
        """
        file, self._file = self._file, None
        if file is not None:
            file.raw.close()

    def _access(self) -> contextlib.AbstractContextManager[None]:
        return named_errors(self.uri, "written" if self.writable else "read")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self.writable:
            raise NotSupportedError(
                f"{self.uri}: a writer cannot be pickled, for opening it again would empty the "
                "file; close it and pickle a reader"
            )
        return {**self.__dict__, "_file": None, "pid": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _turn=fork.lock())  # a shallow copy has that of the other
        if self.is_open:
            self.open()

    def reset(self) -> None:
        """Go back to the beginning; a writer starts the file anew."""
        self.open()

    def _handle(self, flag: str, what: str) -> BinaryIO:
        """The open file, in the process that opened it."""
        if self.pid is not None:
            self._check_pid()
        if self._file is None:
            raise NotReadyError(f"{self.uri}: {what}: the file is closed; open() or reset() first")
        if flag != self.flag:
            raise NotReadyError(f"{self.uri}: {what} needs flag {flag!r}, got {self.flag!r}")
        return self._file

    def _check_pid(self, allow_reset: bool = False) -> None:
        """Check that this process opened the file, or open it anew."""
        if self.pid != os.getpid():
            if not allow_reset:
                instead = "write in that process" if self.writable else "call reset() after a fork"
                raise NotReadyError(
                    f"{self.uri}: the file was opened by another process, whose place in it would "
                    f"move too; {instead}"
                )
            self.reset()

    # ── Writing ─────────────────────────────────────────────────────────────────────────────

    def write(self, buf: bytes | bytearray | memoryview) -> None:
        """Append a record.

        Raises:
            ParameterError: ``buf`` is not bytes, or has 2²⁹ of them or more.
        """
        if not isinstance(buf, bytes | bytearray | memoryview):
            raise ParameterError(f"{self.uri}: write: got {type(buf).__name__}, expected bytes")
        buf = bytes(buf)
        most = record_format.MAX_LENGTH
        if len(buf) > most:
            raise ParameterError(
                f"{self.uri}: write: got {len(buf)} bytes, expected fewer than {most + 1}"
            )
        record = record_format.encoded(buf)
        with self._turn:
            file = self._handle("w", "write")
            try:
                file.write(record)  # one write, so that no interrupt separates the parts
            except OSError as error:
                with self._access():
                    raise error

    # ── Reading ─────────────────────────────────────────────────────────────────────────────

    def read(self) -> bytes | None:
        """The next record; ``None`` at the end.

        Raises:
            FileFormatError: the file is no RecordIO file, or ends within a record.
        """
        with self._turn:
            return self._read(self._handle("r", "read"))

    def _read(self, file: BinaryIO) -> bytes | None:
        kind, part = self._read_part(file)
        if kind is None:
            return None
        if kind == record_format.WHOLE:
            return part
        if kind != record_format.FIRST:
            raise self._bad(file, "a record begins with a later part of another one")
        parts = [part]
        while kind != record_format.LAST:
            kind, part = self._read_part(file)
            if kind not in (record_format.MIDDLE, record_format.LAST):
                raise self._bad(file, "a record has no last part")
            parts.append(part)
        return record_format.MAGIC_BYTES.join(parts)

    def read_at(self, place: int) -> bytes:
        """The record that begins at byte ``place``.

        Raises:
            ParameterError: ``place`` is no integer.
            FileFormatError: no record begins there.
        """
        if isinstance(place, bool) or not isinstance(place, Integral):
            raise ParameterError(f"{self.uri}: read_at: got {typed(place)}, expected an integer")
        with self._turn:
            file = self._handle("r", "read_at")
            if not 0 <= place < self._size:
                raise self._bad(file, f"no record begins outside of its {self._size} bytes", place)
            file.seek(place)
            record = self.read()
        if record is None:
            raise self._bad(file, "the file ends where a record should begin", place)
        return record

    def places(self) -> tuple[list[int], int]:
        """The offset of each record, and the size of the file; the records are not read.

        Raises:
            FileFormatError: the file is no RecordIO file, or ends within a record.
        """
        first = record_format.WHOLE, record_format.FIRST
        with self._turn:
            file = self._handle("r", "places")

            def header_at(offset: int) -> bytes:
                file.seek(offset)
                return file.read(record_format.HEADER.size)

            parts = record_format.parts(header_at, self._size, self.uri)
            offsets = [offset for offset, kind, _ in parts if kind in first]
            file.seek(0)
            return offsets, self._size

    def _read_part(self, file: BinaryIO) -> tuple[int | None, bytes]:
        if file.tell() >= self._size:
            return None, b""
        kind, length = record_format.read_header(file, self._size, self.uri)
        content = file.read(length + -length % 4)
        if len(content) < length:
            raise self._bad(file, f"a record has {length} bytes, but the file ends here")
        return kind, content[:length]

    def _bad(self, file: BinaryIO, reason: str, offset: int | None = None) -> FileFormatError:
        at = file.tell() if offset is None else offset
        return record_format.bad(self.uri, at, reason)


class MXIndexedRecordIO(MXRecordIO):
    """A file of byte records with an index beside it, to read them by key.

    Args:
        idx_path: path of the index: a line for each record, with its key and its offset.
        uri: path of the records.
        flag: ``"r"`` or ``"w"``.
        key_type: converts the text of a key.

    Raises:
        FileFormatError: the index cannot be read.
    """

    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Callable[[str], Any] = int,
    ):
        self.idx_path, self.key_type = path_of(idx_path), key_type
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.fidx: Any = None
        self._lines: list[str] = []
        super().__init__(uri, flag)

    def _open(self) -> None:
        self.idx, self.keys = {}, []
        if self.writable:
            self._empty_index()
        try:
            super()._open()
            if not self.writable:
                self._read_index()
        except BaseException:
            self.close()
            raise

    def _empty_index(self) -> None:
        """Truncate the index before the records, so that no old one belongs to new records."""
        with named_errors(self.uri, "written"):
            Path(self.uri).open("ab").close()
        with named_errors(self.idx_path, "written"):
            self.fidx = Path(self.idx_path).open("w", encoding="utf-8")  # noqa: SIM115 - closed by close()

    def _read_index(self) -> None:
        for key, at in index_lines(self.idx_path, self.key_type, f"a key ({self._key_name})"):
            self.idx[key] = at
            self.keys.append(key)

    @property
    def _key_name(self) -> str:
        return getattr(self.key_type, "__name__", str(self.key_type))

    def _settle(self) -> None:
        """Write the buffers, the records before the index that refers to them."""
        with self._turn:
            super()._settle()
            if self.fidx is not None:
                self.fidx.write("".join(self._lines))
                self._lines.clear()
                self.fidx.flush()

    def _abandon(self) -> None:
        super()._abandon()
        index, self.fidx, self._lines = self.fidx, None, []
        if index is not None:
            index.buffer.raw.close()

    def close(self) -> None:
        """Close records and index."""
        with self._turn:
            if self._opener != os.getpid():
                self._abandon()
            index, self.fidx = self.fidx, None
            lines, self._lines = self._lines, []
            try:
                super().close()
                if index is not None:
                    with named_errors(self.idx_path, "written"):
                        index.write("".join(lines))
            finally:
                if index is not None:
                    with named_errors(self.idx_path, "written"):
                        index.close()

    def seek(self, idx: Any) -> None:
        """Go to the record of key ``idx``, to `read` it next.

        Raises:
            NameNotFoundError: there is no such key; a ``KeyError``.
            FileFormatError: its offset lies outside the file.
        """
        if self.is_open and not self.writable:
            self._check_pid(allow_reset=True)
        file = self._handle("r", "seek")
        place = self.idx.get(idx)
        if place is None:
            raise NameNotFoundError(
                f"{self.idx_path}: no record has the key {idx!r} ({type(idx).__name__}); the index "
                f"has {len(self.idx)} keys of type {self._key_name}"
            )
        if not 0 <= place < max(self._size, 1):
            raise FileFormatError(
                f"{self.idx_path}: key {idx!r} is at byte {place}, but {self.uri} has "
                f"{self._size} bytes"
            )
        file.seek(place)

    def tell(self) -> int:
        """The offset of the next record to be written."""
        return self._handle("w", "tell").tell()

    def read_idx(self, idx: Any) -> bytes | None:
        """The record of key ``idx``."""
        with self._turn:
            self.seek(idx)
            return self.read()

    def write_idx(self, idx: Any, buf: bytes | bytearray | memoryview) -> None:
        """Append a record of key ``idx``.

        Raises:
            ParameterError: the index could not give the key back: its text reads as another key,
                or is not one line.
        """
        try:
            key = idx if type(idx) is int is self.key_type else self._key_of(idx)
        except (ValueError, TypeError) as error:
            raise ParameterError(
                f"{self.idx_path}: write_idx: got the key {typed(idx)}, expected one of type "
                f"{self._key_name} whose text is one line without tabs"
            ) from error
        with self._turn:
            self._write_at_key(key, buf)

    def _key_of(self, idx: Any) -> Any:
        """The key of ``idx``; a ``ValueError`` if its line of the index would be another one's."""
        key = self.key_type(idx)
        line = f"{key}\t0"
        line.encode()
        rounded = isinstance(idx, Real) and key != idx  # 1.5 is no integer key
        if rounded or {"\r", "\n"} & {*line} or index_entry(line, self.key_type) != (key, 0):
            raise ValueError(line)
        return key

    def _write_at_key(self, key: Any, buf: bytes | bytearray | memoryview) -> None:
        place = self.tell()
        self.write(buf)
        if self.fidx is None:
            raise NotReadyError(f"{self.idx_path}: the index is closed")
        self.idx[key] = place
        self.keys.append(key)
        self._lines.append(f"{key}\t{place}\n")
        if len(self._lines) >= _LINES:
            with named_errors(self.idx_path, "written"):
                self._settle()
