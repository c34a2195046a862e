"""RecordIO's format: records in parts; a part has a magic number, a kind, a length and data."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import BinaryIO

import numpy as np

from modkit.errors import FileFormatError

MAGIC = 0xCED7230A
MAGIC_BYTES = struct.pack("<I", MAGIC)
HEADER = struct.Struct("<II")

WHOLE, FIRST, MIDDLE, LAST = range(4)
"""Kinds of part: a whole record, or its first, a middle or its last part.

A record is split at each magic number within it, which is omitted from the file.
"""

_LENGTH_BITS = 29
MAX_LENGTH = (1 << _LENGTH_BITS) - 1
"""Number of bytes that a record can have at most."""


def encoded(record: bytes) -> bytes:
    """A record as a file has it: its parts with their headers and padding."""
    cuts = _cuts(record)
    begins = [0, *(cut + 4 for cut in cuts)]
    kinds = [FIRST, *[MIDDLE] * (len(cuts) - 1), LAST] if cuts else [WHOLE]
    pieces = []
    for kind, begin, end in zip(kinds, begins, [*cuts, len(record)], strict=True):
        length = end - begin
        header = HEADER.pack(MAGIC, kind << _LENGTH_BITS | length)
        pieces += [header, record[begin:end], bytes(-length % 4)]
    return b"".join(pieces)


def bad(where: str, offset: int, reason: str) -> FileFormatError:
    """The error of a file, an offset in it and a reason."""
    return FileFormatError(f"{where}: at byte {offset}: {reason}")


def read_header(file: BinaryIO, size: int, where: str) -> tuple[int, int]:
    """`header_of` the part at the present offset of a file."""
    begin = file.tell()
    return header_of(file.read(HEADER.size), begin, size, where)


def header_of(header: bytes, begin: int, size: int, where: str) -> tuple[int, int]:
    """Kind and length of the part that ``header`` begins, in a file of ``size`` bytes.

    Raises:
        FileFormatError: no part begins there, or the file ends within it.
    """
    if len(header) < HEADER.size:
        raise bad(where, begin, "the file ends within a record's header")
    magic, word = HEADER.unpack(header)
    if magic != MAGIC:
        raise bad(where, begin, f"no record begins here: {magic:#x} is not {MAGIC:#x}")
    kind, length = word >> _LENGTH_BITS, word & MAX_LENGTH
    padded, left = length + -length % 4, size - begin - HEADER.size
    if padded > left:
        raise bad(where, begin, f"a record takes {padded} bytes, but {left} are left")
    return kind, length


def parts(
    header_at: Callable[[int], bytes], size: int, where: str
) -> Iterator[tuple[int, int, int]]:
    """Offset, kind and length of each part of a file; ``header_at(offset)`` reads its header.

    Raises:
        FileFormatError: the file is no RecordIO file, or ends within a part.
    """
    offset = 0
    while offset < size:
        kind, length = header_of(header_at(offset), offset, size, where)
        yield offset, kind, length
        offset += HEADER.size + length + -length % 4


def _cuts(record: bytes) -> list[int]:
    """Offsets of the magic number at multiples of four."""
    # NumPy compares long records faster than a search does.
    if len(record) < 4096 and MAGIC_BYTES not in record:
        return []
    integers = np.frombuffer(record, "<u4", len(record) // 4)
    found = integers == MAGIC
    return [int(i) * 4 for i in np.flatnonzero(found)] if found.any() else []
