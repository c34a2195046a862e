"""Records: the binary format of an array in ``.params`` and ``.states`` files."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

import jax.numpy as jnp
import numpy as np

from modkit.context import Context, num_gpus
from modkit.errors import NotSupportedError, ParameterError
from modkit.files import Reader, check_dense
from modkit.ndarray.ndarray import NDArray
from modkit.ndarray.sparse_array import PLACES, BaseSparseNDArray, CSRNDArray, RowSparseNDArray
from modkit.ndarray.storage import aligned, placed
from modkit.ops.dtypes import CODE_OF_DTYPE, DTYPE_CODES, dtype_name

# Kinds of array record. A record that begins with none of them is of the oldest kind, which
# begins with its number of dimensions.
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_STORAGES = {0: "default", 1: "row_sparse", 2: "csr"}
# Number of index arrays that follow the values.
_SPARSE_PLACES = {"default": 0, "row_sparse": 1, "csr": 2}
_SPARSE = {"row_sparse": RowSparseNDArray, "csr": CSRNDArray}
_MAX_NDIM = 32
_MAX_SIZE = 2**62
_GROUP_BYTES = 2**26
_CPU, _GPU = 1, 2


class Buffers(list[Any]):
    """The buffers that are written to it, not copied."""

    write = list.append


def write_array(file: BinaryIO | Buffers, array: NDArray | np.ndarray, *, newest: bool) -> None:
    """Write the record of an array, of the newest kind or the one before.

    A NumPy array is written as an array on the CPU.

    Raises:
        NotSupportedError: the array is sparse, which the newest kind does not support.
    """
    if isinstance(array, BaseSparseNDArray):
        _write_sparse(file, array, newest)
        return
    value = _unmoved(array) if isinstance(array, NDArray) else array
    value = value.astype(value.dtype.newbyteorder("="), "C", copy=False)
    file.write(struct.pack("<Ii", V3 if newest else V2, 0))
    file.write(_shape_bytes(array.shape) + _device_bytes(array) + _code_bytes(value.dtype))
    file.write(value.reshape(-1).view(np.uint8).data)


def _unmoved(array: NDArray) -> np.ndarray:
    """The values, read where they lie: their place decides whether NumPy or XLA updates them."""
    cell = array._cell
    return np.asarray(cell.lent() if cell.is_on_host else cell.get())


def _write_sparse(file: BinaryIO | Buffers, array: BaseSparseNDArray, newest: bool) -> None:
    if newest:
        raise NotSupportedError(
            f"an array of storage type {array.stype!r} cannot be kept in one file with arrays "
            "without elements or dimensions; save it to a file of its own"
        )
    array.check_format(full_check=False)
    (kind,) = (k for k, name in _STORAGES.items() if name == array.stype)
    values, *places = parts = [array._values, *array._places]
    file.write(struct.pack("<Ii", V2, kind) + _shape_bytes(values.shape))
    file.write(_shape_bytes(array.shape) + _device_bytes(array) + _code_bytes(values.dtype))
    for each in places:
        file.write(_code_bytes(each.dtype) + _shape_bytes(each.shape))
    for each in parts:
        file.write(np.ascontiguousarray(each).reshape(-1).view(np.uint8).data)


def _shape_bytes(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<I{len(shape)}q", len(shape), *shape)


def _device_bytes(array: NDArray | np.ndarray) -> bytes:
    if not isinstance(array, NDArray):
        return struct.pack("<ii", _CPU, 0)
    device, index = array.context.device_typeid, array.context.device_id
    if not array.context.device_type.startswith("cpu"):
        device = _GPU
    return struct.pack("<ii", device, index)


def _code_bytes(dtype: Any) -> bytes:
    return struct.pack("<i", CODE_OF_DTYPE[dtype_name(dtype)])


class Record(NamedTuple):
    """Shape, type and storage of an array in a file, and the offset of its bytes.

    Attributes:
        storage: ``"default"``, ``"row_sparse"`` or ``"csr"``.
        dtype: of its elements.
        stored: shape of the values in the file: ``shape``, unless the array is sparse.
        size_bytes: of the values, and of the indices of a sparse array.
        at: offset of the record.
        begin: offset of the values.
        device: type number and id of the device that it was saved from.
        places: shapes and types of the index arrays that follow the values of a sparse array.
    """

    storage: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stored: tuple[int, ...]
    size_bytes: int
    at: int
    begin: int
    device: tuple[int, int]
    places: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...] = ()


def record_values(reader: Reader, record: Record) -> np.ndarray:
    """The values of a record as a copy; a sparse array is made dense.

    Raises:
        FileFormatError: a sparse array is inconsistent.
        NotSupportedError: a sparse array is very much larger when made dense.
    """
    if record.storage != "default":
        where = f"{reader.where}: at byte {record.at}"
        check_dense(where, record.shape, record.dtype.itemsize, record.size_bytes)
        return _sparse_of(reader, record).asnumpy()
    return _content(reader, record.begin, record.shape, record.dtype)


def _content(
    reader: Reader, begin: int, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> np.ndarray:
    content = aligned((math.prod(shape) * dtype.itemsize,), np.uint8)
    reader.copy([(begin, content.data)])
    return content.view(dtype).reshape(shape)


def _sparse_of(reader: Reader, record: Record) -> BaseSparseNDArray:
    parts, begin = [], record.begin
    for shape, dtype in ((record.stored, record.dtype), *record.places):
        parts.append(_content(reader, begin, shape, dtype))
        begin += parts[-1].nbytes
    values, *places = parts
    places = [each.astype(PLACES) for each in places]
    made = _SPARSE[record.storage](values, places, record.shape, _device(*record.device))
    try:
        made.check_format()
    except ParameterError as error:
        raise reader.bad(str(error), record.at) from error
    return made


def read_array(reader: Reader, what: str) -> NDArray:
    """The array of the next record in a file; FileFormatError where there is none."""
    return array_of(reader, read_record(reader, what))


def _restored(content: bytes | bytearray) -> NDArray:
    """The array of a single record."""
    return read_array(Reader(memoryview(content).cast("B"), "pickle"), "the array")


def _saved(array: NDArray) -> bytearray:
    """The bytes of a single record."""
    made = Buffers()
    write_array(made, array, newest=array.size == 0 or array.ndim == 0)
    return bytearray(b"".join(made))


NDArray._restore, NDArray._saved = _restored, _saved


def array_of(reader: Reader, record: Record) -> NDArray:
    """The array of a record; FileFormatError where a sparse array is inconsistent."""
    (array,) = arrays_of(reader, [record])
    return array


def arrays_of(reader: Reader, records: Iterable[Record]) -> list[NDArray]:
    """The arrays of records.

    They are read and transferred to a device other than the CPU in groups: faster than one by one,
    with less memory than all at once.

    Raises:
        FileFormatError: a sparse array is inconsistent.
    """
    found: list[NDArray] = []
    for group in _groups(records):
        dense = iter(_dense_of(reader, [r for r in group if r.storage == "default"]))
        found += [next(dense) if r.storage == "default" else _sparse_of(reader, r) for r in group]
    return found


def _groups(records: Iterable[Record]) -> Iterator[list[Record]]:
    group: list[Record] = []
    size_bytes = 0
    for record in records:
        group.append(record)
        size_bytes += record.size_bytes
        if size_bytes > _GROUP_BYTES:
            yield group
            group, size_bytes = [], 0
    yield group


def _dense_of(reader: Reader, records: list[Record]) -> list[NDArray]:
    contents = [aligned((r.size_bytes,), np.uint8) for r in records]
    reader.copy([(r.begin, c.data) for r, c in zip(records, contents, strict=True)])
    values = [c.view(r.dtype).reshape(r.shape) for r, c in zip(records, contents, strict=True)]
    contexts = [_device(*r.device) for r in records]
    cells = placed(values, contexts)
    return [NDArray(cell, each) for cell, each in zip(cells, contexts, strict=True)]


def read_record(reader: Reader, what: str) -> Record:
    """The next record in a file, its values skipped; ``what`` names the array in errors.

    Raises:
        FileFormatError: there is none, or it is damaged.
    """
    at = reader.offset
    (magic,) = reader.fields("I", f"the kind of {what}")
    storage = _read_storage(reader, what) if magic in (V2, V3) else "default"
    places = _SPARSE_PLACES[storage]
    stored = _read_shape(reader, what, magic, at) if places else None
    shape = _read_shape(reader, what, magic, at)
    device, index, code = reader.fields("iii", f"device and type of {what}")
    dtype = _dtype(reader, what, code)
    beside = [_read_place(reader, what, magic) for _ in range(places)]
    stored = shape if stored is None else stored
    sizes = [_size_bytes(reader, what, at, *each) for each in [(stored, dtype), *beside]]
    begin = reader.skip(sum(sizes), f"{what} of shape {shape} and type {DTYPE_CODES[code]}")
    return Record(
        storage, shape, dtype, stored, sum(sizes), at, begin, (device, index), tuple(beside)
    )


def _read_storage(reader: Reader, what: str) -> str:
    (storage,) = reader.fields("i", f"the storage type of {what}")
    if storage not in _STORAGES:
        raise reader.bad(f"{what} has the unknown storage type {storage}", reader.offset - 4)
    return _STORAGES[storage]


def _read_place(reader: Reader, what: str, magic: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an index array of a sparse array."""
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
    # NumPy and XLA count bytes in 63 bits, also those of the sizes beside a 0.
    if math.prod(n or 1 for n in shape) * dtype.itemsize > _MAX_SIZE:
        raise reader.bad(f"{what} has the impossible shape {shape}", at)
    return math.prod(shape) * dtype.itemsize


def _read_shape(reader: Reader, what: str, magic: int, at: int) -> tuple[int, ...]:
    if magic in (V1, V2, V3):
        (ndim,), size = reader.fields("i", f"the number of dimensions of {what}"), "q"
    else:
        ndim, size = magic, "I"
    if ndim > _MAX_NDIM and size == "I":
        raise reader.bad(f"{what} begins with {magic:#x}, which no kind of array does", at)
    if ndim > _MAX_NDIM:
        raise reader.bad(f"{what} has {ndim} dimensions, more than {_MAX_NDIM}", at)
    if ndim < (0 if magic == V3 else 1):
        raise reader.bad(f"{what} is empty: it was saved before it had a shape", at)
    shape = reader.fields(f"{ndim}{size}", f"the shape of {what}")
    if any(n < 0 for n in shape):
        raise reader.bad(f"{what} has the impossible shape {shape}", at)
    return shape


def _device(kind: int, index: int) -> Context:
    """The device that the array was saved from, or the CPU if this machine lacks it."""
    if kind == _GPU and 0 <= index < num_gpus():
        return Context("gpu", index)
    return Context("cpu", 0)
