"""Correlation of the patches of two images, as optical flow networks use it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ParameterError, ShapeError
from modkit.ops import loops
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.registry import op


@op("Correlation", precision="float32", costly=True)
def correlation(
    data1: jax.Array,
    data2: jax.Array,
    *,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
) -> jax.Array:
    """Compare each patch of one image with patches around the same position in another.

    Output channel ``c`` is the mean over patch and channels of the product of both, the second
    one displaced by ``stride2`` times the ``c``-th position of a square of
    ``2 (max_displacement // stride2) + 1`` positions a side.

    Args:
        data1: images.
        data2: images to compare with.
        kernel_size: height and width of a patch, an odd number.
        max_displacement: how far the second patch may be.
        stride1: steps between patches.
        stride2: steps between displacements.
        pad_size: zeros on all sides.
        is_multiply: take products; otherwise absolute differences.

    Shapes:
        data1, data2: (N, C, H, W).
        returns: (N, displacements, h, w).
    """
    require_floating(data1, "Correlation")
    if data1.ndim != 4 or data1.shape != data2.shape:
        raise ShapeError(
            f"Correlation: got {data1.shape} and {data2.shape}, expected one shape (N, C, H, W)"
        )
    if kernel_size % 2 == 0 or min(stride1, stride2) < 1:
        raise ParameterError(
            f"Correlation: got kernel_size {kernel_size}, stride1 {stride1}, stride2 {stride2}, "
            "expected an odd kernel_size and steps of 1 or more"
        )
    pad, reach = (pad_size, pad_size), max_displacement
    first, second = (
        jnp.pad(d.astype(accumulator(d)), [(0, 0), (0, 0), pad, pad]) for d in (data1, data2)
    )
    size = [n - 2 * reach for n in first.shape[2:]]
    if min(size) < kernel_size:
        raise ShapeError(
            f"Correlation: images of {data1.shape[2:]} leave no room for patches of {kernel_size} "
            f"displaced by {reach}; pad more: pad_size"
        )
    still = first[:, :, reach : reach + size[0], reach : reach + size[1]]
    window = (1, kernel_size, kernel_size)

    def compare(start: jax.Array) -> jax.Array:
        zero = jnp.zeros_like(start[0])
        displaced = lax.dynamic_slice(second, [zero, zero, start[0], start[1]], still.shape)
        each = still * displaced if is_multiply else jnp.abs(still - displaced)
        total = lax.reduce_window(
            each.sum(1), each.dtype.type(0), lax.add, window, (1, stride1, stride1), "VALID"
        )
        return total / (kernel_size**2 * still.shape[1])

    made = loops.map_rows(compare, jnp.asarray(_starts(max_displacement, stride2)))
    return jnp.moveaxis(made, 0, 1).astype(data1.dtype)


def _starts(reach: int, stride: int) -> Any:
    """The offsets of displaced patches, row by row."""
    radius = reach // stride
    steps = np.arange(-radius, radius + 1, dtype=np.int32) * stride + reach
    return np.stack([grid.ravel() for grid in np.meshgrid(steps, steps, indexing="ij")], 1)
