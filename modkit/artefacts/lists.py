"""Description of the text files that belong to records: index (``.idx``) and samples (``.lst``)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from modkit.artefacts.base import Facts, LabelCounter, Labels
from modkit.artefacts.table import Table
from modkit.files import FileWindow
from modkit.io.list_file import LINE, bad_line, index_lines, list_lines
from modkit.io.record_format import MAGIC_BYTES


@dataclass(frozen=True)
class IndexFacts(Facts):
    """An ``.idx`` file.

    Attributes:
        entries: number of records that it names.
        first_key: the key of the first line; ``None`` without lines.
        last_key: the key of the last line.
        repeated: number of keys that occur more than once.
        records: the ``.rec`` file of the same name, if it exists.
        wrong: number of entries whose offset is not that of a record; ``None`` without that file.
    """

    entries: int
    first_key: str | None
    last_key: str | None
    repeated: int
    records: str | None
    wrong: int | None

    def tables(self) -> list[Table]:
        fits = None
        if self.wrong is not None:
            points = "entry points" if self.wrong == 1 else "entries point"
            fits = f"{self.wrong} {points} to no record of it" if self.wrong else "yes"
        facts = [
            ("entries", self.entries),
            ("first key", self.first_key),
            ("last key", self.last_key),
            ("repeated keys", self.repeated or None),
            ("records", self.records or "none beside it"),
            ("fits the records", fits),
        ]
        return [self._of_file(facts)]


@dataclass(frozen=True)
class ListFacts(Facts):
    """A ``.lst`` file.

    Attributes:
        entries: number of samples that it names.
        labels: of the samples; ``None`` without any.
        first: path of the first sample.
        repeated: number of sample numbers that occur more than once.
    """

    entries: int
    labels: Labels | None
    first: str | None
    repeated: int

    def tables(self) -> list[Table]:
        facts = [
            ("entries", self.entries),
            ("labels", self.labels.text() if self.labels else "none"),
            ("first", self.first),
            ("repeated numbers", self.repeated or None),
        ]
        return [self._of_file(facts)]


def describe_index(path: str, size_bytes: int) -> IndexFacts:
    """Describe an ``.idx`` file, and compare it with the ``.rec`` file of the same name.

    Raises:
        FileFormatError: a line is not a key and an offset.
    """
    entries = list(index_lines(path))
    keys = [key for key, _ in entries]
    records = Path(path).with_suffix(".rec")
    beside = records.is_file() and not records.samefile(path)
    return IndexFacts(
        path=path,
        kind="index",
        size_bytes=size_bytes,
        entries=len(keys),
        first_key=keys[0] if keys else None,
        last_key=keys[-1] if keys else None,
        repeated=len(keys) - len(set(keys)),
        records=str(records) if beside else None,
        wrong=_wrong(str(records), entries) if beside else None,
    )


def _wrong(records: str, entries: list[tuple[str, int]]) -> int:
    with FileWindow(records) as window:
        return sum(window[at : at + 4] != MAGIC_BYTES for _, at in entries)


def describe_list(path: str, size_bytes: int) -> ListFacts:
    """Describe a ``.lst`` file; FileFormatError where a line is not a number, labels and a path."""
    labels, first, numbers = LabelCounter(), None, []
    for line in list_lines(path):
        if not line.labels:
            raise bad_line(path, line.at, f"{line.number}\t{line.path}", LINE)
        numbers.append(line.number)
        labels.add(line.labels)
        first = line.path if first is None else first
    return ListFacts(
        path=path,
        kind="list",
        size_bytes=size_bytes,
        entries=len(numbers),
        labels=labels.result(),
        first=first,
        repeated=len(numbers) - len(set(numbers)),
    )
