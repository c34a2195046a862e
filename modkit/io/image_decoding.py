"""Decoding of images: supported formats, and limits on their size."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np

from modkit.errors import FileFormatError, NotSupportedError
from modkit.lazy import install

FORMATS = ("JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
"""OpenCV, which MXNet uses, decodes these too. Some of Pillow's formats start programs."""

# Number of pixels that any file may have, and limit of pixels per byte for larger images.
_ANY_PIXELS, _MOST_PIXELS = 2**23, 20
# An image is scaled to no more pixels than this, unless one edge is at most so often the other.
_ANY_SCALED, _MOST_RATIO = 2**24, 16


_OWN_MODES = ("L", "RGB", "RGBA", "I;16")
_JPEG = b"\xff\xd8"
_ORIENTATION = 0x0112
"""The EXIF tag of how the camera was held."""
_PNG_GREY = np.array([9797, 19234, 3737], np.int32), 0, 15
"""Weights of red, green and blue, an addend, and the bits cut off, by which OpenCV makes grey."""
_GREY = np.array([4899, 9617, 1868], np.int32), 1 << 13, 14
"""Those of other formats, but for JPEG."""


def open_image(data: bytes) -> Any:
    """The Pillow image of an encoded file; its format and size are checked, no pixel is decoded.

    Raises:
        FileFormatError: the format is none of `FORMATS`, or the bytes are too few for the size.
        NotSupportedError: Pillow is not installed.
    """
    image_module = pillow()
    formats = [each for each in FORMATS if each in image_module.OPEN]
    try:
        image = image_module.open(io.BytesIO(data), formats=formats)
    except image_module.UnidentifiedImageError as error:
        raise FileFormatError(f"no image: not {', '.join(FORMATS)}") from error
    except Exception as error:  # a damaged header can fail in any way
        raise FileFormatError(f"no image: {error}") from error
    if math.prod(image.size) > max(_ANY_PIXELS, _MOST_PIXELS * len(data)):
        width, height = image.size
        raise FileFormatError(
            f"no image: so few bytes cannot be {width} x {height} pixels, expected at most "
            f"{_MOST_PIXELS} pixels for each of the {len(data)} bytes"
        )
    return image


def decoded(data: bytes, mode: str | None = None, *, upright: bool = False) -> Any:
    """The decoded Pillow image of an encoded file.

    Args:
        mode: Pillow's name of the channels, such as ``"RGB"``; default those of the image, or
            ``"RGB"`` where they are not L, RGB, RGBA or 16-bit grey. Of 16 bits others keep 8.
        upright: turn the image as its EXIF data say that the camera was held.

    Raises:
        FileFormatError: it cannot be decoded; see `open_image`.
    """
    image = open_image(data)
    is_png, is_jpeg = image.format == "PNG", image.format == "JPEG"
    try:
        if is_jpeg and mode == "L":
            image.draft("L", None)  # the luminance that the file has, as OpenCV takes it
        may_turn = upright and (not is_jpeg or "exif" in image.info)
        if may_turn and image.getexif().get(_ORIENTATION, 1) != 1:
            from PIL import ImageOps

            image = ImageOps.exif_transpose(image)
        image.load()
        if is_png and image.mode == "I":  # 16-bit grey in Pillow before 10.1
            image = pillow().fromarray(np.asarray(image).astype(np.uint16))
        wanted = mode or (image.mode if image.mode in _OWN_MODES else "RGB")
        if image.mode == wanted:
            return image
        if image.mode.startswith("I;16"):
            image = _of_levels(np.asarray(image) >> 8)
        elif wanted == "L" and not is_jpeg and image.mode not in ("1", "LA"):
            weights, half, bits = _PNG_GREY if is_png else _GREY
            return _of_levels(np.asarray(image.convert("RGB"), np.int32) @ weights + half >> bits)
        return image.convert(wanted)
    except Exception as error:  # a damaged image can fail in any way
        raise FileFormatError(f"no image: {error}") from error


def _of_levels(levels: np.ndarray) -> Any:
    """A grey Pillow image, (H, W), of whole numbers from 0 to 255."""
    return pillow().fromarray(levels.astype(np.uint8))


def pixels(data: bytes, mode: str | None) -> np.ndarray:
    """The pixels of an encoded image in a record, (H, W) or (H, W, channels); see `decoded`.

    As by OpenCV JPEG files are turned upright where ``mode`` is given, and other files are not.

    Raises:
        FileFormatError: it cannot be decoded.
    """
    try:
        upright = mode is not None and bytes(data[:2]) == _JPEG
        return np.asarray(decoded(data, mode, upright=upright))
    except FileFormatError as error:
        raise FileFormatError(f"a record of {len(data)} bytes is {error}") from error


def decode_image(data: bytes, iscolor: int = -1) -> np.ndarray:
    """An encoded image as an array, see `unpack_img`; FileFormatError if that is impossible."""
    return swapped(pixels(data, {1: "RGB", 0: "L"}.get(iscolor)))


def check_scaled(height: int, width: int, shorter: int) -> None:
    """Check the size of an image scaled so that its shorter edge is ``shorter``.

    Raises:
        FileFormatError: the scaled image has too many pixels, because one edge is so much longer.
    """
    longer = max(height, width) * shorter // max(min(height, width), 1)
    if longer * shorter > max(_ANY_SCALED, _MOST_RATIO * shorter**2):
        raise FileFormatError(
            f"an image of {height} x {width} pixels has {longer} x {shorter} once its shorter edge "
            f"has {shorter}, expected at most {_ANY_SCALED}; cut it first"
        )


def swapped(image: np.ndarray) -> np.ndarray:
    """Blue, green, red for red, green, blue, and the other way round; alpha stays last."""
    if image.ndim == 2 or image.shape[-1] == 1:
        return np.array(image.reshape(image.shape[:2]))  # Pillow's are read-only
    return np.ascontiguousarray(np.concatenate([image[..., 2::-1], image[..., 3:]], -1))


def pillow() -> Any:
    """Pillow's ``Image``, which knows the `FORMATS`; NotSupportedError if not installed."""
    try:
        from PIL import Image, TiffImagePlugin, WebPImagePlugin  # noqa: F401 - known by import
    except ImportError as error:
        raise NotSupportedError(
            f"encoding and decoding images needs Pillow: {install('image')}; .npy files "
            "need nothing"
        ) from error
    Image.preinit()
    return Image
