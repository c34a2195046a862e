"""Element types that operators compute in."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import DTypeError


def require_floating(data: jax.Array, operator: str) -> None:
    """Raise DTypeError for whole numbers and truth values, as MXNet where results are fractions."""
    if not jnp.issubdtype(data.dtype, jnp.floating):
        raise DTypeError(
            f"{operator}: got data of type {data.dtype}, expected a floating point type. "
            "Cast it first: cast(data, dtype='float32')"
        )


def accumulator(data: jax.Array) -> Any:
    """The type to sum ``data`` in: its own, or float32 for the 16-bit ones."""
    return jnp.promote_types(data.dtype, jnp.float32)
