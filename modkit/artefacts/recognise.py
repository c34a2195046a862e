"""What kind of file a file is: by its first bytes, and where they say nothing by its ending."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from modkit.errors import FileFormatError
from modkit.files import MissingFileError

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

    A file whose beginning is unmistakable is what it begins as, whatever it is called. One that
    is only called so, such as a damaged file, is what its ending says.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is a folder or a device, or neither says anything.
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
            f"what it is; expected a file of MXNet's: {', '.join(_ENDINGS)}"
        )
    return kind


def check_is_file(path: Path) -> None:
    """Refuse what is no plain file.

    Raises:
        MissingFileError: there is nothing.
        FileFormatError: there is something else.
    """
    if not path.exists():
        raise MissingFileError(f"{path}: there is no such file")
    if not path.is_file():
        what = "a folder" if path.is_dir() else "a device or a pipe"
        raise FileFormatError(f"{path}: it is {what}, expected a file")


def _kind_of_text(head: bytes) -> str | None:
    """What a file without a known ending looks like."""
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "states"
    if head.lstrip()[:1] == b"{":
        return "symbol"
    fields = head.split(b"\n", 1)[0].split(b"\t")
    if len(fields) == 2 and all(each.strip().isdigit() for each in fields):
        return "index"
    return "list" if len(fields) > 2 and fields[0].isdigit() else None
