"""Sparse arrays whose elements lie elsewhere: in a dense array, or in a gradient of a module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from modkit.context import Context
from modkit.ndarray.ndarray import NDArray
from modkit.ndarray.sparse_array import PLACES, CSRNDArray, RowSparseNDArray, csr_from_dense
from modkit.ndarray.storage import AnyCell
from modkit.ops.stype import CSR, ROWS

Stored = tuple[np.ndarray, np.ndarray]
"""Rows and their numbers."""


class RowSource(Protocol):
    """The place of the rows of a `RowSparseView`."""

    def read(self) -> Stored:
        """The stored rows, and their increasing numbers; neither is written."""
        ...

    def some(self, ids: np.ndarray) -> np.ndarray | None:
        """Rows by number, as a copy; ``None`` where they are to be searched for."""
        ...

    def write(self, rows: np.ndarray, ids: np.ndarray) -> None:
        """Replace all of them."""
        ...

    def write_some(self, rows: np.ndarray, ids: np.ndarray) -> bool:
        """Replace rows of these numbers alone; ``False`` where the source cannot."""
        ...


class RowSparseView(RowSparseNDArray):
    """A row-sparse array whose rows lie elsewhere, such as a gradient of a module."""

    __slots__ = ("_dtype", "_source")

    def __init__(self, source: RowSource, shape: Sequence[int], dtype: Any, ctx: Context):
        self._source, self._dtype = source, np.dtype(dtype)
        self._sizes, self._ctx, self._entry = tuple(shape), ctx, None

    @property
    def dtype(self) -> type:
        return self._dtype.type

    @property
    def _values(self) -> np.ndarray:
        return self._source.read()[0]

    @property
    def _places(self) -> tuple[np.ndarray, ...]:
        return (self._source.read()[1],)

    @property
    def _kind(self) -> Any:
        return RowSparseNDArray

    def _rows_at(self, wanted: np.ndarray) -> np.ndarray:
        rows = self._source.some(wanted)
        return super()._rows_at(wanted) if rows is None else rows

    def _replace(self, values: np.ndarray, places: tuple[np.ndarray, ...]) -> None:
        self._source.write(values, *places)

    def _write_rows(self, ids: np.ndarray, rows: np.ndarray) -> None:
        if not self._source.write_some(rows, ids):
            super()._write_rows(ids, rows)

    def _take_rows(self, rows: RowSparseNDArray) -> None:
        if not self._source.write_some(rows._values, *rows._places):
            super()._take_rows(rows)


class _DenseView(RowSparseView):
    """A dense array seen as a row-sparse array of its nonzero rows; both share the cell."""

    __slots__ = ()
    _source: _DenseRows

    @property
    def _cell(self) -> AnyCell:
        return self._source.cell

    def _dense(self) -> np.ndarray:
        return np.array(self._cell.host())


def dense_view(cell: AnyCell, ctx: Context) -> RowSparseView:
    """A dense array, such as a parameter that is declared row-sparse: its rows that are not 0."""
    return _DenseView(_DenseRows(cell, ctx), cell.aval.shape, cell.aval.dtype, ctx)


def view_of(cell: AnyCell, ctx: Context, stype: str) -> NDArray:
    """A dense array as an array of a storage type, such as an output of an executor."""
    sizes = cell.aval.shape
    if stype == CSR and len(sizes) == 2:
        return CSRView(cell, ctx)
    return dense_view(cell, ctx) if stype == ROWS and sizes else NDArray(cell, ctx)


class CSRView(CSRNDArray):
    """A dense array seen as a csr array of its nonzero elements."""

    __slots__ = ("_converted", "_whole")

    def __init__(self, cell: AnyCell, ctx: Context):
        self._whole, self._sizes, self._ctx, self._entry = cell, cell.aval.shape, ctx, None
        self._converted: tuple[Any, Any] = None, None  # a dense value, and its elements

    @property
    def dtype(self) -> type:
        return np.dtype(self._whole.aval.dtype).type

    @property
    def _stored(self) -> CSRNDArray:
        value = self._whole.unmoved()
        if value is not self._converted[0]:
            self._converted = value, csr_from_dense(NDArray(self._whole, self._ctx))
        return self._converted[1]

    @property
    def _values(self) -> np.ndarray:
        return self._stored._values

    @property
    def _places(self) -> tuple[np.ndarray, ...]:
        return self._stored._places

    @property
    def _kind(self) -> Any:
        return CSRNDArray

    def wait_to_read(self) -> None:
        """Wait for the dense array."""
        self._dense()

    def _dense(self) -> np.ndarray:
        return np.asarray(self._whole.peek())

    def _replace(self, values: np.ndarray, places: tuple[np.ndarray, ...]) -> None:
        written = CSRNDArray(values, places, self._sizes, self._ctx)
        NDArray(self._whole, self._ctx)._assign(written._dense())


class _DenseRows:
    """The rows of a dense array, all of which are stored; see `RowSource`."""

    def __init__(self, cell: AnyCell, ctx: Context):
        self.cell, self._ctx = cell, ctx

    def read(self) -> Stored:
        return stored_of(self.cell.lent())

    def some(self, ids: np.ndarray) -> np.ndarray:
        return np.asarray(self.cell.host()[ids])

    def write(self, rows: np.ndarray, ids: np.ndarray) -> None:
        dense = np.zeros(self.cell.aval.shape, self.cell.aval.dtype)
        dense[ids] = rows
        NDArray(self.cell, self._ctx)._take(dense)

    def write_some(self, rows: np.ndarray, ids: np.ndarray) -> bool:
        if len(ids):
            NDArray(self.cell, self._ctx)[ids] = rows
        return True


def stored_of(dense: np.ndarray) -> Stored:
    """The rows of an array that are not 0."""
    kept = np.flatnonzero(dense.reshape(len(dense), -1).any(1))
    return (dense if len(kept) == len(dense) else dense[kept]), kept.astype(PLACES)
