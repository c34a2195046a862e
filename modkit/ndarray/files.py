"""``.params`` files: lists of arrays, with or without names, in MXNet's format."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Self

import numpy as np

from modkit.errors import (
    NameNotFoundError,
    NotReadyError,
    NotSupportedError,
    ParameterError,
    expect,
    nearest,
    wrong,
)
from modkit.files import FileWindow, Reader, atomic_write
from modkit.ndarray.array_format import Record as Record
from modkit.ndarray.array_format import array_of, arrays_of, read_record, write_array
from modkit.ndarray.array_format import record_values as record_values
from modkit.ndarray.ndarray import NDArray
from modkit.ndarray.sparse_array import BaseSparseNDArray

_LIST = 0x112


# ── Writing ─────────────────────────────────────────────────────────────────────────────────


def save(fname: str | os.PathLike[str], data: Any) -> None:
    """Write arrays to a file for ``load`` and for MXNet.

    The write is atomic: a draft is written and then renamed to ``fname``.

    Args:
        data: an NDArray, a list of them, or a dictionary of name to NDArray.

    Raises:
        ParameterError: ``data`` is none of these.
        NotSupportedError: sparse arrays together with arrays without elements, which MXNet
            cannot read from one file.
    """
    names, arrays = _named(data)
    save_list(_path(fname, "save"), names, arrays)


def save_list(path: str, names: Sequence[str], arrays: Sequence[NDArray | np.ndarray]) -> None:
    """Write NDArrays or NumPy arrays to a file; ``names`` has one for each, or none."""
    with atomic_write(path) as file:
        write_list(file, names, arrays)


def write_list(
    file: BinaryIO, names: Sequence[str], arrays: Sequence[NDArray | np.ndarray]
) -> None:
    """Write them to an open file."""
    # MXNet reads arrays without elements only from V3 records, and only a whole file of them.
    empty = (a for a in arrays if a.ndim == 0 or a.size == 0)
    newest = not all(isinstance(a, BaseSparseNDArray) for a in empty)
    file.write(struct.pack("<QQQ", _LIST, 0, len(arrays)))
    for array in arrays:
        write_array(file, array, newest=newest)
    file.write(struct.pack("<Q", len(names)))
    for name in names:
        text = name.encode()
        file.write(struct.pack("<Q", len(text)) + text)


def _named(data: Any) -> tuple[list[str], list[NDArray]]:
    if isinstance(data, NDArray):
        data = [data]
    if isinstance(data, Mapping):
        names, arrays = list(data.keys()), list(data.values())
    elif isinstance(data, list):
        names, arrays = [], data
    else:
        expected = "an NDArray, a list of NDArrays or a dictionary of name to NDArray"
        raise wrong("save", type(data), expected)
    for name in names:
        if not isinstance(name, str):
            raise ParameterError(f"save: got {name!r} among the names, expected str")
    for array in arrays:
        if not isinstance(array, NDArray):
            got = type(array).__name__
            raise ParameterError(f"save: got {got} among the arrays, expected NDArray")
    return names, arrays


def _path(fname: Any, what: str) -> str:
    if not isinstance(fname, str | os.PathLike):
        raise ParameterError(f"{what}: got {type(fname).__name__} for fname, expected a path")
    path = os.fspath(fname)
    if "://" in path:
        raise NotSupportedError(
            f"{what}: {path}: only local files; copy it here with your store's own tool first"
        )
    return path


def plain_name(name: str) -> str:
    """The name of a parameter in a file, without ``arg:`` or ``aux:``."""
    return name.removeprefix("arg:").removeprefix("aux:")


# ── Reading ─────────────────────────────────────────────────────────────────────────────────


def load(fname: str | os.PathLike[str]) -> list[NDArray] | dict[str, NDArray]:
    """Read arrays written by ``save``, or by any version of MXNet.

    Every size in the file is checked against the file's length before memory is allocated.

    Returns:
        A dictionary if the file has names, else a list.

    Raises:
        FileFormatError: the file is not such a file, or is damaged.
    """
    path = _path(fname, "load")
    with FileWindow(path) as window:
        return _read_list(Reader(window, path))


def load_frombuffer(buf: bytes | bytearray | memoryview) -> list[NDArray] | dict[str, NDArray]:
    """Read arrays from the bytes of such a file; see ``load``."""
    is_buffer = isinstance(buf, bytes | bytearray | memoryview)
    expect(is_buffer, "load_frombuffer", type(buf), "bytes")
    return _read_list(Reader(memoryview(buf).cast("B"), "buffer"))


def _read_list(reader: Reader) -> list[NDArray] | dict[str, NDArray]:
    names, records = read_records(reader)
    arrays = arrays_of(reader, records)
    return dict(zip(names, arrays, strict=True)) if names else arrays


def read_records(reader: Reader) -> tuple[list[str], list[Record]]:
    """Names, if any, and records of a file, no array being read; FileFormatError if damaged."""
    magic, _reserved, count = reader.fields("QQQ", "the header")
    if magic != _LIST:
        json = "; it is JSON, as symbols are: mx.sym.load" if magic & 0xFF == ord("{") else ""
        raise reader.bad(
            f"not a file of arrays: it begins with {magic:#x}, not {_LIST:#x}{json}", 0
        )
    records = [read_record(reader, f"array {i}") for i in range(count)]
    at = reader.offset
    (named,) = reader.fields("Q", "the number of names")
    if named not in (0, count):
        raise reader.bad(f"{named} names for {count} arrays", at)
    return [reader.text(f"name {i}") for i in range(named)], records


# ── Reading one array of many ───────────────────────────────────────────────────────────────


def open_params(fname: str | os.PathLike[str]) -> OpenParams:
    """The arrays of a file, each read on access.

    Opening reads only names, shapes and types.

    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.params")
    >>> mx.nd.save(path, {"weight": mx.nd.ones((2, 3)), "bias": mx.nd.zeros((2,))})
    >>> with open_params(path) as params:
    ...     print(list(params), params.record("weight").shape, params["bias"].asnumpy())
    ['weight', 'bias'] (2, 3) [0. 0.]

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is not such a file, or is damaged.
    """
    return OpenParams(_path(fname, "open_params"))


class OpenParams(Mapping[Any, NDArray]):
    """The arrays of an open file by name, or by index if it has no names.

    Every access reads the array again. Any thread may read. Made by `open_params`; `close` it, or
    use it in a ``with`` statement.
    """

    def __init__(self, path: str):
        self._window = FileWindow(path)
        try:
            self._reader = Reader(self._window, path)
            names, records = read_records(self._reader)
        except BaseException:
            self._window.close()
            raise
        self._records: dict[Any, Record] = dict(
            zip(names or range(len(records)), records, strict=True)
        )
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Arrays already read stay valid."""
        self._window.close()
        self._open = False

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._records)

    def __getitem__(self, name: Any) -> NDArray:
        record = self.record(name)
        if not self._open:
            raise NotReadyError(f"{self._reader.where}: the file is closed; open it again")
        return array_of(self._reader, record)

    def record(self, name: Any) -> Record:
        """The record of an array, without its values; NameNotFoundError where there is none."""
        if name not in self._records:
            raise NameNotFoundError(
                f"{self._reader.where}: there is no array {name!r}.{nearest(name, self._records)}"
            )
        return self._records[name]
