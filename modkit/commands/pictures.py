"""Pictures as nets take them: cut, scaled, in the right order of channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from modkit.errors import FileFormatError, NotSupportedError, ParameterError
from modkit.files import MissingFileError


@dataclass(frozen=True)
class Preparation:
    """What is done with a picture: ``(pixel - mean) / std * scale``, channel by channel.

    Attributes:
        size: height and width that it is brought to; ``None`` for its own.
        short: first its shorter side is brought to this, and then the middle of ``size`` is cut
            out; ``None`` to stretch it to ``size``.
        channels: 3 for colour, 1 for grey.
        bgr: the channels come as blue, green, red.
        mean: for each channel in the order in which they come, or one for all.
        std: likewise.
        scale: one number.
    """

    size: tuple[int, int] | None = None
    short: int | None = None
    channels: int = 3
    bgr: bool = False
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    scale: float = 1.0

    def __post_init__(self) -> None:
        for name, values in (("--mean", self.mean), ("--std", self.std)):
            if len(values) not in (1, self.channels):
                raise ParameterError(
                    f"{name}: got {len(values)} numbers for {self.channels} channels"
                )
        if not all(self.std):
            raise ParameterError("--std: got 0, by which pixels cannot be divided")


def read_picture(path: str, preparation: Preparation) -> np.ndarray:
    """A picture as a batch of one.

    Raises:
        FileFormatError: it is no picture.
        NotSupportedError: Pillow is not installed.

    Shapes:
        returns: (1, C, H, W), float32.
    """
    pillow, ops = _pillow()
    try:
        # As OpenCV, and so MXNet, does: turned the way that the camera was held.
        picture = ops.exif_transpose(pillow.open(path))
        picture = picture.convert("RGB" if preparation.channels == 3 else "L")
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: there is no such file") from error
    except (OSError, SyntaxError, ValueError, pillow.DecompressionBombError) as error:
        raise FileFormatError(f"{path}: not a picture: {error}") from error
    pixels = np.asarray(_sized(picture, preparation), np.float32)
    pixels = pixels.reshape(*pixels.shape[:2], preparation.channels)
    if preparation.bgr:
        pixels = pixels[..., ::-1]
    mean, std = (np.asarray(n, np.float32) for n in (preparation.mean, preparation.std))
    pixels = (pixels - mean) / std * np.float32(preparation.scale)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


def _sized(picture: Any, preparation: Preparation) -> Any:
    pillow, _ = _pillow()
    width, height = picture.size
    if preparation.short is not None:
        factor = preparation.short / min(width, height)
        width, height = round(width * factor), round(height * factor)
        picture = picture.resize((width, height), pillow.Resampling.BILINEAR)
    if preparation.size is None:
        return picture
    rows, columns = preparation.size
    if preparation.short is None:
        return picture.resize((columns, rows), pillow.Resampling.BILINEAR)
    if rows > height or columns > width:
        raise ParameterError(
            f"--short {preparation.short} makes the picture {height} by {width}, too small to cut "
            f"{rows} by {columns} out of it"
        )
    left, top = (width - columns) // 2, (height - rows) // 2
    return picture.crop((left, top, left + columns, top + rows))


def _pillow() -> tuple[Any, Any]:
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise NotSupportedError(
            "reading pictures needs Pillow: pip install 'modkit[image]'; .npy files need nothing"
        ) from error
    return Image, ImageOps
