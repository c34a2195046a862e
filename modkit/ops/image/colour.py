"""Brightness, contrast, saturation, hue and lighting of images, fixed or drawn."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.errors import ParameterError, expect
from modkit.ops import loops
from modkit.ops.elementwise.arithmetic import convert
from modkit.ops.image.geometry import check_image
from modkit.ops.image.tensors import Numbers
from modkit.ops.registry import op

_LUMA = np.array([0.299, 0.587, 0.114], np.float32)
"""Weights of red, green and blue in grey (ITU-R BT.601)."""

_PRINCIPAL = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]], np.float32
) * np.array([55.46, 4.794, 1.148], np.float32)
"""Principal components of colours in ImageNet (Krizhevsky et al., 2012), one a column, scaled by
the square roots of their eigenvalues; values are from 0 to 255."""

Change = Callable[[jax.Array, Any], jax.Array]
"""``change(image in floating point, factor) -> image``."""


def _contrast(image: jax.Array, factor: Any) -> jax.Array:
    grey = image if image.shape[-1] == 1 else image @ jnp.asarray(_LUMA, image.dtype)
    return image * factor + (1 - factor) * grey.mean()


def _saturation(image: jax.Array, factor: Any) -> jax.Array:
    """Mixed with its grey, of which MXNet 1.9.1 takes the part of blue alone."""
    if image.shape[-1] == 1:
        return image
    return image * factor + (1 - factor) * image[..., 2:] * _LUMA[2]


def _hue(image: jax.Array, turns: Any) -> jax.Array:
    """Hue turned in HLS, where lightness and saturation keep a pixel's largest and least value.

    MXNet 1.9.1 computes these two anew from lightness and saturation, in float32: of whole numbers
    its result is often one less.
    """
    if image.shape[-1] == 1:
        return image
    red, green, blue = (image[..., i] for i in range(3))
    high, low = image.max(-1), image.min(-1)
    span = high - low
    safe = jnp.where(span == 0, 1, span)
    sixths = jnp.where(
        high == red,
        (green - blue) / safe,
        jnp.where(high == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    at = (sixths[..., None] + 6 * turns + np.array([2, 0, -2], np.float32)) % 6
    rise = jnp.clip(jnp.minimum(at, 4 - at), 0, 1)
    return (low[..., None] + span[..., None] * rise).astype(image.dtype)


def _lighting(image: jax.Array, alpha: Any) -> jax.Array:
    if image.shape[-1] == 1:
        return image
    return image + jnp.asarray(_PRINCIPAL @ alpha, image.dtype)


def _changed(data: jax.Array, change: Change, factor: Any) -> jax.Array:
    """A change computed in floating point; ``uint8`` is clipped, whole numbers are truncated."""
    work = jnp.promote_types(data.dtype, jnp.float32)
    made = change(data.astype(work), factor)
    if data.dtype == jnp.uint8:
        made = jnp.clip(made, 0, 255)
    return convert(made, data.dtype)


def _register_random(name: str, change: Change, doc: str) -> None:
    """The operator ``random_NAME``, whose factor is drawn from an interval."""

    def run(data: jax.Array, *, min_factor: float, max_factor: float, key: Any) -> jax.Array:
        check_image(data, f"image.random_{name}")
        if min(min_factor, max_factor) < 0:
            raise ParameterError(
                f"image.random_{name}: got min_factor={min_factor}, max_factor={max_factor}, "
                "expected numbers of 0 or more"
            )
        drawn = jax.random.uniform(key, (), jnp.float32)
        return _changed(data, change, min_factor + (max_factor - min_factor) * drawn)

    run.__doc__ = f"""{doc}

    Args:
        data: an image; factors fit values from 0 to 255, and other ranges as well.
        min_factor: the least factor, at least 0.
        max_factor: the largest factor, at least 0.
        key: a JAX key.

    Shapes:
        data: (H, W, C), C being 1 or 3.
        returns: as ``data``; ``uint8`` is clipped, and whole numbers lose their fraction.

    Raises:
        ParameterError: a factor is negative.
        ShapeError: ``data`` is no image.

    Differs: MXNet 1.9.1 passes the gradient on as if the operator changed nothing.
    """
    op(f"_image_random_{name}", precision="float32")(run)


_RANDOM: dict[str, tuple[Change, str]] = {
    "brightness": (operator.mul, "Multiply an image by a random factor."),
    "contrast": (_contrast, "Mix an image with the mean of its grey; 1 is the image itself."),
    "saturation": (
        _saturation,
        "Mix an image with its grey, which is 0.114 of blue as in MXNet 1.9.1; 1 is the image.",
    ),
    "hue": (_hue, "Turn the hues of an image; 0 and 1 (a full turn) are the image itself."),
}
for _name, (_change, _doc) in _RANDOM.items():
    _register_random(_name, _change, _doc)


@op("_image_random_color_jitter", precision="float32")
def random_color_jitter(
    data: jax.Array, *, brightness: float, contrast: float, saturation: float, hue: float, key: Any
) -> jax.Array:
    """Change brightness, contrast, saturation and hue of an image, in random order.

    Args:
        brightness: the factor is drawn from ``1 - brightness`` to ``1 + brightness``; 0 or less
            leaves it out.
        contrast, saturation: likewise.
        hue: likewise, in full turns about 0.

    Shapes:
        data: (H, W, C), C being 1 or 3.
        returns: as ``data``.

    Raises:
        ShapeError: ``data`` is no image.

    Differs: with none of the four numbers the result is ``data``; MXNet 1.9.1 never writes it.
    """
    check_image(data, "image.random_color_jitter")
    widths = {
        "brightness": brightness, "contrast": contrast, "saturation": saturation, "hue": hue
    }  # fmt: skip
    steps = [(_RANDOM[n][0], float(n != "hue"), w) for n, w in widths.items() if w > 0]
    if not steps:
        return data
    draws = jax.random.split(key, len(steps) + 1)
    order = jax.random.permutation(draws[0], len(steps))

    def branch(change: Change, middle: float, width: float) -> Change:
        def run(image: jax.Array, draw: Any) -> jax.Array:
            spread = jax.random.uniform(draw, (), jnp.float32, -1, 1)
            return _changed(image, change, middle + width * spread)

        return run

    branches = [branch(*step) for step in steps]

    def step(image: jax.Array, at: Any) -> tuple[jax.Array, None]:
        which, draw = at
        return jax.lax.switch(which, branches, image, draw), None

    return loops.scan(step, data, (order, draws[1:]))[0]


@op("_image_adjust_lighting", precision="float32")
def adjust_lighting(data: jax.Array, *, alpha: Numbers) -> jax.Array:
    """Add principal components of the colours in ImageNet (Krizhevsky et al., 2012).

    Args:
        data: an image with values from 0 to 255.
        alpha: how much of each of the three components.

    Shapes:
        data: (H, W, C), C being 1 or 3; grey images stay as they are.
        returns: as ``data``.

    Raises:
        ParameterError: ``alpha`` has not three numbers.
        ShapeError: ``data`` is no image.

    Differs: MXNet 1.9.1 leaves the result of grey images unwritten.
    """
    check_image(data, "image.adjust_lighting")
    expect(len(alpha) == 3, "image.adjust_lighting: alpha", alpha, "three numbers")
    return _changed(data, _lighting, np.asarray(alpha, np.float32))


@op("_image_random_lighting", precision="float32")
def random_lighting(data: jax.Array, *, alpha_std: float = 0.05, key: Any) -> jax.Array:
    """`adjust_lighting` by normally distributed amounts.

    Args:
        data: an image with values from 0 to 255.
        alpha_std: standard deviation of the amounts.

    Shapes:
        data: (H, W, C), C being 1 or 3.
        returns: as ``data``.

    Raises:
        ShapeError: ``data`` is no image.
    """
    check_image(data, "image.random_lighting")
    return _changed(data, _lighting, alpha_std * jax.random.normal(key, (3,), jnp.float32))
