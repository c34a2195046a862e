"""Factorisations, inverses and determinants of the matrices on the last two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ParameterError, ShapeError
from modkit.ops.linalg.gemm import EXACT, check_matrices, linalg, transposed
from modkit.ops.own_gradient import with_gradient
from modkit.ops.parameters import Attrs
from modkit.ops.registry import op


def _mirrored(A: jax.Array) -> jax.Array:
    """The symmetric matrix of the lower triangle; its gradient reaches both triangles alike.

    MXNet reads one triangle of a symmetric input, and gives the gradient of a symmetric matrix.
    """
    lower = jnp.tril(A)
    return A + lax.stop_gradient(lower + transposed(jnp.tril(A, -1)) - A)


def _check_definite(arrays: Sequence[Any], results: Sequence[Any], attrs: Attrs) -> None:
    """Raise ParameterError for a finite matrix that has no Cholesky factor."""
    if np.isfinite(results[0]).all():
        return
    A = np.asarray(arrays[0])
    finite = A[np.isfinite(A).all((-1, -2))]
    try:
        np.linalg.cholesky(finite if attrs["lower"] else finite.swapaxes(-1, -2))
    except np.linalg.LinAlgError:
        raise ParameterError(
            f"_linalg_potrf: A: got a matrix of shape {A.shape} without a Cholesky factor, "
            "expected symmetric positive definite ones"
        ) from None


def _check_factor(arrays: Sequence[Any], _attrs: Attrs) -> None:
    """Raise ParameterError for a triangular matrix with a 0 on its diagonal."""
    check_matrices("_linalg_potri", *arrays, square=True)
    if (np.diagonal(arrays[0], 0, -2, -1) == 0).any():
        raise ParameterError(
            f"_linalg_potri: A: got a matrix of shape {arrays[0].shape} with a 0 on its diagonal, "
            "expected Cholesky factors, as of potrf"
        )


def _check_regular(arrays: Sequence[Any], results: Sequence[Any], _attrs: Attrs) -> None:
    """Raise ParameterError for a singular matrix."""
    if np.isfinite(results[0]).all():
        return
    with np.errstate(all="ignore"):
        singular = np.linalg.slogdet(arrays[0])[0] == 0
    if singular.any():
        raise ParameterError(
            f"_linalg_inverse: A: got a singular matrix of shape {arrays[0].shape}, expected "
            "matrices that have an inverse"
        )


@linalg("potrf", same_shape=True, check_results=_check_definite)
def potrf(A: jax.Array, *, lower: bool = True) -> jax.Array:
    """Cholesky factor: the lower triangular L with ``L Lᵀ = A``.

    Args:
        A: the matrix, of which one triangle is read.
        lower: the lower triangle and L; if not, the upper triangle and ``Lᵀ``.

    Shapes:
        A: (..., N, N), symmetric and positive definite.
        returns: (..., N, N).

    Differs: a compiled graph cannot raise: a matrix that is not positive definite gives NaN.
    """
    check_matrices("_linalg_potrf", A, square=True)
    if not lower:
        return transposed(potrf(transposed(A)))
    return lax.linalg.cholesky(_mirrored(A), symmetrize_input=True)


@linalg("potri", same_shape=True, check_values=_check_factor)
def potri(A: jax.Array, *, lower: bool = True) -> jax.Array:
    """The inverse of a matrix from its Cholesky factor, ``(A Aᵀ)⁻¹`` for a lower triangular A.

    Args:
        A: the factor, of which one triangle is read.
        lower: the lower triangle; if not, A is upper triangular, and the result ``(Aᵀ A)⁻¹``.

    Shapes:
        A: (..., N, N).
        returns: (..., N, N).

    Differs: a compiled graph cannot raise: a singular factor gives infinities or NaN.
    """
    check_matrices("_linalg_potri", A, square=True)
    if not lower:
        return potri(transposed(A))
    unit = jnp.broadcast_to(jnp.eye(A.shape[-1], dtype=A.dtype), A.shape)
    inner = lax.linalg.triangular_solve(jnp.tril(A), unit, left_side=True, lower=True)
    return jnp.matmul(transposed(inner), inner, precision=EXACT)


@linalg("gelqf", outputs=("output0", "output1"))
def gelqf(A: jax.Array) -> tuple[jax.Array, jax.Array]:
    """LQ factors, ``A = L Q``: Q with orthonormal rows, L lower triangular.

    Shapes:
        A: (..., N, M), N at most M, of full rank.
        returns: Q (..., N, M), and L (..., N, N).
    """
    check_matrices("_linalg_gelqf", A)
    if A.shape[-2] > A.shape[-1]:
        raise ShapeError(
            f"_linalg_gelqf: got shape {A.shape}, expected at least as many columns as rows"
        )
    q, r = jnp.linalg.qr(transposed(A))
    return transposed(q), transposed(r)


@op("_linalg_syevd", precision="float32", costly=True, outputs=("output0", "output1"))
def syevd(A: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Eigenvectors, as rows of U, and eigenvalues, rising: ``A = Uᵀ diag(values) U``.

    Each eigenvector points so that its largest element is positive.

    Shapes:
        A: (..., N, N), symmetric; the upper triangle is not read.
        returns: U (..., N, N), and values (..., N).
    """
    check_matrices("_linalg_syevd", A, square=True)
    columns, values = lax.linalg.eigh(_mirrored(A), symmetrize_input=True)
    rows = transposed(columns)
    if not values.shape[-1]:
        return rows, values
    at = jnp.argmax(jnp.abs(rows), axis=-1, keepdims=True)
    sign = jnp.sign(jnp.take_along_axis(rows, at, -1))
    return rows * lax.stop_gradient(jnp.where(sign == 0, 1, sign)), values


