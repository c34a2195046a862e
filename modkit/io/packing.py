"""Records of images and labels: a header, labels, and data such as an encoded image."""

from __future__ import annotations

import io
import struct
from collections import namedtuple
from typing import Any

import numpy as np

from modkit.errors import DTypeError, FileFormatError, ParameterError, wrong
from modkit.io.image_decoding import decode_image, pillow, swapped

IRHeader = namedtuple("IRHeader", ["flag", "label", "id", "id2"])
"""The header of a record.

``flag`` is the number of labels where there are several, else 0; ``label`` a number or an array
of them; ``id`` and ``id2`` are for the user.
"""
IRHeader.__name__ = "HEADER"  # the name that MXNet prints; pickle reads __qualname__
HEADER = struct.Struct("<IfQQ")


def pack(header: Any, s: bytes) -> bytes:
    """A record of a header and data. A label that is not a number is stored as float32.

    >>> unpack(pack(IRHeader(0, [1, 2], 7, 0), b"data"))
    (HEADER(flag=2, label=array([1., 2.], dtype=float32), id=7, id2=0), b'data')
    """
    if not isinstance(header, list | tuple) or len(header) != 4:
        raise wrong("pack: header", header, "IRHeader(flag, label, id, id2)")
    header = IRHeader(*header)
    if isinstance(header.label, int | float | np.number):
        labels = b""
        header = header._replace(flag=0)
    else:
        try:
            values = np.asarray(header.label, dtype=np.float32)
        except (TypeError, ValueError) as error:
            expected = f"a number or an array: {error}"
            raise wrong("pack: label", header.label, expected) from error
        labels = values.tobytes()
        header = header._replace(flag=values.size, label=0)
    if not isinstance(s, bytes | bytearray | memoryview):
        raise ParameterError(f"pack: got {type(s).__name__} for the data, expected bytes")
    try:
        return HEADER.pack(*header) + labels + bytes(s)
    except struct.error as error:
        raise ParameterError(f"pack: the header {header} cannot be stored: {error}") from error


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """Header and data of a record; FileFormatError for a short one, ParameterError for none."""
    if not isinstance(s, bytes | bytearray | memoryview):
        end = "; read() returns None at the end of a file" if s is None else ""
        raise ParameterError(f"unpack: got {type(s).__name__}, expected bytes{end}")
    if len(s) < HEADER.size:
        raise FileFormatError(f"unpack: got {len(s)} bytes, expected at least {HEADER.size}")
    header = IRHeader(*HEADER.unpack_from(s))
    data = s[HEADER.size :]
    if header.flag > 0:
        size = header.flag * 4
        if size > len(data):
            raise FileFormatError(
                f"unpack: {header.flag} labels take {size} bytes, but the record has only "
                f"{len(data)} more"
            )
        header = header._replace(label=np.frombuffer(data, np.float32, header.flag))
        data = data[size:]
    return header, data


def box_label(label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The header of a label of boxes, and its boxes of positive width and height.

    Shapes:
        returns: (header width,) and (boxes, box width).

    Raises:
        FileFormatError: it is no such label.
    """
    widths = [float(each) for each in label[:2]]
    if len(label) >= 7 and all(each < 2**31 for each in map(abs, widths)):
        header, width = map(int, widths)
        if 2 <= header <= len(label) and width >= 5 and (len(label) - header) % width == 0:
            boxes = label[header:].reshape(-1, width)
            wide = (boxes[:, 3] > boxes[:, 1]) & (boxes[:, 4] > boxes[:, 2])
            return label[:header], boxes[wide]
    raise FileFormatError(
        f"got a label of {len(label)} numbers, {widths} first, expected the width of the header "
        "(2), that of a box (5), and one box or more"
    )


def pack_img(header: Any, img: np.ndarray, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """A record of a header and an encoded image.

    Args:
        img: (H, W), or (H, W, C) with channels in the order blue, green, red (alpha).
        quality: of a JPEG, 1 to 100; of a PNG, how hard to compress, 1 to 9.
        img_fmt: ``".jpg"`` or ``".png"``.

    Shapes:
        img: (H, W), (H, W, 3) or (H, W, 4), uint8.

    Raises:
        DTypeError: another element type or shape.
    """
    pixels = np.asarray(img)
    try:
        image = pillow().fromarray(swapped(pixels))
    except (TypeError, ValueError, IndexError) as error:
        raise DTypeError(
            f"pack_img: img: got {pixels.dtype} of shape {pixels.shape}, expected uint8 of shape "
            "(height, width) or (height, width, channels), of 1, 3 or 4 channels"
        ) from error
    stream = io.BytesIO()
    if img_fmt.lower() in (".jpg", ".jpeg"):
        image.save(stream, "JPEG", quality=quality)
    elif img_fmt.lower() == ".png":
        image.save(stream, "PNG", compress_level=min(quality, 9))
    else:
        raise wrong("pack_img: img_fmt", img_fmt, "'.jpg' or '.png'")
    return pack(header, stream.getvalue())


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, np.ndarray]:
    """Header and decoded image of a record.

    Args:
        iscolor: 1 for three channels, 0 for grey, -1 for what the image has.

    Returns:
        The header, and the image as (H, W) or as (H, W, C) in the order blue, green, red (alpha).
    """
    header, data = unpack(s)
    return header, decode_image(data, iscolor)
