"""``imghdr`` of Python 3.12, by Pillow."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image, UnidentifiedImageError


def what(file: Any, h: bytes | None = None) -> str | None:
    """The format of an image file or of the bytes ``h`` in lower case; ``None`` for others."""
    try:
        with Image.open(file if h is None else io.BytesIO(h)) as picture:
            return (picture.format or "").lower() or None
    except UnidentifiedImageError:
        return None
