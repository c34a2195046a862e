"""Text files with tabs: lists of images (``.lst``), and indices of records (``.idx``)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from modkit.errors import FileFormatError
from modkit.files import text_lines

T = TypeVar("T")

LINE = "a number, labels and a path, with tabs between"
"""A line of a list, for messages."""


class ListLine(NamedTuple):
    """A line of a list.

    Attributes:
        at: number of the line, from 1 on.
        labels: of the image; a list may have none.
    """

    at: int
    number: int
    labels: list[float]
    path: str


def list_lines(path: str | os.PathLike[str]) -> Iterator[ListLine]:
    """The lines of a list; empty ones are passed over.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: a line is none of a list.
    """
    return _parsed(path, _list_line, LINE)


def _list_line(at: int, line: str) -> ListLine:
    number, *labels, name = line.split("\t")
    return ListLine(at, int(number), [float(each) for each in labels], name.strip())


def index_entry(line: str, key_type: Callable[[str], Any]) -> tuple[Any, int]:
    """Key and offset of a line of an index; a ``ValueError`` if it is none."""
    key, _, place = line.strip().partition("\t")
    offset = int(place)
    if offset < 0:
        raise ValueError(offset)
    return key_type(key), offset


def index_lines(
    path: str | os.PathLike[str], key_type: Callable[[str], Any] = str, key: str = "a key"
) -> Iterator[tuple[Any, int]]:
    """Key and offset of each record in an index; empty lines are passed over.

    Args:
        key_type: converts the text of a key.
        key: the words for a key in messages.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: a line is none of an index.
    """
    expected = f"{key}, a tab and a number"
    return _parsed(path, lambda _, line: index_entry(line, key_type), expected)


def _parsed(
    path: str | os.PathLike[str], parse: Callable[[int, str], T], expected: str
) -> Iterator[T]:
    """Lines of a file that are not empty, as ``parse`` of their number and text returns them."""
    for at, line in text_lines(path):
        if line.strip():
            try:
                found = parse(at, line)
            except (ValueError, TypeError) as error:
                raise bad_line(path, at, line, expected) from error
            yield found


def bad_line(path: str | os.PathLike[str], at: int, line: str, expected: str) -> FileFormatError:
    """The error of a line of a text file."""
    return FileFormatError(f"{path}: line {at}: got {line[:80]!r}, expected {expected}")
