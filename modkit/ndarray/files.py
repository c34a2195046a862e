"""``.params`` files: lists of arrays, with or without names, in MXNet's format."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from modkit.context import Context, num_gpus
from modkit.errors import NotSupportedError, ParameterError
from modkit.files import Reader, atomic_write, mapped
from modkit.ndarray.cell import Cell, wide
from modkit.ndarray.ndarray import NDArray
from modkit.ops.registry import DTYPE_CODES, dtype_name

_LIST = 0x112
# Kinds of array record. A record that begins with none of them is of the oldest kind, which
# begins with its number of dimensions.
_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_STORAGES = {0: "default", 1: "row_sparse", 2: "csr"}
# How many arrays of places stand beside the values.
_SPARSE_PLACES = {"default": 0, "row_sparse": 1, "csr": 2}
_CODES = {name: code for code, name in DTYPE_CODES.items()}
_MAX_NDIM = 32
_ALIGNMENT = 64
_MAX_SIZE = 2**62
_CPU, _GPU = 1, 2

T = TypeVar("T")


# ── Writing ─────────────────────────────────────────────────────────────────────────────────


def save(fname: str | os.PathLike[str], data: Any) -> None:
    """Write arrays to a file that ``load``, and MXNet, read back.

    The file is whole or not there at all: it is written beside ``fname`` and then renamed.

    Args:
        fname: path of the file.
        data: an NDArray, a list of them, or a dictionary of name to NDArray.

    Raises:
        ParameterError: ``data`` is none of these.
    """
    names, arrays = _named(data)
    # MXNet reads arrays without elements only from V3 records, and only a whole file of them.
    newest = any(a.ndim == 0 or a.size == 0 for a in arrays)
    with atomic_write(_path(fname, "save")) as file:
        file.write(struct.pack("<QQQ", _LIST, 0, len(arrays)))
        for array in arrays:
            _write_array(file, array, _V3 if newest else _V2)
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
        raise ParameterError(
            f"save: got {type(data).__name__}, expected an NDArray, a list of NDArrays or a "
            "dictionary of name to NDArray"
        )
    for value, kind in [*((n, str) for n in names), *((a, NDArray) for a in arrays)]:
        if not isinstance(value, kind):
            raise ParameterError(
                f"save: got a {type(value).__name__} inside, expected {kind.__name__}"
            )
    return names, arrays


def _write_array(file: BinaryIO, array: NDArray, magic: int) -> None:
    value = np.ascontiguousarray(array._cell.peek())
    code = _CODES[dtype_name(array.dtype)]
    device, index = array.context.device_typeid, array.context.device_id
    if not array.context.device_type.startswith("cpu"):
        device = _GPU
    file.write(struct.pack("<IiI", magic, 0, array.ndim))
    file.write(struct.pack(f"<{array.ndim}q", *array.shape))
    file.write(struct.pack("<iii", device, index, code))
    file.write(value.reshape(-1).view(np.uint8).data)


def _path(fname: Any, what: str) -> str:
    if not isinstance(fname, str | os.PathLike):
        raise ParameterError(f"{what}: got {type(fname).__name__} for fname, expected a path")
    path = os.fspath(fname)
    if "://" in path:
        raise NotSupportedError(
            f"{what}: {path}: only local files; copy it here with your store's own tool first"
        )
    return path


# ── Reading ─────────────────────────────────────────────────────────────────────────────────


def load(fname: str | os.PathLike[str]) -> list[NDArray] | dict[str, NDArray]:
    """Read arrays written by ``save``, or by any version of MXNet.

    Every size in the file is checked against the file's length before memory is taken for it.

    Returns:
        A dictionary where the file has names, else a list.

    Raises:
        FileFormatError: the file is not such a file, or is damaged.
        NotSupportedError: it has a sparse array.
    """
    path = _path(fname, "load")
    with mapped(path) as window:
        return _read_list(Reader(window, path))


def load_frombuffer(buf: bytes | bytearray | memoryview) -> list[NDArray] | dict[str, NDArray]:
    """Read arrays from the bytes of such a file; see ``load``."""
    if not isinstance(buf, bytes | bytearray | memoryview):
        raise ParameterError(f"load_frombuffer: got {type(buf).__name__}, expected bytes")
    return _read_list(Reader(memoryview(buf).cast("B"), "buffer"))


def _read_list(reader: Reader) -> list[NDArray] | dict[str, NDArray]:
    names, arrays = _each(reader, _read_array)
    return dict(zip(names, arrays, strict=True)) if names else arrays


def _each(reader: Reader, read: Callable[[Reader, str], T]) -> tuple[list[str], list[T]]:
    """The names, if there are any, and what ``read`` makes of each array."""
    magic, _reserved, count = reader.fields("QQQ", "the header")
    if magic != _LIST:
        raise reader.bad(f"not a file of arrays: it begins with {magic:#x}, not {_LIST:#x}", 0)
    arrays = [read(reader, f"array {i}") for i in range(count)]
    at = reader.offset
    (named,) = reader.fields("Q", "the number of names")
    if named not in (0, count):
        raise reader.bad(f"{named} names for {count} arrays", at)
    return [reader.text(f"name {i}") for i in range(named)], arrays


class Record(NamedTuple):
    """What a file says of an array, and where the array's bytes are.

    Attributes:
        storage: ``"default"``, ``"row_sparse"`` or ``"csr"``.
        shape: of the array.
        dtype: of its elements.
        stored: shape of the values that are in the file: ``shape``, unless it is sparse.
        size_bytes: of the values, and of the places that a sparse array has beside them.
        at: where the record begins.
        begin: where the values begin.
        device: number of the kind of device that it was saved from, and which one.
    """

    storage: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stored: tuple[int, ...]
    size_bytes: int
    at: int
    begin: int
    device: tuple[int, int]


def read_records(reader: Reader) -> tuple[list[str], list[Record]]:
    """Names (none, where the file has none) and records of a file; no array is read.

    Raises:
        FileFormatError: the file is not a file of arrays, or is damaged.
    """
    return _each(reader, _read_record)


def record_values(reader: Reader, record: Record) -> np.ndarray:
    """The values that belong to a record, as a copy.

    Raises:
        NotSupportedError: the array is sparse.
    """
    if record.storage != "default":
        raise NotSupportedError(
            f"{reader.where}: at byte {record.at}: an array has storage type {record.storage!r}; "
            "modkit reads dense arrays only: in MXNet, save array.tostype('default')"
        )
    content = _aligned(record.size_bytes)
    reader.copy(record.begin, content.data)
    return content.view(record.dtype).reshape(record.shape)


def _aligned(size_bytes: int) -> np.ndarray:
    """Bytes to be written, at an address that JAX on a CPU takes over without a copy."""
    room = np.empty(size_bytes + _ALIGNMENT, np.uint8)
    begin = -room.ctypes.data % _ALIGNMENT
    return room[begin : begin + size_bytes]


def _read_array(reader: Reader, what: str) -> NDArray:
    record = _read_record(reader, what)
    value, ctx = record_values(reader, record), _device(*record.device)
    with wide(value.dtype):
        return NDArray(Cell(jax.device_put(value, ctx.jax_device)), ctx)


def _read_record(reader: Reader, what: str) -> Record:
    at = reader.offset
    (magic,) = reader.fields("I", f"the kind of {what}")
    storage = _read_storage(reader, what) if magic in (_V2, _V3) else "default"
    places = _SPARSE_PLACES[storage]
    stored = _read_shape(reader, what, magic, at) if places else None
    shape = _read_shape(reader, what, magic, at)
    device, index, code = reader.fields("iii", f"device and type of {what}")
    dtype = _dtype(reader, what, code)
    beside = [_read_place(reader, what, magic) for _ in range(places)]
    stored = shape if stored is None else stored
    sizes = [_size_bytes(reader, what, at, *each) for each in [(stored, dtype), *beside]]
    begin = reader.skip(sum(sizes), f"{what} of shape {shape} and type {dtype.name}")
    return Record(storage, shape, dtype, stored, sum(sizes), at, begin, (device, index))


def _read_storage(reader: Reader, what: str) -> str:
    (storage,) = reader.fields("i", f"the storage type of {what}")
    if storage not in _STORAGES:
        raise reader.bad(f"{what} has the unknown storage type {storage}", reader.offset - 4)
    return _STORAGES[storage]


def _read_place(reader: Reader, what: str, magic: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of the numbers of rows or columns that a sparse array keeps."""
    (code,) = reader.fields("i", f"the type of places of {what}")
    dtype = _dtype(reader, what, code)
    return _read_shape(reader, what, magic, reader.offset), dtype


