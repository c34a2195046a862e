"""Elementwise operators."""

import jax.numpy as jnp

from modkit.ops.registry import Traced, op, unary

unary("negative", jnp.negative, "-x")


@op("_plus_scalar", same_shape=True)
def _plus_scalar(data, *, scalar: Traced = 1.0):
    """Add."""
    return (data + scalar).astype(data.dtype)
