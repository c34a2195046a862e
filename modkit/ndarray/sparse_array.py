"""Sparse arrays: CSR matrices and row-sparse arrays."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from modkit.errors import ParameterError
from modkit.ndarray.ndarray import NDArray, array, from_dense
from modkit.ndarray.sparse_base import PLACES as PLACES
from modkit.ndarray.sparse_base import BaseSparseNDArray as BaseSparseNDArray
from modkit.ndarray.sparse_base import find, starts


class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse row (CSR) format.

    Row ``i`` has the elements ``data[indptr[i]:indptr[i + 1]]`` in the columns
    ``indices[indptr[i]:indptr[i + 1]]``. Made by ``mx.nd.sparse.csr_matrix``.
    """

    __slots__ = ()
    stype = "csr"

    @property
    def indptr(self) -> NDArray:
        """Row pointers: starts of the rows and the end of the last one, as a copy."""
        return array(self._places[0], self._ctx, "int64")

    @indptr.setter
    def indptr(self, value: Any) -> NoReturn:
        raise self._refused("indptr = ...")

    def __getitem__(self, key: Any) -> CSRNDArray:
        """A row, or rows that follow each other, as a copy."""
        key = self._as_key(key)
        if isinstance(key, slice) and key.step not in (None, 1):
            raise ParameterError(f"a csr array takes rows one after another only, got {key!r}")
        rows = self._sizes[0]
        if not isinstance(key, slice):
            if not -rows <= key < rows:
                raise IndexError(f"row {key} is outside a csr array of shape {self._sizes}")
            key = slice(key % rows, key % rows + 1)
        begin, end, _ = key.indices(rows)
        self._check_parts()
        indptr, indices = self._places
        starts = indptr[begin : max(begin, end) + 1]
        part = slice(starts[0], starts[-1])
        shape = (max(end - begin, 0), self._sizes[1])
        places = starts - starts[0], indices[part].copy()
        return self._like(self._values[part].copy(), places, shape)

    def asscipy(self) -> Any:
        """The same as a ``scipy.sparse.csr_matrix``."""
        from scipy.sparse import csr_matrix

        indptr, indices = self._places
        parts = (self._values.copy(), indices.copy(), indptr.copy())
        return csr_matrix(parts, shape=self._sizes)

    def _check_lengths(self) -> None:
        """Raise ParameterError unless there is one column number an element."""
        indptr, indices = self._places
        if len(self._sizes) != 2:
            raise self._wrong("expected two dimensions")
        if any(a.ndim != 1 for a in (self._values, indptr, indices)):
            raise self._wrong("data, indices and indptr have one dimension each")
        if len(indices) != len(self._values):
            raise self._wrong(f"{len(self._values)} elements, but {len(indices)} column numbers")

    def _check_parts(self) -> None:
        self._check_lengths()
        indptr, indices = self._places
        if len(indptr) != self._sizes[0] + 1:
            raise self._wrong(f"indptr has {len(indptr)} entries, expected {self._sizes[0] + 1}")
        if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
            raise self._wrong(f"indptr does not climb from 0 to {len(indices)}")

    def _check_places(self) -> None:
        self._check_range("column", self._sizes[1])

    def _check_order(self) -> None:
        indptr, indices = self._places
        climbs = np.diff(indices) > 0
        climbs[indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < len(indices))] - 1] = True
        if not climbs.all():
            raise self._wrong("the column numbers of a row do not climb")

    def _scatter(self, dense: np.ndarray) -> None:
        dense[self._rows(), self._places[1]] = self._values

    def _rows(self) -> np.ndarray:
        """The row of each element."""
        return np.repeat(np.arange(self._sizes[0]), self._counts())

    def _counts(self) -> np.ndarray:
        """The number of elements in each row."""
        self._check_parts()
        return np.diff(self._places[0])


class RowSparseNDArray(BaseSparseNDArray):
    """A row-sparse array: it stores some of its rows; the others are zero.

    Row ``indices[i]`` is ``data[i]``. Made by ``mx.nd.sparse.row_sparse_array``.
    """

    __slots__ = ()
    stype = "row_sparse"

    def __getitem__(self, key: Any) -> RowSparseNDArray:
        """The array itself, for ``[:]``."""
        if self._as_key(key) != slice(None):
            raise ParameterError(f"a row_sparse array takes no index but [:], got {key!r}")
        return self

    def retain(self, indices: Any) -> RowSparseNDArray:
        """An array with these rows only; a row that is not stored is a row of zeros.

        Differs: this method works as the function ``sparse.retain``; MXNet's has no useful result.
        """
        wanted = np.asarray(indices).reshape(-1).astype(PLACES)
        self._check_parts()
        self._check_places()
        if not len(self._values):
            return self._like(self._values, self._places)
        return self._like(self._rows_at(wanted), (wanted,))

    def _rows_at(self, wanted: np.ndarray) -> np.ndarray:
        """Rows by number; zeros for those that are not stored."""
        at, found = find(self._places[0], wanted)
        values = np.zeros((len(wanted), *self._sizes[1:]), self._values.dtype)
        values[found] = self._values[at[found]]
        return values

    def _write_rows(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Replace rows, and store those that are new."""
        at, found = find(self._places[0], ids)
        values, places = self._values, self._places
        if not found.all():
            union = np.union1d(places[0], ids)
            values, places = self._rows_at(union), (union,)
            at, _ = find(union, ids)
        values = values.copy()
        values[at] = rows
        self._replace(values, places)

    def _take_rows(self, rows: RowSparseNDArray) -> None:
        """Replace the array by rows of an array of which it holds some."""
        self._set(rows)

    def _filled(self, value: Any) -> Any:
        every_row = np.arange(self._sizes[0], dtype=PLACES)
        return self._like(np.full(self._sizes, value, self._values.dtype), (every_row,))

    def _check_parts(self) -> None:
        (indices,) = self._places
        if indices.ndim != 1 or self._values.shape != (len(indices), *self._sizes[1:]):
            raise self._wrong(
                f"data of shape {self._values.shape} for row numbers of shape {indices.shape}, "
                f"expected {(indices.size, *self._sizes[1:])}"
            )

    def _check_places(self) -> None:
        self._check_range("row", self._sizes[0])

    def _check_order(self) -> None:
        if (np.diff(self._places[0]) <= 0).any():
            raise self._wrong("the row numbers do not climb")

    def _scatter(self, dense: np.ndarray) -> None:
        dense[self._places[0]] = self._values


@from_dense("csr")
def csr_from_dense(value: NDArray) -> CSRNDArray:
    """The elements of a matrix that are not zero; ParameterError if it has not two dimensions."""
    if value.ndim != 2:
        raise ParameterError(f"a csr array has two dimensions, got shape {value.shape}")
    host = np.asarray(value)
    rows, columns = np.nonzero(host)
    places = starts(rows, len(host)), columns.astype(PLACES)
    return CSRNDArray(host[rows, columns], places, host.shape, value.ctx)


@from_dense("row_sparse")
def row_sparse_from_dense(value: NDArray) -> RowSparseNDArray:
    """The rows of an array that are not all zero; ParameterError where it has no axis."""
    if not value.ndim:
        raise ParameterError("a row_sparse array has one dimension or more, got shape ()")
    host = np.asarray(value)
    kept = np.flatnonzero(host.reshape(len(host), -1).any(1)) if host.size else np.empty(0, int)
    return RowSparseNDArray(host[kept], (kept.astype(PLACES),), host.shape, value.ctx)
