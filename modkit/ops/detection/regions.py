"""Sums of pixels at computed positions of regions of images, and their gradient."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ShapeError, expect
from modkit.interpreter.reverse import CustomVjp
from modkit.interpreter.tracing import platform_dependent
from modkit.ops import loops
from modkit.ops.own_gradient import gradient_of
from modkit.ops.parameters import Attrs


class BinTaps(NamedTuple):
    """Pixels to add, one for each bin: row, column, and weight; all broadcast to the bins.

    A weight below 0 stands for no pixel; one of 0 times infinity is NaN.
    """

    row: jax.Array
    column: jax.Array
    weight: jax.Array


class BinReader(NamedTuple):
    """The pixels that a region adds up.

    Args:
        steps: ``steps(region)``, how many sets of taps the region has.
        taps: ``taps(region, step)``, the sets of this step.
        bins: rows and columns of bins.
        parts: the part of the channels that each bin reads, broadcast to the bins.
    """

    steps: Callable[[Any], jax.Array]
    taps: Callable[[Any, jax.Array], list[BinTaps]]
    bins: tuple[int, int]
    parts: np.ndarray


def bilinear(y: jax.Array, x: jax.Array, height: int, width: int) -> list[BinTaps]:
    """The four neighbours of points, with their weights: those of ROIAlign.

    Points up to one pixel outside read the border, those beyond that no pixel.
    """
    sides = []
    for at, size in ((y, height), (x, width)):
        inside = (at >= -1) & (at <= size)
        at = jnp.maximum(at, 0)
        low = jnp.minimum(jnp.floor(at), size - 1)
        far = jnp.where(low < size - 1, at - low, 0)
        low = low.astype(jnp.int32)
        high = jnp.minimum(low + 1, size - 1)
        sides.append(((low, 1 - far, inside), (high, far, inside)))
    rows, columns = sides
    return [
        BinTaps(row, column, jnp.where(tall & broad, v * w, -1))
        for row, v, tall in rows
        for column, w, broad in columns
    ]


@functools.partial(CustomVjp, nondiff_argnums=(0,))
def total(reader: BinReader, pixels: jax.Array, image: jax.Array, regions: Any) -> jax.Array:
    """The weighted sum of each bin's pixels; 0 where the index of the image is out of range.

    Regions have no gradient. On CPUs a loop over tiles of regions, sorted by their numbers of
    steps, keeps sums in the cache; other devices take all regions in one step.

    Shapes:
        pixels: (N, H, W, P, C), P parts of C channels.
        image: (R,), integers.
        regions: arrays (R, ...).
        returns: (R, *bins, C).
    """
    rows = pixels.reshape(math.prod(pixels.shape[:4]), pixels.shape[-1])

    def sums(each: Any) -> jax.Array:
        steps, _ = each

        def add(step: jax.Array, sums: jax.Array) -> jax.Array:
            for row, weight in _rows(reader, pixels.shape, each, step):
                found = rows.at[row].get(mode="promise_in_bounds")
                used = (step < steps)[:, None, None, None] & ~(weight[..., None] < 0)
                sums = jnp.where(used, sums + (weight[..., None] * found).astype(sums.dtype), sums)
            return sums

        start = jnp.zeros((len(steps), *reader.bins, pixels.shape[-1]), pixels.dtype)
        return loops.fori_loop(0, steps.max(initial=0), add, start)

    def by_tiles(each: Any) -> jax.Array:
        order, tiles = _tiles(reader, pixels.shape[-1], each)
        found = loops.map_rows(sums, tiles)
        found = found.reshape(math.prod(found.shape[:2]), *found.shape[2:])
        return found[jnp.argsort(order)]

    each = _each(reader, pixels.shape[0], image, regions)
    return platform_dependent(each, cpu=by_tiles, default=sums)


_SUMS = 1 << 16
"""About the number of sums in a tile, which fit the cache."""


def _each(reader: BinReader, images: int, image: jax.Array, regions: Any) -> Any:
    """The steps of each region, 0 if its image does not exist; then (image, regions)."""
    known = (image >= 0) & (image < images)
    return jnp.where(known, jax.vmap(reader.steps)(regions), 0), (image, regions)


def _tiles(reader: BinReader, channels: int, each: Any) -> tuple[jax.Array, Any]:
    """The order that sorts regions by steps, and ``each`` in that order, cut into tiles.

    Shapes:
        each: arrays (R, ...), the steps first.
        returns: (R,), and arrays (tiles, size, ...); what fills the last tile has no steps.
    """
    count = len(each[0])
    size = max(16, min(256, count // 8, _SUMS // max(1, math.prod(reader.bins) * channels)))
    tiles = -(-count // size)
    order = jnp.argsort(each[0])
    ranks = jnp.arange(tiles * size).reshape(tiles, size)
    steps, *others = jax.tree.map(lambda x: x[order[jnp.minimum(ranks, count - 1)]], each)
    return order, (jnp.where(ranks < count, steps, 0), *others)


def _rows(
    reader: BinReader, shape: tuple[int, ...], each: Any, step: jax.Array
) -> list[tuple[jax.Array, jax.Array]]:
    """For each set of taps the numbers of its pixels among (N H W P), and the weights.

    Shapes:
        returns: pairs of (R, *bins).
    """
    images, height, width, parts, _ = shape

    def one(image: jax.Array, region: Any) -> list[tuple[jax.Array, jax.Array]]:
        found = []
        for row, column, weight in reader.taps(region, step):
            line = jnp.clip(image, 0, images - 1) * height + jnp.clip(row, 0, height - 1)
            place = (line * width + jnp.clip(column, 0, width - 1)) * parts + reader.parts
            found.append((place.astype(jnp.int32), weight))
        return found

    return jax.vmap(one)(*each[1])


@gradient_of(total, slice(1, None))
def _total_backward(reader: BinReader, saved: Any, cotangent: jax.Array) -> Any:
    pixels, image, regions = saved

    def spread(grad: jax.Array, each: Any) -> jax.Array:
        steps, _, cotangent = each

        def add(step: jax.Array, grad: jax.Array) -> jax.Array:
            for row, weight in _rows(reader, pixels.shape, each, step):
                used = (step < steps)[:, None, None, None] & ~(weight[..., None] < 0)
                part = jnp.where(used, weight[..., None] * cotangent, 0).astype(grad.dtype)
                grad = grad.at[row].add(part, mode="promise_in_bounds")
            return grad

        return loops.fori_loop(0, steps.max(initial=0), add, grad)

    def by_tiles(grad: jax.Array, each: Any) -> jax.Array:
        _, tiles = _tiles(reader, pixels.shape[-1], each)
        return loops.scan(lambda grad, tile: (spread(grad, tile), None), grad, tiles)[0]

    rows = jnp.zeros_like(pixels).reshape(math.prod(pixels.shape[:4]), pixels.shape[-1])
    each = *_each(reader, pixels.shape[0], image, regions), cotangent
    grad = platform_dependent(rows, each, cpu=by_tiles, default=spread).reshape(pixels.shape)
    nothing = jax.tree.map(_no_gradient, (image, regions))
    return grad, *nothing


def _no_gradient(array: jax.Array) -> Any:
    if jnp.issubdtype(array.dtype, jnp.floating):
        return jnp.zeros_like(array)
    return np.zeros(array.shape, jax.dtypes.float0)


def divided(x: jax.Array, count: int) -> jax.Array:
    """The quotient, not by a constant: XLA multiplies by its reciprocal, which rounds otherwise."""
    return x / (0 * x + count)


def channels_last(data: jax.Array, parts: int) -> jax.Array:
    """Images as pixels of channels in parts: channel c P + p is channel c of part p.

    Shapes:
        data: (N, C P, H, W).
        returns: (N, H, W, P, C), in float32 at least.
    """
    count, channels, height, width = data.shape
    wide = data.astype(jnp.promote_types(data.dtype, jnp.float32))
    split = wide.reshape(count, channels // parts, parts, height, width)
    return split.transpose(0, 3, 4, 2, 1)


def channels_first(bins: Any, dtype: Any) -> jax.Array:
    """(R, h, w, C) as (R, C, h, w) of a type."""
    return bins.transpose(0, 3, 1, 2).astype(dtype)


def check_regions(operator: str, data: jax.Array, rois: jax.Array, numbers: int) -> None:
    """Raise ShapeError for arrays that are not images and regions of ``numbers`` numbers."""
    if data.ndim != 4 or rois.ndim != 2 or rois.shape[1] != numbers:
        raise ShapeError(
            f"{operator}: got data {data.shape} and rois {rois.shape}, expected (N, C, H, W) and "
            f"(R, {numbers})"
        )
    if 0 in (data.shape[0], *data.shape[2:]):
        raise ShapeError(
            f"{operator}: got data {data.shape}, which has no pixels; expected an image or more of "
            "(C, H, W), H and W from 1"
        )


def fits_regions(operator: str, attrs: Attrs) -> None:
    """`Op.fits` of operators on regions: factors are from 0 to 1, and bins have two sizes."""
    for name in ("spatial_scale", "trans_std"):
        value = attrs.get(name, 0)
        expect(0 <= value <= 1, f"{operator}: {name}", value, "a number from 0 to 1")
    bins = attrs["pooled_size"]
    two = not isinstance(bins, tuple) or (len(bins) == 2 and min(bins) >= 1)
    expect(two, f"{operator}: pooled_size", bins, "(height, width) of 1 or more")
