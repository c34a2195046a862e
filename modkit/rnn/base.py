"""BaseRNNCell: the base of recurrent cells, which unroll a step over a sequence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit import symbol
from modkit.constructors import ChecksArguments
from modkit.errors import (
    NameNotFoundError,
    NotReadyError,
    NotSupportedError,
    ParameterError,
    expect,
    unknown,
)
from modkit.ndarray import NDArray, concatenate
from modkit.ops.registry import get_op
from modkit.symbol import Symbol

Weights = dict[str, NDArray]
Activation = str | Callable[..., Symbol]
Unrolled = tuple[Any, list[Any]]
"""The outputs of all steps, and the final states."""


def compose(called: str, *symbols: Any, **params: Any) -> Symbol:
    """Equivalent to ``mx.sym.<called>(*symbols, **params)``."""
    return symbol.invoke(get_op(called), symbols, params, called)


class RNNParams:
    """Variables by name, created on first access; cells with a common one share weights.

    >>> params = RNNParams("lstm_")
    >>> params.get("i2h_weight") is params.get("i2h_weight"), params.get("i2h_weight").name
    (True, 'lstm_i2h_weight')
    """

    def __init__(self, prefix: str = ""):
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable; keyword arguments of `Variable` apply when it is created."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = symbol.Variable(name, **kwargs)
        return self._params[name]


def popped(cell: BaseRNNCell, args: dict[str, NDArray], name: str) -> NDArray:
    """Remove a parameter of a cell and return it; NameNotFoundError where it is missing."""
    if name not in args:
        message = unknown(f"{type(cell).__name__}: no parameter", name, args)
        raise NameNotFoundError(f"{message}; check the cell's prefix")
    return args.pop(name)


def in_turn(cells: Sequence[BaseRNNCell], method: str, args: Mapping[str, NDArray]) -> Weights:
    """Weights that `pack_weights` or `unpack_weights` of cells have changed, one after another."""
    for cell in cells:
        args = getattr(cell, method)(args)
    return dict(args)


_KINDS = ("weight", "bias")


class BaseRNNCell(ChecksArguments):
    """The base class of cells. A subclass implements ``state_info`` and ``__call__``.

    Args:
        prefix: prefix of the names of nodes and parameters.
        params: parameters shared with other cells; ``None`` to create new ones.
    """

    _steps = True
    """Whether the cell supports calls for a single step."""

    _gate_names: Sequence[str] = ()
    """Name suffixes of the gates for unpacked weights, in order; empty without weights."""

    _gate_axis: int | None = None
    """The axis of the gates in their joint pre-activations, where it is not the default one."""

    def __init__(self, prefix: str = "", params: RNNParams | None = None):
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Reset the counters of steps and states, for building another graph."""
        self._init_counter = -1
        self._counter = -1

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """One step.

        Args:
            inputs: (N, channels).
            states: states of the previous step, or `begin_state`.

        Returns:
            The output, and the new states.

        Raises:
            NotSupportedError: the cell processes whole sequences only.
        """
        if self._steps:
            raise NotImplementedError(f"{type(self).__name__}.__call__ is not defined")
        raise NotSteppableError(
            f"{type(self).__name__} cannot be called for one step; use unroll()"
        )

    @property
    def params(self) -> RNNParams:
        """The parameters; reading them marks them as shared."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape (0 for the batch axis) and ``__layout__`` of each state."""
        raise NotImplementedError

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """Shape of each state, 0 for the batch axis."""
        return [info["shape"] for info in self.state_info]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def _gates(self, inputs: Symbol, states: Sequence[Symbol], name: str) -> tuple[Symbol, Symbol]:
        """The pre-activations of all gates from the input, and from the state."""
        raise NotImplementedError

    def _next_step(self, states: Sequence[Symbol]) -> str:
        """Count a step from these states; the prefix of its names."""
        got = len(states) if hasattr(states, "__len__") else None
        if got is None or got < len(self.state_info):
            raise ParameterError(
                f"{type(self).__name__}: states: got {states if got is None else got!r}, expected "
                f"{len(self.state_info)}, as begin_state() makes them"
            )
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def begin_state(self, func: Callable[..., Symbol] = symbol.zeros, **kwargs: Any) -> list[Any]:
        """The initial states.

        Args:
            func: creates a state from ``name``, ``shape`` and ``__layout__``: `zeros`, or
                `Variable` for states that are inputs.
            **kwargs: further arguments of ``func``; the cell's own shapes and layouts replace
                those that are given.

        Raises:
            NotReadyError: the cell is wrapped in a modifier, whose `begin_state` must be used.
        """
        self._check_not_modified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **{**kwargs, **(info or {})}))
        return states

    def _check_not_modified(self) -> None:
        if self._modified:
            raise NotReadyError(
                f"{type(self).__name__}.begin_state: the cell is wrapped in a modifier such as "
                "ZoneoutCell or ResidualCell; call begin_state of the modifier"
            )

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Weights:
        """Split the joint parameters into a weight and a bias for each gate.

        Returns:
            A new dictionary: ``lstm_i2h_weight`` becomes ``lstm_i2h_i_weight`` etc.
        """
        args, gates = dict(args), self._gate_names
        for source in ("i2h", "h2h") if gates else ():
            joint = {k: popped(self, args, f"{self._prefix}{source}_{k}") for k in _KINDS}
            for i, gate in enumerate(gates):  # a gate's weight beside its bias, as in files
                for kind, whole in joint.items():
                    rows = whole.shape[0] // len(gates)
                    part = whole[i * rows : (i + 1) * rows].copy()
                    args[f"{self._prefix}{source}{gate}_{kind}"] = part
        return args

    def pack_weights(self, args: Mapping[str, NDArray]) -> Weights:
        """The inverse of `unpack_weights`."""
        args, gates = dict(args), self._gate_names
        for source, kind in itertools.product(("i2h", "h2h"), _KINDS) if gates else ():
            names = [f"{self._prefix}{source}{gate}_{kind}" for gate in gates]
            whole = concatenate([popped(self, args, name) for name in names])
            args[f"{self._prefix}{source}_{kind}"] = whole
        return args

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol],
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> Unrolled:
        """The graph of ``length`` steps.

        Args:
            inputs: one symbol of all steps, or a list with one symbol for each step.
            begin_state: the initial states; default: `begin_state`.
            layout: layout of a symbol of all steps: ``"NTC"`` or ``"TNC"``.
            merge_outputs: return one symbol of all steps, or a list; ``None`` for the cheaper.

        Returns:
            The outputs, and the final states.

        Raises:
            ParameterError: no inputs, or a list of a different length.
        """
        self.reset()
        return self._unrolled(length, inputs, begin_state, layout, merge_outputs)

    def _unrolled(
        self, length: int, inputs: Any, states: Any, layout: str, merge: bool | None
    ) -> Unrolled:
        """See `unroll`, whose arguments these are."""
        steps = split_steps(length, inputs, layout)
        states = self.begin_state() if states is None else states
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        return arrange(length, outputs, layout, merge), list(states)

    def _get_activation(self, inputs: Symbol, activation: Activation, **kwargs: Any) -> Symbol:
        """Apply an activation, given by name or as a function."""
        if isinstance(activation, str):
            return compose("Activation", inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)


