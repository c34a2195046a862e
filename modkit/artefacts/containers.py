"""Files of arrays, opened to look at or to read: ``.params``, ``.npz`` and ``.safetensors``."""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from modkit.artefacts.recognise import check_is_file
from modkit.errors import FileFormatError, NotSupportedError, ParameterError
from modkit.files import FileWindow, Reader, atomic_write
from modkit.ndarray.files import read_records, record_values, save_list
from modkit.ops.registry import DTYPE_CODES

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Stored:
    """An array in a file that is open.

    Attributes:
        name: of the array.
        shape: of the array.
        dtype: name of its element type.
        storage: ``"default"``, or the kind of sparse array.
        size_bytes: in the file, uncompressed.
        values: reads it.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    storage: str
    size_bytes: int
    values: Callable[[], np.ndarray]


@contextlib.contextmanager
def open_arrays(path: PathLike, kind: str | None = None) -> Iterator[list[Stored]]:
    """The arrays of a file, which are read only when their values are asked for.

    Arrays that have no names in the file are called ``arr_0``, ``arr_1``, ... as NumPy does.
    The values of sparse arrays come dense.

    Args:
        path: of the file.
        kind: ``"params"``, ``"npz"`` or ``"safetensors"``; default what the file's ending says.

    Raises:
        FileFormatError: the file is damaged, or of another kind.
        MissingFileError: there is no such file.
    """
    path = os.fspath(path)
    check_is_file(Path(path))
    with _FORMATS[kind or kind_by_ending(path)].open(path) as arrays:
        yield arrays


def read_arrays(path: PathLike, kind: str | None = None) -> dict[str, np.ndarray]:
    """All arrays of a file by name; see `open_arrays`."""
    with open_arrays(path, kind) as arrays:
        return {each.name: each.values() for each in arrays}


def write_arrays(path: PathLike, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a file of the kind that its ending says, whole or not at all.

    Arrays that are called ``arr_0``, ``arr_1``, ... lose their names in ``.params``.

    Raises:
        ParameterError: the ending says nothing.
        NotSupportedError: the kind of file cannot keep an array of such a type.
    """
    path = os.fspath(path)
    _FORMATS[kind_by_ending(path)].write(path, dict(arrays))


def kind_by_ending(path: PathLike) -> str:
    """What kind of file of arrays a path says.

    Raises:
        ParameterError: none.
    """
    ending = Path(path).suffix.lower()
    if ending[1:] not in _FORMATS:
        raise ParameterError(
            f"{os.fspath(path)}: the ending {ending!r} says no kind of file of arrays; "
            f"expected {', '.join('.' + each for each in _FORMATS)}"
        )
    return ending[1:]


def _numbered(names: list[str]) -> bool:
    return names == [f"arr_{i}" for i in range(len(names))]


# ── .params ─────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _open_params(path: str) -> Iterator[list[Stored]]:
    with FileWindow(path) as window:
        reader = Reader(window, path)
        names, records = read_records(reader)
        yield [
            Stored(
                name=names[i] if names else f"arr_{i}",
                shape=record.shape,
                dtype=record.dtype.name,
                storage=record.storage,
                size_bytes=record.size_bytes,
                values=lambda record=record: record_values(reader, record),
            )
            for i, record in enumerate(records)
        ]


def _write_params(path: str, arrays: dict[str, np.ndarray]) -> None:
    known = DTYPE_CODES.values()
    _refuse(path, arrays, lambda dtype: dtype.name in known, f"expected {', '.join(known)}")
    names = list(arrays)
    save_list(path, [] if _numbered(names) else names, list(arrays.values()))


def _refuse(
    path: str, arrays: Mapping[str, np.ndarray], fits: Callable[[Any], bool], hint: str
) -> None:
    for name, value in arrays.items():
        if not fits(value.dtype):
            raise NotSupportedError(
                f"{path}: such a file cannot keep {name!r} of type {value.dtype}: {hint}"
            )


# ── .npz ────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _open_npz(path: str) -> Iterator[list[Stored]]:
    try:
        archive = zipfile.ZipFile(path)
    except _UNREADABLE as error:
        raise FileFormatError(f"{path}: not an npz file: {error}") from error
    with archive:
        entries = archive.infolist()
        packed, whole = sum(each.compress_size for each in entries), Path(path).stat().st_size
        if packed > whole:
            raise FileFormatError(
                f"{path}: its entries say that they take {packed} bytes, but it has {whole}"
            )
        yield [_npz_entry(path, archive, info) for info in entries]


