"""Optimizers of MXNet's SVRG training with a KVStore; `SVRGModule` here needs neither."""

from __future__ import annotations

import inspect
from typing import Any

from modkit import optimizer
from modkit.errors import NameNotFoundError


@optimizer.register
class _AssignmentOptimizer(optimizer.Optimizer):
    """Sets a weight to its gradient, which sums full gradients over workers."""

    def create_state(self, index: Any, weight: Any) -> Any:
        """None."""

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Set the weight."""
        weight[:] = grad


@optimizer.register
class _SVRGOptimizer(optimizer.Optimizer):
    """Two optimizers: `_AssignmentOptimizer` for names with ``full``, and another for the rest.

    Args:
        default_optimizer: the other one, or its name.
        kwargs: of the other one; those that every `Optimizer` takes are this one's too.
            ``param_idx2name`` has the name of every index.
    """

    passes_on = True

    def __init__(self, default_optimizer: Any, **kwargs: Any):
        common = inspect.signature(optimizer.Optimizer.__init__).parameters
        super().__init__(**{n: v for n, v in kwargs.items() if n in common})
        self.default_optimizer = self.default_opt = default_optimizer
        if isinstance(default_optimizer, str):
            self.default_opt = optimizer.create(default_optimizer, **kwargs)
        self.aux_opt = optimizer.create("_AssignmentOptimizer")

    def _of(self, index: Any) -> optimizer.Optimizer:
        name = index if isinstance(index, str) else self.idx2name.get(index)  # a store has names
        if name is None:
            raise NameNotFoundError(
                f"_SVRGOptimizer: no parameter has the index {index!r}; expected one of "
                f"{sorted(self.idx2name)}: give param_idx2name={{index: name}}"
            )
        return self.aux_opt if "full" in name else self.default_opt

    def create_state(self, index: Any, weight: Any) -> Any:
        """The state of the optimizer that updates the weight."""
        return self._of(index).create_state(index, weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update the weight by its optimizer."""
        self._of(index).update(index, weight, grad, state)
