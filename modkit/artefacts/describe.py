"""A description of any file of MXNet's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from modkit.artefacts.arrays import describe_arrays
from modkit.artefacts.facts import Facts
from modkit.artefacts.lists import describe_index, describe_list
from modkit.artefacts.recognise import kind_of
from modkit.artefacts.records import describe_records
from modkit.artefacts.states import describe_states
from modkit.artefacts.symbols import describe_symbol

_DESCRIBE: dict[str, Callable[[str, int], Facts]] = {
    "symbol": describe_symbol,
    "records": describe_records,
    "index": describe_index,
    "list": describe_list,
}


def describe(path: str | os.PathLike[str], *, stats: bool = False) -> Facts:
    """What is in a file: symbol, parameters, optimizer states, records, their index or list.

    Args:
        path: of the file.
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
