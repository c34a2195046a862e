"""Mean pooling to a given size: AdaptiveAvgPooling2D."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import wrong
from modkit.ops.floating import require_floating
from modkit.ops.nn.bilinear_resize import check_images, resample
from modkit.ops.parameters import Shape
from modkit.ops.registry import op


def averages(size: int, count: int) -> np.ndarray:
    """Weights of ``size`` positions in ``count`` means over equal, maybe overlapping ranges."""
    weights = np.zeros((count, size))
    for i in range(count):
        start, end = i * size // count, -(-(i + 1) * size // count)
        weights[i, start:end] = 1 / (end - start)
    return weights


@op("_contrib_AdaptiveAvgPooling2D", precision="float32", costly=True)
def adaptive_avg_pooling(data: jax.Array, *, output_size: Shape = ()) -> jax.Array:
    """Mean pooling to a given size.

    Output row ``i`` of ``n`` is the mean of the rows ``floor(i H / n)`` to
    ``ceil((i + 1) H / n) - 1``; columns likewise.

    Args:
        output_size: (height, width), or one number for both, default 1.

    Shapes:
        data: (N, C, H, W).
        returns: (N, C, height, width).

    Differs: a NaN or infinity makes all means of its channel not finite; in MXNet only those of
    windows that contain it.
    """
    require_floating(data, "AdaptiveAvgPooling2D")
    check_images(data, "AdaptiveAvgPooling2D")
    sizes = list(output_size) or [1]
    if len(sizes) > 2 or min(sizes) < 1:
        expected = "(height, width) or one number, 1 or more"
        raise wrong("AdaptiveAvgPooling2D: output_size", output_size, expected)
    if not all(data.shape[2:]):  # means of no pixels
        return jnp.full((*data.shape[:2], sizes[0], sizes[-1]), np.nan, data.dtype)
    return resample(data, averages(data.shape[2], sizes[0]), averages(data.shape[3], sizes[-1]))
