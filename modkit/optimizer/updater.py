"""Updater: applies an optimizer to parameters by index and owns their states."""

from __future__ import annotations

import contextlib
from typing import Any, BinaryIO

import jax
import numpy as np

from modkit.base import py_str
from modkit.context import Context
from modkit.errors import FileFormatError, ParameterError, wrong
from modkit.ndarray import NDArray, RowSparseNDArray
from modkit.ndarray.storage import replacing
from modkit.ops.stype import DENSE, ROWS
from modkit.optimizer.base import Optimizer
from modkit.optimizer.calls import Indices, calls_of
from modkit.optimizer.states import dump, dumps, loads


class Updater:
    """``updater(index, grad, weight)`` updates a parameter in place and creates missing states.

    >>> update = mx.optimizer.Updater(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
    >>> weight = mx.nd.ones((2,))
    >>> update(0, mx.nd.ones((2,)), weight)
    >>> print(weight.asnumpy(), update.states[0].asnumpy())
    [0.9 0.9] [-0.1 -0.1]

    Differs: states of row-sparse weights are dense arrays, and in files row-sparse ones with all
    rows. MXNet's lazy optimizers have row-sparse arrays, without rows before the first update and
    with all rows after it.
    """

    def __init__(self, optimizer: Optimizer):
        if isinstance(optimizer, type) or not hasattr(optimizer, "aggregate_num"):
            expected = 'an Optimizer, such as mx.optimizer.create("sgd")'
            raise wrong("Updater: optimizer", optimizer, expected)
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, bool] = {}
        self._by_rows: set[Any] = set()  # indices of row-sparse weights

    @property
    def aggregate_updates(self) -> bool:
        """Whether lists of parameters are updated by one call of the optimizer."""
        return self.optimizer.aggregate_num > 0

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        many = isinstance(index, list | tuple)
        indices: Any = [py_str(i) for i in (index if many else [index])]
        grads, weights = (grad, weight) if many else ([grad], [weight])
        if not len(indices) == len(grads) == len(weights):
            raise ParameterError(
                f"update: got {len(indices)} indices, {len(grads)} gradients and {len(weights)} "
                "weights, expected as many of each"
            )
        states = [self.ensure_state(i, w) for i, w in zip(indices, weights, strict=True)]
        optimizer = self.optimizer
        update = optimizer.update_multi_precision
        if optimizer.whole_lists:
            if isinstance(index, Indices):
                indices = index
            elif many:
                indices = Indices.divided(indices, weights, optimizer)
            if indices:
                update(indices, weights, grads, states)
            return
        parameters = list(zip(indices, weights, grads, states, strict=True))
        for call in calls_of(weights, optimizer.aggregate_num):
            index, weight, grad, state = zip(*(parameters[at] for at in call), strict=True)
            if optimizer.aggregate_num > 0:
                update(index, weight, grad, list(state))
            else:
                update(*parameters[call[0]])

    def ensure_state(self, index: Any, weight: NDArray) -> Any:
        """The state of a parameter; created if missing, moved to the weight's device if loaded."""
        if not isinstance(weight, NDArray):
            raise wrong("update: weight", type(weight), "an NDArray: updater(index, grad, weight)")
        if weight.stype == ROWS:
            self._by_rows.add(index)
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
            self.states_synced[index] = True
        elif not self.states_synced[index]:
            state = self.optimizer.fit_state(index, weight, self.states[index])
            self.states[index] = self.sync_state_context(state, weight.ctx)
            self.states_synced[index] = True
        return self.states[index]

    def sync_state_context(self, state: Any, context: Context) -> Any:
        """The state on the given device."""
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, tuple) and hasattr(state, "_fields"):
            return type(state)(*(self.sync_state_context(s, context) for s in state))
        if isinstance(state, list | tuple):
            return type(state)(self.sync_state_context(s, context) for s in state)
        return state

    def set_states(self, states: bytes) -> None:
        """Load states, and the optimizer if it was saved with them.

        Args:
            states: bytes from `get_states` or MXNet. Loading creates only arrays, plain values,
                optimizers and schedulers.

        Raises:
            FileFormatError: the bytes are malformed, or contain something else.
        """
        if not isinstance(states, bytes | bytearray | memoryview):
            raise FileFormatError(
                f"set_states: got {type(states).__name__}, expected the bytes of get_states()"
            )
        loaded = loads(bytes(states))
        if isinstance(loaded, tuple) and len(loaded) == 2 and isinstance(loaded[1], Optimizer):
            loaded, optimizer = loaded
            optimizer._complete(self.optimizer)
            self.optimizer = optimizer
        if not isinstance(loaded, dict):
            raise FileFormatError(
                f"optimizer states: at byte 0: got {type(loaded).__name__}, expected a dict of "
                "states by index"
            )
        try:
            states_by_index = {py_str(i): s for i, s in loaded.items()}
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"optimizer states: at byte 0: got the index {error.object!r:.60}, expected "
                "text in UTF-8 or a number"
            ) from error
        with self._lock():
            self.states = states_by_index
            self.states_synced = dict.fromkeys(self.states, False)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """The states as bytes, in MXNet's format: all of one step, also while a thread trains.

        Args:
            dump_optimizer: include the optimizer, with its counts and rates.
        """
        with self._lock():
            return dumps(self._plain(dump_optimizer))

    def write_states(self, file: BinaryIO, dump_optimizer: bool = False) -> None:
        """Write the bytes of `get_states` to an open file, without a copy of the arrays."""
        dump(self._plain(dump_optimizer), file)

    def _lock(self) -> Any:
        """The lock under which a module's steps replace these states; without one, nothing."""
        for state in [*self.states.values()]:
            for array in state if isinstance(state, list | tuple) else [state]:
                lock = array._cell.root.lock if isinstance(array, NDArray) else None
                if lock is not None and lock is not replacing:
                    return lock
        return contextlib.nullcontext()

    def _plain(self, dump_optimizer: bool) -> Any:
        states = {i: self._plain_state(i) for i in self.states}
        return (states, self.optimizer) if dump_optimizer else states

    def _plain_state(self, index: Any) -> Any:
        """The state of a parameter as it is in files."""
        state = self.states[index]
        if self.states_synced[index]:
            state = self.optimizer.plain_state(state)
        by_rows = index in self._by_rows and self.optimizer.whole_lists
        return jax.tree.map(_all_rows, state) if by_rows else state


def _all_rows(array: Any) -> Any:
    """An array as a row-sparse one that stores every row, as MXNet's lazy updates need."""
    if not isinstance(array, NDArray) or array.stype != DENSE or not array.ndim:
        return array
    rows = np.asarray(array._cell.host())
    return RowSparseNDArray(rows, (np.arange(len(rows)),), rows.shape, array.ctx)


OWN_CALL = Updater.__call__
"""The call that a rule in the program of a step stands for; a program may set another."""


def get_updater(optimizer: Optimizer) -> Updater:
    """An updater for the optimizer."""
    return Updater(optimizer)
