"""ROIPooling: the largest value in each bin of regions of images."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import ShapeError
from modkit.interpreter.tracing import platform_dependent
from modkit.ops import loops
from modkit.ops.detection.regions import divided, fits_regions
from modkit.ops.parameters import Shape
from modkit.ops.registry import op


def round_half_away(x: jax.Array) -> jax.Array:
    """To the nearest whole number, halves away from zero."""
    return (jnp.sign(x) * jnp.floor(jnp.abs(x) + 0.5)).astype(jnp.int32)


def _bins(start: jax.Array, end: jax.Array, count: int, size: int) -> tuple[jax.Array, jax.Array]:
    """Begin and end of each of ``count`` bins over ``start`` to ``end``, in ``size`` pixels.

    Shapes:
        start, end: (R,).  returns: twice (R, count).
    """
    extent = jnp.maximum(end - start + 1, 1).astype(jnp.float32)
    width = divided(extent, count)[:, None]
    at = jnp.arange(count, dtype=jnp.float32)
    first = jnp.floor(at * width).astype(jnp.int32) + start[:, None]
    last = jnp.ceil((at + 1) * width).astype(jnp.int32) + start[:, None]
    return jnp.clip(first, 0, size), jnp.clip(last, 0, size)


@op("ROIPooling", precision="float32", fits=fits_regions)
def roi_pooling(
    data: jax.Array, rois: jax.Array, *, pooled_size: Shape, spatial_scale: float
) -> jax.Array:
    """The largest value in each bin of regions of images. Regions have no gradient.

    Args:
        rois: regions: number of the image, then left, top, right and bottom, all inclusive.
        pooled_size: (height, width), how many bins a region has.
        spatial_scale: what coordinates are multiplied by (and rounded) to become pixels.

    Shapes:
        data: (N, C, H, W).
        rois: (R, 5).
        returns: (R, C, height, width); 0 in empty bins and for images that there are not.
    """
    if data.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise ShapeError(
            f"ROIPooling: got data {data.shape} and rois {rois.shape}, expected (N, C, H, W) and "
            "(R, 5)"
        )
    count, channels, height, width = data.shape
    if not data.size:
        return jnp.zeros((len(rois), channels, *pooled_size), data.dtype)
    regions = lax.stop_gradient(rois)
    image = regions[:, 0].astype(jnp.int32)
    known = (image >= 0) & (image < count)
    image = jnp.clip(image, 0, count - 1)
    left, top, right, bottom = round_half_away(regions[:, 1:] * spatial_scale).T
    rows = _bins(top, bottom, pooled_size[0], height)
    columns = _bins(left, right, pooled_size[1], width)

    still = lax.stop_gradient(data)
    largest = functools.partial(_largest, still.transpose(0, 2, 3, 1))
    # On CPUs a loop over regions reads only the pixels of their bins, or of a table four windows
    # for each bin; other devices run all at once.
    many = len(rois) * math.prod(pooled_size) > _MANY * count * height * width
    many &= 4 * data.size * height.bit_length() * width.bit_length() <= _MOST_BYTES
    few = functools.partial(loops.map_rows, largest)
    places = platform_dependent(
        (image, rows, columns),
        cpu=functools.partial(_by_table, still) if many else few,
        default=jax.vmap(largest),
    )
    planes = image[:, None] * channels + jnp.arange(channels)
    at = planes[..., None, None] * (height * width) + places.transpose(0, 3, 1, 2)
    found = data.reshape(data.size).at[at].get(mode="clip")
    full = (rows[0] < rows[1])[:, :, None] & (columns[0] < columns[1])[:, None, :]
    return jnp.where((full & known[:, None, None])[:, None], found, 0)


_MANY = 16
"""Bins for each pixel from which on a table of windows costs less than reading all pixels."""

_MOST_BYTES = 1 << 28
"""The largest table: it has int32 numbers for each kind of window, 36 of images of 50 by 50."""


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
    return loops.fori_loop(0, down * across, visit, (lowest, first))[1]


def _by_table(data: jax.Array, regions: Any) -> jax.Array:
    """`_largest` of all regions, by a sparse table: the maximum of each window of powers of 2.

    A bin is covered by four windows, which may overlap. Pixels are compared by their ranks in the
    plane, of which equal numbers have the first one in row-major order as the highest.

    Shapes:
        data: (N, C, H, W).  returns: (R, h, w, C).
    """
    count, channels, height, width = data.shape
    planes = data.reshape(count * channels, height * width)
    order = jnp.arange(height * width, dtype=jnp.int32)
    places = (height * width - 1 - jnp.argsort(planes[:, ::-1], axis=1)).astype(jnp.int32)
    ranks = jax.vmap(lambda at: jnp.zeros_like(order).at[at].set(order))(places)
    tables = _windows(ranks.reshape(count, channels, height, width).transpose(0, 2, 3, 1))
    across = tables.shape[1]
    rows = tables.reshape(math.prod(tables.shape[:-1]), channels)
    places = places.reshape(-1)

    def one(region: Any) -> jax.Array:
        image, (top, bottom), (left, right) = region
        down, *tops = _cover(top, bottom, height)
        level, *lefts = _cover(left, right, width)
        tables = ((down[:, None] * across + level) * count + image) * (height * width)
        windows = [tables + (y * width)[:, None] + x for y in tops for x in lefts]
        found = [rows.at[at].get(mode="promise_in_bounds") for at in windows]
        rank = functools.reduce(jnp.maximum, found)
        plane = image * channels + jnp.arange(channels, dtype=jnp.int32)
        return places.at[plane * (height * width) + rank].get(mode="promise_in_bounds")

    return loops.map_rows(one, regions, batch_size=_TILE)


_TILE = 64
"""Regions whose windows are read at once, which fit the cache."""


def _windows(pixels: jax.Array) -> jax.Array:
    """Maxima of windows of 1, 2, 4, ... rows and columns; at the far ends shorter ones.

    Shapes:
        pixels: (N, H, W, C).
        returns: (kinds of rows, kinds of columns, N, H, W, C).
    """

    def levels(start: jax.Array, axis: int) -> jax.Array:
        found = [start]
        for level in range(start.shape[axis].bit_length() - 1):
            near = lax.slice_in_dim(found[-1], 1 << level, None, axis=axis)
            far = lax.slice_in_dim(found[-1], start.shape[axis] - (1 << level), None, axis=axis)
            found.append(jnp.maximum(found[-1], lax.concatenate([near, far], axis)))
        return jnp.stack(found)

    return jax.vmap(functools.partial(levels, axis=2))(levels(pixels, 1))


def _cover(begin: jax.Array, end: jax.Array, size: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The two windows that cover each bin: the logarithm of their length, and where they begin."""
    begin = jnp.minimum(begin, size - 1)
    level = 31 - lax.clz(jnp.maximum(end - begin, 1))
    return level, begin, jnp.maximum(end - (1 << level), 0)
