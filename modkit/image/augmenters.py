"""Augmenters: objects that change an image, and `CreateAugmenter`, a list of them."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from modkit.errors import ParameterError, expect
from modkit.image.functions import (
    center_crop,
    color_normalize,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
)
from modkit.io.image_augmentation import EIGENVALUES, EIGENVECTORS
from modkit.io.resample import chosen_interp
from modkit.ndarray import NDArray, array, dot, flip

_LUMINANCE = ((0.299, 0.587, 0.114),)
"""Weights of red, green and blue in ITU-R BT.601."""
_TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
_FROM_YIQ = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])
"""NTSC's colours, FCC 1953."""

IMAGENET_MEAN = np.array([123.68, 116.28, 103.53], np.float32)
IMAGENET_STD = np.array([58.395, 57.12, 57.375], np.float32)


class Described:
    """An object with parameters that `dumps` returns."""

    def __init__(self, **kwargs: Any):
        self._kwargs = {name: _plain(value) for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """The class and the parameters as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])


class Augmenter(Described):
    """An object that changes images, ``augmenter(src)``; a subclass defines ``__call__``."""

    def __call__(self, src: NDArray) -> NDArray:
        """The changed image. Abstract."""
        raise NotImplementedError("Augmenter: a subclass defines __call__(self, src)")


def _plain(value: Any) -> Any:
    if isinstance(value, NDArray):
        value = value.asnumpy()
    return value.tolist() if isinstance(value, np.ndarray) else value


class SequentialAug(Augmenter):
    """Augmenters one after the other."""

    def __init__(self, ts: Sequence[Augmenter]):
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        return [type(self).__name__.lower(), [each.dumps() for each in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        for each in self.ts:
            src = each(src)
        return src


class RandomOrderAug(SequentialAug):
    """Augmenters in random order."""

    def __call__(self, src: NDArray) -> NDArray:
        random.shuffle(self.ts)  # pyright: ignore[reportArgumentType]
        return super().__call__(src)


class _Resizing(Augmenter):
    """An augmenter with the parameters ``size`` and ``interp``."""

    def __init__(self, size: Any, interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp


class ResizeAug(_Resizing):
    """`resize_short`: the shorter edge gets ``size`` pixels."""

    def __call__(self, src: NDArray) -> NDArray:
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(_Resizing):
    """Resize to ``size``, (width, height), whatever the proportions are."""

    def __call__(self, src: NDArray) -> NDArray:
        sizes = src.shape[:2], (self.size[1], self.size[0])
        return imresize(src, *self.size, interp=chosen_interp(self.interp, *sizes))


class RandomCropAug(_Resizing):
    """`random_crop` of ``size``, (width, height)."""

    def __call__(self, src: NDArray) -> NDArray:
        return random_crop(src, self.size, self.interp)[0]


class CenterCropAug(_Resizing):
    """`center_crop` of ``size``, (width, height)."""

    def __call__(self, src: NDArray) -> NDArray:
        return center_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """`random_size_crop` to ``size``, (width, height)."""

    def __init__(self, size: Any, area: Any, ratio: Any, interp: int = 2, **kwargs: Any):
        area = kwargs.pop("min_area", area)
        if kwargs:
            raise ParameterError(f"RandomSizedCropAug: got an unexpected {next(iter(kwargs))}")
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size, self.area, self.ratio, self.interp = size, area, ratio, interp

    def __call__(self, src: NDArray) -> NDArray:
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class BrightnessJitterAug(Augmenter):
    """Multiply by ``1 + u`` with ``u`` from [-brightness, brightness]; in place."""

    def __init__(self, brightness: float):
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: NDArray) -> NDArray:
        src *= 1.0 + random.uniform(-self.brightness, self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """Blend with the mean luminance: ``a x + (1 - a) mean``, ``a`` as in the brightness."""

    def __init__(self, contrast: float):
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def __call__(self, src: NDArray) -> NDArray:
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        mean = float((src.asnumpy() * np.array(_LUMINANCE)).sum(2).mean())
        src *= alpha
        src += (1.0 - alpha) * mean
        return src


class SaturationJitterAug(Augmenter):
    """Blend with the luminance of each pixel: ``a x + (1 - a) grey``."""

    def __init__(self, saturation: float):
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def __call__(self, src: NDArray) -> NDArray:
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        grey = (src * array(np.array([_LUMINANCE]))).sum(axis=2, keepdims=True)
        grey *= 1.0 - alpha
        src *= alpha
        src += grey
        return src


class HueJitterAug(Augmenter):
    """Rotate the colours in the YIQ space by ``pi u``, ``u`` from [-hue, hue]."""

    def __init__(self, hue: float):
        super().__init__(hue=hue)
        self.hue = hue

    def __call__(self, src: NDArray) -> NDArray:
        angle = random.uniform(-self.hue, self.hue) * math.pi
        c, s = math.cos(angle), math.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        return dot(src, array((_FROM_YIQ @ turn @ _TO_YIQ).T))


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation in random order; 0 leaves one out."""

    def __init__(self, brightness: float, contrast: float, saturation: float):
        each = (
            (BrightnessJitterAug, brightness),
            (ContrastJitterAug, contrast),
            (SaturationJitterAug, saturation),
        )
        super().__init__([made(limit) for made, limit in each if limit > 0])


class LightingAug(Augmenter):
    """Add noise along the principal components of colours.

    Args:
        alphastd: standard deviation of the factors.
        eigval: (3,), eigenvalues.
        eigvec: (3, 3), eigenvectors in columns.
    """

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any):
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def __call__(self, src: NDArray) -> NDArray:
        alpha = np.random.normal(0, self.alphastd, 3)  # noqa: NPY002 - a global stream, as in MXNet
        src += array(np.dot(self.eigvec * alpha, self.eigval))
        return src


