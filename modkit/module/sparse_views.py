"""Row-sparse views of the gradients and parameters of a module, for inspection by users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from modkit.context import Context
from modkit.ndarray import NDArray
from modkit.ndarray.sparse_array import PLACES, RowSparseView
from modkit.ndarray.storage import AnyCell, x64_for
from modkit.ops.sparse_values import Rows, stored_rows
from modkit.step.placement import Placement

Stored = tuple[np.ndarray, np.ndarray]
"""Rows and their numbers."""


def gradient_view(
    find: Callable[[], tuple[Any, Placement]], index: int, ctx: Context
) -> RowSparseView:
    """The gradient of one context, whose cell holds rows; zeros have none.

    Args:
        find: the cell and its placement at present.
        index: the context.
        ctx: its device.
    """
    cell, home = find()
    shape = cell.aval.shape[1:] if home.count > 1 else cell.aval.shape
    return RowSparseView(_GradientRows(find, index), shape, cell.aval.dtype, ctx)


def parameter_view(cell: AnyCell, ctx: Context) -> RowSparseView:
    """A parameter that a variable declares as row-sparse: its rows that are not zero."""
    return RowSparseView(_ParameterRows(cell, ctx), cell.aval.shape, cell.aval.dtype, ctx)


class _GradientRows:
    """The rows of a gradient; see `modkit.ndarray.sparse_array.RowSource`."""

    def __init__(self, find: Callable[[], tuple[Any, Placement]], index: int):
        self._find, self._index = find, index
        self._latest: tuple[Any, Stored | None] = (None, None)

    def read(self) -> Stored:
        cell, home = self._find()
        rows = cell.row_sparse()
        if rows is None:
            return _stored(np.asarray(home.part(cell, self._index).peek()))
        latest, stored = self._latest
        if latest is not rows or stored is None:
            stored = _of_replica(rows, home, self._index)
            self._latest = rows, stored
        return stored

    def some(self, ids: np.ndarray) -> None:
        del ids

    def write(self, rows: np.ndarray, ids: np.ndarray) -> None:
        cell, home = self._find()
        if home.count == 1:
            cell.set(stored_rows(ids, rows, cell.aval.shape[0]))
            return
        before = cell.row_sparse()
        parts = [
            _stored(np.asarray(home.part(cell, k).peek()))
            if before is None
            else _of_replica(before, home, k)
            for k in range(home.count)
        ]
        parts[self._index] = rows, ids
        places = max(len(numbers) for _, numbers in parts)
        count = cell.aval.shape[1]
        each = [stored_rows(numbers, values, count, places) for values, numbers in parts]
        cell.set(jax.tree.map(lambda *x: home.store(np.stack(x)), *each))

    def write_some(self, rows: np.ndarray, ids: np.ndarray) -> bool:
        del rows, ids
        return False


class _ParameterRows:
    """The rows of a parameter, all of which are stored; see `_GradientRows`."""

    def __init__(self, cell: AnyCell, ctx: Context):
        self._cell, self._ctx = cell, ctx

    def read(self) -> Stored:
        return _stored(np.asarray(self._cell.peek()))

    def some(self, ids: np.ndarray) -> np.ndarray:
        return np.asarray(self._cell.peek())[ids]

    def write(self, rows: np.ndarray, ids: np.ndarray) -> None:
        dense = np.zeros(self._cell.aval.shape, self._cell.aval.dtype)
        dense[ids] = rows
        with x64_for(dense.dtype):
            self._cell.set(jax.device_put(dense, self._ctx.jax_device), aliased=True)

    def write_some(self, rows: np.ndarray, ids: np.ndarray) -> bool:
        if len(ids):
            NDArray(self._cell, self._ctx)[ids] = rows
        return True


def _of_replica(rows: Rows, home: Placement, index: int) -> Stored:
    ids, values = np.asarray(rows.ids), np.asarray(rows.rows)
    if home.count > 1:
        ids, values = ids[index], values[index]
    count = int(np.searchsorted(ids, rows.count))
    return values[:count], ids[:count].astype(PLACES)


def _stored(dense: np.ndarray) -> Stored:
    kept = np.flatnonzero(dense.reshape(len(dense), -1).any(1))
    return (dense if len(kept) == len(dense) else dense[kept]), kept.astype(PLACES)
