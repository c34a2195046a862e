"""Private functions of MXNet's array modules."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import modkit
from modkit.base import NDArrayHandle, numeric_types
from modkit.errors import ParameterError
from modkit.handles import owner_of
from modkit.ndarray import CSRNDArray, NDArray, RowSparseNDArray
from modkit.symbol.stypes import STORAGE_CODES


def _storage_type(handle: Any) -> int:
    """MXNet's number of the storage type of an array."""
    return STORAGE_CODES[handle.stype]


def _ndarray_cls(handle: ctypes.c_void_p, writable: bool = True, stype: int = -1) -> NDArray:
    """The array of a handle, whatever its storage type."""
    del writable, stype
    return owner_of(handle, NDArray)


def _new_alloc_handle(shape: Any, ctx: Any, delay_alloc: bool, dtype: Any = np.float32) -> Any:
    """The handle of a new array, which lives as long as the handle."""
    del delay_alloc
    array = modkit.nd.empty(shape, ctx, dtype)
    handle: Any = array.handle
    handle.owner = array
    return handle


def _ufunc_helper(
    lhs: Any,
    rhs: Any,
    fn_array: Callable[..., Any],
    fn_scalar: Callable[..., Any],
    lfn_scalar: Callable[..., Any],
    rfn_scalar: Callable[..., Any] | None = None,
) -> Any:
    """Apply the function that fits: of two numbers, an array and a number, or two arrays."""
    left, right = (isinstance(x, numeric_types) for x in (lhs, rhs))
    if left and right:
        return fn_scalar(lhs, rhs)
    if left and isinstance(rhs, NDArray):
        return (rfn_scalar or lfn_scalar)(rhs, float(lhs))
    if right and isinstance(lhs, NDArray):
        return lfn_scalar(lhs, float(rhs))
    if isinstance(lhs, NDArray) and isinstance(rhs, NDArray):
        return fn_array(lhs, rhs)
    raise ParameterError(
        f"got {type(lhs).__name__} and {type(rhs).__name__}, expected arrays or numbers"
    )


def _set_value(src: float, out: NDArray) -> NDArray:
    """Write a number into all of an array."""
    out[:] = src
    return out


def _slice_along_batch_axis(data: NDArray, s: slice, batch_axis: int) -> NDArray:
    """An array sliced along its batch axis; the whole array for axis -1."""
    if batch_axis == -1:
        return data
    return data.slice_axis(axis=batch_axis, begin=s.start, end=s.stop)


def _csr_from_parts(
    data: Any, indices: Any, indptr: Any, shape: Sequence[int] | None = None, ctx: Any = None,
    dtype: Any = None, indices_type: Any = None, indptr_type: Any = None,
) -> CSRNDArray:  # fmt: skip
    del indices_type, indptr_type  # int64, as all of MXNet's own
    return modkit.nd.sparse.csr_matrix((data, indices, indptr), shape=shape, ctx=ctx, dtype=dtype)


def _rows_from_parts(
    data: Any, indices: Any, shape: Sequence[int] | None = None, ctx: Any = None,
    dtype: Any = None, indices_type: Any = None,
) -> RowSparseNDArray:  # fmt: skip
    del indices_type
    return modkit.nd.sparse.row_sparse_array((data, indices), shape=shape, ctx=ctx, dtype=dtype)


def _of_image(name: str) -> Callable[..., Any]:
    """A function of ``mx.image``, which is imported at the call."""
    return lambda *args, **kwargs: getattr(modkit.image, name)(*args, **kwargs)


ARRAYS = {
    "_storage_type": _storage_type, "_ufunc_helper": _ufunc_helper, "_ndarray_cls": _ndarray_cls,
    "_new_alloc_handle": _new_alloc_handle, "_new_empty_handle": NDArrayHandle,
    "_int64_enabled": lambda: False, "_SIGNED_INT32_UPPER_LIMIT": 2**31 - 1,
    "_get_broadcast_shape": np.broadcast_shapes, "_internal": modkit.nd._internal,
    "NDArrayBase": NDArray,
}  # fmt: skip
SPARSE = ARRAYS | {
    "_array": modkit.nd.array, "_zeros_ndarray": modkit.nd.zeros,
    "_csr_matrix_from_definition": _csr_from_parts,
    "_row_sparse_ndarray_from_definition": _rows_from_parts,
}  # fmt: skip
INTERNAL = {
    "_copyto": lambda src, out: src.copyto(out), "_set_value": _set_value,
    "_onehot_encode": lambda lhs, rhs, out: modkit.nd.onehot_encode(lhs, out),
    "_cvimdecode": _of_image("imdecode"), "_cvimread": _of_image("imread"),
    "_cvimresize": _of_image("imresize"), "_cvcopyMakeBorder": _of_image("copyMakeBorder"),
    "CachedOp": modkit.nd.CachedOp, "NDArrayBase": NDArray,
}  # fmt: skip
