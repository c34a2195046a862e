"""Products of arrays: ``dot``, one product a batch, and the columnwise Kronecker product."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.parameters import Attrs, Inert
from modkit.ops.partial_shapes import Rule, Sizes, link, opened
from modkit.ops.registry import op
from modkit.ops.stype import CSR, DENSE, ROWS, Storage

_Wish = Literal["csr", "default", "row_sparse"] | None
"""The storage type that the caller wants for the result, for eager calls only."""


def _dot_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    a, b = ins
    if a is None or b is None:
        return list(ins), list(outs)
    xs, ys = list(a), list(b)
    left = 0 if attrs["transpose_a"] else len(xs) - 1
    right = len(ys) - 1 if attrs["transpose_b"] else 0
    link("dot", xs, left, ys, right)
    rest = [(xs, i) for i in range(len(xs)) if i != left]
    rest += [(ys, i) for i in range(len(ys)) if i != right]
    if not rest:
        return [tuple(xs), tuple(ys)], [(1,)]
    zs = opened("dot", outs[0], len(rest))
    for to, (sizes, at) in enumerate(rest):
        link("dot", sizes, at, zs, to)
    return [tuple(xs), tuple(ys)], [tuple(zs)]


def _dot_storage(stypes: Sequence[str], attrs: Attrs) -> str:
    left, right = stypes
    if attrs.get("forward_stype"):
        return attrs["forward_stype"]
    if left == CSR and right in (DENSE, ROWS) and attrs["transpose_a"]:
        return DENSE if attrs["transpose_b"] else ROWS
    if (left, right) == (DENSE, CSR) and not attrs["transpose_a"]:
        return CSR
    return DENSE


@op(
    "dot",
    precision=("lhs", "rhs"),
    costly=True,
    aliases=("_sparse_dot",),
    partial=_dot_partial,
    storage=Storage(_dot_storage, from_dense=True),
)
def dot(
    lhs: jax.Array,
    rhs: jax.Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Inert[_Wish] = None,
) -> jax.Array:
    """Sum of products over the last axis of ``lhs`` and the first of ``rhs``.

    Args:
        transpose_a: sum over the first axis of ``lhs`` instead.
        transpose_b: sum over the last axis of ``rhs`` instead.
        forward_stype: storage type of the result of a call on arrays; graphs compute dense ones.

    Shapes:
        lhs: (..., K).
        rhs: (K, ...).
        returns: the other axes of ``lhs``, then those of ``rhs``; (1,) for two rows.

    Raises:
        ShapeError: the two axes differ in size.

    Differs: arrays of whole numbers and, on CPUs, of float16 can be multiplied; MXNet refuses them.
    """
    left = 0 if transpose_a else lhs.ndim - 1
    right = rhs.ndim - 1 if transpose_b else 0
    if lhs.shape[left] != rhs.shape[right]:
        raise ShapeError(
            f"dot: got shapes {lhs.shape} and {rhs.shape}, expected axis {left} of the first and "
            f"axis {right} of the second to be of one size "
            f"(transpose_a={transpose_a}, transpose_b={transpose_b})"
        )
    return jnp.atleast_1d(jnp.tensordot(lhs, rhs, axes=((left,), (right,))))


def _batch_dot_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    rank = next((len(shape) for shape in (*ins, *outs) if shape is not None), None)
    if rank is None:
        return list(ins), list(outs)
    xs, ys = (opened("batch_dot", shape, rank) for shape in ins)
    zs = opened("batch_dot", outs[0], rank)
    for i in range(rank - 2):
        for sizes, other in ((xs, ys), (ys, zs), (xs, ys), (xs, zs)):
            link("batch_dot", sizes, i, other, i)
    row, inner = (rank - 1, rank - 2) if attrs["transpose_a"] else (rank - 2, rank - 1)
    depth, column = (rank - 1, rank - 2) if attrs["transpose_b"] else (rank - 2, rank - 1)
    link("batch_dot", xs, inner, ys, depth)
    link("batch_dot", xs, row, zs, rank - 2)
    link("batch_dot", ys, column, zs, rank - 1)
    return [tuple(xs), tuple(ys)], [tuple(zs)]


@op("batch_dot", precision=("lhs", "rhs"), costly=True, partial=_batch_dot_partial)
def batch_dot(
    lhs: jax.Array,
    rhs: jax.Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Inert[_Wish] = None,
) -> jax.Array:
    """Matrix products, one for each index of the leading axes.

    Args:
        transpose_a: transpose the left ones first.
        transpose_b: transpose the right ones first.
        forward_stype: the result is dense whatever it says.

    Shapes:
        lhs: (..., N, K), with one leading axis or more.
        rhs: (..., K, M).
        returns: (..., N, M).

    Raises:
        ShapeError: the shapes do not fit.
    """
    a = jnp.swapaxes(lhs, -1, -2) if transpose_a and lhs.ndim > 1 else lhs
    b = jnp.swapaxes(rhs, -1, -2) if transpose_b and rhs.ndim > 1 else rhs
    fits = a.ndim == b.ndim > 2 and a.shape[:-2] == b.shape[:-2] and a.shape[-1] == b.shape[-2]
    if not fits:
        raise ShapeError(
            f"batch_dot: got shapes {lhs.shape} and {rhs.shape} (transpose_a={transpose_a}, "
            f"transpose_b={transpose_b}), expected (..., N, K) and (..., K, M)"
        )
    return jnp.matmul(a, b)


@op("khatri_rao", precision="float32", variadic="num_args", gradient="refused")
def khatri_rao(*args: jax.Array) -> jax.Array:
    """The Kronecker product column by column.

    Shapes:
        args: (N_i, K).
        returns: (N_0 * N_1 * ..., K).

    Raises:
        ShapeError: the numbers of columns differ.
    """
    if not args or any(a.ndim != 2 or a.shape[1] != args[0].shape[1] for a in args):
        raise ShapeError(
            f"khatri_rao: got shapes {[a.shape for a in args]}, expected matrices with one "
            "number of columns"
        )

    def two(a: jax.Array, b: jax.Array) -> jax.Array:
        return (a[:, None] * b[None]).reshape(len(a) * len(b), a.shape[1])

    return functools.reduce(two, args)


@op("_contrib_div_sqrt_dim", precision="through", same_shape=True)
def div_sqrt_dim(data: jax.Array) -> jax.Array:
    """Divided by the square root of the size of the last axis.

    Whole numbers are divided by the root rounded down, and the quotient is rounded towards 0.

    Shapes:
        data: (..., K).
        returns: as ``data``, and of its type.
    """
    return jax.lax.div(data, jnp.full_like(data, math.sqrt(data.shape[-1])))
