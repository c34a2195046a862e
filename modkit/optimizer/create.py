"""``mx.optimizer.create``: optimizers by name, or around a transformation of optax."""

from __future__ import annotations

from typing import Any

from modkit.optimizer.base import Optimizer
from modkit.optimizer.optax_adapter import OptaxOptimizer


def create(name: Any, **kwargs: Any) -> Optimizer:
    """An optimizer from a registered name, or around an ``optax.GradientTransformation``.

    Raises:
        NameNotFoundError: no optimizer has that name.
        ParameterError: it does not accept one of the parameters.
    """
    transform: Any = name  # a GradientTransformation, recognized without an import of optax
    if isinstance(name, tuple) and hasattr(name, "init") and hasattr(name, "update"):
        return OptaxOptimizer(transform, **kwargs)
    return Optimizer.create_optimizer(name, **kwargs)