def check_cell(where: str, cell: Any) -> None:
    """Raise ParameterError for an argument that is no cell, as a class of cells is none."""
    is_cell = hasattr(cell, "unroll") and not isinstance(cell, type)
    expect(is_cell, where, cell, "a cell such as mx.rnn.LSTMCell(8)")


def arrange(
    length: int, steps: Symbol | Sequence[Symbol], layout: str, merge: bool | None
) -> Symbol | list[Symbol]:
    """Time steps as one symbol (``merge=True``), as a list (``False``), or unchanged (``None``).

    Raises:
        ParameterError: ``None``, a group, or a list of a different length.
    """
    if steps is None:
        raise ParameterError(
            "unroll: got inputs None; make the input variables first, for example "
            "inputs=mx.sym.Variable('data')"
        )
    axis = layout.find("T")
    if isinstance(steps, Symbol):
        if merge is not False:
            return steps
        if len(steps) != 1:
            raise ParameterError(
                f"unroll: got a group of {len(steps)} symbols as inputs; pass list(inputs)"
            )
        return list(compose("split", steps, axis=axis, num_outputs=length, squeeze_axis=1))
    fits, expected = len(steps) == length, f"{length}, one for each step"
    expect(fits, "unroll: number of inputs", len(steps), expected)
    if not merge:
        return list(steps)
    expanded = [compose("expand_dims", step, axis=axis) for step in steps]
    return compose("concat", *expanded, dim=axis)


def split_steps(length: int, inputs: Any, layout: str) -> list[Symbol]:
    """Inputs as a list with one symbol for each step."""
    return list(arrange(length, inputs, layout, merge=False))


class NotSteppableError(NotSupportedError):
    """A cell that processes whole sequences only was called for a single step."""
