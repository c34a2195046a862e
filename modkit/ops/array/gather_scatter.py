"""Elements by coordinates: gathered from an array, or written to one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ParameterError, ShapeError
from modkit.interpreter.reverse import CustomVjp
from modkit.ops.array.indexing import whole
from modkit.ops.dtype_inference import Inferred, first_decides
from modkit.ops.own_gradient import gradient_of
from modkit.ops.parameters import Attrs, Shape
from modkit.ops.partial_shapes import check_shape
from modkit.ops.registry import op


def _coordinates(name: str, indices: jax.Array, rank: int) -> tuple[jax.Array, ...]:
    """One array of coordinates for each leading axis."""
    if indices.ndim < 2 or indices.shape[0] > rank:
        raise ShapeError(
            f"{name}: indices: got shape {indices.shape}, expected (M, ...) with M at most {rank}"
        )
    return tuple(whole(indices))


def _check_coordinates(arrays: Sequence[Any], _attrs: Attrs) -> None:
    """Raise ``IndexError`` for a coordinate outside of the data."""
    data, indices = arrays
    for axis, at in enumerate(whole(np.asarray(indices)) if indices.ndim else ()):
        size = data.shape[axis] if axis < data.ndim else 0
        if size and at.size and (at.min() < -size or at.max() >= size):
            outside = at[(at < -size) | (at >= size)]
            raise IndexError(
                f"indices: got {outside.flat[0]} for axis {axis}, expected {-size} .. {size - 1}"
            )


@op("gather_nd", precision="float32", dtypes=first_decides, check_values=_check_coordinates)
def gather_nd(data: jax.Array, indices: jax.Array) -> jax.Array:
    """Elements of ``data`` at coordinates: ``data[indices[0, i], ..., indices[M - 1, i]]``.

    Args:
        indices: coordinates along the first M axes; from the end where negative.

    Shapes:
        data: (X_0, ..., X_N).
        indices: (M, Y_0, ...).
        returns: (Y_0, ..., X_M, ..., X_N).

    Raises:
        ShapeError: there are more coordinates than axes.
        IndexError: in an eager call, a coordinate lies outside.

    Differs: a compiled graph cannot raise: a coordinate outside gives NaN, or the extreme number of
    a type that has no NaN.
    """
    if indices.ndim > 1 and not indices.shape[0]:  # all of the data, at each place
        return jnp.broadcast_to(data, indices.shape[1:] + data.shape)
    return data.at[_coordinates("gather_nd", indices, data.ndim)].get(mode="fill")


def _fits(name: str, attrs: Attrs) -> None:
    """Raise ParameterError for a negative size of the result."""
    if min(attrs["shape"], default=0) < 0:
        raise ParameterError(f"{name}: shape: got {attrs['shape']}, expected sizes of 0 or more")


def _shape_decides(ins: Any, outs: Any, attrs: Attrs) -> tuple[Any, list[Any]]:
    """The rule of shapes where a parameter is that of the result."""
    return ins, [tuple(attrs["shape"])]


def _both_decided(ins: Any, outs: Any, attrs: Attrs) -> tuple[Any, list[Any]]:
    """`_shape_decides`, where the first input has that shape, too."""
    shape = tuple(attrs["shape"])
    return [shape, *ins[1:]], [shape]


@functools.partial(CustomVjp, nondiff_argnums=(2,))
def _scatter(data: jax.Array, indices: jax.Array, shape: Shape) -> jax.Array:
    at = _coordinates("scatter_nd", indices, len(shape))
    return jnp.zeros(shape, data.dtype).at[at].set(data)


@gradient_of(_scatter, 1)
def _scatter_bwd(shape: Shape, indices: jax.Array, cotangent: jax.Array) -> tuple[jax.Array, None]:
    # Two elements written to one position both get its gradient: MXNet's rule, not the derivative.
    return cotangent.at[_coordinates("scatter_nd", indices, len(shape))].get(
        mode="fill", fill_value=0
    ), None


@op(
    "scatter_nd",
    precision="float32",
    dtypes=first_decides,
    partial=_shape_decides,
    fits=_fits,
)
def scatter_nd(data: jax.Array, indices: jax.Array, *, shape: Shape) -> jax.Array:
    """An array of zeros with elements put at coordinates; the inverse of ``gather_nd``.

    Args:
        indices: coordinates along the first M axes.
        shape: the sizes of the result.

    Shapes:
        data: (Y_0, ..., X_M, ..., X_N).
        indices: (M, Y_0, ...).
        returns: ``shape``, (X_0, ..., X_N).

    Raises:
        ShapeError: the shapes do not fit.
    """
    _check_parts("scatter_nd", data, indices, shape)
    return _scatter(data, whole(indices), tuple(shape))


def _check_parts(name: str, data: jax.Array, indices: jax.Array, shape: Shape) -> None:
    count = len(_coordinates(name, indices, len(shape)))
    wanted = (*indices.shape[1:], *shape[count:])
    if data.shape != wanted:
        raise ShapeError(
            f"{name}: got {data.shape} for the elements, expected {wanted} "
            f"for indices {indices.shape} and shape {tuple(shape)}"
        )


@op(
    "_backward_gather_nd",
    precision="float32",
    dtypes=first_decides,
    partial=_shape_decides,
    fits=_fits,
)
def backward_gather_nd(data: jax.Array, indices: jax.Array, *, shape: Shape) -> jax.Array:
    """An array of zeros to which elements are added at coordinates: the gradient of ``gather_nd``.

    Shapes:
        data: (Y_0, ..., X_M, ..., X_N).
        indices: (M, Y_0, ...).
        returns: ``shape``, (X_0, ..., X_N).

    Raises:
        ShapeError: the shapes do not fit.
    """
    _check_parts("_backward_gather_nd", data, indices, shape)
    at = _coordinates("_backward_gather_nd", indices, len(shape))
    return jnp.zeros(tuple(shape), data.dtype).at[at].add(data)


@op(
    "_scatter_set_nd",
    precision="float32",
    dtypes=first_decides,
    partial=_both_decided,
    fits=_fits,
    gradient="refused",
)
def scatter_set_nd(
    lhs: jax.Array, rhs: jax.Array, indices: jax.Array, *, shape: Shape
) -> jax.Array:
    """A copy of ``lhs`` with elements of ``rhs`` put at coordinates.

    Shapes:
        lhs: ``shape``, (X_0, ..., X_N).
        rhs: (Y_0, ..., X_M, ..., X_N).
        indices: (M, Y_0, ...).
        returns: as ``lhs``.

    Raises:
        ShapeError: the shapes do not fit.
    """
    check_shape("_scatter_set_nd", "lhs", lhs, shape)
    _check_parts("_scatter_set_nd", rhs, indices, shape)
    return lhs.at[_coordinates("_scatter_set_nd", indices, lhs.ndim)].set(rhs.astype(lhs.dtype))


def _copy_types(ins: Sequence[str | None], _attrs: Attrs) -> Inferred:
    one = ins[0] or ins[2]
    return [one, ins[1], one], [one]


@op("_contrib_index_copy", precision="float32", costly=True, dtypes=_copy_types)
def index_copy(old_tensor: jax.Array, index_vector: jax.Array, new_tensor: jax.Array) -> jax.Array:
    """A copy of ``old_tensor`` with slices of ``new_tensor`` written to indices of the first axis.

    Shapes:
        old_tensor: (N, ...).
        index_vector: (K,), K at most N.
        new_tensor: (K, ...).
        returns: as ``old_tensor``.

    Raises:
        ShapeError: the shapes do not fit.
    """
    wanted = (*index_vector.shape, *old_tensor.shape[1:])
    fits = index_vector.ndim == 1 and new_tensor.shape == wanted
    if not fits or len(new_tensor) > len(old_tensor):
        raise ShapeError(
            f"_contrib_index_copy: got index_vector {index_vector.shape}, new_tensor "
            f"{new_tensor.shape}; expected (K,) and (K, ...) as old_tensor {old_tensor.shape}, "
            "which K does not exceed"
        )
    return old_tensor.at[whole(index_vector)].set(new_tensor)