def _npz_entry(path: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Stored:
    where = f"{path}: {info.filename!r}"
    if info.file_size > _MOST_PACKED * info.compress_size + 1024:
        raise FileFormatError(
            f"{where} says that {info.compress_size} bytes unpack to {info.file_size}"
        )
    try:
        with archive.open(info) as file:
            version = np.lib.format.read_magic(file)
            shape, _, dtype = _HEADERS[version](file)
            left = info.file_size - file.tell()
    except _UNREADABLE as error:
        raise FileFormatError(f"{where} is not an array: {error}") from error
    if dtype.hasobject or dtype.names or dtype.kind in "SUVmM":
        raise FileFormatError(f"{where} is of type {dtype}, expected numbers")
    size_bytes = math.prod(shape) * dtype.itemsize
    if size_bytes != left:
        raise FileFormatError(
            f"{where}: {dtype} of shape {shape} takes {size_bytes} bytes, but it has {left}"
        )

    def values() -> np.ndarray:
        try:
            with archive.open(info) as file:
                return np.lib.format.read_array(file, allow_pickle=False)
        except _UNREADABLE as error:
            raise FileFormatError(f"{where} cannot be read: {error}") from error

    name = info.filename.removesuffix(".npy")
    return Stored(name, tuple(shape), dtype.name, "default", size_bytes, values)


# What zipfile and NumPy raise for damaged files.
_UNREADABLE = (
    ValueError, LookupError, OSError, RuntimeError, EOFError, SyntaxError, TypeError, MemoryError,
    struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
# Deflate packs no more than 1032 bytes into one.
_MOST_PACKED = 1040
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def _write_npz(path: str, arrays: dict[str, np.ndarray]) -> None:
    # NumPy's file format has no name for the types that are not its own, such as bfloat16.
    _refuse(path, arrays, lambda dtype: dtype.kind in "biufc", "write .safetensors or .params")
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", allowZip64=True) as archive:
        for name, value in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, value, allow_pickle=False)


# ── .safetensors ────────────────────────────────────────────────────────────────────────────

_SAFE_TYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32",
    "U16": "uint16", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip


@contextlib.contextmanager
def _open_safetensors(path: str) -> Iterator[list[Stored]]:
    package = _safetensors()
    try:
        file = package.safe_open(path, framework="np")
    except (package.SafetensorError, OSError) as error:
        raise FileFormatError(f"{path}: not a safetensors file: {error}") from error
    with file:
        yield [_safe_entry(path, file, name) for name in file.keys()]  # noqa: SIM118 - no dict


def _safe_entry(path: str, file: Any, name: str) -> Stored:
    part = file.get_slice(name)
    shape, code = tuple(part.get_shape()), part.get_dtype()
    if code not in _SAFE_TYPES:
        raise NotSupportedError(
            f"{path}: {name!r} has element type {code}, expected one of {', '.join(_SAFE_TYPES)}"
        )
    dtype = jnp.dtype(_SAFE_TYPES[code])
    size_bytes = math.prod(shape) * dtype.itemsize
    return Stored(name, shape, dtype.name, "default", size_bytes, lambda: file.get_tensor(name))


def _write_safetensors(path: str, arrays: dict[str, np.ndarray]) -> None:
    codes = {name: code for code, name in _SAFE_TYPES.items()}
    _refuse(path, arrays, lambda dtype: dtype.name in codes, f"expected {', '.join(codes)}")
    if "__metadata__" in arrays:
        raise ParameterError(f"{path}: a .safetensors file cannot have an array '__metadata__'")
    header: dict[str, Any] = {}
    end = 0
    # The widest types first: so each array begins at a multiple of its elements' size.
    ordered = sorted(arrays.items(), key=lambda pair: -pair[1].dtype.itemsize)
    for name, value in ordered:
        begin, end = end, end + value.nbytes
        code, shape = codes[value.dtype.name], list(value.shape)
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with atomic_write(path) as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, value in ordered:
            little = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
            file.write(little.reshape(-1).view(np.uint8).data)


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise NotSupportedError(
            "reading .safetensors needs the safetensors package: pip install 'modkit[safetensors]'"
        ) from error
    return safetensors


# ── All of them ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Format:
    open: Callable[[str], contextlib.AbstractContextManager[list[Stored]]]
    write: Callable[[str, dict[str, np.ndarray]], None]


_FORMATS = {
    "params": _Format(_open_params, _write_params),
    "npz": _Format(_open_npz, _write_npz),
    "safetensors": _Format(_open_safetensors, _write_safetensors),
}
