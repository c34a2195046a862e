"""``one_hot``: a row for each index."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from modkit.ops.array.indexing import whole
from modkit.ops.inference_rules import merge
from modkit.ops.registry import DType, op


@op("one_hot", precision="float32", loss=True, partial=lambda ins, outs, attrs: (
    list(ins),
    [outs[0] if ins[0] is None else merge("one_hot", outs[0], (*ins[0], attrs["depth"]))],
))  # fmt: skip
def one_hot(
    indices: jax.Array,
    *,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DType = "float32",
) -> jax.Array:
    """A row for each index, ``on_value`` at its place and ``off_value`` elsewhere.

    Args:
        indices: places; one outside ``0 .. depth - 1`` gives a row without ``on_value``.
        depth: how long a row is.
        on_value: the value at the place.
        off_value: all the others.
        dtype: type of the result.

    Shapes:
        indices: any.
        returns: ``indices.shape`` and then ``depth``.
    """
    hit = whole(indices)[..., None] == jnp.arange(depth, dtype=jnp.int32)
    kind = jnp.dtype(dtype)
    return jnp.where(hit, jnp.asarray(on_value).astype(kind), jnp.asarray(off_value).astype(kind))
