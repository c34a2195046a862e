"""Augmentation of images in `ImageRecordIter`: sizes, rotations, crops and colours."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from modkit.errors import ParameterError, ShapeError
from modkit.io.resample import DRAWN, as_dtype, bordered, of_size, warped

OPTIONS: dict[str, tuple[Any, Any]] = {
    "inter_method": (int, 1),
    "random_resized_crop": (bool, False),
    "max_rotate_angle": (int, 0),
    "rotate": (int, -1),
    "max_aspect_ratio": (float, 0.0),
    "min_aspect_ratio": (float | None, None),
    "max_shear_ratio": (float, 0.0),
    "max_crop_size": (int, -1),
    "min_crop_size": (int, -1),
    "max_random_scale": (float, 1.0),
    "min_random_scale": (float, 1.0),
    "max_random_area": (float, 1.0),
    "min_random_area": (float, 1.0),
    "max_img_size": (float, 1e10),
    "min_img_size": (float, 0.0),
    "brightness": (float, 0.0),
    "contrast": (float, 0.0),
    "saturation": (float, 0.0),
    "pca_noise": (float, 0.0),
    "random_h": (int, 0),
    "random_s": (int, 0),
    "random_l": (int, 0),
    "fill_value": (int, 255),
    "pad": (int, 0),
    "max_random_contrast": (float, 0.0),
    "max_random_illumination": (float, 0.0),
}
"""Parameters with their types and defaults, which change nothing."""

_LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)
"""Weights of red, green and blue in ITU-R BT.601."""
EIGENVALUES = np.array([55.46, 4.794, 1.148])
EIGENVECTORS = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)
"""Principal components of ImageNet's colours (Krizhevsky et al., 2012)."""


