"""Sums of squares of several arrays: ``multi_sum_sq``, for norms of gradients."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from modkit.ops.inference_rules import float32_result
from modkit.ops.registry import op


@op("multi_sum_sq", precision="float32", variadic="num_arrays", dtypes=float32_result)
def multi_sum_sq(*data: Any) -> Any:
    """The sum of squares of each array.

    Shapes:
        returns: (number of arrays,), of float32.
    """
    return jnp.stack([jnp.sum(jnp.square(a.astype(jnp.float32))) for a in data])
