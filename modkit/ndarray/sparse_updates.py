"""Updates by row-sparse gradients: of their rows, in weights and states, and of no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modkit.context import cpu
from modkit.ndarray.host_cell import host_value
from modkit.ndarray.ndarray import NDArray, _apply, new
from modkit.ndarray.sparse_array import RowSparseNDArray
from modkit.ndarray.sparse_kernels import host, kernel
from modkit.ops.registry import Op
from modkit.ops.storage import ROWS


def rows_at(array: Any, ids: np.ndarray) -> np.ndarray:
    """Rows of a dense or row-sparse array; zeros for those that are not stored."""
    if isinstance(array, RowSparseNDArray):
        return array._rows_at(ids)
    return np.asarray(host_value(array._cell)[ids])


def write_rows(array: Any, ids: np.ndarray, rows: np.ndarray) -> None:
    """Replace rows of a dense or row-sparse array."""
    if isinstance(array, RowSparseNDArray):
        array._write_rows(ids, rows)
    elif len(ids):
        array[ids] = rows


@kernel("sgd_update", "sgd_mom_update", "adam_update", "ftrl_update", "_sparse_adagrad_update")
def lazy_update(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """An update operator on the rows of its gradient; states change in place."""
    weight, grad, *states = inputs
    if grad.stype != ROWS or not attrs.get("lazy_update", True):
        return None
    here, ids = cpu(0), grad._places[0]
    few = [new(rows_at(a, ids), here) for a in (weight, *states)]
    made: NDArray = _apply(op, [few[0], new(grad._values, here), *few[1:]], attrs, None, here)
    for state, rows in zip(states, few[1:], strict=True):
        write_rows(state, ids, host(rows))
    result = weight.copy()
    write_rows(result, ids, host(made))
    return result
