"""Embedding: rows of a weight, looked up by number."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.ops.array.indexing import within
from modkit.ops.parameters import Attrs, DType, Inert, Size
from modkit.ops.partial_shapes import Rule, Sizes, check_shape, link, merge, opened
from modkit.ops.registry import op
from modkit.ops.stype import Storage


def _embedding_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    data, weight = ins
    weight = merge("Embedding", weight, (attrs["input_dim"], attrs["output_dim"]))
    out = outs[0]
    if data is None:
        return [out[:-1] if out else None, weight], [out]
    xs, ys = list(data), opened("Embedding", out, len(data) + 1)
    for i in range(len(xs)):
        link("Embedding", xs, i, ys, i)
    link("Embedding", [attrs["output_dim"]], 0, ys, len(xs))
    return [tuple(xs), weight], [tuple(ys)]


def _embedding_types(ins: Sequence[Any], attrs: Attrs) -> tuple[list[Any], list[Any]]:
    weight = ins[1] or attrs["dtype"]
    return [ins[0], weight], [weight]


_schema = functools.partial(
    op,
    precision="float32",  # its gradient is a sum of rows
    params=lambda data, *, input_dim, output_dim, **_: {"weight": (input_dim, output_dim)},
    partial=_embedding_partial,
    dtypes=_embedding_types,
)


@_schema(
    "Embedding",
    aliases=("_sparse_Embedding",),
    storage=Storage(from_dense=True, picks_rows=lambda attrs: bool(attrs["sparse_grad"])),
)
def embedding(
    data: jax.Array,
    weight: jax.Array,
    *,
    input_dim: Size,
    output_dim: Size,
    dtype: Inert[DType] = "float32",  # inference alone reads it
    sparse_grad: Inert[bool] = False,
) -> jax.Array:
    """Rows of ``weight``, looked up by number.

    Args:
        data: row numbers; fractions are cut off, and an outside one is taken for the nearest.
        output_dim: how long a row is.
        dtype: the type of a weight without a known type.
        sparse_grad: the gradient of the weight is row-sparse: it holds the rows that are looked up,
            and lazy optimizers leave the others alone.

    Shapes:
        data: any.
        weight: (``input_dim``, ``output_dim``).
        returns: ``data.shape`` and then ``output_dim``.

    Raises:
        ShapeError: the weight has another shape.
        ParameterError: in eager calls with a row-sparse weight, and in the backward pass for a
            row-sparse gradient: a row number is outside.

    Differs: a compiled graph cannot raise: with a row-sparse weight or gradient, too, a row number
        outside is taken for the nearest.
    """
    check_shape("Embedding", "weight", weight, (input_dim, output_dim))
    return jnp.take(weight, within(data, input_dim, "clip"), axis=0, mode="clip")


@_schema(
    "_contrib_SparseEmbedding", storage=Storage(from_dense=True, picks_rows=lambda attrs: True)
)
def sparse_embedding(
    data: jax.Array,
    weight: jax.Array,
    *,
    input_dim: Size,
    output_dim: Size,
    dtype: Inert[DType] = "float32",
) -> jax.Array:
    """Rows of ``weight``, looked up by number, with a row-sparse gradient.

    Arguments and shapes are those of `Embedding`.
    """
    return embedding(data, weight, input_dim=input_dim, output_dim=output_dim)
