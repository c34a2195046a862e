"""Row-sparse views of the gradients of a module, for inspection by users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from modkit.context import Context
from modkit.ndarray.sparse_array import PLACES
from modkit.ndarray.sparse_views import RowSparseView, Stored, stored_of
from modkit.ops.sparse_values import Rows, stored_rows
from modkit.step.placement import Placement


def gradient_view(
    find: Callable[[], tuple[Any, Placement]], index: int, ctx: Context
) -> RowSparseView:
    """The gradient of one context, whose cell holds rows; zeros have none."""
    cell, home = find()
    shape = cell.aval.shape[1:] if home.count > 1 else cell.aval.shape
    return RowSparseView(_GradientRows(find, index), shape, cell.aval.dtype, ctx)


class _GradientRows:
    """The rows of a gradient; see `modkit.ndarray.sparse_views.RowSource`."""

    def __init__(self, find: Callable[[], tuple[Any, Placement]], index: int):
        self._find, self._index = find, index
        self._latest: tuple[Any, Stored | None] = (None, None)

    def read(self) -> Stored:
        cell, home = self._find()
        rows = cell.row_sparse()
        if rows is None:
            return stored_of(np.asarray(home.part(cell, self._index).peek()))
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
        with cell.store.lock:  # or parts that others write meanwhile are lost
            self._write_part(cell, home, (rows, ids))

    def _write_part(self, cell: Any, home: Placement, part: Stored) -> None:
        before = cell.row_sparse()
        parts = [
            stored_of(np.asarray(home.part(cell, k).peek()))
            if before is None
            else _of_replica(before, home, k)
            for k in range(home.count)
        ]
        parts[self._index] = part
        places = max(len(numbers) for _, numbers in parts)
        count = cell.aval.shape[1]
        each = [stored_rows(numbers, values, count, places) for values, numbers in parts]
        cell.set(jax.tree.map(lambda *x: home.store(np.stack(x)), *each))

    def write_some(self, rows: np.ndarray, ids: np.ndarray) -> bool:
        return False


def _of_replica(rows: Rows, home: Placement, index: int) -> Stored:
    ids, values = np.asarray(rows.ids), np.asarray(rows.rows)
    if home.count > 1:
        ids, values = ids[index], values[index]
    count = int(np.searchsorted(ids, rows.count))
    return values[:count], ids[:count].astype(PLACES)
