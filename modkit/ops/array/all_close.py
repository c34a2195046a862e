"""``_contrib_allclose``: whether two arrays are equal up to a tolerance."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from modkit.ops.parameters import Traced
from modkit.ops.partial_shapes import common
from modkit.ops.registry import op


@op(
    "_contrib_allclose",
    precision="float32",
    partial=lambda ins, outs, attrs: ([common("b", ins)] * 2, list(outs)),
    dtypes=lambda ins, _attrs: ([ins[0] or ins[1]] * 2, ["uint8"]),
    gradient="refused",
)
def allclose(
    a: Any, b: Any, *, rtol: Traced = 1e-5, atol: Traced = 1e-8, equal_nan: bool = True
) -> Any:
    """1 if ``|a - b| <= atol + rtol |b|``, or ``a = b``, for all elements, else 0.

    As in MXNet, an infinite element of ``b`` is close to anything, if ``rtol`` is above 0.

    Args:
        a: any shape.
        b: of the same shape and type.

    Shapes:
        returns: (), of uint8.
    """
    wide = jnp.promote_types(a.dtype, jnp.float32)
    x, y = a.astype(wide), b.astype(wide)
    close = (a == b) | (jnp.abs(x - y) <= atol + rtol * jnp.abs(y))
    if equal_nan:
        close |= jnp.isnan(x) & jnp.isnan(y)
    return jnp.all(close).astype(jnp.uint8)
