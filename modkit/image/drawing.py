"""Boxes drawn into images, and windows that show these."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence

import numpy as np

from modkit.errors import NotSupportedError
from modkit.io.image_decoding import pillow


def with_boxes(
    image: np.ndarray,
    boxes: np.ndarray,
    colors: Sequence[tuple[int, ...]],
    thickness: int,
    names: Mapping[int, str],
) -> np.ndarray:
    """An image, (H, W, 3) of uint8, with boxes (class, left, top, right, bottom, ...) drawn."""
    picture = pillow().fromarray(image)
    draw = importlib.import_module("PIL.ImageDraw").Draw(picture)
    scale = np.tile(picture.size, 2)
    for box, color in zip(boxes, colors, strict=True):
        corners = (box[1:5] * scale).astype(int).tolist()
        draw.rectangle(corners, outline=color, width=thickness)
        if (name := names.get(int(box[0]))) is not None:
            draw.text((corners[0] + thickness, corners[1] + thickness), name, fill=color)
    return np.array(picture)


def show(image: np.ndarray, window: str, wait_ms: int) -> None:
    """Show an image in a window for some milliseconds; NotSupportedError without OpenCV."""
    try:
        opencv = importlib.import_module("cv2")
    except ImportError as error:
        raise NotSupportedError(
            "draw_next: waitKey: windows need OpenCV (the module cv2); without waitKey the images "
            "are returned alone, for Matplotlib or Pillow"
        ) from error
    opencv.imshow(window, image[..., ::-1])
    opencv.waitKey(wait_ms)
