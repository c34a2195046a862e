"""Linear algebra on the last two axes: products of matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import DTypeError, ShapeError, expect
from modkit.ops.parameters import Attrs
from modkit.ops.partial_shapes import (
    Rule,
    Sizes,
    check_axis,
    check_shape,
    common,
    complete,
    known_sizes,
    plain_sizes,
)
from modkit.ops.registry import op

EXACT = lax.Precision.HIGHEST
"""For products: what follows them, a solve or a factorisation, amplifies the error of fast ones."""


def linalg(name: str, **fields: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`op` of the names ``_linalg_<name>`` and ``linalg_<name>``."""
    names = f"_linalg_{name}", f"linalg_{name}"
    fields = {"costly": True, **fields}
    return op(names[0], precision="float32", aliases=names[1:], **fields)


def check_matrices(name: str, *arrays: jax.Array, square: bool = False) -> None:
    """Raise unless an array is a batch of matrices.

    Raises:
        DTypeError: the elements are not float32 or float64.
        ShapeError: fewer than two axes; with ``square``, sizes that differ.
    """
    for a in arrays:
        if a.dtype not in (jnp.float32, jnp.float64):
            raise DTypeError(
                f"{name}: got type {a.dtype}, expected float32 or float64. "
                "Cast it first: cast(data, dtype='float32')"
            )
        if a.ndim < 2 or (square and a.shape[-1] != a.shape[-2]):
            wanted = "(..., N, N)" if square else "(..., N, M)"
            raise ShapeError(f"{name}: got shape {a.shape}, expected {wanted}")


def transposed(a: jax.Array, transpose: bool = True) -> jax.Array:
    """The array with its last two axes exchanged; as it is without ``transpose``."""
    return jnp.swapaxes(a, -1, -2) if transpose else a


def scaled(factor: float, a: jax.Array) -> jax.Array:
    """``factor a``; zeros where the factor is 0, as BLAS does not read the numbers then."""
    return factor * a if factor else jnp.zeros_like(a)


def _product(
    name: str,
    A: jax.Array,
    B: jax.Array,
    transpose_a: bool,
    transpose_b: bool,
    alpha: float,
    axis: int,
) -> jax.Array:
    """``alpha op(A) op(B)``, the rows being on ``axis``."""
    check_matrices(name, A, B)
    rows = check_axis(name, axis, A.ndim)
    expect(rows != A.ndim - 1, f"{name}: axis", axis, "another axis than the last")
    if A.ndim != B.ndim:
        raise ShapeError(f"{name}: got shapes {A.shape} and {B.shape}, expected one number of axes")
    a = transposed(jnp.moveaxis(A, rows, -2), transpose_a)
    b = transposed(jnp.moveaxis(B, rows, -2), transpose_b)
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"{name}: got shapes {A.shape} and {B.shape} (transpose_a={transpose_a}, "
            f"transpose_b={transpose_b}, axis={axis}), expected (..., N, K) and (..., K, M)"
        )
    return jnp.moveaxis(scaled(alpha, jnp.matmul(a, b, precision=EXACT)), -2, rows)


@linalg("gemm2")
def gemm2(
    A: jax.Array,
    B: jax.Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
) -> jax.Array:
    """Matrix product, ``alpha op(A) op(B)``.

    Args:
        transpose_a: transpose the left ones first.
        transpose_b: transpose the right ones first.
        axis: the axis of the rows; that of the columns is the last.

    Shapes:
        A: (..., N, K).
        B: (..., K, M).
        returns: (..., N, M).
    """
    return _product("_linalg_gemm2", A, B, transpose_a, transpose_b, alpha, axis)


def _partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    """The result and ``C`` have the shape of the product."""
    made = common("_linalg_gemm: C", [ins[2], *outs])
    if made is None and all(map(complete, ins[:2])):
        names = ("transpose_a", "transpose_b", "axis")
        product = functools.partial(
            _product, "_linalg_gemm", alpha=1.0, **{n: attrs[n] for n in names}
        )
        specs = (jax.ShapeDtypeStruct(plain_sizes(s), jnp.float32) for s in ins[:2] if s)
        made = known_sizes(jax.eval_shape(product, *specs).shape)
    return [*ins[:2], made], [made]


@linalg("gemm", partial=_partial)
def gemm(
    A: jax.Array,
    B: jax.Array,
    C: jax.Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
) -> jax.Array:
    """Matrix product and sum, ``alpha op(A) op(B) + beta C``.

    Args:
        A, B, transpose_a, transpose_b, alpha, axis: see `linalg_gemm2`.
        C: what is added.
        beta: the factor of ``C``.

    Shapes:
        A: (..., N, K).
        B: (..., K, M).
        C: (..., N, M).
        returns: (..., N, M).
    """
    made = _product("_linalg_gemm", A, B, transpose_a, transpose_b, alpha, axis)
    check_shape("_linalg_gemm", "C", C, made.shape)
    return made + scaled(beta, C)


@linalg("syrk")
def syrk(A: jax.Array, *, transpose: bool = False, alpha: float = 1.0) -> jax.Array:
    """A matrix times its transpose, ``alpha A Aᵀ``, or ``alpha Aᵀ A`` with ``transpose``.

    Shapes:
        A: (..., N, M).
        returns: (..., N, N), or (..., M, M).
    """
    check_matrices("_linalg_syrk", A)
    a = transposed(A, transpose)
    return scaled(alpha, jnp.matmul(a, transposed(a), precision=EXACT))
