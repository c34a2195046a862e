"""The updater: an optimizer and the states of its parameters, called with gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modkit.ndarray import NDArray
from modkit.optimizer.base import Optimizer
from modkit.optimizer.fused import takes_lists


class Updater:
    """``updater(index, grad, weight)`` updates a parameter in place, making its state if needed.

    Args:
        optimizer: what to update with.
    """

    def __init__(self, optimizer: Optimizer):
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, bool] = {}

    @property
    def aggregate_updates(self) -> bool:
        """Whether lists of parameters are updated by one call of the optimizer."""
        return self.optimizer.aggregate_num > 0 or takes_lists(self.optimizer)

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        """Update a parameter, or each of a list of them."""
        many = isinstance(index, list | tuple)
        indices = [_as_key(i) for i in (index if many else [index])]
        grads, weights = (grad, weight) if many else ([grad], [weight])
        for i, w in zip(indices, weights, strict=True):
            self.ensure_state(i, w)
        update, states = self.optimizer.update_multi_precision, self.states
        if many and self.aggregate_updates:
            update(indices, weights, grads, [states[i] for i in indices])
            return
        for i, g, w in zip(indices, grads, weights, strict=True):
            update(i, w, g, states[i])

    def ensure_state(self, index: Any, weight: NDArray) -> Any:
        """The state of a parameter, made now if there is none."""
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
            self.states_synced[index] = True
        return self.states[index]


def _as_key(index: Any) -> Any:
    return index.decode() if isinstance(index, bytes) else index


def get_updater(optimizer: Optimizer) -> Updater:
    """An updater for the optimizer."""
    return Updater(optimizer)
