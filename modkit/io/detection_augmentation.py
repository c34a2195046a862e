"""Augmentation of images with boxes in `ImageDetRecordIter`: colours, borders and crops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from modkit.errors import ParameterError, expect
from modkit.io.image_augmentation import hsl_shifted
from modkit.io.resample import as_dtype, bordered

Floats = tuple[float, ...]

_LIMITS = {
    "scales": 1.0, "aspect_ratios": None, "overlaps": 1.0, "sample_coverages": 1.0,
    "object_coverages": 1.0,
}  # fmt: skip
"""Ranges of a crop, ``min_crop_*`` and ``max_crop_*``, and the largest number that each allows."""

OPTIONS: dict[str, tuple[Any, Any]] = {
    "rand_crop_prob": (float, 0.0),
    **{f"min_crop_{n}": (Floats, (1.0 if n == "aspect_ratios" else 0.0,)) for n in _LIMITS},
    **{f"max_crop_{n}": (Floats, (1.0,)) for n in _LIMITS},
    "num_crop_sampler": (int, 1),
    "crop_emit_mode": (Literal["center", "overlap"], "center"),
    "emit_overlap_thresh": (float, 0.3),
    "max_crop_trials": (tuple[int, ...], (25,)),
    "rand_pad_prob": (float, 0.0),
    "max_pad_scale": (float, 1.0),
    "fill_value": (int, 127),
    "max_random_hue": (int, 0),
    "max_random_saturation": (int, 0),
    "max_random_illumination": (int, 0),
    "max_random_contrast": (float, 0.0),
    **{
        f"random_{name}_prob": (float, 0.0)
        for name in ("hue", "saturation", "illumination", "contrast")
    },
}
"""Parameters with their types and defaults; the defaults leave images unchanged."""

_SMALLEST_PAD = 1.05
"""Smallest ratio of a canvas to its image, by edge; smaller ones add no border."""


class CropSampler(NamedTuple):
    """The ranges of one kind of crops.

    Attributes:
        scales: square root of the crop's share of the image's area.
        aspect_ratios: width over height, in pixels.
        overlaps: intersection over union of the crop and a box.
        sample_coverages: share of the crop that a box covers.
        object_coverages: share of a box in the crop.
        trials: number of crops that are drawn at most.
    """

    scales: tuple[float, float]
    aspect_ratios: tuple[float, float]
    overlaps: tuple[float, float]
    sample_coverages: tuple[float, float]
    object_coverages: tuple[float, float]
    trials: int

    def rectangle(self, ratio: float, draws: np.random.Generator) -> np.ndarray:
        """A crop (left, top, right, bottom) in [0, 1] of an image of ``ratio`` width to height."""
        scale = draws.uniform(*self.scales)
        low = max(self.aspect_ratios[0] / ratio, scale**2)
        high = min(self.aspect_ratios[1] / ratio, 1 / max(scale, 1e-6) ** 2)
        # Without room for these ratios ``high`` is below ``low``, and one edge is the image's.
        root = math.sqrt(low + (high - low) * draws.random())
        width, height = min(scale * root, 1.0), min(scale / root, 1.0)
        left = draws.random() * (1 - width)
        top = draws.random() * (1 - height)
        return np.array([left, top, left + width, top + height])

    def accepts(self, crop: np.ndarray, boxes: np.ndarray) -> bool:
        """Whether one box fulfils all ranges whose lower end is above 0."""
        if max(self.overlaps[0], self.sample_coverages[0], self.object_coverages[0]) <= 0:
            return len(boxes) > 0
        shared, crop_area, box_areas = _shared(crop, boxes), areas(crop), areas(boxes)
        fits = np.ones(len(boxes), bool)
        for (low, high), of in (
            (self.overlaps, crop_area + box_areas - shared),
            (self.sample_coverages, crop_area),
            (self.object_coverages, box_areas),
        ):
            if low > 0:
                share = shared / np.maximum(of, 1e-12)
                fits &= (low <= share) & (share <= high)
        return bool(fits.any())


class DetectionAugmentation:
    """The random changes that parameters set: colours first, then a border, then a crop.

    Raises:
        ParameterError: ranges in the wrong order or out of [0, 1], or of another number than
            ``num_crop_sampler``.
    """

    def __init__(self, given: Mapping[str, Any]):
        for name in ("max_random_contrast", "max_pad_scale"):
            value = given[name]
            expect(math.isfinite(value), f"ImageDetRecordIter: {name}", value, "a finite number")
        self._given = dict(given)
        self._samplers = _samplers(given)
        self.any = any(given[n] > 0 for n in OPTIONS if n.endswith("_prob"))

    def __call__(
        self, image: np.ndarray, boxes: np.ndarray, draws: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The changed image and boxes.

        Shapes:
            image: (H, W, C), uint8.
            boxes: (N, 5 or more): class, left, top, right, bottom, ...
        """
        image = self._coloured(image, draws)
        if self._happens("rand_pad", draws):
            image, boxes = self._padded(image, boxes, draws)
        if self._happens("rand_crop", draws):
            image, boxes = self._cropped(image, boxes, draws)
        return image, boxes

    def _happens(self, name: str, draws: np.random.Generator) -> bool:
        chance = self._given[f"{name}_prob"]
        return chance > 0 and draws.random() < chance

    def _coloured(self, image: np.ndarray, draws: np.random.Generator) -> np.ndarray:
        given = self._given
        change = []
        for name in ("hue", "saturation", "illumination"):
            most = abs(given[f"max_random_{name}"])
            happens = self._happens(f"random_{name}", draws)
            change.append(int(draws.uniform(-most, most)) if happens else 0)
        if any(change) and image.shape[2] == 3:
            image = as_dtype(hsl_shifted(image, *change), np.uint8)
        if self._happens("random_contrast", draws):
            most = abs(given["max_random_contrast"])
            image = as_dtype(image * np.float32(1 + draws.uniform(-most, most)), np.uint8)
        return image

    def _padded(
        self, image: np.ndarray, boxes: np.ndarray, draws: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """The image at random on a larger canvas of the same shape."""
        scale = draws.uniform(1, max(self._given["max_pad_scale"], 1))
        if scale < _SMALLEST_PAD:
            return image, boxes
        size = np.array(image.shape[:2])
        canvas = (size * scale).astype(int)
        top, left = draws.integers(0, canvas - size, endpoint=True)
        bottom, right = canvas - size - (top, left)
        made = bordered(image, ((top, bottom), (left, right)), 0, self._given["fill_value"])
        corner, sides = np.array([-left, -top]) / size[::-1], canvas[::-1] / size[::-1]
        return made, relative(boxes, *corner, *sides)

    def _cropped(
        self, image: np.ndarray, boxes: np.ndarray, draws: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """A part with the boxes in it, by samplers in random order; both unchanged if all fail."""
        height, width = image.shape[:2]
        for crop in self._crops(width / height, boxes[:, 1:5], draws):
            kept = boxes[self._stays(crop, boxes[:, 1:5])]
            if not len(kept):
                continue
            corner, sides = crop[:2], crop[2:] - crop[:2]
            left, top = (corner * [width, height]).astype(int)
            wide, high = (sides * [width, height]).astype(int)
            if wide and high:
                kept = relative(kept, *corner, *sides)
                kept[:, 1:5] = np.clip(kept[:, 1:5], 0, 1)
                return image[top : top + high, left : left + wide], kept
        return image, boxes

    def _crops(
        self, ratio: float, boxes: np.ndarray, draws: np.random.Generator
    ) -> Iterator[np.ndarray]:
        """Accepted crops; the samplers come in random order, each with all its trials."""
        for number in draws.permutation(len(self._samplers)):
            sampler = self._samplers[number]
            for _ in range(sampler.trials):
                crop = sampler.rectangle(ratio, draws)
                if sampler.accepts(crop, boxes):
                    yield crop

    def _stays(self, crop: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """The boxes that a crop keeps."""
        if self._given["crop_emit_mode"] == "overlap":
            share = _shared(crop, boxes) / np.maximum(areas(boxes), 1e-12)
            return share > self._given["emit_overlap_thresh"]
        centres = (boxes[:, :2] + boxes[:, 2:]) / 2
        return np.all((crop[:2] <= centres) & (centres <= crop[2:]), axis=1)


def areas(boxes: np.ndarray) -> Any:
    """Areas of (left, top, right, bottom); 0 where a side is negative."""
    sides = np.maximum(boxes[..., 2:4] - boxes[..., :2], 0)
    return sides[..., 0] * sides[..., 1]


def _shared(crop: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Areas of the boxes' intersections with a crop."""
    low, high = np.maximum(crop[:2], boxes[:, :2]), np.minimum(crop[2:], boxes[:, 2:])
    return areas(np.hstack([low, high]))


def relative(boxes: np.ndarray, left: Any, top: Any, width: Any, height: Any) -> np.ndarray:
    """Boxes (class, left, top, right, bottom, ...) in coordinates of a region of the image."""
    made = boxes.copy()
    made[:, (1, 3)] = (boxes[:, (1, 3)] - left) / width
    made[:, (2, 4)] = (boxes[:, (2, 4)] - top) / height
    return made


def _samplers(given: Mapping[str, Any]) -> list[CropSampler]:
    """The samplers; a parameter of one number holds for all."""
    count = max(given["num_crop_sampler"], 0)

    def each(name: str) -> tuple[Any, ...]:
        values = given[name]
        if len(values) == 1:
            return values * count
        expected = f"one number or num_crop_sampler={count}"
        expect(len(values) == count, f"ImageDetRecordIter: {name}", values, expected)
        return values

    ranges = []
    for name, most in _LIMITS.items():
        pairs = list(zip(each(f"min_crop_{name}"), each(f"max_crop_{name}"), strict=True))
        for low, high in pairs:
            strict, limit = name == "scales", math.inf if most is None else most
            if not (0 <= low <= high <= limit) or (strict and low == high):
                raise ParameterError(
                    f"ImageDetRecordIter: min_crop_{name} and max_crop_{name}: got {low:g} and "
                    f"{high:g}, expected 0 <= min {'<' if strict else '<='} max"
                    f"{'' if most is None else f' <= {most:g}'}"
                )
        ranges.append(pairs)
    trials = (max(n, 0) for n in each("max_crop_trials"))
    return [CropSampler(*values) for values in zip(*ranges, trials, strict=True)]
