"""Sampling images at computed positions: grids, bilinear samplers, spatial transformers."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ShapeError
from modkit.ops.floating import require_floating
from modkit.ops.parameters import Inert, Shape
from modkit.ops.registry import op


def _affine_grid(matrices: jax.Array, size: Shape, operator: str, steps: Any) -> jax.Array:
    """Positions ``(x, y)`` of a regular grid in [-1, 1], each mapped by the sample's matrix.

    The grid is computed in the element type ``steps``: the slope at a pixel is that of the side
    that the position is rounded to.
    """
    if matrices.ndim != 2 or matrices.shape[1] != 6:
        raise ShapeError(f"{operator}: got matrices of shape {matrices.shape}, expected (N, 6)")
    if len(size) != 2 or min(size) < 1:
        raise ShapeError(f"{operator}: target_shape: got {size}, expected (height, width)")
    down, across = (np.arange(n).astype(steps) * (2 / max(n - 1, 1)) - 1 for n in size)
    y, x = np.meshgrid(down, across, indexing="ij")
    points = np.stack([x, y, np.ones_like(x)]).astype(matrices.dtype)
    by_sample = matrices.reshape(-1, 2, 3)
    return jnp.einsum("nik,khw->nihw", by_sample, points, precision=lax.Precision.HIGHEST)


def _warped_grid(flow: jax.Array) -> jax.Array:
    """Positions of the pixels, each displaced by ``flow`` pixels, in [-1, 1]."""
    if flow.ndim != 4 or flow.shape[1] != 2:
        raise ShapeError(f"GridGenerator: got flow of shape {flow.shape}, expected (N, 2, H, W)")
    height, width = flow.shape[2:]
    pixels = [
        (flow[:, 0] + jnp.arange(width, dtype=flow.dtype)) * (2 / max(width - 1, 1)) - 1,
        (flow[:, 1] + jnp.arange(height, dtype=flow.dtype)[:, None]) * (2 / max(height - 1, 1)) - 1,
    ]
    return jnp.stack(pixels, 1)


@op("GridGenerator", precision="float32")
def grid_generator(
    data: jax.Array, *, transform_type: Literal["affine", "warp"], target_shape: Shape = (0, 0)
) -> jax.Array:
    """Places to sample images at, for `BilinearSampler`: -1 and 1 are the outermost pixels.

    Args:
        data: for ``affine`` the matrix of each sample, row by row; for ``warp`` how many pixels
            each pixel moves.
        target_shape: (height, width) of the grid, for ``affine``.

    Shapes:
        data: (N, 6), or (N, 2, H, W) for ``warp``.
        returns: (N, 2, height, width), x first.

    Differs: a grid of one row or column is at -1, where MXNet returns NaN.
    """
    require_floating(data, "GridGenerator")
    if transform_type == "warp":
        return _warped_grid(data)
    return _affine_grid(data, target_shape, "GridGenerator", data.dtype)


def sample(images: jax.Array, grid: jax.Array) -> jax.Array:
    """Interpolate between the four pixels around each position; outside of the image there is 0.

    Shapes:
        images: (N, C, H, W).  grid: (N, 2, h, w), x first.  returns: (N, C, h, w).
    """
    height, width = images.shape[2:]
    if not height * width:
        return jnp.zeros((*images.shape[:2], *grid.shape[2:]), images.dtype)
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
    """Pixels at whole positions, 0 outside of the image."""
    height, width = images.shape[2:]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    at = [
        jnp.clip(positions, 0, size - 1).astype(jnp.int32)
        for positions, size in ((rows, height), (columns, width))
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


@op("BilinearSampler", precision="float32")
def bilinear_sampler(
    data: jax.Array, grid: jax.Array, *, cudnn_off: Inert[bool | None] = None
) -> jax.Array:
    """Sample images at the positions of a grid, with bilinear interpolation.

    Args:
        grid: positions, see `GridGenerator`; outside of [-1, 1] there are zeros.
        cudnn_off: no effect.

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


@op("SpatialTransformer", precision="float32")
def spatial_transformer(
    data: jax.Array,
    loc: jax.Array,
    *,
    target_shape: Shape = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: Inert[bool | None] = None,
) -> jax.Array:
    """Sample each image on a regular grid that its affine matrix moves.

    Args:
        loc: the matrix of each image, row by row.
        target_shape: (height, width) of the result.
        transform_type: ``affine``.
        sampler_type: ``bilinear``.
        cudnn_off: no effect.

    Shapes:
        data: (N, C, H, W).
        loc: (N, 6).
        returns: (N, C, height, width).
    """
    del transform_type, sampler_type  # there is one of each
    _check_samples(data, loc, "SpatialTransformer")
    return sample(data, _affine_grid(loc, target_shape, "SpatialTransformer", np.float64))
