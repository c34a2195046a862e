"""Checkpoints: ``prefix-symbol.json`` for the net, and ``prefix-0001.params`` for each epoch."""

from __future__ import annotations

import glob
import logging
import os
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

from modkit import ndarray, symbol
from modkit.errors import FileFormatError, MissingFileError, wrong
from modkit.ndarray import NDArray
from modkit.symbol import Symbol

Params = dict[str, NDArray]

Prefix = str | os.PathLike[str]
"""The beginning of a checkpoint's files, ``prefix-symbol.json`` and ``prefix-0001.params``."""


def save_checkpoint(
    prefix: Prefix,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Write the net to ``prefix-symbol.json`` and its parameters to ``prefix-<epoch>.params``.

    Args:
        prefix: path of the files, without their endings.
        epoch: number of the epoch, written with four digits.
        symbol: the net; ``None`` to write only the parameters.
        remove_amp_cast: leave the casts of automatic mixed precision out of the net.
    """
    if symbol is not None:
        symbol.save(f"{prefix}-symbol.json", remove_amp_cast=remove_amp_cast)
    path = params_path(prefix, epoch)
    write_params(path, arg_params, aux_params or {})
    logging.info('Saved checkpoint to "%s"', path)


def write_params(
    path: str, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
) -> None:
    """Write arguments and auxiliary states to a ``.params`` file."""
    for what, params in (("arg_params", arg_params), ("aux_params", aux_params)):
        if not isinstance(params, Mapping):
            raise wrong(f"{path}: {what}", params, "a dictionary of NDArrays by name")
    named = {f"arg:{name}": value for name, value in arg_params.items()}
    named.update((f"aux:{name}", value) for name, value in aux_params.items())
    ndarray.save(path, named)


def load_params(prefix: Prefix, epoch: int) -> tuple[Params, Params]:
    """Arguments and auxiliary states from ``prefix-<epoch>.params``.

    Raises:
        FileFormatError: it is not a file of named arguments and auxiliary states.
    """
    return read_params(_written(prefix, epoch))


def read_params(path: str) -> tuple[Params, Params]:
    """Arguments and auxiliary states of a ``.params`` file; FileFormatError where it has others."""
    loaded: Any = ndarray.load(path)
    if not loaded:
        logging.warning("Params file '%s' is empty", path)
        return {}, {}
    if not isinstance(loaded, dict):
        raise FileFormatError(
            f"{path}: its {len(loaded)} arrays have no names, expected 'arg:name' and 'aux:name'; "
            "read such a file with mx.nd.load"
        )
    params: dict[str, Params] = {"arg": {}, "aux": {}}
    for name, value in loaded.items():
        kind, _, rest = name.partition(":")
        if kind not in params or not rest:
            raise FileFormatError(
                f"{path}: an array is called {name!r}, expected 'arg:name' or 'aux:name'; "
                "read such a file with mx.nd.load"
            )
        params[kind][rest] = value
    return params["arg"], params["aux"]


def load_checkpoint(prefix: Prefix, epoch: int) -> tuple[Symbol, Params, Params]:
    """The net, its arguments and its auxiliary states, as `save_checkpoint` wrote them."""
    path = params_path(prefix, epoch)
    if str(prefix).endswith((".params", ".json")) and not Path(path).exists():
        raise wrong("prefix", prefix, "the part before '-symbol.json' and '-0001.params'")
    return symbol.load(f"{prefix}-symbol.json"), *load_params(prefix, epoch)


def _written(prefix: Prefix, epoch: int) -> str:
    """The file of an epoch's parameters; the error of a missing one lists the epochs there are."""
    path = Path(params_path(prefix, epoch))
    if not path.exists():
        others = path.parent.glob(f"{glob.escape(Path(prefix).name)}-[0-9][0-9][0-9][0-9].params")
        if epochs := sorted(int(other.stem[-4:]) for other in others):
            raise MissingFileError(
                f"{path}: there is no such file; epochs of this prefix: "
                f"{', '.join(map(str, epochs))}"
            )
    return str(path)


def params_path(prefix: Prefix, epoch: int) -> str:
    """The file of an epoch's parameters; ParameterError where the epoch is no integer."""
    if not isinstance(epoch, Integral):
        raise wrong("epoch", epoch, f"the number in the file's name: 1 for {prefix}-0001.params")
    return f"{prefix}-{epoch:04d}.params"


def states_path(prefix: Prefix, epoch: int) -> str:
    """The file of an epoch's optimizer states; see `params_path`."""
    return params_path(prefix, epoch).removesuffix("params") + "states"
