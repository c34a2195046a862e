"""Random sparse arrays for tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modkit.context import Context
from modkit.errors import ParameterError
from modkit.ndarray import CSRNDArray, NDArray, csr_matrix, row_sparse_array
from modkit.test_utils.defaults import default_dtype

# NumPy's global generator, which tests seed.
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
        shape: shape of the array; two-dimensional for ``"csr"``.
        stype: ``"csr"`` or ``"row_sparse"``.
        density: fraction of stored elements (CSR) or rows; default: random.
        dtype: default: float32.
        distribution: ``"uniform"`` (default), or for ``"csr"`` ``"powerlaw"``: each row has twice
            as many elements as the previous one.
        data_init: value of all stored elements; default: random.
        rsp_indices: the stored rows, for ``"row_sparse"``.
        modifier_func: applied to every element; those of ``"csr"`` with ``data_init`` keep it.
        shuffle_csr_indices: shuffle the columns of each row.
        ctx: device.

    Returns:
        The array; and ``(indptr, indices, data)`` as NDArrays for ``"csr"``, ``(data, indices)``
        as NumPy arrays for ``"row_sparse"``.

    Raises:
        ParameterError: an unknown storage type or distribution, or a density outside 0 ... 1.
    """
    share = float(_draw.rand()) if density is None else float(density)
    kind = np.dtype(dtype or default_dtype())
    known = ("uniform", "powerlaw") if stype == "csr" else ("uniform",)
    if distribution is not None and distribution not in known:
        names = ", ".join(map(repr, known))
        raise ParameterError(f"distribution of {stype}: got {distribution!r}, expected {names}")
    if stype == "csr":
        if not 0 <= share <= 1:
            raise ParameterError(f"density: got {density}, expected a number from 0 to 1")
        kept = _kept(shape, share, distribution)
        modify = modifier_func if data_init is None else None
        dense = np.where(kept, _values(shape, data_init, modify), 0).astype(kind)
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
    # In (0, 1]: a 0 would not be stored.
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
    """The array from `rand_sparse_ndarray`."""
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
    """`create_sparse_array` with support for a density of 0 (no stored rows)."""
    if stype == "row_sparse" and rsp_indices is None and density == 0:
        rsp_indices = []
    return create_sparse_array(
        shape, stype, data_init, rsp_indices, dtype, modifier_func, density, shuffle_csr_indices
    )


def shuffle_csr_column_indices(csr: CSRNDArray) -> None:
    """Shuffle the column indices of every row of a CSR array in place.

    The data are not moved, so the array has different values afterwards.
    """
    starts, columns = np.asarray(csr.indptr), np.asarray(csr.indices)
    for begin, end in itertools.pairwise(starts):
        columns[begin:end] = _draw.permutation(columns[begin:end])
    csr._places = (starts, columns)
