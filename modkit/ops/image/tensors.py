"""``to_tensor`` and ``normalize``: images as input of networks, channels first."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ShapeError, expect
from modkit.ops.elementwise.arithmetic import convert
from modkit.ops.image.geometry import GREY_OR_COLOUR, check_image
from modkit.ops.registry import op

Numbers = tuple[float, ...]


@op("_image_to_tensor", precision="float32", dtypes=lambda ins, attrs: (list(ins), ["float32"]))
def to_tensor(data: jax.Array) -> jax.Array:
    """Images with values from 0 to 255 as float32 from 0 to 1, channels first.

    Shapes:
        data: (H, W, C) or (N, H, W, C), of any dtype.
        returns: (C, H, W) or (N, C, H, W), float32.

    Raises:
        ShapeError: ``data`` is no image.

    Differs: MXNet 1.9.1 passes the gradient on unscaled and in the order of memory.
    """
    check_image(data, "image.to_tensor", batch=True, any_channels=True)
    scaled = data.astype(jnp.promote_types(data.dtype, jnp.float32)) / 255
    if data.dtype == jnp.float16:
        scaled = scaled.astype(data.dtype)  # as MXNet rounds
    return jnp.moveaxis(scaled, -1, -3).astype(jnp.float32)


@op("_image_normalize", precision="float32")
def normalize(
    data: jax.Array, *, mean: Numbers = (0, 0, 0, 0), std: Numbers = (1, 1, 1, 1)
) -> jax.Array:
    """Images less their mean, divided by their standard deviation, by channel.

    Args:
        data: an image or images, channels first.
        mean: a number, or one a channel. It must be given: MXNet's default fits no image.
        std: likewise.

    Shapes:
        data: (C, H, W) or (N, C, H, W), C being 1 or 3.
        returns: as ``data``.

    Raises:
        ParameterError: ``mean`` or ``std`` is of another length.
        ShapeError: ``data`` is no image.
    """
    if data.ndim not in (3, 4) or data.shape[-3] not in GREY_OR_COLOUR:
        raise ShapeError(
            f"image.normalize: got data of shape {data.shape}, expected (C, H, W) or "
            "(N, C, H, W) with 1 or 3 channels; image.to_tensor makes them of (H, W, C)"
        )
    channels = data.shape[-3]
    for name, values in (("mean", mean), ("std", std)):
        fits = len(values) in (1, channels)
        expect(fits, f"image.normalize: {name}", values, f"1 or {channels} numbers")
    work = jnp.promote_types(data.dtype, jnp.float32)
    shift, scale = (np.asarray(v, work).reshape(-1, 1, 1) for v in (mean, std))
    return convert((data.astype(work) - shift) / scale, data.dtype)
