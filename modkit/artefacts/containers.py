"""Files of arrays, read lazily or as a whole: ``.params``, ``.npz`` and ``.safetensors``."""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from modkit.artefacts.npz import open_npz, write_npz
from modkit.artefacts.stored import Stored
from modkit.errors import FileFormatError, NotSupportedError, ParameterError
from modkit.files import FileWindow, Reader, atomic_write, check_is_file
from modkit.lazy import install, optional
from modkit.ndarray.files import read_records, record_values, save_list
from modkit.ops.dtypes import DTYPE_CODES

PathLike = str | os.PathLike[str]


@contextlib.contextmanager
def open_arrays(path: PathLike, kind: str | None = None) -> Iterator[list[Stored]]:
    """The arrays of a file; their values are read on access.

    Arrays without names in the file are named ``arr_0``, ``arr_1``, ... as by NumPy. The values
    of sparse arrays are dense.

    Args:
        kind: ``"params"``, ``"npz"`` or ``"safetensors"``; default by the file's ending.

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
    """Write arrays to a file of the kind that its ending names, atomically.

    Arrays named ``arr_0``, ``arr_1``, ... lose their names in ``.params``.

    Raises:
        ParameterError: the ending is unknown.
        NotSupportedError: the kind of file cannot store an array of such a type.
    """
    path = os.fspath(path)
    _FORMATS[kind_by_ending(path)].write(path, dict(arrays))


def kind_by_ending(path: PathLike) -> str:
    """The kind of file of arrays that the ending of a path names; ParameterError if unknown."""
    ending = Path(path).suffix.lower()
    if ending[1:] not in _FORMATS:
        raise ParameterError(
            f"{os.fspath(path)}: the ending {ending!r} says no kind of file of arrays; "
            f"expected {', '.join('.' + each for each in _FORMATS)}"
        )
    return ending[1:]


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
    numbered = names == [f"arr_{i}" for i in range(len(names))]
    save_list(path, [] if numbered else names, list(arrays.values()))


def _refuse(
    path: str, arrays: Mapping[str, np.ndarray], fits: Callable[[Any], bool], hint: str
) -> None:
    for name, value in arrays.items():
        if not fits(value.dtype):
            raise NotSupportedError(
                f"{path}: such a file cannot keep {name!r} of type {value.dtype}: {hint}"
            )


def _write_npz(path: str, arrays: dict[str, np.ndarray]) -> None:
    # NumPy's file format has no name for the types that are not its own, such as bfloat16.
    _refuse(path, arrays, lambda dtype: dtype.kind in "biufc", "write .safetensors or .params")
    write_npz(path, arrays)


_SAFE_TYPES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32",
    "U16": "uint16", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip


@contextlib.contextmanager
def _open_safetensors(path: str) -> Iterator[list[Stored]]:
    package = optional(
        "safetensors",
        f"reading .safetensors needs the safetensors package: {install('safetensors')}",
    )
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


class _Format(NamedTuple):
    open: Callable[[str], contextlib.AbstractContextManager[list[Stored]]]
    write: Callable[[str, dict[str, np.ndarray]], None]


_FORMATS = {
    "params": _Format(_open_params, _write_params),
    "npz": _Format(open_npz, _write_npz),
    "safetensors": _Format(_open_safetensors, _write_safetensors),
}
