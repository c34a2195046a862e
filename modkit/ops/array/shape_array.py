"""The shape and the number of elements as arrays: ``shape_array`` and ``size_array``."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from modkit.ops.inference_rules import int64_result
from modkit.ops.registry import op


@op("shape_array", precision="float32", dtypes=int64_result, loss=True)
def shape_array(data: Any) -> Any:
    """The shape of ``data``, as an array of int64."""
    return jnp.array(data.shape, jnp.int64)


@op("size_array", precision="float32", dtypes=int64_result, loss=True)
def size_array(data: Any) -> Any:
    """The number of elements of ``data``, as an array of one int64."""
    return jnp.array([data.size], jnp.int64)
