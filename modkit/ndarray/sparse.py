"""``mx.nd.sparse``: creation of sparse arrays, beside the operators that take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.context import Context
from modkit.errors import ParameterError, expect, nearest, wrong
from modkit.ndarray import overloads
from modkit.ndarray.ndarray import NDArray, _as_context, invoke
from modkit.ndarray.ndarray import array as dense_array
from modkit.ndarray.sparse_array import PLACES
from modkit.ndarray.sparse_array import BaseSparseNDArray as BaseSparseNDArray
from modkit.ndarray.sparse_array import CSRNDArray as CSRNDArray
from modkit.ndarray.sparse_array import RowSparseNDArray as RowSparseNDArray
from modkit.ndarray.sparse_base import starts
from modkit.ops.dtypes import dtype_name
from modkit.ops.elementwise.pairs import PAIRS
from modkit.ops.registry import get_op


def csr_matrix(
    arg1: Any, shape: Sequence[int] | None = None, ctx: Context | None = None, dtype: Any = None
) -> CSRNDArray:
    """A matrix in compressed sparse row (CSR) format.

    Args:
        arg1: a dense array; a CSR matrix, also of SciPy's; ``(data, indices, indptr)``;
            ``(data, (rows, columns))``, where duplicates are summed; or a shape, for zeros.
        shape: of the matrix; default the smallest possible.
        ctx: device; default the current one.
        dtype: element type; default that of what is given; plain lists are float32, but with
            rows and columns as NumPy takes them: float64 or int64.

    Raises:
        ParameterError: none of these, or of another shape than ``shape``.

    >>> csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4)).asnumpy()
    array([[1., 0., 2., 0.],
           [0., 0., 0., 0.],
           [0., 3., 0., 0.]], dtype=float32)
    """
    if isinstance(arg1, tuple):
        if len(arg1) == 2 and not isinstance(arg1[1], tuple | list):
            return _same_shape(zeros("csr", arg1, ctx, dtype), shape)
        if len(arg1) == 2:
            data, (rows, columns) = arg1
            return _from_places(data, rows, columns, shape, ctx, dtype)
        if len(arg1) != 3:
            raise ParameterError(
                f"csr_matrix: got a tuple of {len(arg1)}, expected (data, indices, indptr), "
                "(data, (rows, columns)) or (rows, columns)"
            )
        data, indices, indptr = arg1
        return _compressed(data, indices, indptr, shape, ctx, dtype)
    return _same_shape(_converted(arg1, "csr", ctx, dtype), shape)


def row_sparse_array(
    arg1: Any, shape: Sequence[int] | None = None, ctx: Context | None = None, dtype: Any = None
) -> RowSparseNDArray:
    """A row-sparse array: it stores only some of its rows.

    Args:
        arg1: a dense or row-sparse array; ``(data, indices)``; or a shape, for zeros.
        shape: of the array; default the smallest possible.
        ctx: device; default the current one.
        dtype: element type; default that of what is given, float32 for plain lists.

    Raises:
        ParameterError: none of these, or of another shape than ``shape``.

    >>> row_sparse_array(([[1, 2]], [1]), shape=(3, 2)).asnumpy()
    array([[0., 0.],
           [1., 2.],
           [0., 0.]], dtype=float32)
    """
    if not isinstance(arg1, tuple):
        return _same_shape(_converted(arg1, "row_sparse", ctx, dtype), shape)
    if len(arg1) != 2 or isinstance(arg1[0], int | np.integer):
        return _same_shape(zeros("row_sparse", arg1, ctx, dtype), shape)
    values, rows = _values(arg1[0], dtype), _numbers("indices", arg1[1])
    if shape is None:
        shape = (int(rows.max(initial=-1)) + 1, *values.shape[1:])
    if len(shape) != values.ndim:
        raise ParameterError(
            f"row_sparse_array: got data of shape {values.shape} for the shape {tuple(shape)}"
        )
    made = RowSparseNDArray(values, (rows,), shape, _as_context(ctx))
    made.check_format(full_check=False)
    return made


def array(source_array: Any, ctx: Context | None = None, dtype: Any = None) -> BaseSparseNDArray:
    """A copy of a sparse array, also of SciPy's CSR matrices.

    Raises:
        ParameterError: it is not sparse; ``csr_matrix`` and ``tostype`` take dense arrays.
    """
    if isinstance(source_array, RowSparseNDArray):
        return _converted(source_array, "row_sparse", ctx, dtype)
    if isinstance(source_array, CSRNDArray) or _is_scipy(source_array):
        return _converted(source_array, "csr", ctx, dtype)
    raise ParameterError(
        f"sparse.array: got {type(source_array).__name__}, expected a CSRNDArray, a "
        "RowSparseNDArray or a scipy.sparse.csr_matrix; mx.nd.array takes dense arrays, and "
        "tostype() makes them sparse"
    )


def zeros(
    stype: str,
    shape: int | Sequence[int],
    ctx: Context | None = None,
    dtype: Any = None,
    **kwargs: Any,
) -> Any:
    """An array of zeros of storage type ``"csr"``, ``"row_sparse"`` or ``"default"``.

    Raises:
        ParameterError: another storage type, or a CSR array that has not two dimensions.
    """
    if kwargs:
        raise ParameterError(f"sparse.zeros: no parameter {next(iter(kwargs))!r}")
    sizes = (int(shape),) if isinstance(shape, int | np.integer) else tuple(map(int, shape))
    kind, context = jnp.dtype(dtype_name(dtype or "float32")), _as_context(ctx)
    if stype == "default":
        return dense_array(np.zeros(sizes, kind), context, kind)
    if stype == "row_sparse":
        values = np.zeros((0, *sizes[1:]), kind)
        return RowSparseNDArray(values, (np.zeros(0, PLACES),), sizes, context)
    if stype != "csr":
        known = ("default", "csr", "row_sparse")
        raise ParameterError(f"zeros: no storage type {stype!r}.{nearest(stype, known)}")
    if len(sizes) != 2:
        raise ParameterError(f"a csr array has two dimensions, got shape {sizes}")
    places = np.zeros(sizes[0] + 1, PLACES), np.zeros(0, PLACES)
    return CSRNDArray(np.zeros(0, kind), places, sizes, context)


def empty(
    stype: str, shape: int | Sequence[int], ctx: Context | None = None, dtype: Any = None
) -> Any:
    """The same as `zeros`."""
    return zeros(stype, shape, ctx, dtype)


def retain(data: RowSparseNDArray, indices: Any, out: NDArray | None = None) -> Any:
    """An array with these rows only; a row that is not stored is a row of zeros.

    Raises:
        ParameterError: ``data`` is not row-sparse.
    """
    expect(isinstance(data, RowSparseNDArray), "sparse.retain", type(data), "row_sparse")
    rows = indices if isinstance(indices, NDArray) else dense_array(indices, dtype="int64")
    return invoke(get_op("_sparse_retain"), (data, rows), {} if out is None else {"out": out})


def _pair(stem: str) -> Any:
    """The function of `modkit.ndarray.overloads`, which keeps storage types for equal shapes."""
    name, alike = PAIRS[stem].public, PAIRS[stem].alike
    broadcast = getattr(overloads, name)

    def function(lhs: Any, rhs: Any) -> Any:
        same = isinstance(lhs, NDArray) and isinstance(rhs, NDArray) and lhs.shape == rhs.shape
        return invoke(get_op(alike), (lhs, rhs), {}) if same else broadcast(lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{broadcast.__doc__}\n\nOf equal shapes it is ``{alike}``."
    return function


add = _pair("add")
subtract = _pair("sub")
multiply = _pair("mul")
divide = _pair("div")


# ── From what is given ──────────────────────────────────────────────────────────────────────


def is_sparse(value: Any) -> bool:
    """True for a sparse NDArray and for a CSR matrix of SciPy."""
    return isinstance(value, BaseSparseNDArray) or _is_scipy(value)


def _is_scipy(value: Any) -> bool:
    """True for a CSR matrix of SciPy, by its attributes: SciPy need not be installed."""
    parts = ("tocsr", "indptr", "indices", "data", "shape")
    return getattr(value, "format", None) == "csr" and all(hasattr(value, p) for p in parts)


def _converted(value: Any, stype: str, ctx: Context | None, dtype: Any) -> Any:
    """A new array of the given storage type from a dense or sparse one."""
    context = _as_context(ctx)
    if _is_scipy(value):
        parts = value.indptr.astype(PLACES), value.indices.astype(PLACES)
        value = CSRNDArray(_values(value.data, dtype).copy(), parts, value.shape, context)
    if not isinstance(value, NDArray):
        dense = _values(value, dtype)
        value = dense_array(dense, context, dense.dtype)
    made = value.tostype(stype).copyto(context)
    return made if dtype is None else made.astype(dtype, copy=False)


def _compressed(
    data: Any, indices: Any, indptr: Any, shape: Any, ctx: Context | None, dtype: Any
) -> CSRNDArray:
    columns, places = _numbers("indices", indices), _numbers("indptr", indptr)
    if shape is None:
        shape = (places.size - 1, int(columns.max(initial=-1)) + 1)
    made = CSRNDArray(_values(data, dtype), (places, columns), shape, _as_context(ctx))
    made._check_lengths()
    return made


def _from_places(
    data: Any, rows: Any, columns: Any, shape: Any, ctx: Context | None, dtype: Any
) -> CSRNDArray:
    values = _values(data if isinstance(data, NDArray) else np.asarray(data), dtype)
    rows, columns = _numbers("rows", rows), _numbers("cols", columns)
    if not values.shape == rows.shape == columns.shape:
        raise ParameterError(
            f"csr_matrix: got {values.size} elements, {rows.size} rows and {columns.size} columns"
        )
    if shape is None:
        shape = (int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1)
    if rows.size and (rows.min() < 0 or rows.max() >= shape[0]):
        raise ParameterError(f"csr_matrix: got rows outside of the shape {tuple(shape)}")
    order = np.lexsort((columns, rows))
    values, rows, columns = values[order], rows[order], columns[order]
    first = np.ones(len(values), bool)
    first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
    at = np.flatnonzero(first)
    values = np.add.reduceat(values, at, dtype=values.dtype) if at.size else values
    places = starts(rows[at], shape[0]), columns[at]
    made = CSRNDArray(values, places, shape, _as_context(ctx))
    made.check_format()
    return made


def _same_shape(made: Any, shape: Sequence[int] | None) -> Any:
    if shape is not None and tuple(shape) != made.shape:
        raise ParameterError(f"got an array of shape {made.shape}, but shape={tuple(shape)}")
    return made


def _values(value: Any, dtype: Any) -> np.ndarray:
    """A copy as a NumPy array; float32 for lists, else without a change of type."""
    typed = isinstance(value, NDArray | np.ndarray | jax.Array)
    kind = dtype or (value.dtype if typed else "float32")
    try:
        return np.array(value, jnp.dtype(dtype_name(kind)))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"a sparse array cannot be made of {type(value).__name__}: {error}"
        ) from error


def _numbers(what: str, value: Any) -> np.ndarray:
    try:
        made = np.array(value).astype(PLACES)
    except (TypeError, ValueError) as error:
        raise wrong(what, value, "whole numbers") from error
    if made.ndim != 1:
        raise ParameterError(f"{what}: got shape {made.shape}, expected one dimension")
    return made
