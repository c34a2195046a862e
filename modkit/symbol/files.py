"""Symbols read from JSON text and files; `Symbol.save` writes them."""

from __future__ import annotations

import os

from modkit.errors import FileFormatError, expect
from modkit.files import FileWindow
from modkit.symbol.json import loads
from modkit.symbol.symbol import Symbol


def load_json(json_str: str) -> Symbol:
    """A symbol from JSON text of any version of MXNet from 0.8 on.

    Differs: ``control_deps`` are dropped; data alone orders the work. Convolutions that oneDNN
        fused in 8 bits compute in float32 between levels: weights are not rounded to 8 bits, and
        sums with a summand of int8 do not stop at 127.

    Raises:
        FileFormatError: it is not a graph.
    """
    expect(isinstance(json_str, str), "load_json", type(json_str), "a string")
    return Symbol(loads(json_str))


_ARRAYS = (0x112).to_bytes(8, "little")
"""The first bytes of a ``.params`` file."""


def load(fname: str | os.PathLike[str]) -> Symbol:
    """A symbol from a ``-symbol.json`` file of any version of MXNet from 0.8 on.

    Raises:
        FileNotFoundError: there is no such file.
        FileFormatError: it is not a graph; names the file.
    """
    expect(isinstance(fname, str | os.PathLike), "load", fname, "a path")
    with FileWindow(fname) as window:
        try:
            text = bytes(window).decode()
        except UnicodeDecodeError as error:
            arrays = bytes(window[:8]) == _ARRAYS
            other = "; it is a file of arrays, for mx.nd.load" if arrays else ""
            raise FileFormatError(
                f"{os.fspath(fname)}: not UTF-8 at byte {error.start}{other}"
            ) from error
    return Symbol(loads(text, where=os.fspath(fname)))
