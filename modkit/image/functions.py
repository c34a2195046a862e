"""Images as NDArrays, (height, width, channels): decoded, resized, cropped, normalised."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from modkit import files
from modkit.errors import (
    DTypeError,
    FileFormatError,
    ParameterError,
    ShapeError,
    expect,
    warn_caller,
)
from modkit.io.image_decoding import decoded
from modkit.io.resample import as_dtype, bordered, chosen_interp, resized, rotated
from modkit.ndarray import NDArray, array

Region = tuple[int, int, int, int]
"""Left, top, width and height of a crop."""


def imdecode(
    buf: Any, flag: int = 1, to_rgb: bool | int = True, out: NDArray | None = None
) -> NDArray:
    """The image of an encoded file, as its pixels lie there: EXIF data do not turn it.

    Args:
        buf: bytes of a JPEG, PNG or other file; a NumPy array or NDArray of them.
        flag: 1 for colour, 0 for grey.
        to_rgb: channels in the order red, green, blue; otherwise blue, green, red.
        out: the array to write; default a new one.

    Shapes:
        returns: (H, W, 3), or (H, W, 1) for grey; uint8.

    Raises:
        ParameterError: ``buf`` is none of these (a ``ValueError``), or is empty.
        FileFormatError: it cannot be decoded.
        NotSupportedError: Pillow is not installed.

    Differs: pixels of a JPEG file can differ from MXNet's as much as its two decoders do. A TIFF
    file is turned as its tag of the orientation says; MXNet 1.9.1 turns none.
    """
    if isinstance(buf, NDArray):
        buf = buf.asnumpy()
    is_buffer = isinstance(buf, bytes | bytearray | memoryview | np.ndarray)
    expected = "bytes, bytearray or numpy.ndarray; imread takes the name of a file"
    expect(is_buffer, "imdecode: buf", type(buf), expected)
    expect(flag in (0, 1), "imdecode: flag", flag, "1 for colour or 0 for grey")
    data = bytes(buf)
    if not data:
        raise ParameterError("imdecode: got an empty buffer, expected the bytes of an image")
    try:
        image = np.asarray(decoded(data, "RGB" if flag else "L"))
    except FileFormatError as error:
        raise FileFormatError(f"imdecode: {len(data)} bytes are {error}") from error
    image = image.reshape(*image.shape[:2], -1)
    image = np.ascontiguousarray(image if to_rgb or not flag else image[..., ::-1])
    return _written(array(image, dtype=np.uint8), out)


def _written(made: NDArray, out: NDArray | None) -> NDArray:
    """An image, or the array ``out`` that gets its values."""
    if out is None:
        return made
    out[:] = made
    return out


def imread(
    filename: str | os.PathLike[str],
    flag: int = 1,
    to_rgb: bool | int = True,
    out: NDArray | None = None,
) -> NDArray:
    """The image in a file; see `imdecode`.

    Raises:
        MissingFileError: there is no such file.
    """
    return files.parse_file(filename, lambda data: imdecode(data, flag, to_rgb, out))


def _changed(src: NDArray, change: Callable[[np.ndarray], np.ndarray], what: str) -> NDArray:
    """An image changed as a NumPy array; its type stays."""
    expect(isinstance(src, NDArray), f"{what}: src", type(src), "an NDArray")
    if src.ndim != 3:
        raise ShapeError(f"{what}: src: got shape {src.shape}, expected (height, width, channels)")
    image = src.asnumpy()
    return array(np.ascontiguousarray(as_dtype(change(image), image.dtype)), dtype=image.dtype)


def imresize(src: NDArray, w: int, h: int, interp: int = 1, out: NDArray | None = None) -> NDArray:
    """The image resized to ``w`` by ``h`` pixels.

    Args:
        src: (H, W, C).
        interp: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos over 8 pixels, as in OpenCV.
        out: the array to write; default a new one.

    Raises:
        ParameterError: a size below 1, or another ``interp``.
    """
    if not all(isinstance(n, Integral) and n >= 1 for n in (w, h)):
        raise ParameterError(f"imresize: got w={w!r}, h={h!r}, expected integers of 1 or more")
    return _written(_changed(src, lambda image: resized(image, h, w, interp), "imresize"), out)


def copyMakeBorder(
    src: NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values: Sequence[float] = (),
) -> NDArray:
    """The image with ``top``, ``bot``, ``left`` and ``right`` pixels added.

    Args:
        src: (H, W, C).
        top, bot, left, right: pixels on that side.
        type: 0 constant, 1 edges repeated, 2 mirrored with the edge, 3 wrapped, 4 mirrored.
        value: of constant pixels.
        values: the same, one a channel.

    Raises:
        ParameterError: a number of pixels that is none, or another ``type``.
    """
    for side, pixels in {"top": top, "bot": bot, "left": left, "right": right}.items():
        is_number = isinstance(pixels, Integral) and pixels >= 0
        expect(is_number, f"copyMakeBorder: {side}", pixels, "a number of pixels, 0 or more")
    margins, fill = ((top, bot), (left, right)), values or value
    return _changed(src, lambda image: bordered(image, margins, type, fill), "copyMakeBorder")


def scale_down(src_size: Sequence[int], size: Sequence[int]) -> tuple[int, int]:
    """``size``, (width, height), made smaller in proportion until it fits into ``src_size``.

    >>> scale_down((640, 480), (720, 120))
    (640, 106)
    """
    w, h = size
    sw, sh = src_size
    if sh < h:
        w, h = float(w * sh) / h, sh
    if sw < w:
        w, h = sw, float(h * sw) / w
    return int(w), int(h)


def _resize_to(src: NDArray, w: int, h: int, interp: int) -> NDArray:
    return imresize(src, w, h, chosen_interp(interp, src.shape[:2], (h, w)))


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """The image resized so that its shorter edge has ``size`` pixels.

    Args:
        src: (H, W, C).
        size: of the shorter edge.
        interp: see `imresize`; 9 takes cubic to enlarge, area to shrink and linear otherwise, 10
            draws one of 0 to 4.
    """
    h, w = src.shape[:2]
    if h > w:
        return _resize_to(src, size, size * h // w, interp)
    return _resize_to(src, size * w // h, size, interp)


def fixed_crop(
    src: NDArray,
    x0: int,
    y0: int,
    w: int,
    h: int,
    size: Sequence[int] | None = None,
    interp: int = 2,
) -> NDArray:
    """The part from (``x0``, ``y0``) on, ``w`` by ``h`` pixels, resized to ``size`` if given.

    Args:
        src: (H, W, C).
        size: (width, height) of the result.
        interp: see `resize_short`.

    Raises:
        ShapeError: the part has no pixels.
    """
    part = src[y0 : y0 + h, x0 : x0 + w]
    if not part.size:
        raise ShapeError(
            f"fixed_crop: got {w} by {h} pixels from ({x0}, {y0}), expected a part of the image of "
            f"{src.shape[1]} by {src.shape[0]}"
        )
    if size is None or (w, h) == tuple(size):
        return part
    width, height = size
    return _resize_to(part, width, height, interp)


def _crop_at(src: NDArray, region: Region, size: Sequence[int], interp: int) -> tuple[Any, Region]:
    x0, y0, w, h = region
    return fixed_crop(src, x0, y0, w, h, size, interp), region


def random_crop(src: NDArray, size: Sequence[int], interp: int = 2) -> tuple[NDArray, Region]:
    """A random part of ``size``, (width, height); of a smaller image, a part that is enlarged.

    Returns:
        The part, and its (left, top, width, height) in the image.
    """
    h, w = src.shape[:2]
    new_w, new_h = scale_down((w, h), size)
    x0, y0 = random.randint(0, w - new_w), random.randint(0, h - new_h)
    return _crop_at(src, (x0, y0, new_w, new_h), size, interp)


def center_crop(src: NDArray, size: Sequence[int], interp: int = 2) -> tuple[NDArray, Region]:
    """The middle of ``size``, (width, height); of a smaller image, a part that is enlarged.

    Returns:
        The part, and its (left, top, width, height) in the image.
    """
    h, w = src.shape[:2]
    new_w, new_h = scale_down((w, h), size)
    return _crop_at(src, ((w - new_w) // 2, (h - new_h) // 2, new_w, new_h), size, interp)


def random_size_crop(
    src: NDArray,
    size: Sequence[int],
    area: float | tuple[float, float],
    ratio: tuple[float, float],
    interp: int = 2,
    **kwargs: Any,
) -> tuple[NDArray, Region]:
    """A part of random area and aspect ratio, resized to ``size``, (width, height).

    Args:
        src: (H, W, C).
        size: (width, height) of the result.
        area: limits of the part's share of the image; one number is the lower limit.
        ratio: limits of width over height.
        interp: see `resize_short`.
        kwargs: ``min_area``, the old name of ``area``.

    Returns:
        The part, and its (left, top, width, height); `center_crop` where ten draws do not fit.
    """
    h, w = src.shape[:2]
    if "min_area" in kwargs:
        warn_caller("min_area is deprecated: use area", DeprecationWarning)
        area = kwargs.pop("min_area")
    if kwargs:
        raise ParameterError(f"random_size_crop: got an unexpected parameter {next(iter(kwargs))}")
    low, high = area if isinstance(area, tuple | list) else (area, 1.0)
    for _ in range(10):
        target = random.uniform(low, high) * h * w
        aspect = math.exp(random.uniform(math.log(ratio[0]), math.log(ratio[1])))
        new_w, new_h = round(math.sqrt(target * aspect)), round(math.sqrt(target / aspect))
        if new_w <= w and new_h <= h:
            x0, y0 = random.randint(0, w - new_w), random.randint(0, h - new_h)
            return _crop_at(src, (x0, y0, new_w, new_h), size, interp)
    return center_crop(src, size, interp)


def color_normalize(src: NDArray, mean: Any, std: Any = None) -> NDArray:
    """``(src - mean) / std``, by channel; ``src`` itself is written where ``mean`` is given."""
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src


def imrotate(
    src: NDArray, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Images rotated about their centres, bilinearly; zeros beyond their edges.

    Args:
        src: (C, H, W) or (N, C, H, W), float32.
        rotation_degrees: a number, or an NDArray with one for each image.
        zoom_in: enlarge until no zeros show.
        zoom_out: shrink until nothing is cut off.

    Raises:
        DTypeError: the images are not float32.
        ParameterError: both zooms.
    """
    if zoom_in and zoom_out:
        raise ParameterError("imrotate: got zoom_in and zoom_out, expected at most one of them")
    if src.dtype is not np.float32:
        raise DTypeError(f"imrotate: src: got {np.dtype(src.dtype)}, expected float32")
    if src.ndim not in (3, 4):
        raise ShapeError(
            f"imrotate: src: got shape {src.shape}, expected (C, H, W) or (N, C, H, W)"
        )
    if src.ndim == 3 and not isinstance(rotation_degrees, Real):
        raise ParameterError("imrotate: one image takes one number as rotation_degrees")
    images = src.asnumpy().reshape(-1, *src.shape[-3:])
    if isinstance(rotation_degrees, NDArray):
        rotation_degrees = rotation_degrees.asnumpy()
    degrees = np.asarray(rotation_degrees, np.float32)
    if degrees.ndim == 0:
        degrees = np.full(len(images), degrees)
    made = rotated(images, degrees, zoom_in, zoom_out)
    return array(made.reshape(src.shape), ctx=src.ctx)


def random_rotate(
    src: NDArray, angle_limits: tuple[float, float], zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """`imrotate` by angles between two limits, in degrees, from NumPy's global stream."""
    size = None if src.ndim == 3 else len(src)
    angles = np.random.uniform(*angle_limits, size)  # noqa: NPY002 - a global stream, as in MXNet
    return imrotate(src, angles if size is None else array(angles), zoom_in, zoom_out)
