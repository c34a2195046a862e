"""The net of a file that a command is given."""

from __future__ import annotations

from modkit import symbol
from modkit.artefacts import kind_of
from modkit.errors import FileFormatError
from modkit.symbol import Symbol


def load_symbol(path: str) -> Symbol:
    """The net of a file; FileFormatError where it is damaged, or of another kind."""
    kind = kind_of(path)
    if kind != "symbol":
        raise FileFormatError(f"{path}: it is a file of kind {kind!r}, expected a -symbol.json")
    return symbol.load(path)
