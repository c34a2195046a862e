"""ImageRecordIter: batches of images from RecordIO files."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from modkit.constructors import check_arguments
from modkit.errors import FileFormatError, NotSupportedError, ShapeError, expect
from modkit.io import image_augmentation, resample
from modkit.io import image_record_base as base
from modkit.io.image_augmentation import ImageAugmentation
from modkit.io.image_record_base import Drawn, ImageRecordBase, Labelled
from modkit.ndarray import array
from modkit.ndarray.files import load, save

_logger = logging.getLogger(__name__)

_OPTIONS: dict[str, tuple[Any, Any]] = {
    "path_imgidx": (str, ""),
    "label_width": (int, 1),
    "seed_aug": (int | None, None),
    "rand_crop": (bool, False),
    "rand_mirror": (bool, False),
    "mirror": (bool, False),
    **{f"std_{c}": (float, 1.0) for c in "rgb"},
    "dtype": (Literal["float32", "uint8", "int8"] | None, "float32"),
    "mean_img": (str, ""),
    **base.OPTIONS,
    **image_augmentation.OPTIONS,
}
"""Parameters with their types and defaults."""

_NORMAL = {"mean_img", "dtype", "scale", *(f"{n}_{c}" for n in ("mean", "std") for c in "rgb")}
"""Those that change no pixel before it is normalised."""

_INERT = ("aug_seq", "shuffle_chunk_size", "shuffle_chunk_seed", "device_id", "mean_a", "std_a")
"""Parameters of MXNet's threads and devices, and of a fourth channel."""


class Preprocessing:
    """Preprocessing of each image by parameters; channels in the order red, green, blue."""

    def __init__(
        self, given: Mapping[str, Any], shape: tuple[int, int, int], mean_img: np.ndarray | None
    ):
        self._given, self.shape, self.dtype = given, shape, np.dtype(given["dtype"] or "float32")
        self.augmentation = ImageAugmentation(given)
        mean, self._std = (
            np.array([[[given[f"{name}_{c}"]]] for c in "rgb"], np.float32)
            for name in ("mean", "std")
        )
        self._mean = mean if mean_img is None else mean_img

    def __call__(self, image: np.ndarray, drawn: Drawn) -> np.ndarray:
        """An image of a batch: cropped, mirrored, and scaled.

        Shapes:
            image: (H, W, C).
            returns: (C, height, width).
        """
        given, (_, height, width), (numbers, more, interp) = self._given, self.shape, drawn
        if more is not None:
            image = self.augmentation.shaped(image, height, width, interp, more)
        if image.shape[0] < height or image.shape[1] < width:
            image = _enlarged(image, height, width, interp)
        spare = np.array([image.shape[0] - height, image.shape[1] - width])
        y, x = (numbers[:2] * (spare + 1) if given["rand_crop"] else spare / 2).astype(int)
        image = image[y : y + height, x : x + width]
        if given["mirror"] or (given["rand_mirror"] and numbers[2] < 0.5):
            image = image[:, ::-1]
        contrast, light = 1.0, 0.0
        if more is not None:
            image = self.augmentation.coloured(image, more)
            contrast, light = self.augmentation.exposure(more)
        return self._scaled(image, contrast, light)

    def _scaled(self, image: np.ndarray, contrast: float, light: float) -> np.ndarray:
        """``(contrast x + light - mean) * (scale / std)`` with channels first, as of ``dtype``."""
        image = image.transpose(2, 0, 1)
        if self.dtype == np.uint8:
            return image
        mean, std = self._mean[: len(image)], self._std[: len(image)]
        planes = np.array(image, np.float32, order="C")  # whose rows NumPy changes faster
        if self.dtype == np.int8:
            return resample.as_dtype(planes - np.trunc(mean + np.copysign(0.5, mean)), np.int8)
        if (contrast, light) != (1, 0):
            planes *= np.float32(contrast)
            planes += np.float32(light)
        planes -= mean
        planes *= np.float32(self._given["scale"]) / std
        return planes


