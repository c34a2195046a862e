"""Augmenters of images with boxes: rows (class, left, top, right, bottom, ...) in [0, 1]."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from modkit.errors import ParameterError, expect, warn_caller
from modkit.image.augmenters import (
    Augmenter,
    CastAug,
    Described,
    ForceResizeAug,
    ResizeAug,
    colour_augmenters,
)
from modkit.image.functions import copyMakeBorder, fixed_crop
from modkit.io.detection_augmentation import areas, relative
from modkit.ndarray import NDArray, flip

Pair = tuple[NDArray, np.ndarray]
Range = tuple[float, float]


class DetAugmenter(Described):
    """An object that changes images and boxes, ``augmenter(src, label)``."""

    def __call__(self, src: NDArray, label: np.ndarray) -> Pair:
        """The changed image and boxes. Abstract."""
        raise NotImplementedError("DetAugmenter: a subclass defines __call__(self, src, label)")


class DetBorrowAug(DetAugmenter):
    """An augmenter of images that changes no positions."""

    def __init__(self, augmenter: Augmenter):
        expect(isinstance(augmenter, Augmenter), "DetBorrowAug", type(augmenter), "an Augmenter")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: NDArray, label: np.ndarray) -> Pair:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One augmenter of a list at random, or none with probability ``skip_prob``.

    As in MXNet 1.9.1 a call shuffles the list and takes the first.
    """

    def __init__(self, aug_list: Any, skip_prob: float = 0):
        super().__init__(skip_prob=skip_prob)
        if not isinstance(aug_list, list):
            aug_list = list(aug_list) if isinstance(aug_list, tuple) else [aug_list]
        self.aug_list = aug_list
        for each in self.aug_list:
            expect(isinstance(each, DetAugmenter), "DetRandomSelectAug", each, "DetAugmenters")
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self) -> Any:
        return [type(self).__name__.lower(), [each.dumps() for each in self.aug_list]]

    def __call__(self, src: NDArray, label: np.ndarray) -> Pair:
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Mirror image and boxes with probability ``p``."""

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray, label: np.ndarray) -> Pair:
        if random.random() >= self.p:
            return src, label
        label = label.copy()
        label[:, 1], label[:, 3] = 1 - label[:, 3], 1 - label[:, 1]
        return flip(src, axis=1), label


def _usable(name: str, ratio: Range, area: Range, least: float) -> bool:
    """Whether ranges leave anything to draw; warns if not."""
    usable = least < area[1] and area[0] <= area[1] and 0 < ratio[0] <= ratio[1]
    if not usable:
        warn_caller(f"{name} does nothing: area_range={area}, aspect_ratio_range={ratio}")
    return usable


def _drawn(ratio: Range, area: Range, height: int, width: int, *, inside: bool) -> tuple[int, int]:
    """Height and width of a region: a random aspect ratio, then a random height, as in MXNet 1.9.1.

    Args:
        ratio: limits of width over height.
        area: limits of the region's area over that of the image.
        inside: whether the region is within the image; else the image is within the region.
    """
    aspect, pixels = random.uniform(*ratio), height * width
    low, high = (round(math.sqrt(share * pixels / aspect)) for share in area)
    as_wide = int((width + 0.5) / aspect)
    if inside:
        high = min(high, height)
        high = as_wide if round(high * aspect) > width else high
        low = min(low, high)
    else:
        low = max(low, height)
        low = as_wide if round(low * aspect) < width else low
        high = max(low, high)
    h = random.randint(low, high) if low < high else low
    if inside and h * round(h * aspect) < area[0] * pixels:
        h += 1
    elif inside and h * round(h * aspect) > area[1] * pixels:
        h -= 1
    return h, round(h * aspect)


class DetRandomCropAug(DetAugmenter):
    """Crop at random, so that each box in the part is covered enough.

    Args:
        min_object_covered: the least covered share of each box that the part touches.
        aspect_ratio_range: limits of width over height.
        area_range: limits of the part's share of the image.
        min_eject_coverage: boxes of which less is left are removed.
        max_attempts: draws; after them the image stays as it is.
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Range = (0.75, 1.33),
        area_range: Range = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ):
        aspect_ratio_range = _as_range(aspect_ratio_range, "aspect_ratio_range")
        area_range = _as_range(area_range, "area_range")
        super().__init__(
            min_object_covered=min_object_covered,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        self.min_object_covered, self.min_eject_coverage = min_object_covered, min_eject_coverage
        self.aspect_ratio_range, self.area_range = aspect_ratio_range, area_range
        self.max_attempts = max_attempts
        self.enabled = _usable("DetRandomCropAug", aspect_ratio_range, area_range, 0)

    def __call__(self, src: NDArray, label: np.ndarray) -> Pair:
        height, width = src.shape[:2]
        area = self.area_range[0], min(self.area_range[1], 1.0)
        for _ in range(self.max_attempts if self.enabled else 0):
            h, w = _drawn(self.aspect_ratio_range, area, height, width, inside=True)
            if h > height or w > width or not area[0] <= h * w / (height * width) <= area[1]:
                continue
            top, left = random.randint(0, height - h), random.randint(0, width - w)
            if h * w < 2:  # after the draws, as in MXNet
                continue
            region = left / width, top / height, w / width, h / height
            kept = self._kept(label, region)
            if kept is not None:
                return fixed_crop(src, left, top, w, h), kept
        return src, label

    def _kept(self, label: np.ndarray, region: tuple[float, ...]) -> np.ndarray | None:
        """The boxes in a region; ``None`` if they are not covered enough, or there are none."""
        inside = relative(label, *region)
        inside[:, 1:5] = np.clip(inside[:, 1:5], 0, 1)
        share = region[2] * region[3]
        coverage = areas(inside[:, 1:5]) * share / np.maximum(areas(label[:, 1:5]), 1e-12)
        touched = coverage[coverage > 0]
        if touched.size == 0 or touched.min() <= self.min_object_covered:
            return None
        kept = inside[coverage > self.min_eject_coverage]
        return kept if len(kept) else None


class DetRandomPadAug(DetAugmenter):
    """Put the image at random onto a larger canvas.

    Args:
        aspect_ratio_range: limits of width over height.
        area_range: limits of the canvas's area over that of the image.
        max_attempts: draws; after them the image stays as it is.
        pad_val: the canvas's colour.
    """

    def __init__(
        self,
        aspect_ratio_range: Range = (0.75, 1.33),
        area_range: Range = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ):
        aspect_ratio_range = _as_range(aspect_ratio_range, "aspect_ratio_range")
        area_range = _as_range(area_range, "area_range")
        pad_val = (pad_val,) if isinstance(pad_val, Real) else tuple(pad_val)
        super().__init__(
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            max_attempts=max_attempts,
            pad_val=pad_val,
        )
        self.aspect_ratio_range, self.area_range = aspect_ratio_range, area_range
        self.max_attempts, self.pad_val = max_attempts, pad_val
        self.enabled = _usable("DetRandomPadAug", aspect_ratio_range, area_range, 1)

    def __call__(self, src: NDArray, label: np.ndarray) -> Pair:
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            ranges = self.aspect_ratio_range, self.area_range
            h, w = _drawn(*ranges, height, width, inside=False)
            if h < height or w < width or h - height < 2 or w - width < 2:
                continue
            top, left = random.randint(0, h - height), random.randint(0, w - width)
            margins = top, h - top - height, left, w - left - width
            canvas = copyMakeBorder(src, *margins, 0, values=self.pad_val)
            region = -left / width, -top / height, w / width, h / height
            return canvas, relative(label, *region)
        return src, label


def _as_range(value: Any, name: str) -> Range:
    """A range from two limits, or one fixed value."""
    if isinstance(value, Real):
        return float(value), float(value)
    expect(isinstance(value, list | tuple) and len(value) == 2, name, value, "two limits")
    return value[0], value[1]


def CreateMultiRandCropAugmenter(
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """One of several `DetRandomCropAug` at random: parameters are values, or lists of them.

    Raises:
        ParameterError: lists of different lengths.
    """
    given = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
    lists = [value if isinstance(value, list) else [value] for value in given]
    count = max(map(len, lists))
    if any(len(each) not in (1, count) for each in lists):
        raise ParameterError(
            f"CreateMultiRandCropAugmenter: got lists of {sorted(set(map(len, lists)))} values, "
            "expected one length"
        )
    columns = [each * count if len(each) == 1 else each for each in lists]
    crops = [DetRandomCropAug(*row) for row in zip(*columns, strict=True)]
    return DetRandomSelectAug(crops, skip_prob=skip_prob)


def CreateDetAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 3.0),
    min_eject_coverage: Any = 0.3,
    max_attempts: Any = 50,
    pad_val: Any = (127, 127, 127),
) -> list[DetAugmenter]:
    """The augmenters of a detector's training.

    Args:
        data_shape, rand_gray, rand_mirror, mean, std, brightness, contrast, saturation, pca_noise,
            hue, inter_method: see `CreateAugmenter`.
        resize: length of the shorter edge at first, or 0.
        rand_crop: probability of `DetRandomCropAug`.
        rand_pad: probability of `DetRandomPadAug`.
        min_object_covered: of the crops.
        aspect_ratio_range: of crops and canvases.
        area_range: of crops, and its upper limit of canvases.
        min_eject_coverage: of the crops.
        max_attempts: of crops and canvases.
        pad_val: the canvases' colour.
    """
    augmenters: list[DetAugmenter] = []
    if resize > 0:
        augmenters.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        crops = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage)
        made = CreateMultiRandCropAugmenter(*crops, max_attempts, skip_prob=1 - rand_crop)
        augmenters.append(made)
    if rand_mirror:
        augmenters.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        augmenters.append(DetRandomSelectAug([pad], 1 - rand_pad))
    size = data_shape[2], data_shape[1]
    colours = colour_augmenters(
        brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std
    )
    rest = [ForceResizeAug(size, inter_method), CastAug(), *colours]
    return [*augmenters, *map(DetBorrowAug, rest)]
