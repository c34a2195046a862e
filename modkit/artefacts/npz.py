"""NumPy's files, ``.npy`` and ``.npz``: sizes are checked before memory is allocated."""

from __future__ import annotations

import contextlib
import io
import math
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from modkit.artefacts.stored import Stored
from modkit.errors import FileFormatError, NotSupportedError
from modkit.files import atomic_write, check_is_file, named_errors

_MAGIC = b"\x93NUMPY"
_MOST_HEADER_BYTES = 10_000
_HEADERS = {
    b"\1\0": (2, np.lib.format.read_array_header_1_0),
    b"\2\0": (4, np.lib.format.read_array_header_2_0),
}
_PIECE_BYTES = 2**20
# NumPy packs by deflate or not at all. Decoders of other methods take memory as the file says.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Deflate packs no more than 1032 bytes into one.
_MOST_PACKED = 1040
# Arrays of a file may take this much memory, or so often the size of the file.
_ANY_UNPACKED, _MOST_UNPACKED = 200 * 2**20, 20


@contextlib.contextmanager
def damage(where: str, reason: str) -> Iterator[None]:
    """Make any error of zipfile, zlib or NumPy a FileFormatError: damage can fail in any way."""
    try:
        yield
    except (FileFormatError, NotSupportedError):
        raise
    except Exception as error:
        raise FileFormatError(f"{where}{reason}: {error or type(error).__name__}") from error


def read_npy(path: str | os.PathLike[str]) -> np.ndarray:
    """The array of numbers in an ``.npy`` file.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is no such file, holds something else, or is cut off.
    """
    name = os.fspath(path)
    check_is_file(Path(path))
    with named_errors(name, "read"), Path(path).open("rb") as file:
        with damage(name, ": not an array of numbers"):
            shape, turned, dtype = _read_header(file)
            size_bytes = _size_bytes(shape, dtype)
            left = os.fstat(file.fileno()).st_size - file.tell()
            if size_bytes > left:
                raise ValueError(f"{dtype} of shape {shape} takes {size_bytes} bytes, got {left}")
            content = bytearray(size_bytes)
            file.readinto(content)
        return _shaped(np.frombuffer(content, dtype), shape, turned)


def _read_header(file: BinaryIO | Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether the first axis varies fastest, and element type."""
    magic = file.read(8)
    version = magic[6:]
    if magic[:6] != _MAGIC or version not in _HEADERS:
        raise ValueError(f"it begins with {magic!r}, expected {_MAGIC!r} and version 1.0 or 2.0")
    width, parse = _HEADERS[version]
    prefix = file.read(width)
    size = int.from_bytes(prefix, "little")
    if size > _MOST_HEADER_BYTES:
        raise ValueError(f"a header of {size} bytes, expected {_MOST_HEADER_BYTES} at most")
    shape, turned, dtype = parse(io.BytesIO(prefix + file.read(size)))
    if dtype.hasobject or dtype.names or dtype.subdtype or dtype.kind not in "biufc":
        raise ValueError(f"elements of type {dtype}, expected numbers")
    if any(type(n) is not int or n < 0 for n in shape):
        raise ValueError(f"the impossible shape {shape}")
    return tuple(shape), turned, dtype


def _size_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    # NumPy counts bytes in 63 bits, also those of the sizes beside a 0.
    if math.prod(n or 1 for n in shape) * dtype.itemsize >= 2**62:
        raise ValueError(f"the impossible shape {shape}")
    return math.prod(shape) * dtype.itemsize


def _shaped(flat: np.ndarray, shape: tuple[int, ...], turned: bool) -> np.ndarray:
    return flat.reshape(shape[::-1]).transpose() if turned else flat.reshape(shape)


@contextlib.contextmanager
def open_npz(path: str) -> Iterator[list[Stored]]:
    """The arrays of an ``.npz`` file, none of which is unpacked; see `open_arrays`."""
    whole = Path(path).stat().st_size
    with damage(path, ": not an npz file"):
        archive = zipfile.ZipFile(path)
    with archive:
        entries = archive.infolist()
        packed = sum(each.compress_size for each in entries)
        if packed > whole:
            raise FileFormatError(
                f"{path}: its entries say that they take {packed} bytes, but it has {whole}"
            )
        most = max(_ANY_UNPACKED, _MOST_UNPACKED * whole)
        unpacked = sum(each.file_size for each in entries)

        def check_unpacked() -> None:
            if unpacked > most:
                raise NotSupportedError(
                    f"{path}: {whole} bytes unpack to {unpacked}, expected {most} at most; write "
                    "the arrays with np.savez, which packs nothing, or as .safetensors"
                )

        yield [_entry(path, archive, info, check_unpacked) for info in entries]


def _entry(
    path: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, check_unpacked: Callable[[], None]
) -> Stored:
    where = f"{path}: {info.filename!r}"
    if info.compress_type not in _METHODS:
        raise FileFormatError(
            f"{where} is packed by method {info.compress_type}, expected 0 or 8, as NumPy writes"
        )
    if info.file_size > _MOST_PACKED * info.compress_size + 1024:
        raise FileFormatError(
            f"{where} says that {info.compress_size} bytes unpack to {info.file_size}"
        )
    with damage(where, " is not an array"), archive.open(info) as file:
        shape, turned, dtype = _read_header(file)
        left = info.file_size - file.tell()
        size_bytes = _size_bytes(shape, dtype)
    if size_bytes != left:
        raise FileFormatError(
            f"{where}: {dtype} of shape {shape} takes {size_bytes} bytes, but it has {left}"
        )

    def stream() -> Iterator[np.ndarray]:
        with damage(where, " cannot be read"), archive.open(info) as file:
            _read_header(file)
            for begin in range(0, size_bytes, _PIECE_BYTES):
                content = file.read(min(_PIECE_BYTES, size_bytes - begin))
                yield np.frombuffer(content, dtype)
            file.read(1)  # the checksum is compared at the end

    def values() -> np.ndarray:
        check_unpacked()
        flat = np.empty(size_bytes // dtype.itemsize, dtype)
        at = 0
        for piece in stream():
            flat[at : at + piece.size] = piece
            at += piece.size
        if at < flat.size:
            raise FileFormatError(f"{where} cannot be read: it ends after {at} elements")
        return _shaped(flat, shape, turned)

    name = info.filename.removesuffix(".npy")
    return Stored(name, shape, dtype.name, "default", size_bytes, values, stream)


def write_npz(path: str, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays of NumPy's own types to an ``.npz`` file, unpacked."""
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", allowZip64=True) as archive:
        for name, value in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, value, allow_pickle=False)
