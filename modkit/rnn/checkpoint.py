"""Checkpoints of recurrent networks, with unpacked weights (one for each gate)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from modkit.callback.functions import EpochEnd, every_epochs
from modkit.checkpoint import load_checkpoint, save_checkpoint
from modkit.errors import warn_caller
from modkit.ndarray import NDArray
from modkit.rnn.base import BaseRNNCell, in_turn
from modkit.symbol import Symbol, Variable

Cells = BaseRNNCell | Sequence[BaseRNNCell]


def _listed(cells: Cells) -> list[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else list(cells)


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Symbol | Sequence[Symbol] | None = None,
    begin_state: Sequence[Symbol] | None = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Any, list[Any]]:
    """Deprecated form of ``cell.unroll``, which also creates the input variables.

    Without ``inputs`` these are variables ``t0_data``, ``t1_data``, ..., after ``input_prefix``.
    """
    warn_caller("rnn_unroll is the old form of cell.unroll; call that")
    if inputs is None:
        inputs = [Variable(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs, begin_state, layout)


def save_rnn_checkpoint(
    cells: Cells,
    prefix: str,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
) -> None:
    """Save a checkpoint with the weights of ``cells`` unpacked.

    Fused and unfused networks can therefore load each other's checkpoints.

    Args:
        cells: the cell or cells of the network.
        prefix: path of the files without suffixes.
    """
    arg_params = in_turn(_listed(cells), "unpack_weights", arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(
    cells: Cells, prefix: str, epoch: int
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Load a checkpoint: symbol, arguments packed for ``cells``, and auxiliary states."""
    net, arg_params, aux_params = load_checkpoint(prefix, epoch)
    return net, in_turn(_listed(cells), "pack_weights", arg_params), aux_params


def do_rnn_checkpoint(cells: Cells, prefix: str, period: int = 1) -> EpochEnd:
    """An epoch callback that calls `save_rnn_checkpoint` every ``period`` epochs."""
    return every_epochs(period, functools.partial(save_rnn_checkpoint, cells, prefix))
