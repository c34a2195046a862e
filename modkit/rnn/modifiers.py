"""DropoutCell, ZoneoutCell and ResidualCell: cells that modify other cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit import symbol
from modkit.errors import NotSupportedError, expect
from modkit.ndarray import NDArray
from modkit.rnn.base import BaseRNNCell, RNNParams, Unrolled, Weights, arrange, check_cell, compose
from modkit.rnn.containers import SequentialRNNCell
from modkit.symbol import Symbol


class DropoutCell(BaseRNNCell):
    """Applies dropout to the input in training. Has no states.

    Args:
        params: accepted for compatibility; the cell has no parameters.

    Raises:
        ParameterError: ``dropout`` is not a number.
    """

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None):
        super().__init__(prefix, params)
        expect(isinstance(dropout, int | float), "DropoutCell: dropout", dropout, "a number")
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return []

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, Any]:
        """See `BaseRNNCell`; the states are returned as they are."""
        if self.dropout > 0:
            inputs = compose("Dropout", data=inputs, p=self.dropout)
        return inputs, states

    def _unrolled(
        self, length: int, inputs: Any, states: Any, layout: str, merge: bool | None
    ) -> Unrolled:
        made = arrange(length, inputs, layout, merge)
        if isinstance(made, Symbol):  # of all steps: it is not split
            return self(made, [])
        return super()._unrolled(length, made, states, layout, merge)


class ModifierCell(BaseRNNCell):
    """The base class of cells that wrap a cell and use its parameters and states.

    Args:
        base_cell: the wrapped cell, whose `begin_state` then raises.
    """

    def __init__(self, base_cell: BaseRNNCell):
        check_cell(type(self).__name__, base_cell)
        base_cell._modified = True
        super().__init__()
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return self.base_cell.state_info

    def begin_state(self, func: Callable[..., Symbol] = symbol.zeros, **kwargs: Any) -> list[Any]:
        """See `BaseRNNCell`; ``init_sym`` is an alias of ``func``, as in MXNet."""
        func = kwargs.pop("init_sym", func)
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=func, **kwargs)
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Weights:
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Mapping[str, NDArray]) -> Weights:
        return self.base_cell.pack_weights(args)


class NoZoneoutError(NotSupportedError, AssertionError):
    """Zoneout around a cell without single steps."""


class ZoneoutCell(ModifierCell):
    """Zoneout: in training, random elements keep their value of the previous step.

    Args:
        zoneout_outputs: probability of keeping an element of the output.
        zoneout_states: probability of keeping an element of the states.

    Raises:
        NotSupportedError: the cell has no single steps.
    """

    def __init__(
        self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ):
        cells = base_cell._cells if isinstance(base_cell, SequentialRNNCell) else [base_cell]
        whole = [type(cell).__name__ for cell in cells if not getattr(cell, "_steps", True)]
        if whole:
            raise NoZoneoutError(
                f"ZoneoutCell: a {whole[0]} has no single steps; unfuse() a FusedRNNCell first, "
                "and wrap the inner cells of a BidirectionalCell in ZoneoutCells"
            )
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self.prev_output: Symbol | None = None

    def reset(self) -> None:
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        output, after = self.base_cell(inputs, states)
        before = symbol.zeros((0, 0)) if self.prev_output is None else self.prev_output
        if self.zoneout_outputs:
            output = _mix(self.zoneout_outputs, output, before)
        if self.zoneout_states:
            pairs = zip(after, states, strict=True)
            after = [_mix(self.zoneout_states, new, old) for new, old in pairs]
        self.prev_output = output
        return output, after


def _mix(fraction: float, new: Symbol, old: Symbol) -> Symbol:
    """``new``, with a random fraction of its elements from ``old`` in training."""
    kept = compose("Dropout", compose("ones_like", new), p=fraction)
    return compose("where", kept, new, old)


class ResidualCell(ModifierCell):
    """Adds its input to the output of the wrapped cell.

    Args:
        base_cell: the wrapped cell, with outputs of the same shape as its inputs.
    """

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        output, after = self.base_cell(inputs, states)
        return _plus(output, inputs), after

    def _unrolled(
        self, length: int, inputs: Any, states: Any, layout: str, merge: bool | None
    ) -> Unrolled:
        self.base_cell._modified = False
        try:
            outputs, last = self.base_cell.unroll(
                length, inputs=inputs, begin_state=states, layout=layout, merge_outputs=merge
            )
        finally:
            self.base_cell._modified = True
        merged = isinstance(outputs, Symbol) if merge is None else merge
        added = arrange(length, inputs, layout, merged)
        if isinstance(outputs, Symbol) and isinstance(added, Symbol):
            return _plus(outputs, added), last
        return [_plus(a, b) for a, b in zip(outputs, added, strict=True)], last


def _plus(output: Symbol, inputs: Symbol) -> Symbol:
    return compose("elemwise_add", output, inputs, name=f"{output.name}_plus_residual")
