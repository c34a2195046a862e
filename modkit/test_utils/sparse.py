"""Making sparse arrays for tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modkit.context import Context
from modkit.errors import ParameterError
from modkit.ndarray import CSRNDArray, NDArray, csr_matrix, row_sparse_array
from modkit.test_utils.defaults import default_dtype

# Tests seed NumPy's global generator, so the helpers draw from it, as MXNet's do.
_draw = np.random


def rand_sparse_ndarray(
    shape: Sequence[int],
    stype: str,
    density: float | None = None,
    dtype: Any = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
    ctx: Context | None = None,
) -> tuple[Any, tuple[Any, ...]]:
    """A random sparse array, and its parts.

    Args:
        shape: of the array; two sizes for ``"csr"``.
        stype: ``"csr"`` or ``"row_sparse"``.
        density: share of the elements (CSR) or of the rows that are kept; default a random one.
        dtype: default float32.
        distribution: ``"uniform"``, the default, or for ``"csr"`` ``"powerlaw"``, where each row
            has twice as many elements as the one before.
        data_init: the value of all elements; default random ones.
        rsp_indices: the rows that are kept, for ``"row_sparse"``.
        modifier_func: is applied to every element.
        shuffle_csr_indices: whether the columns of a row stand in random order.
        ctx: device.

    Returns:
        The array; and ``(indptr, indices, data)`` as NDArrays for ``"csr"``, ``(data, indices)``
        as NumPy arrays for ``"row_sparse"``.

    Raises:
        ParameterError: another storage type or distribution.
    """
    share = float(_draw.rand()) if density is None else float(density)
    kind = np.dtype(dtype or default_dtype())
    if distribution not in (None, "uniform", "powerlaw"):
        raise ParameterError(f"distribution: got {distribution!r}, expected 'uniform', 'powerlaw'")
    if stype == "csr":
        kept = _kept(shape, share, distribution)
        dense = np.where(kept, _values(shape, data_init, modifier_func), 0).astype(kind)
        made = csr_matrix(dense, ctx=ctx, dtype=kind)
        if shuffle_csr_indices:
            shuffle_csr_column_indices(made)
        return made, (made.indptr, made.indices, made.data)
    if stype != "row_sparse":
        raise ParameterError(f"stype: got {stype!r}, expected 'csr' or 'row_sparse'")
    rows = np.flatnonzero(_kept(shape[:1], share, None)) if rsp_indices is None else rsp_indices
    rows = np.sort(np.asarray(rows)).astype(np.int64)
    values = _values((len(rows), *shape[1:]), data_init, modifier_func).astype(kind)
    sparse = row_sparse_array((values, rows), tuple(shape), ctx, kind)
    return sparse, (values, rows)


def _kept(shape: Sequence[int], share: float, distribution: str | None) -> np.ndarray:
    if distribution != "powerlaw":
        return _draw.rand(*shape) < share
    left, kept, count = round(share * shape[0] * shape[1]), np.zeros(tuple(shape), bool), 1
    for row in kept:
        row[: min(count, left)] = True
        left, count = left - int(row.sum()), count * 2
    return kept


def _values(
    shape: Sequence[int], data_init: float | None, modify: Callable[[Any], Any] | None
) -> np.ndarray:
    # Not 0, which would not be kept.
    drawn = 1 - _draw.rand(*shape)
    values = drawn if data_init is None else np.full(tuple(shape), data_init)
    return values if modify is None or not values.size else np.vectorize(modify)(values)


def create_sparse_array(
    shape: Sequence[int],
    stype: str,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    density: float | None = 0.5,
    shuffle_csr_indices: bool = False,
) -> NDArray:
    """The array of `rand_sparse_ndarray`, without its parts."""
    return rand_sparse_ndarray(
        shape, stype, density, dtype, None, data_init, rsp_indices, modifier_func,
        shuffle_csr_indices,
    )[0]  # fmt: skip


def create_sparse_array_zd(
    shape: Sequence[int],
    stype: str,
    density: float,
    data_init: float | None = None,
    rsp_indices: Any = None,
    dtype: Any = None,
    modifier_func: Callable[[Any], Any] | None = None,
    shuffle_csr_indices: bool = False,
) -> NDArray:
    """`create_sparse_array` of a density that may be 0, with no row kept."""
    if stype == "row_sparse" and rsp_indices is None and density == 0:
        rsp_indices = []
    return create_sparse_array(
        shape, stype, data_init, rsp_indices, dtype, modifier_func, density, shuffle_csr_indices
    )


def shuffle_csr_column_indices(csr: CSRNDArray) -> None:
    """Put the columns of every row of a CSR array into random order, in place.

    The elements stay where they are: the array is another one afterwards.
    """
    starts, columns = np.asarray(csr.indptr), np.asarray(csr.indices)
    for begin, end in itertools.pairwise(starts):
        columns[begin:end] = _draw.permutation(columns[begin:end])
    csr._places = (starts, columns)
