"""The first version of pooling, which old models have."""

from __future__ import annotations

import functools
import math
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.interpreter.reverse import CustomVjp, vjp
from modkit.ops.floating import require_floating
from modkit.ops.nn.pooling import pool_sum, sizes_of, windows_of
from modkit.ops.nn.windows import Windows, largest
from modkit.ops.own_gradient import gradient_of
from modkit.ops.parameters import Shape
from modkit.ops.registry import op


@functools.partial(CustomVjp, nondiff_argnums=(1,))
def _pool_max_all(data: jax.Array, windows: Windows) -> jax.Array:
    """The largest of each window, the zeros of padding included; all equal ones have gradient."""
    padded = jnp.pad(data, [(p, p) for p in windows.pad])
    return largest(padded, windows._replace(pad=(0,) * data.ndim))


@gradient_of(_pool_max_all, 0, and_result=True)
def _pool_max_all_backward(windows: Windows, saved: Any, cotangent: jax.Array) -> tuple[jax.Array]:
    data, largest = saved
    if windows.size[2:] == data.shape[2:] and not any(windows.pad):  # one window, seen at once
        return (jnp.where(data == largest, cotangent, 0),)
    taps, pull = vjp(lambda x: windows.taps(x, 0), data)
    return pull([jnp.where(tap == largest, cotangent, 0) for tap in taps])


@op("Pooling_v1", precision="through", fits=sizes_of)
def pooling_v1(
    data: jax.Array,
    *,
    kernel: Shape = (),
    pool_type: Literal["max", "avg", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["valid", "full"] = "valid",
    stride: Shape = (),
    pad: Shape = (),
) -> jax.Array:
    """Pooling as early models have it, channels first.

    It differs from `pooling` in padding with zeros that can be the largest, in giving the
    gradient to all largest elements, and in dividing by the size of the whole window.

    Args:
        kernel: sizes of the window: (h, w) or (d, h, w).
        pool_type: what is taken of each window.
        global_pool: one window over all of space.
        pooling_convention: how sizes are rounded.
        stride: steps, default 1 each.
        pad: zeros on both sides, default 0 each.

    Shapes:
        data: (N, C, *space).
        returns: the same with other spatial sizes.
    """
    require_floating(data, "Pooling_v1")
    attrs = {"kernel": kernel, "stride": stride, "pad": pad, "global_pool": global_pool}
    windows = windows_of(data.shape, {**attrs, "pooling_convention": pooling_convention})
    if pool_type == "max":
        return _pool_max_all(data, windows)
    total = pool_sum(data, windows)
    if pool_type == "avg":
        total = total / math.prod(windows.size)
    return total.astype(data.dtype)
