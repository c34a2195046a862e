"""``clip``: values between two bounds."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from modkit.ops.registry import Traced, op


def _bound(value: Any, dtype: Any) -> jax.Array:
    """A bound in the array's type; the nearest there is, for whole numbers."""
    value = jnp.asarray(value)
    if jnp.issubdtype(dtype, jnp.integer):
        limits = jnp.iinfo(dtype)
        value = jnp.clip(value, float(limits.min), float(limits.max))
    return value.astype(dtype)


@op("clip", precision="through", aliases=("_sparse_clip",), same_shape=True, elementwise=True)
def clip(data: jax.Array, *, a_min: Traced, a_max: Traced) -> jax.Array:
    """Values below ``a_min`` become ``a_min``, values above ``a_max`` become ``a_max``.

    The gradient passes where the value stays, also at the bounds themselves.

    Args:
        data: any array.
        a_min: the lower bound; of whole numbers its whole part.
        a_max: the upper bound; it wins where the two are in the wrong order.

    Shapes:
        data: any.
        returns: as ``data``.
    """
    low, high = _bound(a_min, data.dtype), _bound(a_max, data.dtype)
    return jnp.where(data > high, high, jnp.where(data < low, low, data))
