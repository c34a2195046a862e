"""``PIL.Image``: the functions for pictures of SciPy 1.1's ``scipy.misc``."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """``np.asarray(PIL.Image.open(name))``."""
    with Image.open(name) as picture:
        if mode is not None:
            picture = picture.convert(mode)
        elif picture.mode == "P":
            picture = picture.convert("RGBA" if "transparency" in picture.info else "RGB")
        elif picture.mode == "1":
            picture = picture.convert("L")
        return np.array(picture.convert("F") if flatten else picture)


def toimage(
    arr: Any,
    high: float = 255,
    low: float = 0,
    cmin: float | None = None,
    cmax: float | None = None,
    mode: str | None = None,
) -> Any:
    """``PIL.Image.fromarray(arr)``, with floats scaled to 0 .. 255.

    Args:
        arr: (H, W), (H, W, 3), (H, W, 4), or with the channels first.
        high: the value that ``cmax`` becomes.
        low: the value that ``cmin`` becomes.
        cmin: smallest value; default that of the array.
        cmax: largest value; default that of the array.
    """
    data = np.asarray(arr)
    if data.ndim == 3 and data.shape[-1] not in (3, 4) and data.shape[0] in (3, 4):
        data = np.moveaxis(data, 0, -1)
    if data.dtype != np.uint8:
        data = data.astype(np.float64)
        bottom = data.min() if cmin is None else cmin
        top = data.max() if cmax is None else cmax
        scaled = (data - bottom) * ((high - low) / ((top - bottom) or 1)) + low
        data = (scaled.clip(low, high) + 0.5).astype(np.uint8)
    picture = Image.fromarray(data)
    return picture if mode is None else picture.convert(mode)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """``PIL.Image.fromarray(arr).save(name)``."""
    toimage(arr).save(name, format)


_FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "lanczos": Image.Resampling.LANCZOS,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "cubic": Image.Resampling.BICUBIC,
}


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> np.ndarray:
    """``np.array(PIL.Image.fromarray(arr).resize(...))``.

    Args:
        size: percent (an integer), a factor (a float), or (height, width).
        interp: nearest, lanczos, bilinear, bicubic or cubic.
    """
    picture = toimage(arr, mode=mode)
    if isinstance(size, int | float | np.number):
        factor = size / 100.0 if isinstance(size, int | np.integer) else float(size)
        width, height = (int(each * factor) for each in picture.size)
    else:
        height, width = size[:2]
    return np.array(picture.resize((int(width), int(height)), _FILTERS[interp]))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> np.ndarray:
    """``np.array(PIL.Image.fromarray(arr).rotate(angle))``."""
    return np.array(toimage(arr).rotate(angle, _FILTERS[interp]))


def textsize(draw: Any, text: str, font: Any = None) -> tuple[int, int]:
    """``draw.textbbox((0, 0), text, font)[2:]``."""
    return draw.textbbox((0, 0), text, font)[2:]


def getsize(font: Any, text: str) -> tuple[int, int]:
    """``font.getbbox(text)[2:]``."""
    return font.getbbox(text)[2:]