def _dtype(reader: Reader, what: str, code: int) -> np.dtype[Any]:
    if code not in DTYPE_CODES:
        raise reader.bad(f"{what} has the unknown element type {code}", reader.offset - 4)
    return jnp.dtype(DTYPE_CODES[code])


def _size_bytes(
    reader: Reader, what: str, at: int, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> int:
    if math.prod(n or 1 for n in shape) > _MAX_SIZE:
        raise reader.bad(f"{what} has the impossible shape {shape}", at)
    return math.prod(shape) * dtype.itemsize


def _read_shape(reader: Reader, what: str, magic: int, at: int) -> tuple[int, ...]:
    if magic in (_V1, _V2, _V3):
        (ndim,), size = reader.fields("i", f"the number of dimensions of {what}"), "q"
    else:
        ndim, size = magic, "I"
    if ndim > _MAX_NDIM and size == "I":
        raise reader.bad(f"{what} begins with {magic:#x}, which no kind of array does", at)
    _check_ndim(reader, what, ndim, at, least=0 if magic == _V3 else 1)
    shape = reader.fields(f"{ndim}{size}", f"the shape of {what}")
    if any(n < 0 for n in shape):
        raise reader.bad(f"{what} has the impossible shape {shape}", at)
    return shape


def _check_ndim(reader: Reader, what: str, ndim: int, at: int, least: int) -> None:
    if ndim > _MAX_NDIM:
        raise reader.bad(f"{what} has {ndim} dimensions, more than {_MAX_NDIM}", at)
    if ndim < least:
        raise reader.bad(f"{what} is empty: it was saved before it had a shape", at)


def _device(kind: int, index: int) -> Context:
    """The device that the array was saved from, or the CPU where this machine lacks it."""
    if kind == _GPU and 0 <= index < num_gpus():
        return Context("gpu", index)
    return Context("cpu", 0)
