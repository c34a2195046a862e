"""UpSampling: repeated pixels, or a deconvolution by channel."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.nn.bilinear_resize import check_images
from modkit.ops.nn.convolution import Geometry
from modkit.ops.nn.deconvolution import Deconvolve, deconvolve
from modkit.ops.parameters import Attrs, Inert, Shape, Size
from modkit.ops.registry import op


def _upsampling_params(
    data: Shape, *, sample_type: str, scale: int, num_filter: int, **_: Any
) -> dict[str, Shape]:
    if sample_type == "nearest":
        return {}
    size = 2 * scale - scale % 2
    return {"weight": (num_filter, 1, size, size)}


def _upsampling_names(attrs: Attrs) -> list[str]:
    if attrs["sample_type"] == "bilinear":
        return ["data", "weight"]
    return [f"arg{i}" for i in range(attrs["num_args"])]


@op(
    "UpSampling",
    precision="float32",
    input_init={"weight": '["bilinear", {}]'},
    variadic="num_args",
    names=_upsampling_names,
    params=_upsampling_params,
)
def upsampling(
    *args: jax.Array,
    scale: Size,
    num_filter: int = 0,
    sample_type: Literal["nearest", "bilinear"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: Inert[int] = 512,
    num_args: Inert[int] = 1,
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
        workspace, num_args: no effect.

    Shapes:
        args: (N, C, H, W) each; the weight (num_filter, 1, k, k) with k = 2 scale - scale % 2.
        returns: (N, C, scale H, scale W), C being the sum of all with ``concat``.
    """
    if sample_type == "bilinear":
        return upsample_bilinear(deconvolve, args, scale, num_filter)
    for data in args:
        check_images(data, "UpSampling")
    size = (args[0].shape[2] * scale, args[0].shape[3] * scale)
    grown = [_repeat(data, size) for data in args]
    if multi_input_mode == "concat":
        return jnp.concatenate(grown, 1)
    if len({image.shape for image in grown}) > 1:
        raise ShapeError(
            f"UpSampling: got images of shapes {', '.join(str(a.shape) for a in args)}, expected "
            "as many images and channels in each with multi_input_mode='sum'"
        )
    return sum(grown[1:], grown[0])


def _repeat(data: jax.Array, size: tuple[int, int]) -> jax.Array:
    if any(not old or new % old for new, old in zip(size, data.shape[2:], strict=True)):
        raise ShapeError(
            f"UpSampling: got images of {data.shape[2:]}, expected sizes of 1 or more that divide "
            f"{size}"
        )
    times = [new // old for new, old in zip(size, data.shape[2:], strict=True)]
    return jnp.repeat(jnp.repeat(data, times[0], axis=2), times[1], axis=3)


def upsample_bilinear(
    deconvolve: Deconvolve, args: tuple[jax.Array, ...], scale: int, num_filter: int
) -> jax.Array:
    """`upsampling` of images with a weight, by any form of the transposed convolution."""
    for data in args:
        check_images(data, "UpSampling")
    if len(args) != 2:
        raise ShapeError(
            f"UpSampling: got {len(args)} inputs, expected images and a weight for 'bilinear'"
        )
    pad = math.ceil((scale - 1) / 2)
    geometry = Geometry("NCHW", stride=(scale, scale), dilate=(1, 1), pad=(pad, pad))
    return deconvolve(*args, geometry, (0, 0), num_filter)
