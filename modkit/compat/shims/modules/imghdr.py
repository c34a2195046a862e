"""``PIL.Image.open(file).format``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_STARTS = {
    "jpeg": rb"\xff\xd8\xff", "png": rb"\x89PNG\r\n\x1a\n", "gif": rb"GIF8[79]a",
    "tiff": rb"II|MM", "rgb": rb"\x01\xda", "pbm": rb"P[14]\s", "pgm": rb"P[25]\s",
    "ppm": rb"P[36]\s", "rast": rb"\x59\xa6\x6a\x95", "xbm": rb"#define ", "bmp": rb"BM",
    "webp": rb"RIFF.{4}WEBP", "exr": rb"\x76\x2f\x31\x01",
}  # fmt: skip
"""Regular expressions of the first bytes of image files."""


def what(file: Any, h: bytes | None = None) -> str | None:
    """The format of an image file or of its first bytes ``h``; ``None`` for others."""
    first = _first_bytes(file) if h is None else h
    return next((name for name, start in _STARTS.items() if re.match(start, first, re.S)), None)


def _first_bytes(file: Any) -> bytes:
    if not hasattr(file, "read"):
        with Path(file).open("rb") as opened:
            return opened.read(32)
    place, first = file.tell(), file.read(32)
    file.seek(place)
    return first
