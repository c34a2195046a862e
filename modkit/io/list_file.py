"""Lists of images (``.lst``): lines of a number, labels and a path, with tabs between."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from modkit.errors import FileFormatError
from modkit.files import text_lines

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
    for at, line in text_lines(path):
        if line.strip():
            try:
                number, *labels, name = line.split("\t")
                found = ListLine(at, int(number), [float(each) for each in labels], name.strip())
            except ValueError as error:
                raise bad_line(path, at, line, LINE) from error
            yield found


def bad_line(path: str | os.PathLike[str], at: int, line: str, expected: str) -> FileFormatError:
    """The error of a line of a text file."""
    return FileFormatError(f"{path}: line {at}: got {line[:80]!r}, expected {expected}")
