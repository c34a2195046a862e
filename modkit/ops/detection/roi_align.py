"""ROIAlign and its rotated form: means of interpolated points of regions of images."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ShapeError
from modkit.ops.detection import regions as regions_
from modkit.ops.detection.regions import BinReader, BinTaps, bilinear, fits_regions
from modkit.ops.parameters import Shape
from modkit.ops.registry import op


def _grid(extent: jax.Array, bins: int, ratio: int) -> jax.Array:
    """The number of points of a bin along an axis."""
    if ratio > 0:
        return jnp.full(extent.shape, ratio, jnp.int32)
    return jnp.ceil(regions_.divided(extent, bins)).astype(jnp.int32)


def _steps(region: dict[str, jax.Array]) -> jax.Array:
    return region["down"] * region["across"]


def _points(
    region: dict[str, jax.Array], step: jax.Array, bins: tuple[int, int]
) -> tuple[jax.Array, jax.Array]:
    """Rows (h, 1) and columns (w,) of a point of each bin."""
    row, column = step // region["across"], step % region["across"]
    places = []
    for start, extent, count, at, points in (
        ("top", "height", bins[0], row, region["down"]),
        ("left", "width", bins[1], column, region["across"]),
    ):
        side = regions_.divided(region[extent], count)
        places.append(region[start] + jnp.arange(count) * side + (at + 0.5) * side / points)
    return places[0][:, None], places[1]


def _mean(region: dict[str, jax.Array], taps: list[BinTaps]) -> list[BinTaps]:
    count = jnp.maximum(_steps(region), 1)
    return [BinTaps(row, column, weight / count) for row, column, weight in taps]


@op("_contrib_ROIAlign", precision="float32", costly=True, fits=fits_regions)
def roi_align(
    data: jax.Array,
    rois: jax.Array,
    *,
    pooled_size: Shape,
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
) -> jax.Array:
    """The mean of bilinearly interpolated points in each bin of regions (He et al., 2017).

    Regions have no gradient.

    Args:
        rois: regions: number of the image, left, top, right, bottom. A number that no image has
            gives zeros.
        pooled_size: (height, width), how many bins a region has.
        spatial_scale: factor from the regions' coordinates to pixels.
        sample_ratio: points of a bin along each axis; 0 or less: one for each pixel, rounded up.
        position_sensitive: each bin reads channels of its own.
        aligned: the centre of a pixel is half a pixel from its corner; else regions have a side of
            at least one pixel.

    Shapes:
        data: (N, C, H, W).
        rois: (R, 5).
        returns: (R, C, height, width); with ``position_sensitive`` C / (height width) channels.

    Raises:
        ShapeError: an array has another shape, or the bins do not divide the channels.
        ParameterError: ``pooled_size`` is not two positive numbers, or ``spatial_scale`` is not
            from 0 to 1.

    Differs: regions without an area give zeros with ``aligned``; MXNet 1.9.1 ends the process.
    """
    name = "_contrib_ROIAlign"
    regions_.check_regions(name, data, rois, 5)
    bins = pooled_size[0], pooled_size[1]
    parts = math.prod(bins) if position_sensitive else 1
    if data.shape[1] % parts:
        raise ShapeError(
            f"{name}: got {data.shape[1]} channels, expected a multiple of the {parts} bins with "
            "position_sensitive"
        )
    boxes = lax.stop_gradient(rois).astype(jnp.promote_types(rois.dtype, jnp.float32))
    offset = 0.5 if aligned else 0.0
    left, top, right, bottom = boxes[:, 1:].T * spatial_scale - offset
    least = -jnp.inf if aligned else 1
    sides = jnp.maximum(bottom - top, least), jnp.maximum(right - left, least)
    region = {"top": top, "left": left, "height": sides[0], "width": sides[1]}
    region["down"] = _grid(sides[0], bins[0], sample_ratio)
    region["across"] = _grid(sides[1], bins[1], sample_ratio)
    height, width = data.shape[2:]

    def taps(region: dict[str, jax.Array], step: jax.Array) -> list[BinTaps]:
        return _mean(region, bilinear(*_points(region, step, bins), height, width))

    part = np.arange(parts).reshape(bins) if position_sensitive else np.zeros(bins, int)
    image = boxes[:, 0].astype(jnp.int32)
    pixels = regions_.channels_last(data, parts)
    found = regions_.total(BinReader(_steps, taps, bins, part), pixels, image, region)
    return regions_.channels_first(found, data.dtype)


@op("_contrib_RROIAlign", precision="float32", costly=True, fits=fits_regions, gradient="refused")
def rotated_roi_align(
    data: jax.Array,
    rois: jax.Array,
    *,
    pooled_size: Shape,
    spatial_scale: float,
    sampling_ratio: int = -1,
) -> jax.Array:
    """`roi_align` of rotated regions (Ma et al., 2018), without a gradient.

    Args:
        data, pooled_size, spatial_scale: see `ROIAlign`.
        rois: regions: number of the image, centre (x, y), width, height, and angle in degrees,
            from the x axis towards the negative y axis.
        sampling_ratio: points of a bin along each axis; 0 or less: one for each pixel, rounded up.

    Shapes:
        data: (N, C, H, W).
        rois: (R, 6).
        returns: (R, C, height, width).

    Raises:
        ShapeError: an array has another shape.
        ParameterError: ``pooled_size`` is not two positive numbers, or ``spatial_scale`` is not
            from 0 to 1.
    """
    name = "_contrib_RROIAlign"
    regions_.check_regions(name, data, rois, 6)
    bins = pooled_size[0], pooled_size[1]
    boxes = lax.stop_gradient(rois).astype(jnp.promote_types(rois.dtype, jnp.float32))
    middle_x, middle_y, broad, tall = boxes[:, 1:5].T * spatial_scale
    angle = boxes[:, 5] * (math.pi / 180)
    sides = jnp.maximum(tall, 1), jnp.maximum(broad, 1)
    region = {"x": middle_x, "y": middle_y, "height": sides[0], "width": sides[1]}
    region |= {"top": -sides[0] / 2, "left": -sides[1] / 2}
    region |= {"cos": jnp.cos(angle), "sin": jnp.sin(angle)}
    region["down"] = _grid(sides[0], bins[0], sampling_ratio)
    region["across"] = _grid(sides[1], bins[1], sampling_ratio)
    height, width = data.shape[2:]

    def taps(region: dict[str, jax.Array], step: jax.Array) -> list[BinTaps]:
        y, x = _points(region, step, bins)
        down = y * region["cos"] - x * region["sin"] + region["y"]
        across = x * region["cos"] + y * region["sin"] + region["x"]
        return _mean(region, bilinear(down, across, height, width))

    reader = BinReader(_steps, taps, bins, np.zeros(bins, int))
    image = boxes[:, 0].astype(jnp.int32)
    found = regions_.total(reader, regions_.channels_last(data, 1), image, region)
    return regions_.channels_first(found, data.dtype)
