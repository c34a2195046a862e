"""Lazy updates by row-sparse gradients: only their rows of weights and states change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modkit.context import cpu
from modkit.errors import NotSupportedError, ShapeError
from modkit.ndarray.ndarray import NDArray, _apply, new
from modkit.ndarray.sparse_array import RowSparseNDArray
from modkit.ndarray.sparse_kernels import host, kernel
from modkit.ndarray.tape import check_writable
from modkit.ops.entry import Op
from modkit.ops.stype import ROWS


def rows_at(array: Any, ids: np.ndarray) -> np.ndarray:
    """Rows of a dense or row-sparse array; zeros for those that are not stored."""
    if isinstance(array, RowSparseNDArray):
        return array._rows_at(ids)
    return np.asarray(array._cell.host()[ids])


def write_rows(array: Any, ids: np.ndarray, rows: np.ndarray) -> None:
    """Replace rows of a dense or row-sparse array."""
    if isinstance(array, RowSparseNDArray):
        check_writable(array)
        array._write_rows(ids, rows)
    elif len(ids):
        array[ids] = rows


def lazy_rows(
    op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]
) -> tuple[np.ndarray, np.ndarray] | None:
    """The numbers and new values of the weight's rows; states change in place.

    ``None`` for an update of all rows. Row-sparse states without rows get all of them.
    """
    weight, grad, *states = inputs
    needs_rows = op.name == "ftrl_update" and weight.stype != ROWS
    alike = all(each.stype == weight.stype for each in states)
    if grad.stype != ROWS or needs_rows or not alike or not attrs.get("lazy_update", True):
        return None
    if grad.shape != weight.shape or any(len(each) != len(weight) for each in states):
        shapes = ", ".join(str(each.shape) for each in inputs)
        raise ShapeError(f"{op.name}: got shapes {shapes}, expected one shape for all")
    if op.name == "_sparse_adagrad_update" and attrs["wd"]:
        raise NotSupportedError(
            f"adagrad_update: got wd={attrs['wd']:g} with a row-sparse gradient, expected 0; make "
            "the gradient dense, or put a penalty into the loss"
        )
    here, ids = cpu(0), grad._places[0]
    few = [new(rows_at(a, ids), here) for a in (weight, *states)]
    made: NDArray = _apply(op, [few[0], new(grad._values, here), *few[1:]], attrs, None, here)
    for state, rows in zip(states, few[1:], strict=True):
        if state.stype == ROWS and not len(state._places[0]):
            state[:] = 0
        write_rows(state, ids, host(rows))
    return ids, host(made)


@kernel("rows", makes_dense=True)
def lazy_update(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The updated weight as a new array."""
    found = lazy_rows(op, inputs, attrs)
    if found is None:
        return None
    result = inputs[0].copy()
    write_rows(result, *found)
    return result