@linalg("inverse", same_shape=True, check_results=_check_regular)
def inverse(A: jax.Array) -> jax.Array:
    """The inverse of each matrix.

    Shapes:
        A: (..., N, N).
        returns: (..., N, N).

    Differs: a compiled graph cannot raise: a singular matrix gives infinities or NaN.
    """
    check_matrices("_linalg_inverse", A, square=True)
    return jnp.linalg.inv(A)


def _inverse_or_zero(A: jax.Array, regular: jax.Array, factor: jax.Array) -> jax.Array:
    """The transposed inverse times a factor, which may be infinite for a singular matrix.

    MXNet leaves the gradient of a singular matrix at 0.
    """
    regular = regular[..., None, None]
    safe = jnp.where(regular, A, jnp.eye(A.shape[-1], dtype=A.dtype))
    return jnp.where(regular, factor[..., None, None] * transposed(jnp.linalg.inv(safe)), 0)


@linalg("det", outputs=("output0",))
def det(A: jax.Array) -> jax.Array:
    """The determinant of each matrix.

    The gradient of a singular matrix is 0.

    Shapes:
        A: (..., N, N).
        returns: (...); (1,) for one matrix.
    """
    check_matrices("_linalg_det", A, square=True)

    def gradient(made: jax.Array, A: jax.Array, cotangent: jax.Array) -> jax.Array:
        return _inverse_or_zero(A, made != 0, cotangent * made)

    return jnp.atleast_1d(with_gradient(jnp.linalg.det, gradient, A, A))


@linalg("slogdet", outputs=("output0", "output1"))
def slogdet(A: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Sign, and logarithm of the absolute value, of each determinant.

    The gradient of a singular matrix is 0; the sign has none.

    Shapes:
        A: (..., N, N).
        returns: sign (...) and logarithm (...); (1,) for one matrix.
    """
    check_matrices("_linalg_slogdet", A, square=True)

    def gradient(made: Any, A: jax.Array, cotangents: Any) -> jax.Array:
        return _inverse_or_zero(A, made[0] != 0, cotangents[1])

    sign, logarithm = with_gradient(lambda A: tuple(jnp.linalg.slogdet(A)), gradient, A, A)
    return jnp.atleast_1d(sign), jnp.atleast_1d(logarithm)
