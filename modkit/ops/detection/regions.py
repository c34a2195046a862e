"""Sums of pixels at computed positions of regions of images, and their gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ParameterError, ShapeError


class Taps(NamedTuple):
    """Pixels to add, one for each bin: row, column, and weight; all broadcast to the bins."""

    row: jax.Array
    column: jax.Array
    weight: jax.Array


class Reader(NamedTuple):
    """The pixels that a region adds up.

    Args:
        steps: ``steps(region)``, how many sets of taps the region has.
        taps: ``taps(region, step)``, the sets of this step.
        bins: rows and columns of bins.
        parts: the part of the channels that each bin reads, broadcast to the bins.
    """

    steps: Callable[[Any], jax.Array]
    taps: Callable[[Any, jax.Array], list[Taps]]
    bins: tuple[int, int]
    parts: np.ndarray


def _over_bins(reader: Reader, region: Any, step: jax.Array) -> list[Taps]:
    """The taps of a step, each as large as the bins."""
    full = [[jnp.broadcast_to(x, reader.bins) for x in taps] for taps in reader.taps(region, step)]
    return [Taps(*each) for each in full]


def bilinear(y: jax.Array, x: jax.Array, height: int, width: int) -> list[Taps]:
    """The four neighbours of points, with their weights: those of ROIAlign.

    Points up to one pixel outside read the border; beyond that all weights are 0.
    """
    sides = []
    for at, size in ((y, height), (x, width)):
        inside = (at >= -1) & (at <= size)
        at = jnp.maximum(at, 0)
        low = jnp.minimum(jnp.floor(at), size - 1)
        far = jnp.where(low < size - 1, at - low, 0)
        low = low.astype(jnp.int32)
        high = jnp.minimum(low + 1, size - 1)
        sides.append(((low, inside * (1 - far)), (high, inside * far)))
    rows, columns = sides
    return [Taps(row, column, v * w) for row, v in rows for column, w in columns]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def total(reader: Reader, pixels: jax.Array, image: jax.Array, regions: Any) -> jax.Array:
    """The weighted sum of each bin's pixels; 0 for images that there are not.

    Regions have no gradient. On CPUs a loop over regions reads the pixels of each; other devices
    take all regions in one step.

    Shapes:
        pixels: (N, H, W, P, C), P parts of C channels.
        image: (R,), integers.
        regions: arrays (R, ...).
        returns: (R, *bins, C).
    """
    known = (image >= 0) & (image < pixels.shape[0])

    def one(region: Any) -> jax.Array:
        image, known, region = region

        def add(step: jax.Array, sum_: jax.Array) -> jax.Array:
            for row, column, weight in reader.taps(region, step):
                found = pixels.at[image, row, column, reader.parts].get(mode="clip")
                sum_ += (weight[..., None] * found).astype(sum_.dtype)
            return sum_

        start = jnp.zeros((*reader.bins, pixels.shape[-1]), pixels.dtype)
        return lax.fori_loop(0, jnp.where(known, reader.steps(region), 0), add, start)

    return lax.platform_dependent(
        (image, known, regions), cpu=functools.partial(lax.map, one), default=jax.vmap(one)
    )


def _total_forward(reader: Reader, pixels: jax.Array, image: jax.Array, regions: Any) -> Any:
    return total(reader, pixels, image, regions), (pixels, image, regions)


def _total_backward(reader: Reader, saved: Any, cotangent: jax.Array) -> Any:
    pixels, image, regions = saved
    known = (image >= 0) & (image < pixels.shape[0])

    def spread(grad: jax.Array, image: Any, region: Any, step: Any, cotangent: Any) -> jax.Array:
        for row, column, weight in reader.taps(region, step):
            part = (weight[..., None] * cotangent).astype(grad.dtype)
            at = jnp.broadcast_arrays(image, row, column, reader.parts)
            grad = grad.at[tuple(at)].add(part, mode="drop")
        return grad

    def one_by_one(pixels: jax.Array, cotangent: jax.Array) -> jax.Array:
        def visit(grad: jax.Array, each: Any) -> tuple[jax.Array, None]:
            image, known, region, cotangent = each
            steps = jnp.where(known, reader.steps(region), 0)
            grad = lax.fori_loop(
                0, steps, lambda k, grad: spread(grad, image, region, k, cotangent), grad
            )
            return grad, None

        each = (image, known, regions, cotangent)
        return lax.scan(visit, jnp.zeros_like(pixels), each)[0]

    def all_at_once(pixels: jax.Array, cotangent: jax.Array) -> jax.Array:
        steps = jnp.where(known, jax.vmap(reader.steps)(regions), 0)

        def add(step: jax.Array, grad: jax.Array) -> jax.Array:
            used = jnp.where(step < steps, 1, 0).astype(cotangent.dtype)[:, None, None, None]
            taps = jax.vmap(lambda region: _over_bins(reader, region, step))(regions)
            for row, column, weight in taps:
                at = jnp.broadcast_arrays(image[:, None, None], row, column, reader.parts)
                part = (used * weight[..., None] * cotangent).astype(grad.dtype)
                grad = grad.at[tuple(at)].add(part, mode="drop")
            return grad

        most = steps.max() if len(steps) else 0
        return lax.fori_loop(0, most, add, jnp.zeros_like(pixels))

    grad = lax.platform_dependent(pixels, cotangent, cpu=one_by_one, default=all_at_once)
    nothing = jax.tree.map(_no_gradient, (image, regions))
    return grad, *nothing


def _no_gradient(array: jax.Array) -> Any:
    if jnp.issubdtype(array.dtype, jnp.floating):
        return jnp.zeros_like(array)
    return np.zeros(array.shape, jax.dtypes.float0)


total.defvjp(_total_forward, _total_backward)


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
    """Refuse arrays that are not images and regions of ``numbers`` numbers.

    Raises:
        ShapeError: naming both.
    """
    if data.ndim != 4 or rois.ndim != 2 or rois.shape[1] != numbers:
        raise ShapeError(
            f"{operator}: got data {data.shape} and rois {rois.shape}, expected (N, C, H, W) and "
            f"(R, {numbers})"
        )
    if 0 in (data.shape[0], *data.shape[2:]):
        raise ShapeError(f"{operator}: got data {data.shape}, which has no pixels")


def check_scale(operator: str, scale: float) -> None:
    """Refuse a factor from coordinates to pixels that is not from 0 to 1.

    Raises:
        ParameterError: naming it.
    """
    if not 0 <= scale <= 1:
        raise ParameterError(
            f"{operator}: spatial_scale: got {scale}, expected a number from 0 to 1"
        )
