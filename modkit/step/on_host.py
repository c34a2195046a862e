"""Small graphs on a CPU, whose programs NumPy runs while their signatures are new.

An executor that is bound or reshaped for a few calls does not wait for XLA.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from modkit.symbol.lower import Lowered

_MOST_NODES = 48
"""Larger graphs are not traced for NumPy: the disk cache may hold their programs, untraced."""


def may_run(lowered: Lowered, placement: Any, cells: Iterable[Any]) -> bool:
    """Whether NumPy may run programs of a graph over these cells."""
    return (
        placement.contexts[0]._is_cpu
        and not placement.model_parallel
        and not lowered.on_host
        and len(lowered.steps) <= _MOST_NODES
        and all(cell.may_lie_on_host for cell in cells)
    )


def placed_tree(tree: Any, device: Any) -> Any:
    """A tree whose NumPy arrays lie on the device."""
    return jax.tree.map(
        lambda leaf: jax.device_put(leaf, device) if isinstance(leaf, np.ndarray) else leaf, tree
    )
