"""Position-sensitive pooling of regions: each bin reads channels of its own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ParameterError, ShapeError
from modkit.ops import loops
from modkit.ops.detection import regions as regions_
from modkit.ops.detection.regions import BinReader, BinTaps, fits_regions
from modkit.ops.detection.roi_pooling import round_half_away
from modkit.ops.parameters import Size
from modkit.ops.registry import op


def _groups(bins: int, group: int) -> np.ndarray:
    """The part of the channels that each bin reads, (bins, bins)."""
    if group < 0:
        return np.full((bins, bins), group**2 - 1)
    cell = np.arange(bins) * group // bins
    return cell[:, None] * group + cell


def _check(operator: str, data: jax.Array, rois: jax.Array, output_dim: int, group: int) -> None:
    regions_.check_regions(operator, data, rois, 5)
    wanted = output_dim * group**2
    if data.shape[1] < wanted:
        raise ShapeError(
            f"{operator}: got {data.shape[1]} channels of data, expected {wanted} or more: "
            f"output_dim={output_dim} times group_size={group} squared"
        )


def _boxes(rois: jax.Array, scale: float) -> tuple[jax.Array, ...]:
    """Top, left, height and width of regions in pixels; both ends of a region are inside."""
    corners = round_half_away(lax.stop_gradient(rois)[:, 1:].astype(jnp.float32))
    left, top = corners[:, :2].T * jnp.float32(scale)
    right, bottom = (corners[:, 2:].T + 1) * jnp.float32(scale)
    return top, left, jnp.maximum(bottom - top, 0.1), jnp.maximum(right - left, 0.1)


def _edges(start: jax.Array, side: jax.Array, bins: int, size: int) -> tuple[jax.Array, jax.Array]:
    """Begin and end of each bin in whole pixels, (bins,)."""
    each, at = regions_.divided(side, bins), jnp.arange(bins)
    begin = jnp.floor(at * each + start).astype(jnp.int32)
    end = jnp.ceil((at + 1) * each + start).astype(jnp.int32)
    return jnp.clip(begin, 0, size), jnp.clip(end, 0, size)


@op("_contrib_PSROIPooling", precision="float32", costly=True, fits=fits_regions)
def psroi_pooling(
    data: jax.Array,
    rois: jax.Array,
    *,
    spatial_scale: float,
    output_dim: Size,
    pooled_size: Size,
    group_size: int = 0,
) -> jax.Array:
    """The mean of each bin of regions, each bin over channels of its own (R-FCN, Dai et al., 2016).

    Regions have no gradient.

    Args:
        data: images; channel ``(c * group_size + i) * group_size + j`` is channel c of group i, j.
            Channels after the last group's are not read.
        rois: regions: number of the image, then left, top, right and bottom, all inclusive.
        spatial_scale: factor from the regions' coordinates to pixels.
        output_dim: channels of the result.
        pooled_size: bins of a region along each axis.
        group_size: groups of channels along each axis; 0 for ``pooled_size``. With a negative
            number all bins read the last group.

    Shapes:
        data: (N, output_dim group_size group_size, H, W).
        rois: (R, 5).
        returns: (R, output_dim, pooled_size, pooled_size); 0 in empty bins and for images that
            there are not.

    Raises:
        ShapeError: an array has another shape.
    """
    group = group_size or pooled_size
    _check("_contrib_PSROIPooling", data, rois, output_dim, group)
    height, width = data.shape[2:]
    top, left, tall, broad = _boxes(rois, spatial_scale)
    region = {"top": top, "left": left, "height": tall, "width": broad}

    def bins(region: Any) -> tuple[jax.Array, ...]:
        rows = _edges(region["top"], region["height"], pooled_size, height)
        return *rows, *_edges(region["left"], region["width"], pooled_size, width)

    def sizes(edges: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        top, bottom, left, right = edges
        return jnp.maximum((bottom - top).max(), 0), jnp.maximum((right - left).max(), 0)

    def steps(region: Any) -> jax.Array:
        down, across = sizes(bins(region))
        return down * across

    def taps(region: Any, step: jax.Array) -> list[BinTaps]:
        top, bottom, left, right = edges = bins(region)
        across = jnp.maximum(sizes(edges)[1], 1)
        row, column = (top + step // across)[:, None], left + step % across
        inside = (row < bottom[:, None]) & (column < right)
        area = jnp.maximum((bottom - top)[:, None] * (right - left), 1)
        return [BinTaps(row, column, jnp.where(inside, 1 / area.astype(jnp.float32), -1))]

    parts = _groups(pooled_size, group)
    reader = BinReader(steps, taps, (pooled_size, pooled_size), parts)
    pixels = regions_.channels_last(data[:, : output_dim * group**2], group**2)
    image = rois[:, 0].astype(jnp.int32)
    found = regions_.total(reader, pixels, image, region)
    return regions_.channels_first(found, data.dtype)


def _check_shifts(
    operator: str, trans: jax.Array | None, rois: jax.Array, part: int, output_dim: int
) -> int:
    """The number of classes that have shifts of their own; 1 without shifts."""
    if trans is None:
        return 1
    classes = trans.shape[1] // 2 if trans.ndim == 4 else 0
    wanted = (rois.shape[0], 2 * classes, part, part)
    if not classes or trans.shape != wanted or output_dim % classes:
        raise ShapeError(
            f"{operator}: trans: got shape {trans.shape}, expected ({rois.shape[0]}, 2 classes, "
            f"{part}, {part}) with classes that divide output_dim={output_dim}"
        )
    return classes


def _shifts(
    trans: jax.Array | None, rois: jax.Array, bins: int, part: int, factor: float
) -> tuple[jax.Array, jax.Array]:
    """Shifts of the bins across and down, (R, classes, bins, bins) each."""
    if trans is None:
        none = jnp.zeros((rois.shape[0], 1, 1, 1), jnp.float32)
        return none, none
    cell = np.arange(bins) * part // bins
    shifts = trans[:, :, cell[:, None], cell] * factor
    return shifts[:, 0::2], shifts[:, 1::2]


def _axis_taps(at: jax.Array, size: int) -> tuple[list[tuple[jax.Array, jax.Array]], jax.Array]:
    """Neighbours of points along an axis with their weights, and which points count.

    Both neighbours of a whole position are that position, so that its slope is 0, as in MXNet.
    """
    inside = (at >= -0.5) & (at <= size - 0.5)
    at = jnp.clip(at, 0, size - 1)
    low, high = (lax.stop_gradient(side(at)) for side in (jnp.floor, jnp.ceil))
    far = at - low
    return [(low.astype(jnp.int32), 1 - far), (high.astype(jnp.int32), far)], inside


@op(
    "_contrib_DeformablePSROIPooling",
    precision="float32",
    costly=True,
    fits=fits_regions,
    when={"trans": lambda attrs: not attrs["no_trans"]},
    outputs=("output", "top_count"),
    visible=1,
)
def deformable_psroi_pooling(
    data: jax.Array,
    rois: jax.Array,
    trans: jax.Array | None = None,
    *,
    spatial_scale: float,
    output_dim: Size,
    group_size: int,
    pooled_size: Size,
    part_size: int = 0,
    sample_per_part: Size = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
) -> tuple[jax.Array, jax.Array]:
    """`psroi_pooling` of interpolated points, with learned shifts of the bins (Dai et al., 2017).

    Regions have no gradient; ``data`` and ``trans`` have.

    Args:
        data: images; channels as in `psroi_pooling`.
        rois, spatial_scale, output_dim, pooled_size: see `PSROIPooling`.
        trans: shifts (across, down) of the bins, one pair for each class of output channels.
        group_size: groups of channels along each axis; a negative one as in `psroi_pooling`.
        part_size: parts of a region along each axis with shifts of their own; 0 for
            ``pooled_size``.
        sample_per_part: points of a bin along each axis.
        trans_std: factor of the shifts, which are fractions of the region's sides; from 0 to 1.
        no_trans: there are no shifts.

    Shapes:
        data: (N, output_dim group_size group_size, H, W).
        rois: (R, 5).
        trans: (R, 2 classes, part_size, part_size).
        returns: (R, output_dim, pooled_size, pooled_size), and as the hidden ``top_count`` how
            many points of each bin lie in the image.

    Raises:
        ShapeError: an array has another shape.
        ParameterError: ``spatial_scale`` or ``trans_std`` is not from 0 to 1, or ``group_size``
            is 0.
    """
    name, bins, samples = "_contrib_DeformablePSROIPooling", pooled_size, sample_per_part
    if group_size == 0:
        raise ParameterError(f"{name}: group_size: got 0, expected another number")
    _check(name, data, rois, output_dim, group_size)
    part = part_size or bins
    classes = _check_shifts(name, trans, rois, part, output_dim)
    height, width = data.shape[2:]
    top, left, tall, broad = (side[:, None, None, None] for side in _boxes(rois, spatial_scale))
    across, down = _shifts(trans, rois, bins, part, trans_std)
    at = np.arange(bins)
    first_row = at[:, None] * tall / bins + (top - 0.5) + down * tall
    first_column = at * broad / bins + (left - 0.5) + across * broad
    row_step, column_step = tall / bins / samples, broad / bins / samples
    groups = _groups(bins, group_size)
    pixels = regions_.channels_last(data[:, : output_dim * group_size**2], group_size**2)
    pixels = pixels.reshape(*pixels.shape[:4], classes, output_dim // classes)
    image = rois[:, 0].astype(jnp.int32)
    known = ((image >= 0) & (image < data.shape[0]))[:, None, None, None]
    where = jnp.clip(image, 0, data.shape[0] - 1)[:, None, None, None]
    class_ = jnp.arange(classes)[:, None, None]

    @jax.checkpoint  # or the gradient keeps the pixels of every point
    def add(totals: Any, point: Any) -> Any:
        (sum_, count), (row, column) = totals, point
        rows, inside = _axis_taps(first_row + row * row_step, height)
        columns, beside = _axis_taps(first_column + column * column_step, width)
        used = (inside & beside & known)[..., None]
        for y, v in rows:
            for x, w in columns:
                found = jnp.where(used, pixels[where, y, x, groups, class_], 0)
                sum_ = sum_ + ((v * w)[..., None] * found).astype(sum_.dtype)
        return (sum_, count + used[..., 0]), None

    full = (rois.shape[0], classes, bins, bins)
    start = jnp.zeros((*full, pixels.shape[-1]), pixels.dtype), jnp.zeros(full, jnp.int32)
    points = np.indices((samples, samples)).reshape(2, -1)
    (sum_, count), _ = loops.scan(add, start, (points[0], points[1]))
    mean = sum_ / jnp.maximum(count, 1)[..., None]  # (R, classes, bins, bins, channels)
    mean = mean.transpose(0, 1, 4, 2, 3).reshape(-1, output_dim, bins, bins)
    count = jnp.repeat(count.astype(data.dtype), output_dim // classes, 1)
    return mean.astype(data.dtype), lax.stop_gradient(
        jnp.broadcast_to(count, mean.shape).astype(data.dtype)
    )