def _enlarged(image: np.ndarray, height: int, width: int, interp: int) -> np.ndarray:
    """An image enlarged to ``height``, then to ``width``, where it has less of it."""
    # MXNet chooses the interpolation of both once.
    code = resample.chosen_interp(interp, image.shape[:2], (height, width))
    for axis, size in enumerate((height, width)):
        if image.shape[axis] < size:
            kept = base.kept_ratio(image, image.shape[axis], size)
            image = resample.of_size(image, *kept, code)
    return image


@check_arguments
class ImageRecordIter(ImageRecordBase):
    """Batches of images and labels from a RecordIO file, cropped to one size and scaled.

    JPEG files are turned upright, as their EXIF data say. An image that is smaller than
    ``data_shape`` is enlarged to its height, then to its width.
    A pixel becomes ``(contrast * pixel + light - mean) * (scale / std)`` in float32.
    Differs: the random stream is not MXNet's, and ``shuffle`` draws from the whole file. Without
    ``round_batch`` an incomplete last batch states its padding; MXNet 1.9.1 states none, and
    leaves what an earlier batch, or nothing, wrote there. With it a complete last batch states no
    padding; MXNet may state that of an earlier one. A ``reset`` before the first batch changes
    nothing; in MXNet, which has read ahead, a file of a few batches then begins behind the samples
    that padded its last one. A new ``mean_img`` is the mean of pixels; MXNet's is that of pixels
    scaled already, which it subtracts from pixels.

    Args:
        path_imgrec: path of the records, or of a folder of such files; or several paths with ``;``
            between.
        data_shape: (channels, height, width) of an image in the batch; 1 or 3 channels.
        data_name, label_name: names of the data and of the label.
        **options: the options below; ``prefetch_buffer``, ``ctx``, ``verbose``, ``device_id``,
            ``shuffle_chunk_size``, ``shuffle_chunk_seed``, ``mean_a``, ``std_a`` and ``aug_seq``
            (but for its default) are ignored: they do not change the batches.

    Options:
        label_width: labels of an image (1).
        shuffle: a new order in every epoch, from ``seed`` (no).
        seed: of the order and the augmentations (0).
        seed_aug: of the augmentations; default ``seed``.
        round_batch: pad an incomplete last batch with the first samples, as in `CSVIter` (yes).
        num_parts: number of parts of about equal size in bytes, or with ``path_imgidx`` of equal
            numbers of its records, but the last (1).
        path_imgidx: path of an index; records before the first that it lists are left out.
        part_index: the part to read (0).
        resize: length of the shorter edge before the crop.
        rand_crop: crop at random, not at the centre (no).
        rand_mirror: mirror half of the images horizontally (no).
        mirror: mirror all images horizontally (no).
        mean_r, mean_g, mean_b: means of red (or grey), green and blue (0).
        std_r, std_g, std_b: their standard deviations (1).
        scale: factor (1).
        dtype: ``"float32"``, or ``"uint8"`` for pixels as they are, or ``"int8"`` for
            ``pixel - mean`` with a rounded mean, clipped to -128 to 127.
        preprocess_threads: number of images decoded at a time (4).
        path_imglist: a list file, whose labels are taken instead of the records', by their id.
        mean_img: a file of arrays with ``mean_img``, (channels, height, width), which is
            subtracted in place of ``mean_r``, ``mean_g`` and ``mean_b``; without such a file, it
            gets the mean of all images first.
        inter_method: interpolation: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 by the
            sizes, 10 at random (1).
        rotate: rotate by this angle; by default one up to max_rotate_angle (0).
        max_shear_ratio: shear by a random share of the height (0).
        min_random_scale, max_random_scale: scale by a random factor (1).
        min_aspect_ratio, max_aspect_ratio: change width over height to a random ratio, from
            1 - max_aspect_ratio on without the former (0).
        min_img_size, max_img_size: limits of the edges of scaled images.
        fill_value: pixels beyond the edges (255).
        pad: pixels to add on all sides (0).
        min_crop_size, max_crop_size: crop a square of random size, which is resized.
        random_resized_crop: crop a part of random shape and area, which is resized (no).
        min_random_area, max_random_area: its share of the image (1).
        brightness, contrast, saturation: random changes up to these shares (0).
        pca_noise: standard deviation of noise along ImageNet's principal colours (0).
        random_h, random_s, random_l: random changes of hue (in two degrees), saturation and
            lightness (of 255) (0).
        max_random_contrast, max_random_illumination: ``contrast - 1`` and ``light`` (0).

    Raises:
        NotSupportedError: another ``aug_seq``, or Pillow is missing.
        MissingFileError: there is no such file.
    """

    _by_index = True

    def __init__(
        self,
        path_imgrec: str | os.PathLike[str],
        data_shape: Any,
        batch_size: int | str,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **options: Any,
    ):
        given = _read_options(options)
        shape = base.image_shape("ImageRecordIter", data_shape)
        seed_aug = given["seed"] if given["seed_aug"] is None else given["seed_aug"]
        super().__init__(path_imgrec, batch_size, (data_name, label_name), given, seed_aug)
        mean_img = self._mean_image(path_imgrec, given, shape)
        self._preprocessing = Preprocessing(given, shape, mean_img)
        self._draws_more = self._preprocessing.augmentation.any
        self._dtype = self._preprocessing.dtype
        width = given["label_width"]
        label_shape = () if width == 1 else (width,)
        self._describe(shape, label_shape, self._dtype.type, np.float32)

    def _mean_image(
        self, path_imgrec: Any, given: Mapping[str, Any], shape: tuple[int, ...]
    ) -> np.ndarray | None:
        """The array of the file ``mean_img``, which is computed where there is none."""
        path = given["mean_img"]
        if not path:
            return None
        if not Path(path).exists():
            _logger.info("There is no file %s: it gets the mean of the images", path)
            save(path, {"mean_img": array(_mean(path_imgrec, given, shape, self.batch_size))})
        arrays = load(path)
        if not isinstance(arrays, dict) or "mean_img" not in arrays:
            raise FileFormatError(f"{path}: expected an array with the name mean_img")
        mean = arrays["mean_img"].asnumpy()
        if mean.shape != shape:
            raise ShapeError(
                f"{path}: mean_img has shape {mean.shape}, expected data_shape {shape}"
            )
        return mean.astype(np.float32)

    def _image(self, image: np.ndarray, label: np.ndarray, drawn: Drawn) -> Labelled:
        return self._preprocessing(image, drawn), label[0] if len(label) == 1 else label


