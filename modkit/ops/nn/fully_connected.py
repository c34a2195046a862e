"""The fully connected layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import jax
from jax import lax

from modkit.errors import ShapeError
from modkit.ops.parameters import Shape, Size
from modkit.ops.registry import op


def _dense_params(data: Shape, *, num_hidden: int, flatten: bool, **_: Any) -> Mapping[str, Shape]:
    fan_in = math.prod(data[1:]) if flatten else data[-1]
    return {"weight": (num_hidden, fan_in), "bias": (num_hidden,)}


@op(
    "FullyConnected",
    precision=("data", "weight"),
    costly=True,
    aliases=("_sparse_FullyConnected",),
    params=_dense_params,
    when={"bias": lambda attrs: not attrs["no_bias"]},
)
def fully_connected(
    data: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None = None,
    *,
    num_hidden: Size,
    no_bias: bool = False,
    flatten: bool = True,
) -> jax.Array:
    """Affine map, ``y = x Wᵀ + b``.

    Args:
        weight: one row for each output.
        bias: one value for each output; absent with ``no_bias``.
        flatten: take all axes but the first as one; otherwise map the last axis only.

    Shapes:
        data: (N, ...), taken as (N, K); with ``flatten=False``, (..., K).
        weight: (num_hidden, K).
        bias: (num_hidden,).
        returns: (N, num_hidden); with ``flatten=False``, (..., num_hidden).
    """
    x = data.reshape(data.shape[0], math.prod(data.shape[1:])) if flatten else data
    if weight.shape != (num_hidden, x.shape[-1]):
        raise ShapeError(
            f"FullyConnected: weight: got shape {weight.shape}, "
            f"expected ({num_hidden}, {x.shape[-1]}) for data of shape {data.shape}"
        )
    y = lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))
    return y if bias is None else (y + bias).astype(y.dtype)