class ImageAugmentation:
    """The random changes of size, place and colour by parameters; ParameterError for bad limits."""

    def __init__(self, given: Mapping[str, Any]):
        self._given = given
        for name in ("random_scale", "random_area", "crop_size", "img_size"):
            low, high = given[f"min_{name}"], given[f"max_{name}"]
            if low > high:
                raise ParameterError(
                    f"ImageRecordIter: got min_{name}={low} above max_{name}={high}"
                )
        same = {n for n, (_, default) in OPTIONS.items() if given[n] == default}
        drawn = given["inter_method"] == DRAWN
        self.any = drawn or set(OPTIONS) - same - {"inter_method", "fill_value"} != set()
        self._is_affine = not same >= {
            "max_rotate_angle", "rotate", "max_aspect_ratio", "min_aspect_ratio",
            "max_shear_ratio", "max_random_scale", "min_random_scale",
            "max_img_size", "min_img_size",
        }  # fmt: skip
        self._colours = not same >= {"brightness", "contrast", "saturation", "pca_noise"}
        self._hsl = tuple(given[f"random_{c}"] for c in "hsl")

    def shaped(
        self, image: np.ndarray, height: int, width: int, interp: int, draws: np.random.Generator
    ) -> np.ndarray:
        """The image (H, W, C) in another size and place, before the crop to (height, width)."""
        given = self._given
        if given["random_resized_crop"]:
            image = self._resized_crop(image, height, width, interp, draws)
        elif self._is_affine:
            image = self._affine(image, draws)
        if given["pad"] > 0:
            margin = given["pad"], given["pad"]
            image = bordered(image, (margin, margin), 0, given["fill_value"])
        if given["max_crop_size"] > 0 or given["min_crop_size"] > 0:
            high = max(given["max_crop_size"], given["min_crop_size"])
            low = given["min_crop_size"] if given["min_crop_size"] > 0 else high
            size = int(draws.integers(low, high, endpoint=True))
            part = self._part(image, size, size, draws)
            image = of_size(part, height, width, interp)
        return image

    def _aspect(self, draws: np.random.Generator) -> float:
        """A random aspect ratio: height over width in `_affine`, else width over height."""
        high, low = self._given["max_aspect_ratio"], self._given["min_aspect_ratio"]
        return draws.uniform(1 - high, 1 + high) if low is None else draws.uniform(low, high)

    def _affine(self, image: np.ndarray, draws: np.random.Generator) -> np.ndarray:
        """The image rotated, sheared and scaled about its centre."""
        given = self._given
        limit = given["max_rotate_angle"]
        degrees = given["rotate"] if given["rotate"] > 0 else draws.uniform(-limit, limit)
        shear = draws.uniform(-given["max_shear_ratio"], given["max_shear_ratio"])
        scale = draws.uniform(given["min_random_scale"], given["max_random_scale"])
        aspect = self._aspect(draws)
        tall = 2 * scale / (1 + aspect)
        # Edges are float32: 0.29 * 100 is 29, and 28.99… in float64.
        edges = np.array(image.shape[:2], np.float32) * np.float32(scale)
        height, width = edges.clip(given["min_img_size"], given["max_img_size"]).tolist()
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        size_change = np.diag([tall, aspect * tall])
        matrix = np.array([[1, shear], [0, 1]]) @ size_change @ np.array([[c, s], [-s, c]])
        return as_dtype(warped(image, matrix, height, width, given["fill_value"]), image.dtype)

    def _resized_crop(
        self, image: np.ndarray, height: int, width: int, interp: int, draws: np.random.Generator
    ) -> np.ndarray:
        """A part of random area and aspect ratio, resized; the image itself if none fits."""
        given = self._given
        for _ in range(10):
            area = draws.uniform(given["min_random_area"], given["max_random_area"])
            area *= image.shape[0] * image.shape[1]
            aspect = max(self._aspect(draws), 1e-6)
            sides = math.sqrt(area / aspect), math.sqrt(area * aspect)
            h, w = (math.floor(n + 0.5) for n in sides)
            if 0 < h <= image.shape[0] and 0 < w <= image.shape[1]:
                y, x = draws.integers(0, [image.shape[0] - h, image.shape[1] - w], endpoint=True)
                return of_size(image[y : y + h, x : x + w], height, width, interp)
        return image

    def _part(
        self, image: np.ndarray, height: int, width: int, draws: np.random.Generator
    ) -> np.ndarray:
        spare = np.array([image.shape[0] - height, image.shape[1] - width])
        if spare.min() < 0:
            raise ShapeError(
                f"ImageRecordIter: got a crop of {height} x {width} pixels (min_crop_size, "
                f"max_crop_size) from an image of {image.shape[:2]}; pass smaller ones, or a "
                "larger resize, the length of the image's shorter edge"
            )
        y, x = draws.integers(0, spare, endpoint=True) if self._given["rand_crop"] else spare // 2
        return image[y : y + height, x : x + width]

    def coloured(self, image: np.ndarray, draws: np.random.Generator) -> np.ndarray:
        """The image (H, W, C) with other colours: after each change whole numbers in 0 to 255."""
        if image.shape[2] == 3 and any(self._hsl):
            change = [int(draws.uniform(-limit, limit)) for limit in self._hsl]
            image = as_dtype(hsl_shifted(image, *change), image.dtype)
        return self._jittered(image, draws) if self._colours else image

    def _jittered(self, image: np.ndarray, draws: np.random.Generator) -> np.ndarray:
        given, kind = self._given, image.dtype
        for name in draws.permutation(["brightness", "contrast", "saturation"]):
            if not given[name]:
                continue
            factor = np.float32(1 + draws.uniform(-given[name], given[name]))
            made = image * factor
            if name != "brightness" and image.shape[2] == 3:
                grey = (image * _LUMINANCE).sum(2, keepdims=True)
                made += (1 - factor) * (grey.mean() if name == "contrast" else grey)
            image = as_dtype(made, kind)
        if given["pca_noise"] > 0 and image.shape[2] == 3:
            alpha = draws.normal(0, given["pca_noise"], 3)
            noise = (EIGENVECTORS * alpha @ EIGENVALUES).astype(np.float32)
            image = as_dtype(image + noise, kind)
        return image

    def exposure(self, draws: np.random.Generator) -> tuple[float, float]:
        """A factor and a term of numbers from which the mean is subtracted."""
        contrast, light = (self._given[f"max_random_{n}"] for n in ("contrast", "illumination"))
        return 1 + draws.uniform(-contrast, contrast), draws.uniform(-light, light)


def hsl_shifted(image: np.ndarray, hue: float, saturation: float, lightness: float) -> np.ndarray:
    """An RGB image changed in the space of hue, saturation and lightness.

    Args:
        image: (H, W, 3), from 0 to 255.
        hue: to be added, in units of two degrees, as in OpenCV; sums are clipped to
            0 to 360 degrees.
        saturation, lightness: to be added, of 255.
    """
    rgb = image.astype(np.float32) / 255
    high, low = rgb.max(2), rgb.min(2)
    span, light = high - low, (high + low) / 2
    divisor = np.where(span > 0, span, 1)
    red, green, blue = np.moveaxis(rgb, 2, 0)
    angle = np.select(
        [high == red, high == green],
        [(green - blue) / divisor, 2 + (blue - red) / divisor],
        4 + (red - green) / divisor,
    )
    room = 1 - np.abs(2 * light - 1)
    strength = np.where(room > 0, span / np.where(room > 0, room, 1), 0)
    angle = np.clip(angle % 6 + hue / 30, 0, 6)  # as MXNet's
    strength = np.clip(strength + saturation / 255, 0, 1)
    light = np.clip(light + lightness / 255, 0, 1)
    chroma = (1 - np.abs(2 * light - 1)) * strength
    steps = [(angle + offset) % 6 for offset in (0, 4, 2)]
    parts = [np.clip(np.abs(step - 3) - 1, 0, 1) * chroma for step in steps]
    return (np.stack(parts, 2) + (light - chroma / 2)[..., None]) * 255