class ColorNormalizeAug(Augmenter):
    """`color_normalize` with a mean and a standard deviation, either of which can be ``None``."""

    def __init__(self, mean: Any, std: Any):
        super().__init__(mean=mean, std=std)
        self.mean = None if mean is None else mean if isinstance(mean, NDArray) else array(mean)
        self.std = None if std is None else std if isinstance(std, NDArray) else array(std)

    def __call__(self, src: NDArray) -> NDArray:
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Turn an image grey with probability ``p``."""

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p
        self.mat = array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def __call__(self, src: NDArray) -> NDArray:
        return dot(src, self.mat) if random.random() < self.p else src


class HorizontalFlipAug(Augmenter):
    """Mirror an image with probability ``p``."""

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        return flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Convert to another type, by default float32."""

    def __init__(self, typ: str = "float32"):
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: NDArray) -> NDArray:
        return src.astype(self.typ)


def CreateAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """The augmenters of a classifier's training.

    Args:
        data_shape: (channels, height, width) of the result.
        resize: length of the shorter edge before the crop, or 0.
        rand_crop: crop at random, not at the centre.
        rand_resize: the crop has a random size, too; needs ``rand_crop``.
        rand_mirror: mirror half of the images.
        mean, std: by channel, or ``True`` for that of ImageNet.
        brightness: see `BrightnessJitterAug`.
        contrast: see `ContrastJitterAug`.
        saturation: see `SaturationJitterAug`.
        hue: see `HueJitterAug`.
        pca_noise: see `LightingAug`.
        rand_gray: see `RandomGrayAug`.
        inter_method: see `resize_short`.

    Raises:
        ParameterError: ``rand_resize`` without ``rand_crop``, or a mean that is not of 1 or 3.
    """
    size = data_shape[2], data_shape[1]
    if rand_resize and not rand_crop:
        raise ParameterError("CreateAugmenter: rand_resize=True needs rand_crop=True")
    augmenters: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    if rand_resize:
        augmenters.append(RandomSizedCropAug(size, 0.08, (3 / 4, 4 / 3), inter_method))
    else:
        augmenters.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        augmenters.append(HorizontalFlipAug(0.5))
    augmenters.append(CastAug())
    return augmenters + colour_augmenters(
        brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std
    )


def colour_augmenters(
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    pca_noise: float,
    rand_gray: float,
    mean: Any,
    std: Any,
) -> list[Augmenter]:
    """The augmenters that change no positions."""
    augmenters: list[Augmenter] = []
    if brightness or contrast or saturation:
        augmenters.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        augmenters.append(HueJitterAug(hue))
    if pca_noise > 0:
        augmenters.append(LightingAug(pca_noise, EIGENVALUES, EIGENVECTORS))
    if rand_gray > 0:
        augmenters.append(RandomGrayAug(rand_gray))
    mean, std = _by_channel("mean", mean, IMAGENET_MEAN), _by_channel("std", std, IMAGENET_STD)
    if mean is not None or std is not None:
        augmenters.append(ColorNormalizeAug(mean, std))
    return augmenters


def _by_channel(name: str, value: Any, imagenet: np.ndarray) -> Any:
    if value is True:
        return imagenet
    if value is None or value is False:
        return None
    expect(np.shape(value)[:1] in ((1,), (3,)), f"CreateAugmenter: {name}", value, "1 or 3 numbers")
    return value
