"""Sampling images at computed places: grids, spatial transformers, regions of interest."""

from __future__ import annotations

import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import ShapeError
from modkit.ops.floating import require_floating
from modkit.ops.registry import Shape, op

_CUDNN = {"cudnn_off": (bool | None, None)}


# ── Grids ───────────────────────────────────────────────────────────────────────────────────


def _affine_grid(matrices: jax.Array, size: Shape, operator: str) -> jax.Array:
    """Places ``(x, y)`` of a regular grid in [-1, 1], each moved by the sample's matrix."""
    if matrices.ndim != 2 or matrices.shape[1] != 6:
        raise ShapeError(f"{operator}: got matrices of shape {matrices.shape}, expected (N, 6)")
    if len(size) != 2 or min(size) < 1:
        raise ShapeError(f"{operator}: target_shape: got {size}, expected (height, width)")
    down, across = (jnp.arange(n, dtype=matrices.dtype) * (2 / max(n - 1, 1)) - 1 for n in size)
    y, x = jnp.meshgrid(down, across, indexing="ij")
    points = jnp.stack([x, y, jnp.ones_like(x)])
    by_sample = matrices.reshape(-1, 2, 3)
    return jnp.einsum("nik,khw->nihw", by_sample, points, precision=lax.Precision.HIGHEST)


def _warped_grid(flow: jax.Array) -> jax.Array:
    """Places of the pixels, each moved by ``flow`` pixels, in [-1, 1]."""
    if flow.ndim != 4 or flow.shape[1] != 2:
        raise ShapeError(f"GridGenerator: got flow of shape {flow.shape}, expected (N, 2, H, W)")
    height, width = flow.shape[2:]
    pixels = [
        (flow[:, 0] + jnp.arange(width, dtype=flow.dtype)) * (2 / max(width - 1, 1)) - 1,
        (flow[:, 1] + jnp.arange(height, dtype=flow.dtype)[:, None]) * (2 / max(height - 1, 1)) - 1,
    ]
    return jnp.stack(pixels, 1)


@op("GridGenerator")
def grid_generator(
    data: jax.Array,
    *,
    transform_type: Literal["affine", "warp"],
    target_shape: Shape = (0, 0),
) -> jax.Array:
    """Places to sample images at, for `BilinearSampler`: -1 and 1 are the outermost pixels.

    Args:
        data: for ``affine`` the matrix of each sample, row by row; for ``warp`` how many pixels
            each pixel moves.
        transform_type: which.
        target_shape: (height, width) of the grid, for ``affine``.

    Shapes:
        data: (N, 6), or (N, 2, H, W) for ``warp``.
        returns: (N, 2, height, width), x first.

    Differs: a grid of one row or column is at -1, where MXNet returns NaN.
    """
    require_floating(data, "GridGenerator")
    if transform_type == "warp":
        return _warped_grid(data)
    return _affine_grid(data, target_shape, "GridGenerator")


# ── Sampling ────────────────────────────────────────────────────────────────────────────────


def sample(images: jax.Array, grid: jax.Array) -> jax.Array:
    """Interpolate between the four pixels around each place; outside of the image there is 0.

    Shapes:
        images: (N, C, H, W).  grid: (N, 2, h, w), x first.  returns: (N, C, h, w).
    """
    height, width = images.shape[2:]
    x = (grid[:, 0] + 1) * ((width - 1) / 2)
    y = (grid[:, 1] + 1) * ((height - 1) / 2)
    left, top = jnp.floor(x), jnp.floor(y)
    total: Any = 0
    for down, row_weight in ((top, 1 - (y - top)), (top + 1, y - top)):
        for across, weight in ((left, 1 - (x - left)), (left + 1, x - left)):
            pixels = _pixels(images, down, across)
            total = total + pixels * (row_weight * weight)[:, None]
    return total


