"""Linear algebra on the last two axes: triangular matrices and diagonals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ParameterError, ShapeError
from modkit.ops.linalg.gemm import EXACT, check_matrices, linalg, scaled, transposed
from modkit.ops.parameters import Attrs
from modkit.ops.partial_shapes import Rule, Sizes, common


def _triangle(A: jax.Array, lower: bool) -> jax.Array:
    """One triangle with its diagonal; zeros in the other."""
    return jnp.tril(A) if lower else jnp.triu(A)


def _check_triangular(name: str, A: jax.Array, B: jax.Array, rightside: bool) -> None:
    check_matrices(name, A, square=True)
    check_matrices(name, B)
    if A.shape[:-2] != B.shape[:-2] or B.shape[-1 if rightside else -2] != A.shape[-1]:
        wanted = "(..., M, N)" if rightside else "(..., N, M)"
        raise ShapeError(
            f"{name}: got shapes {A.shape} and {B.shape}, expected (..., N, N) and {wanted}"
        )


def _second_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    """The result has the shape of the second input; the first is square."""
    made = common("B", [ins[1], outs[0]])
    if made is None or len(made) < 2:
        return [ins[0], made], [made]
    size = made[-1 if attrs["rightside"] else -2]
    return [(*made[:-2], size, size), made], [made]


@linalg("trmm", partial=_second_partial)
def trmm(
    A: jax.Array,
    B: jax.Array,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> jax.Array:
    """Product with a triangular matrix, ``alpha op(A) B``, or ``alpha B op(A)``.

    Args:
        A: the triangular matrices; the other triangle is not read.
        rightside: ``A`` is the right factor.
        lower: ``A`` is lower triangular, else upper.

    Shapes:
        A: (..., N, N).
        B: (..., N, M), or (..., M, N) with ``rightside``.
        returns: as ``B``.
    """
    _check_triangular("_linalg_trmm", A, B, rightside)
    a = transposed(_triangle(A, lower), transpose)
    left, right = (B, a) if rightside else (a, B)
    return scaled(alpha, jnp.matmul(left, right, precision=EXACT))


@linalg("trsm", partial=_second_partial)
def trsm(
    A: jax.Array,
    B: jax.Array,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> jax.Array:
    """Solution X of ``op(A) X = alpha B``, or of ``X op(A) = alpha B``, for a triangular ``A``.

    Args:
        A, transpose, rightside, lower, alpha: see `linalg_trmm`.

    Shapes:
        A: (..., N, N).
        B: (..., N, M), or (..., M, N) with ``rightside``.
        returns: as ``B``.
    """
    _check_triangular("_linalg_trsm", A, B, rightside)
    solution = lax.linalg.triangular_solve(
        _triangle(A, lower), B, left_side=not rightside, lower=lower, transpose_a=transpose
    )
    return scaled(alpha, solution)


@linalg("sumlogdiag")
def sumlogdiag(A: jax.Array) -> jax.Array:
    """Sum of the logarithms of the diagonal.

    Shapes:
        A: (..., N, N).
        returns: (...); (1,) for one matrix.
    """
    check_matrices("_linalg_sumlogdiag", A, square=True)
    return jnp.atleast_1d(jnp.log(jnp.diagonal(A, axis1=-2, axis2=-1)).sum(-1))


@linalg("extractdiag")
def extractdiag(A: jax.Array, *, offset: int = 0) -> jax.Array:
    """A diagonal of matrices: above the main one where ``offset`` is positive.

    Shapes:
        A: (..., N, N).
        returns: (..., N - |offset|).
    """
    check_matrices("_linalg_extractdiag", A, square=True)
    _check_offset("_linalg_extractdiag", offset, A.shape[-1])
    return jnp.diagonal(A, offset, -2, -1)


def _check_offset(name: str, offset: int, size: int) -> None:
    if abs(offset) >= size:
        raise ParameterError(
            f"{name}: offset: got {offset} for matrices of {size} rows, expected "
            + (f"{1 - size} .. {size - 1}" if size else "a row or more")
        )


@linalg("makediag")
def makediag(A: jax.Array, *, offset: int = 0) -> jax.Array:
    """Matrices with a given diagonal, zeros elsewhere.

    Shapes:
        A: (..., N).
        returns: (..., N + |offset|, N + |offset|).
    """
    size = A.shape[-1] + abs(offset)
    at = np.arange(A.shape[-1], dtype=np.int32)
    rows, columns = at + max(-offset, 0), at + max(offset, 0)
    return jnp.zeros((*A.shape[:-1], size, size), A.dtype).at[..., rows, columns].set(A)


def _triangle_places(size: int, offset: int, lower: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a triangle below or above a diagonal, in MXNet's order.

    Lower triangles go row by row, upper ones column by column. An offset decides which it is.
    """
    rows, columns = np.tril_indices(size - abs(offset))
    outer, inner = (rows + abs(offset)).astype(np.int32), columns.astype(np.int32)
    return (outer, inner) if offset < 0 or (offset == 0 and lower) else (inner, outer)


@linalg("extracttrian")
def extracttrian(A: jax.Array, *, offset: int = 0, lower: bool = True) -> jax.Array:
    """A triangle of matrices as one row: a lower one row by row, an upper one column by column.

    Args:
        offset: the diagonal where the triangle begins: an upper one where positive, a lower one
            where negative.
        lower: which it is where ``offset`` is 0.

    Shapes:
        A: (..., N, N).
        returns: (..., K (K + 1) / 2), K = N - |offset|.
    """
    check_matrices("_linalg_extracttrian", A, square=True)
    _check_offset("_linalg_extracttrian", offset, A.shape[-1])
    rows, columns = _triangle_places(A.shape[-1], offset, lower)
    return A[..., rows, columns]


@linalg("maketrian")
def maketrian(A: jax.Array, *, offset: int = 0, lower: bool = True) -> jax.Array:
    """Matrices with a given triangle, zeros elsewhere; the inverse of ``extracttrian``.

    Args:
        offset: the diagonal where the triangle begins: an upper one where positive, a lower one
            where negative.
        lower: which it is where ``offset`` is 0.

    Shapes:
        A: (..., K (K + 1) / 2).
        returns: (..., N, N), N = K + |offset|.
    """
    count = A.shape[-1]
    inner = (math.isqrt(8 * count + 1) - 1) // 2
    if inner * (inner + 1) // 2 != count:
        raise ShapeError(
            f"_linalg_maketrian: got {count} elements along the last axis of {A.shape}, "
            "expected 1, 3, 6, 10, ...: K * (K + 1) / 2"
        )
    size = inner + abs(offset)
    rows, columns = _triangle_places(size, offset, lower)
    return jnp.zeros((*A.shape[:-1], size, size), A.dtype).at[..., rows, columns].set(A)
