"""Products of sparse matrices and dense or row-sparse ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modkit.errors import DTypeError, ShapeError
from modkit.ndarray.ndarray import NDArray
from modkit.ndarray.sparse_array import CSRNDArray, RowSparseNDArray
from modkit.ndarray.sparse_base import find, starts
from modkit.ndarray.sparse_kernels import dense, host, kernel, rows_of
from modkit.ops.dtypes import dtype_name
from modkit.ops.entry import Op
from modkit.ops.stype import CSR, DENSE, ROWS


@kernel("dot", makes_dense=True)
def dot(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Products with one csr matrix: dense, or the rows that are not all zero."""
    a, b = inputs
    left, right = attrs["transpose_a"], attrs["transpose_b"]
    if a.stype == CSR and b.stype == DENSE and b.ndim <= 2:
        other = host(b).T if right else host(b)
        _check(a, b, a.shape[0 if left else 1], other.shape[0])
        return columns_dot(a, other) if left else dense(_product(a, other), a)
    if a.stype == CSR and b.stype == ROWS and b.ndim == 2 and not right:
        _check(a, b, a.shape[0 if left else 1], b.shape[0])
        if left:
            return columns_dot(rows_of(a, b._places[0]), b._values)
        return dense(_product(*_common(a, b)), a)
    if a.stype == DENSE and b.stype == CSR and a.ndim == 2:
        other = host(a) if left else host(a).T
        _check(a, b, other.shape[0], b.shape[1 if right else 0])
        product = _product(b, other, transposed=not right)
        return dense(product.T, a)
    return None


def _check(a: NDArray, b: NDArray, left: int, right: int) -> None:
    if a.dtype != b.dtype:
        raise DTypeError(
            f"dot: got {dtype_name(a.dtype)} and {dtype_name(b.dtype)}, expected one type: use "
            "array.astype(...)"
        )
    if left != right:
        raise ShapeError(
            f"dot: got shapes {a.shape} and {b.shape}: sums over {left} and {right} elements, "
            "expected one number"
        )


def columns_dot(a: CSRNDArray, b: np.ndarray) -> RowSparseNDArray:
    """``aᵀ b``: a row for each column of ``a`` that stores elements.

    Shapes:
        a: (N, K). b: (N, M) or (N,). returns: (K, M) or (K,).
    """
    columns, at = np.unique(a._places[1], return_inverse=True)
    small = a._like(a._values, (a._places[0], at), (a.shape[0], len(columns)))
    values = _product(small, b, transposed=True)
    return RowSparseNDArray(values, (columns,), (a.shape[1], *b.shape[1:]), a._ctx)


def _common(a: CSRNDArray, b: RowSparseNDArray) -> tuple[CSRNDArray, np.ndarray]:
    """Factors of ``a b`` without the rows that ``b`` does not store."""
    at, hit = find(b._places[0], a._places[1])
    places = starts(a._rows()[hit], a.shape[0]), at[hit]
    return a._like(a._values[hit], places, (a.shape[0], len(b._values))), b._values


def _product(a: CSRNDArray, b: np.ndarray, transposed: bool = False) -> np.ndarray:
    """``a b`` or ``aᵀ b``; 16-bit numbers are summed in 32 bits."""
    from scipy.sparse import csr_matrix

    a._check_parts()
    a._check_places()
    kind = np.result_type(a._values.dtype, b.dtype)
    wide = np.float32 if kind.itemsize < 4 else kind
    indptr, columns = a._places
    matrix = csr_matrix((a._values.astype(wide, copy=False), columns, indptr), shape=a.shape)
    made = (matrix.T if transposed else matrix) @ b.astype(wide, copy=False)
    return np.asarray(made).astype(kind, copy=False)
