"""Preprocessing of pictures for networks: cropping, scaling, and the order of channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from modkit.errors import FileFormatError, ParameterError
from modkit.files import FileWindow
from modkit.io.image_decoding import check_scaled, decoded, pillow


@dataclass(frozen=True)
class Preparation:
    """Preprocessing of a picture: ``(pixel - mean) / std * scale``, channel by channel.

    Attributes:
        size: height and width of the result; ``None`` for those of the picture.
        short: length that the shorter side is scaled to before the centre of ``size`` is cropped;
            ``None`` to stretch the picture to ``size``.
        channels: 3 for colour, 1 for grey.
        bgr: channels in the order blue, green, red.
        mean: one for each channel, in the order of the result, or one for all.
        std: likewise.
        scale: factor.
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
        FileFormatError: it is no picture, or of an unsupported format.
        NotSupportedError: Pillow is not installed.

    Shapes:
        returns: (1, C, H, W), float32.
    """
    with FileWindow(path) as window:
        data = bytes(window)
    try:
        # Turned as the camera was held, which OpenCV, and so MXNet, does too.
        picture = decoded(data, "RGB" if preparation.channels == 3 else "L", upright=True)
        pixels = np.asarray(_sized(picture, preparation))
    except FileFormatError as error:
        raise FileFormatError(f"{path}: not a picture: {error}; arrays are .npy files") from error
    pixels = pixels.reshape(*pixels.shape[:2], preparation.channels)
    if preparation.bgr:
        pixels = pixels[..., ::-1]
    mean, std = (np.asarray(n, np.float32) for n in (preparation.mean, preparation.std))
    batch = np.empty((1, preparation.channels, *pixels.shape[:2]), np.float32)
    maps = batch[0].transpose(1, 2, 0)
    np.subtract(pixels, mean, out=maps)
    maps /= std
    maps *= np.float32(preparation.scale)
    return batch


def _sized(picture: Any, preparation: Preparation) -> Any:
    bilinear = pillow().Resampling.BILINEAR
    width, height = picture.size
    if preparation.short is not None:
        check_scaled(height, width, preparation.short)
        factor = preparation.short / min(width, height)
        width, height = round(width * factor), round(height * factor)
        picture = picture.resize((width, height), bilinear)
    if preparation.size is None:
        return picture
    rows, columns = preparation.size
    if preparation.short is None:
        return picture.resize((columns, rows), bilinear)
    if rows > height or columns > width:
        raise ParameterError(
            f"--short {preparation.short} makes the picture {height} by {width}, too small to cut "
            f"{rows} by {columns} out of it"
        )
    left, top = (width - columns) // 2, (height - rows) // 2
    return picture.crop((left, top, left + columns, top + rows))
