"""Elements by coordinates: gathered from places of an array, or put there."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.indexing import whole
from modkit.ops.infer import first_decides
from modkit.ops.registry import Shape, op


def _places(name: str, indices: jax.Array, rank: int) -> tuple[jax.Array, ...]:
    """One array of coordinates for each leading axis."""
    if indices.ndim < 2 or indices.shape[0] > rank:
        raise ShapeError(
            f"{name}: indices: got shape {indices.shape}, expected (M, ...) with M at most {rank}"
        )
    return tuple(whole(indices))


@op("gather_nd", dtypes=first_decides)
def gather_nd(data: jax.Array, indices: jax.Array) -> jax.Array:
    """Elements of ``data`` at coordinates: ``data[indices[0, i], ..., indices[M - 1, i]]``.

    Args:
        data: the array.
        indices: coordinates along the first M axes; from the end where negative.

    Shapes:
        data: (X_0, ..., X_N).
        indices: (M, Y_0, ...).
        returns: (Y_0, ..., X_M, ..., X_N).

    Raises:
        ShapeError: there are more coordinates than axes.

    Differs:
        A compiled program cannot raise: a coordinate outside gives NaN, or the extreme number
        of a type that has no NaN.
    """
    return data.at[_places("gather_nd", indices, data.ndim)].get(mode="fill")


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _scatter(data: jax.Array, indices: jax.Array, shape: Shape) -> jax.Array:
    places = _places("scatter_nd", indices, len(shape))
    return jnp.zeros(shape, data.dtype).at[places].set(data)


def _scatter_fwd(data: jax.Array, indices: jax.Array, shape: Shape) -> tuple[jax.Array, jax.Array]:
    return _scatter(data, indices, shape), indices


def _scatter_bwd(shape: Shape, indices: jax.Array, head: jax.Array) -> tuple[jax.Array, None]:
    # Of two elements put at one place, both get its gradient: MXNet's rule, not the derivative.
    return head.at[_places("scatter_nd", indices, len(shape))].get(mode="fill", fill_value=0), None


_scatter.defvjp(_scatter_fwd, _scatter_bwd)


@op("scatter_nd", dtypes=first_decides)
def scatter_nd(data: jax.Array, indices: jax.Array, *, shape: Shape) -> jax.Array:
    """An array of zeros with elements put at coordinates; the inverse of ``gather_nd``.

    Args:
        data: the elements.
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
    count = len(_places(name, indices, len(shape)))
    wanted = (*indices.shape[1:], *shape[count:])
    if data.shape != wanted:
        raise ShapeError(
            f"{name}: got {data.shape} for the elements, expected {wanted} "
            f"for indices {indices.shape} and shape {tuple(shape)}"
        )


@op("_scatter_set_nd", dtypes=first_decides, hint="_scatter_set_nd")
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
    if lhs.shape != tuple(shape):
        raise ShapeError(f"_scatter_set_nd: lhs: got shape {lhs.shape}, expected {tuple(shape)}")
    _check_parts("_scatter_set_nd", rhs, indices, shape)
    return lhs.at[_places("_scatter_set_nd", indices, lhs.ndim)].set(rhs.astype(lhs.dtype))


@op("_contrib_index_copy", dtypes=first_decides)
def index_copy(old_tensor: jax.Array, index_vector: jax.Array, new_tensor: jax.Array) -> jax.Array:
    """A copy of ``old_tensor`` with slices of ``new_tensor`` put at places on the first axis.

    Shapes:
        old_tensor: (N, ...).
        index_vector: (K,).
        new_tensor: (K, ...).
        returns: as ``old_tensor``.

    Raises:
        ShapeError: the shapes do not fit.
    """
    wanted = (*index_vector.shape, *old_tensor.shape[1:])
    if index_vector.ndim != 1 or new_tensor.shape != wanted:
        raise ShapeError(
            f"_contrib_index_copy: got index_vector {index_vector.shape}, new_tensor "
            f"{new_tensor.shape}; expected (K,) and (K, ...) as old_tensor {old_tensor.shape}"
        )
    return old_tensor.at[whole(index_vector)].set(new_tensor.astype(old_tensor.dtype))
