"""``im2col`` and ``col2im``: windows as columns, and sums of columns at their windows."""

from __future__ import annotations

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError
from modkit.ops.nn.layout import fits_kernel
from modkit.ops.parameters import Shape
from modkit.ops.registry import op


def _windows(
    name: str, sizes: Shape, kernel: Shape, stride: Shape, dilate: Shape, pad: Shape
) -> tuple[Shape, Shape, Shape, Shape]:
    """Strides, dilations, padding, and the number of window positions along each axis."""
    rank = len(kernel)
    stride, dilate, pad = stride or (1,) * rank, dilate or (1,) * rank, pad or (0,) * rank
    if not {len(sizes), len(stride), len(dilate), len(pad)} == {rank} or not 1 <= rank <= 3:
        raise ShapeError(
            f"{name}: got {len(sizes)} axes of an image, kernel {kernel}, stride {stride}, dilate "
            f"{dilate}, pad {pad}, expected 1 to 3 axes, as many in each"
        )
    if min(kernel + stride + dilate) < 1 or min(pad) < 0:
        raise ParameterError(
            f"{name}: got kernel {kernel}, stride {stride}, dilate {dilate}, pad {pad}, expected "
            "1 or more, and padding of 0 or more"
        )
    rows = zip(sizes, kernel, stride, dilate, pad, strict=True)
    places = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in rows)
    if min(places) < 1:
        raise ShapeError(
            f"{name}: kernel {kernel} with dilate {dilate} exceeds the image {sizes} with padding "
            f"{pad}"
        )
    return stride, dilate, pad, places


def _columns(
    data: Any, kernel: Shape, stride: Shape, dilate: Shape, pad: Shape, places: Shape
) -> Any:
    """Windows (N, C * taps, positions); channels vary slowest, then taps.

    Each tap is a slice. XLA's CPU compiler aborts the process on the convolution that JAX has for
    this (`conv_general_dilated_patches`) with some strides and dilations.
    """
    padded = jnp.pad(data, [(0, 0), (0, 0), *((p, p) for p in pad)])
    taps = []
    for tap in itertools.product(*map(range, kernel)):
        start = [t * d for t, d in zip(tap, dilate, strict=True)]
        limit = [b + (n - 1) * s + 1 for b, n, s in zip(start, places, stride, strict=True)]
        taps.append(
            jax.lax.slice(padded, (0, 0, *start), (*data.shape[:2], *limit), (1, 1, *stride))
        )
    found = jnp.stack(taps, 2)
    return found.reshape(data.shape[0], data.shape[1] * len(taps), math.prod(places))


@op("im2col", precision="float32", fits=fits_kernel("stride", "dilate", "pad"))
def im2col(
    data: Any,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> Any:
    """The windows of an image as columns, with which a convolution is one matrix product.

    Shapes:
        data: (N, C, ...) with 1 to 3 axes of an image.
        returns: (N, C * taps of the kernel, window positions).

    Differs: MXNet 1.9.1 raises an error for images of one or three axes.
    """
    where = _windows("im2col", data.shape[2:], kernel, stride, dilate, pad)
    return _columns(data, kernel, *where)


@op("col2im", precision="float32", fits=fits_kernel("stride", "dilate", "pad"))
def col2im(
    data: Any,
    *,
    output_size: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = (),
    dilate: tuple[int, ...] = (),
    pad: tuple[int, ...] = (),
) -> Any:
    """The transpose of `im2col`: elements of columns summed at the positions they came from.

    Shapes:
        data: (N, C * taps of the kernel, window positions).
        returns: (N, C, *output_size).
    """
    stride, dilate, pad, places = _windows("col2im", output_size, kernel, stride, dilate, pad)
    taps = math.prod(kernel)
    if data.ndim != 3 or data.shape[1] % taps or data.shape[2] != math.prod(places):
        raise ShapeError(
            f"col2im: got shape {data.shape}, expected (batch, a multiple of {taps}, "
            f"{math.prod(places)}) for output_size {output_size} and kernel {kernel}"
        )
    image = jax.ShapeDtypeStruct((len(data), data.shape[1] // taps, *output_size), data.dtype)
    transpose = jax.linear_transpose(
        lambda x: _columns(x, kernel, stride, dilate, pad, places), image
    )
    return jnp.asarray(transpose(data)[0])
