"""``cast_storage``, ``getnnz`` and others about sparse storage, as functions of dense arrays.

What they do with sparse arrays stands in `modkit.ndarray.sparse_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError
from modkit.ops.dtype_inference import first_decides, int64_result
from modkit.ops.parameters import Attrs, Shape
from modkit.ops.partial_shapes import Rule, Sizes, like_first
from modkit.ops.registry import op
from modkit.ops.stype import ROWS, Storage


@op(
    "cast_storage",
    precision="through",
    same_shape=True,
    aliases=("_sparse_cast_storage",),
    storage=Storage(lambda stypes, attrs: attrs["stype"], from_dense=True, by_kernel=True),
)
def cast_storage(data: Any, *, stype: Literal["default", "csr", "row_sparse"]) -> Any:
    """The same values in another storage type.

    Args:
        stype: ``"default"``, ``"csr"`` or ``"row_sparse"``.

    Raises:
        ShapeError: an array without two axes becomes csr.
    """
    if stype == "csr" and data.ndim != 2:
        raise ShapeError(f"cast_storage: got shape {data.shape}, expected two axes for stype='csr'")
    return data


@op(
    "_sparse_retain",
    precision="through",
    dtypes=first_decides,
    partial=like_first(None),
    storage=Storage(lambda stypes, attrs: ROWS, from_dense=True),
)
def sparse_retain(data: Any, indices: Any) -> Any:
    """The rows of these numbers; zeros in the other rows.

    Shapes:
        data: (N, ...). indices: (M,). returns: (N, ...).
    """
    if indices.ndim != 1:
        raise ShapeError(f"_sparse_retain: indices: got shape {indices.shape}, expected one axis")
    kept = jnp.zeros(data.shape[0], bool).at[indices.astype(jnp.int32)].set(True)
    return jnp.where(kept.reshape(-1, *[1] * (data.ndim - 1)), data, 0)


def check_counted(shape: Shape, axis: int | None) -> None:
    """Raise ParameterError for no matrix, or an axis that is neither 0 nor 1."""
    if len(shape) != 2 or axis not in (None, 0, 1):
        raise ParameterError(
            f"_contrib_getnnz: got shape {shape} and axis={axis}, expected a matrix and "
            "None, 0 or 1"
        )


@op("_contrib_getnnz", precision="through", dtypes=int64_result, gradient="refused")
def getnnz(data: Any, *, axis: int | None = None) -> Any:
    """The number of stored elements of a matrix; of a dense one, of those that are not 0.

    Args:
        data: a matrix.
        axis: 0 counts each column, 1 each row; default the whole.

    Shapes:
        returns: (1,), or the number of columns or rows.

    Raises:
        ParameterError: not a matrix, or another axis.

    Differs: dense matrices count too, and columns; MXNet takes csr arrays alone, without
    ``axis=0``.
    """
    check_counted(data.shape, axis)
    counted = jnp.sum(data != 0, axis, dtype=jnp.int64)
    return counted.reshape(1) if axis is None else counted


def _edge_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], _attrs: Attrs) -> Rule:
    data, u, v = ins
    pairs = u or v or outs[0]
    return [data, pairs, pairs], [pairs]


def check_edges(data: Shape, u: Shape, v: Shape) -> None:
    """Raise ShapeError for other shapes than those of a matrix and of pairs of row and column."""
    if len(data) != 2 or len(u) != 1 or u != v:
        raise ShapeError(
            f"_contrib_edge_id: got data {data}, u {u} and v {v}, expected (N, M), (K,) and (K,)"
        )


@op(
    "_contrib_edge_id",
    precision="through",
    partial=_edge_partial,
    dtypes=first_decides,
    gradient="refused",
)
def edge_id(data: Any, u: Any, v: Any) -> Any:
    """``data[u, v]`` for pairs of row and column; -1 where nothing is stored (a dense 0).

    Shapes:
        data: (N, M). u, v: (K,). returns: (K,).

    Raises:
        ShapeError: an array has another shape.
    """
    check_edges(data.shape, u.shape, v.shape)
    found = data[u.astype(jnp.int32), v.astype(jnp.int32)]
    return jnp.where(found == 0, jnp.asarray(-1, data.dtype), found)