class ImageRecordUInt8Iter(ImageRecordIter):
    """`ImageRecordIter` with pixels as they are."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **{**kwargs, "dtype": "uint8"})


class ImageRecordInt8Iter(ImageRecordIter):
    """`ImageRecordIter` with pixels as ``int8``: subtract a mean, such as 128."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **{**kwargs, "dtype": "int8"})


class ImageRecordIter_v1(ImageRecordIter):
    """`ImageRecordIter` under its old name, which reads no index."""

    _by_index = False


class ImageRecordUInt8Iter_v1(ImageRecordUInt8Iter):
    """`ImageRecordUInt8Iter` under its old name, which reads no index."""

    _by_index = False


def _mean(
    path_imgrec: Any, given: Mapping[str, Any], shape: tuple[int, ...], batch_size: int
) -> np.ndarray:
    """The mean of the images that an iterator with these options has in its first epoch."""
    plain = {n: default for n, (_, default) in _OPTIONS.items() if n in _NORMAL}
    plain = {**given, **plain, "round_batch": False}
    total, count = np.zeros(shape), 0
    for batch in ImageRecordIter(path_imgrec, shape, batch_size, **plain)._epoch():
        images = np.asarray(batch.data)[: batch_size - batch.pad]
        count += len(images)
        total += images.sum(0, np.float64)
    return (total / max(count, 1)).astype(np.float32)


def _read_options(given: dict[str, Any]) -> dict[str, Any]:
    if given.get("aug_seq", "aug_default") != "aug_default":
        raise NotSupportedError(
            f"ImageRecordIter: aug_seq: got {given['aug_seq']!r}, expected 'aug_default', the only "
            "sequence there is; mx.image.ImageIter takes augmenters of your own"
        )
    options = base.read_options("ImageRecordIter", given, _OPTIONS, _INERT)
    width = options["label_width"]
    expect(width > 0, "ImageRecordIter: label_width", width, "a positive number")
    for c in "rgb":
        expect(options[f"std_{c}"], f"ImageRecordIter: std_{c}", 0, "a divisor of pixels")
    return options
