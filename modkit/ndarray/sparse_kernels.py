"""Operators on sparse arrays: each computes with the stored elements alone.

A kernel takes an operator, its inputs and parsed parameters, and returns the result in the storage
type that it computes, or ``None`` where it has no form for these inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from modkit.context import cpu
from modkit.errors import ParameterError
from modkit.ndarray.ndarray import NDArray, invoke, new
from modkit.ndarray.sparse_array import PLACES, CSRNDArray, RowSparseNDArray
from modkit.ndarray.sparse_base import BaseSparseNDArray, find, pointers, starts
from modkit.ops.array.cast_storage import check_counted, check_edges
from modkit.ops.array.reduce import reduced_axes
from modkit.ops.array.slicing import slices_of
from modkit.ops.entry import Op
from modkit.ops.stype import CSR, DENSE, ROWS

Kernel = Callable[[Op, Sequence[Any], Mapping[str, Any]], Any]


class _Entry(NamedTuple):
    run: Kernel
    makes_dense: bool


_KERNELS: dict[str, _Entry] = {}


def kernel(*names: str, makes_dense: bool = False) -> Callable[[Kernel], Kernel]:
    """Register the decorated function as a kernel.

    Args:
        names: of operators, or of the kernels that several share: see `Storage`.
        makes_dense: it makes dense results too.
    """

    def register(function: Kernel) -> Kernel:
        _KERNELS.update(dict.fromkeys(names, _Entry(function, makes_dense)))
        return function

    return register


def kernel_of(op: Op) -> _Entry | None:
    """The kernel of an operator."""
    return _KERNELS.get(op.storage.kernel or op.name)


def host(array: NDArray) -> np.ndarray:
    """The values of a dense array, not to be written."""
    return np.asarray(array._cell.peek())


def run(op: Op, arrays: Sequence[np.ndarray], attrs: Mapping[str, Any]) -> np.ndarray:
    """An operator on stored elements."""
    here = cpu(0)
    return np.asarray(invoke(op, [new(a, here) for a in arrays], attrs))


def dense(value: np.ndarray, like: NDArray) -> NDArray:
    """A dense result on the device of an input."""
    return new(np.ascontiguousarray(value), like._ctx)


# ── One array ───────────────────────────────────────────────────────────────────────────────


@kernel("values", "_contrib_quadratic")
def on_values(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """An operator that maps 0 to 0."""
    (x,) = inputs
    return x._like(run(op, [x._values], attrs), x._places)


@kernel("zeros_like")
def zeros_like(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Nothing is stored."""
    (x,) = inputs
    if x.stype == CSR:
        return x._like(x._values[:0], (np.zeros_like(x._places[0]), x._places[1][:0]))
    return x._like(x._values[:0], (x._places[0][:0],))