def _pixels(images: jax.Array, rows: jax.Array, columns: jax.Array) -> jax.Array:
    """Pixels at whole places, 0 outside of the image."""
    height, width = images.shape[2:]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    at = [
        jnp.clip(places, 0, size - 1).astype(jnp.int32)
        for places, size in ((rows, height), (columns, width))
    ]
    found = jax.vmap(lambda image, r, c: image[:, r, c])(images, *at)
    return jnp.where(inside[:, None], found, 0)


def _check_samples(data: jax.Array, grid: jax.Array, operator: str) -> None:
    require_floating(data, operator)
    if data.ndim != 4 or len(grid) != len(data):
        raise ShapeError(
            f"{operator}: got data of shape {data.shape} and {len(grid)} grids, expected "
            "(N, C, H, W) and N"
        )


@op("BilinearSampler", inert=_CUDNN)
def bilinear_sampler(data: jax.Array, grid: jax.Array) -> jax.Array:
    """Sample images at the places that a grid holds, with bilinear interpolation.

    Args:
        data: images.
        grid: places, see `GridGenerator`; outside of [-1, 1] there are zeros.

    Shapes:
        data: (N, C, H, W).
        grid: (N, 2, height, width), x first.
        returns: (N, C, height, width).
    """
    _check_samples(data, grid, "BilinearSampler")
    if grid.ndim != 4 or grid.shape[1] != 2:
        raise ShapeError(
            f"BilinearSampler: grid: got shape {grid.shape}, expected (N, 2, height, width)"
        )
    return sample(data, grid)


@op("SpatialTransformer", inert=_CUDNN)
def spatial_transformer(
    data: jax.Array,
    loc: jax.Array,
    *,
    target_shape: Shape = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
) -> jax.Array:
    """Sample each image on a regular grid that its affine matrix moves.

    Args:
        data: images.
        loc: the matrix of each image, row by row.
        target_shape: (height, width) of the result.
        transform_type: ``affine``.
        sampler_type: ``bilinear``.

    Shapes:
        data: (N, C, H, W).
        loc: (N, 6).
        returns: (N, C, height, width).
    """
    del transform_type, sampler_type  # there is one of each
    _check_samples(data, loc, "SpatialTransformer")
    return sample(data, _affine_grid(loc, target_shape, "SpatialTransformer"))


# ── Regions of interest ─────────────────────────────────────────────────────────────────────


def _round(x: jax.Array) -> jax.Array:
    """To the nearest whole number, halves away from zero."""
    return (jnp.sign(x) * jnp.floor(jnp.abs(x) + 0.5)).astype(jnp.int32)


def _bins(start: jax.Array, end: jax.Array, count: int, size: int) -> tuple[jax.Array, jax.Array]:
    """Where each of ``count`` bins over ``start`` to ``end`` begins and ends, in ``size`` cells.

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


@op("ROIPooling")
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
    count, channels, height, width = data.shape
    regions = lax.stop_gradient(rois)
    image = regions[:, 0].astype(jnp.int32)
    known = (image >= 0) & (image < count)
    image = jnp.clip(image, 0, count - 1)
    left, top, right, bottom = _round(regions[:, 1:] * spatial_scale).T
    rows = _bins(top, bottom, pooled_size[0], height)
    columns = _bins(left, right, pooled_size[1], width)

    pixels = lax.stop_gradient(data).transpose(0, 2, 3, 1)
    largest = functools.partial(_largest, pixels)
    # A loop over regions is bound by each one's own bins; other devices want all at once.
    places = lax.platform_dependent(
        (image, rows, columns), cpu=functools.partial(lax.map, largest), default=jax.vmap(largest)
    )
    planes = image[:, None] * channels + jnp.arange(channels)
    found = data.reshape(count * channels, height * width)
    found = found.at[planes[..., None, None], places.transpose(0, 3, 1, 2)].get(mode="clip")
    full = (rows[0] < rows[1])[:, :, None] & (columns[0] < columns[1])[:, None, :]
    return jnp.where((full & known[:, None, None])[:, None], found, 0)


def _largest(pixels: jax.Array, region: Any) -> jax.Array:
    """Where in an image the largest pixel of each bin is: of equal ones the first, rows first.

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
