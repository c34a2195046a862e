"""``modkit convert``: arrays to another format, networks from old JSON dialects to the newest."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from modkit.artefacts import kind_of, read_arrays, write_arrays
from modkit.artefacts.containers import kind_by_ending
from modkit.artefacts.table import bytes_text
from modkit.commands.screen import write
from modkit.commands.symbol_file import load_symbol
from modkit.errors import NameNotFoundError, ParameterError, nearest
from modkit.ndarray.files import plain_name

Arrays = dict[str, np.ndarray]


def work(arguments: Namespace) -> None:
    """Write the file in the other format."""
    kind = kind_of(arguments.source)
    if kind == "symbol":
        if arguments.strip or arguments.symbol:
            raise ParameterError(
                f"{arguments.source}: it is a net; --strip and --symbol are for files of arrays"
            )
        _convert_net(arguments.source, arguments.target)
        return
    kind_by_ending(arguments.target)  # reports a wrong ending before a large file is read
    if kind not in ("params", "npz", "safetensors"):
        raise ParameterError(
            f"{arguments.source}: it is a file of kind {kind!r}; expected .params, .npz, "
            ".safetensors or -symbol.json"
        )
    arrays = read_arrays(arguments.source, kind)
    if arguments.strip:
        arrays = stripped(arrays)
    elif arguments.symbol:
        arrays = prefixed(stripped(arrays), arguments.symbol)
    write_arrays(arguments.target, arrays)
    size_bytes = sum(a.nbytes for a in arrays.values())
    write(f"{arguments.target}: {len(arrays)} arrays, {bytes_text(size_bytes)}")


def _convert_net(source: str, target: str) -> None:
    if Path(target).suffix.lower() != ".json":
        raise ParameterError(f"{target}: a net is written to a -symbol.json; {source} is a net")
    net = load_symbol(source)
    net.save(target)
    write(f"{target}: {len(net.graph.nodes)} nodes")


def stripped(arrays: Mapping[str, np.ndarray]) -> Arrays:
    """The arrays without ``arg:`` and ``aux:``; ParameterError where two would have one name."""
    found: Arrays = {}
    for name, value in arrays.items():
        short = plain_name(name)
        if short in found:
            raise ParameterError(f"two arrays would be called {short!r}; leave the prefixes")
        found[short] = value
    return found


def prefixed(arrays: Mapping[str, np.ndarray], path: str) -> Arrays:
    """The arrays with ``arg:`` or ``aux:``, as a net has them; NameNotFoundError for others."""
    net = load_symbol(path)
    kinds = dict.fromkeys(net.list_arguments(), "arg")
    kinds.update(dict.fromkeys(net.list_auxiliary_states(), "aux"))
    for name in arrays:
        if name not in kinds:
            raise NameNotFoundError(f"{path} has no variable {name!r}.{nearest(name, kinds)}")
    return {f"{kinds[name]}:{name}": value for name, value in arrays.items()}