@kernel("cast_storage")
def cast_storage(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """A copy in another storage type."""
    (x,) = inputs
    return x.tostype(attrs["stype"])


@kernel("sum", "mean", "norm", "_square_sum", makes_dense=True)
def reduce(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Sums over axes."""
    (x,) = inputs
    axes = reduced_axes(op.name, x.ndim, attrs["axis"], attrs.get("exclude", False))
    if not axes or (op.name == "mean" and len(axes) == x.ndim):
        return None  # nothing is summed; a mean divides by the number of all elements
    keepdims = attrs["keepdims"]
    plain = {**attrs, "keepdims": False, **({"exclude": False} if "exclude" in attrs else {})}
    if len(axes) == x.ndim:
        total = run(op, [x._values], {**plain, "axis": None})
        return dense(total.reshape([1] * x.ndim) if keepdims else total, x)
    if x.stype == ROWS and 0 not in axes:
        return _row_sums(op, x, axes, {**plain, "axis": axes}, keepdims)
    if x.stype == ROWS or op.name == "norm" or x._values.dtype.kind != "f":
        return None
    return _csr_sums(op, x, axes[0], keepdims)


def _row_sums(
    op: Op, x: RowSparseNDArray, axes: Sequence[int], attrs: Mapping[str, Any], keepdims: bool
) -> Any:
    """Each stored row, reduced on its own."""
    shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes]
    sums = run(op, [x._values], attrs).reshape(-1, *shape[1:])
    return RowSparseNDArray(sums, x._places, shape, x._ctx)


def _csr_sums(op: Op, x: CSRNDArray, axis: int, keepdims: bool) -> Any:
    """The sums of the columns (axis 0) or rows of a matrix."""
    at = x._places[1] if axis == 0 else x._rows()
    terms = np.square(x._values) if op.name == "_square_sum" else x._values
    sums = np.bincount(at, terms.astype(np.float64), minlength=x.shape[1 - axis])
    sums = (sums / x.shape[axis] if op.name == "mean" else sums).astype(x._values.dtype)
    return dense(np.expand_dims(sums, axis) if keepdims else sums, x)


# ── Two arrays and more ─────────────────────────────────────────────────────────────────────


@kernel("pairs")
def elementwise(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Two arrays at the places that either stores; with a dense one, at those of the other.

    A csr result, and a sum of row-sparse arrays, store no zeros.
    """
    a, b = inputs
    if a.shape != b.shape:
        return None
    if op.name == "_scatter_elemwise_div" and b.stype != DENSE:
        if (a.stype, b.stype) != (ROWS, ROWS):
            return None
        b = b.tostype(DENSE)  # the rows that the first array stores
    if DENSE in (a.stype, b.stype):
        x = b if a.stype == DENSE else a
        at = _stored(x)
        parts = [host(y)[at] if y.stype == DENSE else y._values for y in (a, b)]
        return x._like(run(op, parts, attrs), x._places)
    if a.stype != b.stype:
        return None
    places, parts = _aligned(a, b)
    made = a._like(run(op, parts, attrs), places)
    return _without_zeros(made) if a.stype == CSR or op.name == "elemwise_add" else made


@kernel("broadcast_mul", "broadcast_div")
def times_row(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """A matrix by a row, a column or a whole dense matrix."""
    a, b = inputs
    if a.stype != CSR or b.stype != DENSE or b.ndim != 2:
        return None
    if any(n not in (1, m) for n, m in zip(b.shape, a.shape, strict=True)):
        return None
    other = np.broadcast_to(host(b), a.shape)[_stored(a)]
    return a._like(run(op, [a._values, other], attrs), a._places)


def _without_zeros(x: BaseSparseNDArray) -> BaseSparseNDArray:
    """The same array, which stores no element, or row, of zeros."""
    kept = x._values.any(axis=tuple(range(1, x._values.ndim)))
    if kept.all():
        return x
    *_, numbers = x._places
    before = (starts(x._rows()[kept], x.shape[0]),) if isinstance(x, CSRNDArray) else ()
    return x._like(x._values[kept], (*before, numbers[kept]))


def _stored(x: BaseSparseNDArray) -> Any:
    """An index of the stored elements in a dense array."""
    return (x._rows(), x._places[1]) if isinstance(x, CSRNDArray) else x._places[0]


def _aligned(*arrays: Any) -> tuple[Sequence[np.ndarray], list[np.ndarray]]:
    """The places that any of the arrays stores, and their elements there."""
    keys = [_keys(x) for x in arrays]
    if all(np.array_equal(keys[0], k) for k in keys[1:]):
        return arrays[0]._places, [x._values for x in arrays]
    union = merged(*keys)
    parts = []
    for x, at in zip(arrays, keys, strict=True):
        part = np.zeros((len(union), *x._values.shape[1:]), x._values.dtype)
        part[np.searchsorted(union, at)] = x._values
        parts.append(part)
    first = arrays[0]
    if first.stype == ROWS:
        return (union,), parts
    rows, columns = np.divmod(union, first.shape[1])
    return (starts(rows, first.shape[0]), columns), parts


def merged(*numbers: np.ndarray) -> np.ndarray:
    """The numbers in any of the arrays, once each and increasing (``np.unique`` is slower)."""
    found = np.sort(np.concatenate(numbers), kind="stable")
    first = np.ones(len(found), bool)
    np.not_equal(found[1:], found[:-1], out=first[1:])
    return found[first]


def _keys(x: Any) -> np.ndarray:
    """The places of the stored elements as numbers."""
    return x._rows() * x.shape[1] + x._places[1] if x.stype == CSR else x._places[0]


@kernel("add_n")
def add_n(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The sum of row-sparse arrays."""
    if {x.stype for x in inputs} != {ROWS}:
        return None
    places, parts = _aligned(*inputs)
    return inputs[0]._like(run(op, parts, attrs), places)


@kernel("Concat")
def concat(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Matrices one below the other."""
    same = {x.stype for x in inputs} == {CSR} and len({x.shape[1] for x in inputs}) == 1
    if not same or attrs["dim"] != 0 or len({x._values.dtype for x in inputs}) > 1:
        return None
    rows = np.concatenate([x._counts() for x in inputs])
    columns = np.concatenate([x._places[1] for x in inputs])
    values = np.concatenate([x._values for x in inputs])
    return inputs[0]._like(values, (pointers(rows), columns), (len(rows), inputs[0].shape[1]))


# ── Parts ───────────────────────────────────────────────────────────────────────────────────


@kernel("slice")
def cut(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Rows and columns of a matrix that follow each other."""
    (x,) = inputs
    given = slices_of("slice", attrs["begin"], attrs["end"], attrs["step"], 2)
    rows, columns = (*given, *[slice(None)] * (2 - len(given)))
    part = x[rows]
    if columns == slice(None):
        return part
    begin, end, _ = columns.indices(x.shape[1])
    kept = (part._places[1] >= begin) & (part._places[1] < end)
    places = starts(part._rows()[kept], part.shape[0]), part._places[1][kept] - begin
    return part._like(part._values[kept], places, (part.shape[0], max(end - begin, 0)))


@kernel("Embedding", "_contrib_SparseEmbedding", makes_dense=True)
def look_up(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Rows of a row-sparse weight; a row that is not stored is a row of zeros."""
    data, weight = inputs
    right = weight.shape == (attrs["input_dim"], attrs["output_dim"])
    if (data.stype, weight.stype) != (DENSE, ROWS) or not right:
        return None
    rows = weight._rows_at(looked_up(op, data, weight))
    return dense(rows.reshape(*data.shape, weight.shape[1]), data)


def looked_up(op: Op, data: NDArray, weight: NDArray) -> np.ndarray:
    """The numbers of the rows that an embedding reads; ParameterError for one outside."""
    rows, count = host(data).reshape(-1), weight.shape[0]
    outside = rows[~((rows > -1) & (rows < count))]
    if outside.size:
        raise ParameterError(
            f"{op.name}: data: got row number {outside[0]} for a row-sparse weight or gradient of "
            f"{count} rows, expected 0 .. {count - 1}"
        )
    return rows.astype(PLACES)


@kernel("take")
def take(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Rows of a matrix by number."""
    x, numbers = inputs
    if x.stype != CSR or numbers.stype != DENSE or numbers.ndim != 1 or attrs["axis"] != 0:
        return None
    rows = np.arange(x.shape[0], dtype=np.int64)
    at = run(op, [rows, host(numbers).astype(np.int64)], attrs)
    return rows_of(x, at)


def rows_of(x: CSRNDArray, rows: np.ndarray) -> CSRNDArray:
    """Rows of a matrix, in any order."""
    indptr, columns = x._places
    counts = x._counts()[rows]
    ends = pointers(counts)
    at = np.repeat(indptr[rows] - ends[:-1], counts) + np.arange(ends[-1])
    return x._like(x._values[at], (ends, columns[at]), (len(rows), x.shape[1]))


@kernel("_sparse_retain")
def retain(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Some of the stored rows.

    Raises:
        ParameterError: ``data`` is not row-sparse.
    """
    x, rows = inputs
    if x.stype != ROWS:
        raise ParameterError(
            f"{op.name}: data: got storage type {x.stype!r}, expected 'row_sparse'; "
            "data.tostype('row_sparse') makes an array of it"
        )
    return x.retain(host(rows)) if rows.stype == DENSE else None


@kernel("_contrib_getnnz", makes_dense=True)
def getnnz(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The number of stored elements of a matrix, zeros among them too."""
    (x,) = inputs
    if x.stype != CSR:
        return None
    check_counted(x.shape, attrs["axis"])
    if attrs["axis"] is None:
        return dense(np.array([len(x._values)], np.int64), x)
    if attrs["axis"] == 1:
        return dense(x._counts(), x)
    return dense(np.bincount(x._places[1], minlength=x.shape[1]).astype(np.int64), x)


@kernel("_contrib_edge_id", makes_dense=True)
def edge_id(op: Op, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """The stored elements at pairs of row and column; -1 where none is."""
    x, u, v = inputs
    if x.stype != CSR or u.stype != DENSE or v.stype != DENSE:
        return None
    check_edges(x.shape, u.shape, v.shape)
    row, column = host(u).astype(PLACES), host(v).astype(PLACES)
    at, found = find(_keys(x), row * x.shape[1] + column)
    found = found & (row >= 0) & (column >= 0) & (column < x.shape[1])
    made = np.full(at.shape, -1).astype(x._values.dtype)
    made[found] = x._values[at[found]]
    return dense(made, x)
