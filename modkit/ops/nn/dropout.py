"""Dropout: zero a random part of the elements."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from modkit.ops.floating import require_floating
from modkit.ops.parameters import Axes, Fraction, Inert
from modkit.ops.partial_shapes import check_axis
from modkit.ops.registry import op

_RARE = 2.0**-8
"""Fractions from here to ``1 - _RARE`` are hit by 16 bits closely enough."""


def dropped(data: jax.Array, p: float, key: Any, shape: tuple[int, ...] | None = None) -> jax.Array:
    """``data`` with a random fraction ``p`` zeroed and the rest scaled up by 1 / (1 - p).

    It is multiplied by 0 and 1 / (1 - p), so infinities that are dropped are NaN, as in MXNet.

    Args:
        data: any shape.
        p: the fraction, from 0 to 1.
        shape: of the mask, if it is to be broadcast; default that of ``data``.
    """
    if p == 1:  # 0 / 0 in MXNet 1.9.1
        return data * jnp.nan
    # The backward pass reads the mask, and must not draw it anew.
    keep = jax.lax.optimization_barrier(_mask(key, 1 - p, data.shape if shape is None else shape))
    return data * jnp.where(keep, 1 / (1 - p), 0).astype(data.dtype)


def _mask(key: Any, fraction: float, shape: tuple[int, ...]) -> jax.Array:
    """True at a random ``fraction`` of the places: two of them for each 32 bits that are drawn.

    16 bits miss the fraction by 2^-17 at most, which is a 500th of the smallest that takes them.
    """
    if not _RARE <= fraction <= 1 - _RARE:
        # In float32, so that the stream is the same inside and outside the 64-bit scope.
        return jax.random.bernoulli(key, np.float32(fraction), shape)
    size = math.prod(shape)
    words = jax.random.bits(key, (-(-size // 2),), "uint32")
    halves = jnp.concatenate([words & 0xFFFF, words >> 16])[:size]
    return (halves < round(fraction * (1 << 16))).reshape(shape)


@op("Dropout", precision="through", same_shape=True)
def dropout(
    data: jax.Array,
    *,
    p: Fraction = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: Axes | None = (),
    cudnn_off: Inert[bool | None] = False,
    key: Any,
    train: bool,
) -> jax.Array:
    """Zero a random fraction ``p`` of the elements and scale the rest by 1 / (1 - p).

    In training only, unless ``mode="always"``. With ``p=1`` the result is NaN.

    Args:
        p: the fraction to zero.
        axes: axes along which one decision holds for all elements.
        cudnn_off: no effect.

    Shapes:
        data: any.
        returns: as ``data``.

    Raises:
        ParameterError: an axis is not one of ``data``.
    """
    require_floating(data, "Dropout")
    shared = {check_axis("Dropout", a, data.ndim, what="axes") for a in axes or ()}
    if p == 0 or not (train or mode == "always"):
        return data
    shape = tuple(1 if axis in shared else size for axis, size in enumerate(data.shape))
    return dropped(data, p, key, shape)
