"""Descriptions of files, whose kind is found by their first bytes or their ending."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

from modkit.artefacts.arrays import describe_arrays
from modkit.artefacts.base import Facts
from modkit.artefacts.lists import describe_index, describe_list
from modkit.artefacts.records import describe_records
from modkit.artefacts.states import describe_states
from modkit.artefacts.symbols import describe_symbol
from modkit.errors import FileFormatError
from modkit.files import check_is_file

_LOOK = 4096
_BEGINNINGS = {
    struct.pack("<Q", 0x112): "params",
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    struct.pack("<I", 0xCED7230A): "records",
}
_ENDINGS = {
    ".json": "symbol", ".params": "params", ".npz": "npz", ".safetensors": "safetensors",
    ".states": "states", ".rec": "records", ".idx": "index", ".lst": "list",
}  # fmt: skip


def kind_of(path: str | os.PathLike[str]) -> str:
    """The kind of a file: see ``Facts.kind``.

    An unmistakable beginning decides, whatever the ending is. Without one, as in a damaged file,
    the ending decides.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is a folder or a device, or of no known beginning and ending.
    """
    path = Path(path)
    check_is_file(path)
    with path.open("rb") as file:
        head = file.read(_LOOK)
    for beginning, kind in _BEGINNINGS.items():
        if head.startswith(beginning):
            return kind
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 2**32:
        return "safetensors"
    if path.suffix.lower() in _ENDINGS:
        return _ENDINGS[path.suffix.lower()]
    kind = _kind_of_text(head)
    if kind is None:
        raise FileFormatError(
            f"{path}: neither its first bytes, {head[:8].hex(' ') or 'none'}, nor its name say "
            f"what it is; expected a file of MXNet's: {', '.join(_ENDINGS)}; "
            "modkit inspect takes .onnx too"
        )
    return kind


def _kind_of_text(head: bytes) -> str | None:
    """The kind that the beginning of a file without a known ending resembles."""
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "states"
    if head.lstrip()[:1] == b"{":
        return "symbol"
    fields = head.split(b"\n", 1)[0].split(b"\t")
    if len(fields) == 2 and all(each.strip().isdigit() for each in fields):
        return "index"
    return "list" if len(fields) > 2 and fields[0].isdigit() else None


_DESCRIBE: dict[str, Callable[[str, int], Facts]] = {
    "symbol": describe_symbol,
    "records": describe_records,
    "index": describe_index,
    "list": describe_list,
}


def describe(path: str | os.PathLike[str], *, stats: bool = False) -> Facts:
    """Describe a file: symbol, parameters, optimizer states, records, their index or list.

    Args:
        stats: measure the arrays too, where it has some: least, largest, mean.

    Returns:
        Facts of the file's kind, which have ``to_json()`` and ``text()``.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is of no known kind, or is damaged.
    """
    kind, name = kind_of(path), os.fspath(path)
    size_bytes = Path(path).stat().st_size
    if kind in _DESCRIBE:
        return _DESCRIBE[kind](name, size_bytes)
    if kind == "states":
        return describe_states(name, size_bytes, stats)
    return describe_arrays(name, kind, size_bytes, stats)
