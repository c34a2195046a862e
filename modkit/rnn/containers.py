"""SequentialRNNCell and BidirectionalCell: cells composed of cells."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit import symbol
from modkit.errors import ParameterError
from modkit.ndarray import NDArray
from modkit.rnn.base import (
    BaseRNNCell,
    RNNParams,
    Unrolled,
    Weights,
    arrange,
    check_cell,
    compose,
    in_turn,
    split_steps,
)
from modkit.symbol import Symbol


class CellOfCells(BaseRNNCell):
    """Base of composed cells; the states are the concatenated states of the inner cells."""

    def __init__(self, params: RNNParams | None = None):
        super().__init__(prefix="", params=params)
        self._override_cell_params = params is not None
        self._cells: list[BaseRNNCell] = []

    def _append(self, cell: BaseRNNCell) -> None:
        """Append a cell and share parameters with it."""
        check_cell(type(self).__name__, cell)
        if self._override_cell_params:
            if not cell._own_params:
                raise ParameterError(
                    f"{type(self).__name__}: got params for it and for its inner "
                    f"{type(cell).__name__}; pass them to one of the two"
                )
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)
        self._cells.append(cell)

    def reset(self) -> None:
        """See `BaseRNNCell`; also resets the inner cells."""
        super().reset()
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """The states of all inner cells."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, func: Callable[..., Symbol] = symbol.zeros, **kwargs: Any) -> list[Any]:
        self._check_not_modified()
        own = kwargs if func is symbol.zeros else {"func": func, **kwargs}
        return [state for cell in self._cells for state in cell.begin_state(**own)]

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Weights:
        return in_turn(self._cells, "unpack_weights", args)

    def pack_weights(self, args: Mapping[str, NDArray]) -> Weights:
        return in_turn(self._cells, "pack_weights", args)

    def _split_states(self, states: Sequence[Any]) -> list[Sequence[Any]]:
        """The states split by cell."""
        ends = itertools.accumulate((len(cell.state_info) for cell in self._cells), initial=0)
        return [states[a:b] for a, b in itertools.pairwise(ends)]


class SequentialRNNCell(CellOfCells):
    """Stacked cells: the output of each is the input of the next."""

    def add(self, cell: BaseRNNCell) -> None:
        """Append a cell.

        Raises:
            ParameterError: both the stack and the cell have ``params``.
        """
        self._append(cell)

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        self._counter += 1
        last: list[Symbol] = []
        for cell, own in zip(self._cells, self._split_states(states), strict=True):
            inputs, after = cell(inputs, own)
            last += after
        return inputs, last

    def _unrolled(
        self, length: int, inputs: Any, states: Any, layout: str, merge: bool | None
    ) -> Unrolled:
        states = self.begin_state() if states is None else states
        last: list[Any] = []
        for i, (cell, own) in enumerate(zip(self._cells, self._split_states(states), strict=True)):
            merged = merge if i == len(self._cells) - 1 else None
            inputs, after = cell.unroll(
                length, inputs=inputs, begin_state=own, layout=layout, merge_outputs=merged
            )
            last += after
        return inputs, last


class BidirectionalCell(CellOfCells):
    """A forward and a backward cell over the sequence, with concatenated outputs.

    The final states of `unroll` are two lists, one for each cell.

    Args:
        r_cell: the backward cell, from the last step to the first.
        output_prefix: prefix of the names of the outputs.

    Raises:
        ParameterError: both this cell and an inner cell have ``params``.
    """

    _steps = False

    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ):
        super().__init__(params=params)
        self._output_prefix = output_prefix
        if params is not None and not (l_cell._own_params and r_cell._own_params):
            raise ParameterError(
                "BidirectionalCell: got params for it and for an inner cell; pass them to one of "
                "the two"
            )
        self._append(l_cell)
        self._append(r_cell)

    def _unrolled(
        self, length: int, inputs: Any, states: Any, layout: str, merge: bool | None
    ) -> Unrolled:
        steps = split_steps(length, inputs, layout)
        states = self.begin_state() if states is None else states
        (left, right), (l_states, r_states) = self._cells, self._split_states(states)
        (l_out, l_last), (r_out, r_last) = (
            cell.unroll(length, inputs=own, begin_state=begin, layout=layout, merge_outputs=merge)
            for cell, own, begin in ((left, steps, l_states), (right, steps[::-1], r_states))
        )
        if merge is None:
            merge = isinstance(l_out, Symbol) and isinstance(r_out, Symbol)
        axis = layout.find("T")
        if merge:
            r_out = compose("reverse", r_out, axis=axis)
            name = f"{self._output_prefix}out"
            return compose("concat", l_out, r_out, dim=2, name=name), [l_last, r_last]
        l_out, r_out = (arrange(length, out, layout, merge=False) for out in (l_out, r_out))
        joined = [
            compose("concat", a, b, dim=1, name=f"{self._output_prefix}t{i}")
            for i, (a, b) in enumerate(zip(l_out, reversed(list(r_out)), strict=True))
        ]
        return joined, [l_last, r_last]
