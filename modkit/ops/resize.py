"""Changing the size of images: upsampling, bilinear resizing, adaptive pooling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from modkit.errors import ParameterError, ShapeError
from modkit.ops.conv import Geometry
from modkit.ops.deconv import deconvolve
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.registry import Shape, op


def _check_images(data: jax.Array, operator: str) -> None:
    if data.ndim != 4:
        raise ShapeError(f"{operator}: got data of shape {data.shape}, expected (N, C, H, W)")


def _resample(data: jax.Array, rows: np.ndarray, columns: np.ndarray) -> jax.Array:
    """Linear combinations of rows and of columns: ``rows @ image @ columns.T``."""
    wide = data.astype(accumulator(data))
    high, across = (jnp.asarray(m.astype(wide.dtype)) for m in (rows, columns))
    exact = lax.Precision.HIGHEST
    made = jnp.einsum("ph,nchw,qw->ncpq", high, wide, across, precision=exact)
    return made.astype(data.dtype)


# ── Adaptive pooling ────────────────────────────────────────────────────────────────────────


def _averages(size: int, count: int) -> np.ndarray:
    """Weights of ``size`` cells in ``count`` means over equal, maybe overlapping stretches."""
    weights = np.zeros((count, size))
    for i in range(count):
        start, end = i * size // count, -(-(i + 1) * size // count)
        weights[i, start:end] = 1 / (end - start)
    return weights


@op("_contrib_AdaptiveAvgPooling2D", hint="adaptiveavgpooling2d")
def adaptive_avg_pooling(data: jax.Array, *, output_size: Shape = ()) -> jax.Array:
    """Mean pooling to a given size.

    Output row ``i`` of ``n`` is the mean of the rows ``floor(i H / n)`` to
    ``ceil((i + 1) H / n) - 1``; columns likewise.

    Args:
        data: images.
        output_size: (height, width), or one number for both, default 1.

    Shapes:
        data: (N, C, H, W).
        returns: (N, C, height, width).
    """
    require_floating(data, "AdaptiveAvgPooling2D")
    _check_images(data, "AdaptiveAvgPooling2D")
    sizes = list(output_size) or [1]
    if len(sizes) > 2 or min(sizes) < 1:
        raise ParameterError(
            f"AdaptiveAvgPooling2D: output_size: got {output_size}, expected (height, width) or "
            "one number, 1 or more"
        )
    return _resample(data, _averages(data.shape[2], sizes[0]), _averages(data.shape[3], sizes[-1]))


# ── Bilinear resizing ───────────────────────────────────────────────────────────────────────

Mode = Literal[
    "size", "odd_scale", "like", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"
]

_TO_PARITY = {
    "to_even_down": lambda size: size - size % 2,
    "to_even_up": lambda size: size + size % 2,
    "to_odd_down": lambda size: size - 1 + size % 2,
    "to_odd_up": lambda size: size + 1 - size % 2,
}


def _new_size(size: int, mode: str, given: int, scale: float | None, like: int | None) -> int:
    if mode in _TO_PARITY:
        return _TO_PARITY[mode](size)
    if mode == "like":
        return size if like is None else like
    if scale is None:
        if mode == "odd_scale":
            raise ParameterError(
                "BilinearResize2D: mode 'odd_scale' needs scale_height and scale_width"
            )
        return given
    if mode == "odd_scale" and size % 2:
        return int((size - 1) * scale) + 1
    return int(size * scale)


def _interpolation(size: int, count: int, *, align_corners: bool) -> np.ndarray:
    """Weights of ``size`` points in ``count`` points interpolated between them."""
    at = np.arange(count)
    if count == 1:
        places = np.zeros(1)
    elif align_corners:
        places = at * ((size - 1) / (count - 1))
    else:
        places = np.maximum((at + 0.5) * (size / count) - 0.5, 0)
    first = np.minimum(places.astype(int), size - 1)
    second = np.minimum(first + 1, size - 1)
    weights = np.zeros((count, size))
    np.add.at(weights, (at, first), 1 - (places - first))
    np.add.at(weights, (at, second), places - first)
    return weights


@op(
    "_contrib_BilinearResize2D",
    hint="bilinearresize2d",
    when={"like": lambda attrs: attrs["mode"] == "like"},
)
def bilinear_resize(
    data: jax.Array,
    like: jax.Array | None = None,
    *,
    height: int = 1,
    width: int = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: Mode = "size",
    align_corners: bool = True,
) -> jax.Array:
    """Resize images by interpolating between rows and columns.

    Args:
        data: images.
        like: an array of the wanted height and width, in mode ``like``.
        height: rows wanted, in mode ``size`` without scales.
        width: columns wanted, in mode ``size`` without scales.
        scale_height: in place of ``height``, how much higher.
        scale_width: in place of ``width``, how much wider.
        mode: ``size`` as above; ``odd_scale`` scales an odd size to ``(size - 1) scale + 1``;
            ``like`` copies the sizes of another array; ``to_even_down`` and the like go to the
            nearest size of that parity.
        align_corners: whether the first and last pixels stay where they are.

    Shapes:
        data: (N, C, H, W).
        like: (M, D, height, width).
        returns: (N, C, height, width).
    """
    require_floating(data, "BilinearResize2D")
    _check_images(data, "BilinearResize2D")
    if mode in ("size", "odd_scale") and (scale_height is None) != (scale_width is None):
        raise ParameterError("BilinearResize2D: give both scale_height and scale_width, or none")
    wanted = (None, None) if like is None else like.shape[2:]
    rows = _new_size(data.shape[2], mode, height, scale_height, wanted[0])
    columns = _new_size(data.shape[3], mode, width, scale_width, wanted[1])
    if min(rows, columns) < 1:
        raise ShapeError(f"BilinearResize2D: got size {rows} x {columns}, expected 1 x 1 or more")
    return _resample(
        data,
        _interpolation(data.shape[2], rows, align_corners=align_corners),
        _interpolation(data.shape[3], columns, align_corners=align_corners),
    )


# ── Upsampling ──────────────────────────────────────────────────────────────────────────────


def _upsampling_params(
    data: Shape, *, sample_type: str, scale: int, num_filter: int, **_: Any
) -> dict[str, Shape]:
    if sample_type == "nearest":
        return {}
    size = 2 * scale - scale % 2
    return {"weight": (num_filter, 1, size, size)}


def _upsampling_names(attrs: Mapping[str, Any]) -> list[str]:
    if attrs["sample_type"] == "bilinear":
        return ["data", "weight"]
    return [f"arg{i}" for i in range(attrs["num_args"])]


@op(
    "UpSampling",
    variadic="num_args",
    names=_upsampling_names,
    params=_upsampling_params,
    inert={"workspace": (int, 512), "num_args": (int, 1)},
)
def upsampling(
    *args: jax.Array,
    scale: int,
    num_filter: int = 0,
    sample_type: Literal["nearest", "bilinear"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
) -> jax.Array:
    """Make images larger.

    Args:
        *args: with ``nearest``, images, of which the first grows by ``scale`` and the others to
            the same size; with ``bilinear``, images and the weight of the deconvolution.
        scale: how much, a whole number.
        num_filter: channels, for ``bilinear``.
        sample_type: ``nearest`` repeats pixels; ``bilinear`` is a deconvolution by channel, whose
            weight the initializer ``Bilinear`` makes an interpolation.
        multi_input_mode: whether several images are put one behind another in their channels, or
            summed.

    Shapes:
        args: (N, C, H, W) each; the weight (num_filter, 1, k, k) with k = 2 scale - scale % 2.
        returns: (N, C, scale H, scale W), C being the sum of all with ``concat``.
    """
    for data in args:
        _check_images(data, "UpSampling")
    if sample_type == "bilinear":
        return _upsample_bilinear(args, scale, num_filter)
    size = (args[0].shape[2] * scale, args[0].shape[3] * scale)
    grown = [_repeat(data, size) for data in args]
    return sum(grown[1:], grown[0]) if multi_input_mode == "sum" else jnp.concatenate(grown, 1)


def _repeat(data: jax.Array, size: tuple[int, int]) -> jax.Array:
    if any(new % old for new, old in zip(size, data.shape[2:], strict=True)):
        raise ShapeError(
            f"UpSampling: got images of {data.shape[2:]}, expected sizes that divide {size}"
        )
    times = [new // old for new, old in zip(size, data.shape[2:], strict=True)]
    return jnp.repeat(jnp.repeat(data, times[0], axis=2), times[1], axis=3)


def _upsample_bilinear(args: tuple[jax.Array, ...], scale: int, num_filter: int) -> jax.Array:
    if len(args) != 2:
        raise ShapeError(
            f"UpSampling: got {len(args)} inputs, expected images and a weight for 'bilinear'"
        )
    pad = math.ceil((scale - 1) / 2)
    geometry = Geometry("NCHW", stride=(scale, scale), dilate=(1, 1), pad=(pad, pad))
    return deconvolve(*args, geometry, (0, 0), num_filter)
