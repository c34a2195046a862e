"""``cumsum``: running sums along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import jax
import jax.numpy as jnp

from modkit.ops.parameters import Attrs
from modkit.ops.partial_shapes import Rule, Sizes, check_axis, like_first
from modkit.ops.registry import op


def _cumsum_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    return (list(ins), list(outs)) if attrs["axis"] is None else like_first()(ins, outs, attrs)


def _type_of_sums(dtype: str | None, attrs: Attrs) -> str | None:
    return attrs["dtype"] or ("int64" if dtype == "bool" else dtype)


@op(
    "_np_cumsum",
    precision="float32",
    aliases=("cumsum",),
    partial=_cumsum_partial,
    dtypes=lambda ins, attrs: (list(ins), [_type_of_sums(ins[0], attrs)]),
)
def cumsum(
    a: jax.Array,
    *,
    axis: int | None = None,
    dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
) -> jax.Array:
    """Running sums along an axis.

    Args:
        axis: the axis; default: of the array as one row.
        dtype: type of the sums; default that of ``a``, int64 for bool.

    Shapes:
        a: any.
        returns: as ``a``; without an axis one row.
    """
    kind = jnp.dtype(_type_of_sums(str(a.dtype), {"dtype": dtype}))
    if axis is None:
        return jnp.cumsum(a.ravel().astype(kind), dtype=kind)
    return jnp.cumsum(a.astype(kind), check_axis("cumsum", axis, a.ndim), dtype=kind)
