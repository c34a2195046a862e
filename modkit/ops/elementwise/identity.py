"""The array itself: a copy, and BlockGrad, through which no gradient flows back."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from modkit.ops.registry import unary

unary("_copy", jnp.asarray, "the array itself", aliases=("identity",), precision="through")
unary(
    "BlockGrad",
    jax.lax.stop_gradient,
    "the array itself, through which no gradient flows back",
    aliases=("stop_gradient", "_sparse_stop_gradient"),
    loss=True,
    precision="through",
)
