"""ROIPooling: the largest value in each bin of regions of images."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import ShapeError
from modkit.ops.detection.regions import check_scale
from modkit.ops.registry import Shape, op


def round_half_away(x: jax.Array) -> jax.Array:
    """To the nearest whole number, halves away from zero."""
    return (jnp.sign(x) * jnp.floor(jnp.abs(x) + 0.5)).astype(jnp.int32)


def _bins(start: jax.Array, end: jax.Array, count: int, size: int) -> tuple[jax.Array, jax.Array]:
    """Begin and end of each of ``count`` bins over ``start`` to ``end``, in ``size`` pixels.

    Shapes:
        start, end: (R,).  returns: twice (R, count).
    """
    extent = jnp.maximum(end - start + 1, 1).astype(jnp.float32)
    # Not by a constant: XLA multiplies by its reciprocal, which rounds otherwise.
    width = (extent / (0 * extent + count))[:, None]
    at = jnp.arange(count, dtype=jnp.float32)
    first = jnp.floor(at * width).astype(jnp.int32) + start[:, None]
    last = jnp.ceil((at + 1) * width).astype(jnp.int32) + start[:, None]
    return jnp.clip(first, 0, size), jnp.clip(last, 0, size)


@op("ROIPooling", precision="float32")
def roi_pooling(
    data: jax.Array, rois: jax.Array, *, pooled_size: Shape, spatial_scale: float
) -> jax.Array:
    """The largest value in each bin of regions of images. Regions have no gradient.

    Args:
        data: images.
        rois: regions: number of the image, then left, top, right and bottom, all inclusive.
        pooled_size: (height, width), how many bins a region has.
        spatial_scale: what coordinates are multiplied by (and rounded) to become pixels.

    Shapes:
        data: (N, C, H, W).
        rois: (R, 5).
        returns: (R, C, height, width); 0 in empty bins and for images that there are not.
    """
    if data.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5 or len(pooled_size) != 2:
        raise ShapeError(
            f"ROIPooling: got data {data.shape}, rois {rois.shape} and pooled_size {pooled_size}, "
            "expected (N, C, H, W), (R, 5) and (height, width)"
        )
    check_scale("ROIPooling", spatial_scale)
    count, channels, height, width = data.shape
    regions = lax.stop_gradient(rois)
    image = regions[:, 0].astype(jnp.int32)
    known = (image >= 0) & (image < count)
    image = jnp.clip(image, 0, count - 1)
    left, top, right, bottom = round_half_away(regions[:, 1:] * spatial_scale).T
    rows = _bins(top, bottom, pooled_size[0], height)
    columns = _bins(left, right, pooled_size[1], width)

    pixels = lax.stop_gradient(data).transpose(0, 2, 3, 1)
    largest = functools.partial(_largest, pixels)
    # On CPUs a loop over regions reads only the pixels of its bins; other devices run all at once.
    places = lax.platform_dependent(
        (image, rows, columns), cpu=functools.partial(lax.map, largest), default=jax.vmap(largest)
    )
    planes = image[:, None] * channels + jnp.arange(channels)
    found = data.reshape(count * channels, height * width)
    found = found.at[planes[..., None, None], places.transpose(0, 3, 1, 2)].get(mode="clip")
    full = (rows[0] < rows[1])[:, :, None] & (columns[0] < columns[1])[:, None, :]
    return jnp.where((full & known[:, None, None])[:, None], found, 0)


def _largest(pixels: jax.Array, region: Any) -> jax.Array:
    """The index of each bin's maximum in its image; the first of equals in row-major order.

    NaN counts as the largest. Only as many pixels are looked at as the largest bin has.

    Shapes:
        pixels: (N, H, W, C).  returns: (h, w, C).
    """
    image, (top, bottom), (left, right) = region
    width, channels = pixels.shape[2:]
    down, across = (bottom - top).max(), (right - left).max()

    def visit(step: jax.Array, best: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        value, place = best
        row, column = (top + step // across)[:, None], left + step % across
        inside = (row < bottom[:, None]) & (column < right)
        found = pixels.at[image, row, column].get(mode="clip")
        larger = (found > value) | (jnp.isnan(found) & ~jnp.isnan(value))
        taken = inside[..., None] & larger
        here = (row * width + column)[..., None]
        return jnp.where(taken, found, value), jnp.where(taken, here, place)

    shape = (len(top), len(left), channels)
    lowest = jnp.full(shape, -jnp.inf, pixels.dtype)
    first = jnp.broadcast_to((top[:, None] * width + left)[..., None], shape)
    return lax.fori_loop(0, down * across, visit, (lowest, first))[1]
