"""Cropping, mirroring and resizing of images."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ParameterError, ShapeError, expect
from modkit.ops.floating import accumulator
from modkit.ops.image.taps import Taps, in_fixed_point, resizing
from modkit.ops.parameters import Shape
from modkit.ops.registry import op

GREY_OR_COLOUR = (1, 3)


def check_image(
    data: Any, operator: str, *, batch: bool = False, any_channels: bool = False
) -> None:
    """Raise unless the data is an image, (H, W, C) with 1 or 3 channels.

    Args:
        batch: images (N, H, W, C) will do too.
        any_channels: so will any number of channels.

    Raises:
        ShapeError: it is none.
    """
    expected = "(H, W, C) or (N, H, W, C)" if batch else "(H, W, C)"
    channels = "" if any_channels else " with 1 or 3 channels"
    fits = data.ndim == 3 or (batch and data.ndim == 4)
    if not fits or not (any_channels or data.shape[-1] in GREY_OR_COLOUR):
        hint = "" if batch or data.ndim != 4 else "; call it for each image of a batch"
        raise ShapeError(
            f"{operator}: got data of shape {data.shape}, expected {expected}{channels}{hint}"
        )


@op("_image_crop", precision="through")
def crop(data: jax.Array, *, x: int, y: int, width: int, height: int) -> jax.Array:
    """Cut a rectangle out of images.

    Args:
        data: an image or images.
        x: first column.
        y: first row.
        width: columns to keep, at least 1.
        height: rows to keep, at least 1.

    Shapes:
        data: (H, W, C) or (N, H, W, C), C being 1 or 3.
        returns: (height, width, C) or (N, height, width, C).

    Raises:
        ParameterError: the rectangle is empty or leaves the image. (MXNet 1.9.1 reads outside of
            the image where ``x`` or ``y`` is negative.)
        ShapeError: ``data`` is no image.
    """
    check_image(data, "image.crop", batch=True)
    rows, columns = data.shape[-3:-1]
    if min(width, height) < 1 or min(x, y) < 0 or x + width > columns or y + height > rows:
        raise ParameterError(
            f"image.crop: got x={x}, y={y}, width={width}, height={height}, expected a rectangle "
            f"inside the image of width {columns} and height {rows}"
        )
    return data[..., y : y + height, x : x + width, :]


@op("_image_flip_left_right", precision="through")
def flip_left_right(data: jax.Array) -> jax.Array:
    """Mirror an image: the first column becomes the last.

    Shapes:
        data: (H, W, C), C being 1 or 3.
        returns: as ``data``.

    Raises:
        ShapeError: ``data`` is no image.

    Differs: MXNet 1.9.1 leaves the middle one of an odd number of columns unwritten, and passes
    the gradient on without mirroring it.
    """
    check_image(data, "image.flip_left_right")
    return data[:, ::-1]


@op("_image_flip_top_bottom", precision="through")
def flip_top_bottom(data: jax.Array) -> jax.Array:
    """Turn an image upside down: the first row becomes the last.

    Shapes:
        data: (H, W, C), C being 1 or 3.
        returns: as ``data``.

    Raises:
        ShapeError: ``data`` is no image.

    Differs: as `flip_left_right`.
    """
    check_image(data, "image.flip_top_bottom")
    return data[::-1]


@op("_image_random_flip_left_right", precision="float32")
def random_flip_left_right(data: jax.Array, *, key: Any) -> jax.Array:
    """Mirror an image with probability 1/2, as `flip_left_right` does."""
    check_image(data, "image.random_flip_left_right")
    return jnp.where(jax.random.bernoulli(key), data[:, ::-1], data)


@op("_image_random_flip_top_bottom", precision="float32")
def random_flip_top_bottom(data: jax.Array, *, key: Any) -> jax.Array:
    """Turn an image upside down with probability 1/2, as `flip_top_bottom` does."""
    check_image(data, "image.random_flip_top_bottom")
    return jnp.where(jax.random.bernoulli(key), data[::-1], data)


@op("_image_resize", precision="float32")
def resize(
    data: jax.Array, *, size: Shape = (), keep_ratio: bool = False, interp: int = 1
) -> jax.Array:
    """Resize images, in the conventions of OpenCV's ``resize``.

    Args:
        data: an image or images, of any dtype; whole numbers are rounded.
        size: (width, height), or one number for both.
        keep_ratio: one number is the size of the shorter side, and the other side follows.
        interp: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos over 8.

    Shapes:
        data: (H, W, C) or (N, H, W, C).
        returns: (height, width, C) or (N, height, width, C).

    Raises:
        ParameterError: ``size`` is not one or two positive numbers, or ``interp`` is unknown.
        ShapeError: ``data`` is no image.

    Differs: MXNet 1.9.1 has no gradient of it, interpolates no other whole numbers and no float16,
    and loses the fifth channel with ``interp=0``. A NaN or infinity spreads as in
    `BilinearResize2D`.
    """
    check_image(data, "image.resize", batch=True, any_channels=True)
    before = data.shape[-3], data.shape[-2]
    if 0 in before:
        raise ShapeError(f"image.resize: got data of shape {data.shape}, expected H and W from 1")
    after = _new_size(before, size, keep_ratio)
    how = resizing(before, after, data.shape[-1], interp, data.dtype == jnp.uint8)
    if how.bits:
        return in_fixed_point(data, how.rows, how.columns, how.bits)
    wide = data.astype(accumulator(data))
    exact = jax.lax.Precision.HIGHEST
    made = jnp.einsum(
        "ph,...hwc,qw->...pqc",
        _matrix(how.rows, before[0], wide.dtype),
        wide,
        _matrix(how.columns, before[1], wide.dtype),
        precision=exact,
    )  # fmt: skip
    if not jnp.issubdtype(data.dtype, jnp.integer):
        return made.astype(data.dtype)
    limits = jnp.iinfo(data.dtype)
    made = jnp.floor(made + 0.5) if how.upward else jnp.rint(made)
    return jnp.clip(made, limits.min, limits.max).astype(data.dtype)


def _new_size(before: Shape, size: Shape, keep_ratio: bool) -> tuple[int, int]:
    """Height and width of the result."""
    fits = len(size) in (1, 2) and min(size) >= 1
    expect(fits, "image.resize: size", size, "(width, height) or one number, 1 or more")
    if len(size) == 2:
        return size[1], size[0]
    if not keep_ratio:
        return size[0], size[0]
    shorter = min(before)
    height, width = (size[0] if b == shorter else size[0] * b // shorter for b in before)
    return height, width


def _matrix(found: Taps, size: int, dtype: Any) -> np.ndarray:
    """Weights (count, size) of the elements of an axis in those that it gets."""
    count = len(found.positions)
    if size == count:
        return np.eye(size, dtype=dtype)
    matrix = np.zeros((count, size), np.float32)
    np.add.at(matrix, (np.arange(count)[:, None], found.positions), found.weights)
    return matrix.astype(dtype)
