"""Random sparse arrays for tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modkit.context import Context
from modkit.errors import ParameterError, expect
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
            as many elements as the previous one, which are random ones from 1 to 3 in order.
        data_init: value of all stored elements; default: random.
        rsp_indices: the stored rows, for ``"row_sparse"``.
        modifier_func: applied to every stored element of ``"row_sparse"``.
        shuffle_csr_indices: shuffle the columns of each row.

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
        expect(0 <= share <= 1, "density", density, "a number from 0 to 1")
        by_power = distribution == "powerlaw"
        dense = _by_power(shape, share) if by_power else _uniform(shape, share, data_init)
        made = csr_matrix(dense.astype(kind), ctx=ctx, dtype=kind)
        if shuffle_csr_indices and not by_power:
            shuffle_csr_column_indices(made)
        return made, (made.indptr, made.indices, made.data)
    expect(stype == "row_sparse", "stype", stype, "'csr' or 'row_sparse'")
    rows = np.flatnonzero(_draw.rand(shape[0]) < share) if rsp_indices is None else rsp_indices
    rows = np.sort(np.asarray(rows)).astype(np.int64)
    values = _draw.rand(len(rows), *shape[1:])
    if data_init is not None:
        values[:] = data_init
    if modifier_func is not None and values.size:
        values = np.vectorize(modifier_func)(values)
    values = values.astype(kind)
    sparse = row_sparse_array((values, rows), tuple(shape), ctx, kind)
    return sparse, (values, rows)


def _uniform(shape: Sequence[int], share: float, data_init: float | None) -> np.ndarray:
    """An array with values from 0 to 1 at random positions, drawn as in MXNet."""
    rows, columns = shape
    count = round(share * rows * columns)
    at = _draw.choice(rows * columns, count, replace=False)
    values = _draw.rand(count)
    dense = np.zeros((rows, columns))
    dense[at % rows, at // rows] = values if data_init is None else data_init
    return dense


def _by_power(shape: Sequence[int], share: float) -> np.ndarray:
    """An array whose rows begin with 2, 4, 8, ... values as long as they last, then with 1.

    A row that is full has one value, unless no more than it holds are left: MXNet's numbers.
    """
    rows, columns = shape
    count = int(share * rows * columns)
    if count < 2 * rows:
        raise ParameterError(
            f"density: got {share} for shape {tuple(shape)}, which are {count} values; 'powerlaw' "
            f"expects two a row, {2 * rows}, at least"
        )
    dense, left = np.zeros((rows, columns)), count - rows
    dense[:, 0] = 1 + _draw.uniform(0.001, 2, rows)
    for power, row in enumerate(dense, 1):
        more = min(2**power, columns, left + 1) - 1
        if more == columns - 1 and left > columns:
            row[:] = 1 + _draw.uniform(0.001, 2)
        else:
            row[1 : 1 + more] = 1 + _draw.uniform(0.001, 2, more)
        left -= more
    if left:
        raise ParameterError(
            f"density: got {share} for shape {tuple(shape)}, expected {left} values less: rows of "
            "'powerlaw' have 2, 4, 8, ..."
        )
    return dense


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
