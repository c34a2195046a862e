"""Description of a ``.rec`` file: number, sizes, contents and labels of its records."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from modkit.artefacts.base import Facts, LabelCounter, Labels
from modkit.artefacts.table import Table, bytes_text
from modkit.files import FileWindow
from modkit.io.packing import HEADER as LABEL_HEADER
from modkit.io.record_format import FIRST, HEADER, LAST, WHOLE, bad, parts

_CONTENTS = {b"\xff\xd8\xff": "JPEG", b"\x89PNG": "PNG", b"\x93NUMPY": "NumPy"}


@dataclass(frozen=True)
class RecordsFacts(Facts):
    """A ``.rec`` file.

    Attributes:
        record_bytes: of all records, without headers and padding.
        smallest_bytes: of the smallest record; ``None`` where there is none.
        largest_bytes: of the largest.
        labels: of the records, if all of them begin with the header that `pack` writes.
        contents: number of records by the format of their content: ``"JPEG"``, ``"PNG"``,
            ``"NumPy"`` or ``"other"``.
        index: the ``.idx`` file of the same name, if it exists.
    """

    records: int
    record_bytes: int
    smallest_bytes: int | None
    largest_bytes: int | None
    labels: Labels | None
    contents: dict[str, int]
    index: str | None

    def tables(self) -> list[Table]:
        mean = bytes_text(self.record_bytes / self.records) if self.records else None
        contents = ", ".join(f"{count} {what}" for what, count in self.contents.items())
        facts = [
            ("records", self.records),
            ("in all", bytes_text(self.record_bytes)),
            ("smallest", None if self.smallest_bytes is None else bytes_text(self.smallest_bytes)),
            ("mean", mean),
            ("largest", None if self.largest_bytes is None else bytes_text(self.largest_bytes)),
            ("labels", self.labels.text() if self.labels else "none"),
            ("contents", contents),
            ("index", self.index or "none beside it"),
        ]
        return [self._of_file(facts)]


def describe_records(path: str, size_bytes: int) -> RecordsFacts:
    """Describe a ``.rec`` file; of each record only the beginning is read.

    Raises:
        FileFormatError: it is not such a file, or is damaged.
    """
    sizes: list[int] = []
    labels: LabelCounter | None = LabelCounter()
    contents: Counter[str] = Counter()
    with FileWindow(path) as window:
        for begin, head_bytes, size in _walk(window, path):
            sizes.append(size)
            head = window[begin : begin + min(head_bytes, _LOOK)]
            found = _labels(head, size)
            if found is None or labels is None:
                labels = None
            else:
                labels.add(found)
            contents[_content(head, 0 if found is None else LABEL_HEADER.size + _extra(head))] += 1
    index = Path(path).with_suffix(".idx")
    return RecordsFacts(
        path=path,
        kind="records",
        size_bytes=size_bytes,
        records=len(sizes),
        record_bytes=sum(sizes),
        smallest_bytes=min(sizes, default=None),
        largest_bytes=max(sizes, default=None),
        labels=labels.result() if labels else None,
        contents=dict(contents.most_common()),
        index=str(index) if index.is_file() else None,
    )


_LOOK = 4096


def _walk(window: FileWindow, path: str) -> Iterator[tuple[int, int, int]]:
    """For each record: offset and length of its first part's bytes, and the record's size."""
    found = parts(lambda at: window[at : at + HEADER.size], len(window), path)
    for offset, kind, length in found:
        if kind not in (WHOLE, FIRST):
            raise bad(path, offset, "a record begins with a later part of another one")
        begin, head_bytes, size = offset + HEADER.size, length, length
        while kind not in (WHOLE, LAST):
            offset, kind, length = next(found, (offset, FIRST, 0))
            if kind in (WHOLE, FIRST):
                raise bad(path, offset, "a record has no last part")
            # Each cut has removed the four bytes of a magic number from the record.
            size += 4 + length
        yield begin, head_bytes, size


def _extra(head: bytes) -> int:
    """The number of bytes of labels after the header."""
    return 4 * struct.unpack_from("<I", head)[0]


def _labels(head: bytes, size: int) -> tuple[float, ...] | None:
    """The labels of a record; ``None`` without a valid header."""
    if len(head) < LABEL_HEADER.size or LABEL_HEADER.size + _extra(head) > size:
        return None
    flag, label, *_ = LABEL_HEADER.unpack_from(head)
    if not flag:
        return (label,)
    whole = min(flag, (len(head) - LABEL_HEADER.size) // 4)
    return struct.unpack_from(f"<{whole}f", head, LABEL_HEADER.size) or None


def _content(head: bytes, at: int) -> str:
    for beginning, what in _CONTENTS.items():
        if head.startswith(beginning, at):
            return what
    return "other"
