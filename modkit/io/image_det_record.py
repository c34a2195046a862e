"""ImageDetRecordIter: batches of images with boxes from RecordIO files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from modkit.constructors import check_arguments
from modkit.errors import NotSupportedError, ParameterError
from modkit.io import detection_augmentation, resample
from modkit.io import image_record_base as base
from modkit.io.detection_augmentation import DetectionAugmentation
from modkit.io.image_record_base import Drawn, ImageRecordBase, Labelled
from modkit.io.packing import box_label, unpack

_OPTIONS: dict[str, tuple[Any, Any]] = {
    **base.OPTIONS,
    **detection_augmentation.OPTIONS,
    "label_width": (int, -1),
    "label_pad_width": (int, 0),
    "label_pad_value": (float, -1.0),
    "resize_mode": (Literal["fit", "force", "shrink"], "force"),
    "inter_method": (int, 1),
    "rand_mirror_prob": (float, 0.0),
    **{f"std_{c}": (float, 0.0) for c in "rgb"},
}
"""Parameters with their types and defaults."""

_REFUSED = {"aug_seq": "det_aug_default", "mean_img": ""}
"""Parameters of which only the default is supported."""

_INERT = ("path_imgidx", "shuffle_chunk_size", "shuffle_chunk_seed", "mean_a", "std_a")
"""Parameters of threads, and of a fourth channel."""

_HEAD = 4
"""Numbers that come before a label: channels, height and width of the image, and its length."""


@check_arguments
class ImageDetRecordIter(ImageRecordBase):
    """Batches of images and their boxes from a RecordIO file, resized to one size.

    A label in the file is ``[header width, box width, (rest of the header,) box, box, ...]``, each
    box (class, left, top, right, bottom, ...) with coordinates in [0, 1]. In a batch it is
    ``[channels, height, width, length, label, padding]``: the first three are the size of the
    image without borders, and boxes of no width or height are left out.
    A pixel becomes ``(pixel - mean) / std * scale`` in float32.

    Args:
        path_imgrec: path of the records; see `ImageRecordIter`.
        data_shape: (channels, height, width) of an image in the batch; 1 or 3 channels.
        data_name, label_name: names of the data and of the label.
        **options: the options below. ``prefetch_buffer``, ``ctx``, ``verbose``,
            ``shuffle_chunk_size``, ``shuffle_chunk_seed``, ``mean_a`` and ``std_a`` have no effect.

    Options:
        path_imglist: a list file, whose labels are taken instead of the records', by their id.
        label_width: numbers in each label, which is checked; -1 for any.
        label_pad_width: numbers of the longest label; default that of the data (0 or -1).
        label_pad_value: fills shorter labels (-1).
        shuffle, seed, round_batch, num_parts, part_index, preprocess_threads: see
            `ImageRecordIter`.
        resize: length of the shorter edge at first.
        resize_mode: ``"force"`` resizes to ``data_shape``; ``"shrink"`` keeps the ratio of width
            and height and makes larger images fit, ``"fit"`` smaller ones as well, in the upper
            left corner of a black image ("force").
        inter_method: interpolation: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 by the
            sizes, 10 at random (1).
        random_hue_prob, random_saturation_prob, random_illumination_prob: shares of the images
            that are changed in the space of hue, saturation and lightness, by whole numbers below
            max_random_hue (units of two degrees), max_random_saturation and
            max_random_illumination (of 255) (0).
        random_contrast_prob: share of the images that are multiplied by a number in
            1 ± max_random_contrast (0).
        rand_pad_prob: share of the images that are put at random onto a canvas of ``fill_value``
            (127), up to max_pad_scale (1) times as wide and high (0).
        rand_crop_prob: share of the images that are cropped (0).
        num_crop_sampler: kinds of crops (1). The following have a number for each kind, or one for
            all; kinds are tried in random order.
        min_crop_scales, max_crop_scales: square root of the crop's share of the area (0, 1).
        min_crop_aspect_ratios, max_crop_aspect_ratios: width over height in pixels, as far as the
            image has room (1, 1).
        min_crop_overlaps, min_crop_sample_coverages, min_crop_object_coverages: the least
            intersection of a crop and a box, over their union, over the crop, and over the box; one
            box must fulfil all (0). ``max_crop_...``: the largest (1); it has an effect only with a
            least above 0.
        max_crop_trials: crops that are drawn for each kind; after them the image stays (25).
        crop_emit_mode: boxes that a crop keeps: those whose centre is in it (``"center"``), or of
            which more than ``emit_overlap_thresh`` (0.3) is (``"overlap"``). A crop without boxes
            is not taken.
        rand_mirror_prob: share of the images that are mirrored horizontally (0).
        mean_r, mean_g, mean_b: means of red (or grey), green and blue (0).
        std_r, std_g, std_b: their standard deviations; 0 as 1 (0).
        scale: factor (1).

    Shapes:
        label: (batch_size, 4 + label_pad_width).

    Raises:
        NotSupportedError: ``mean_img``, another ``aug_seq``, or Pillow is missing.
        ParameterError: ``label_pad_width`` is less than the length of a label; ranges of crops are
            empty, out of bounds, or not as many as ``num_crop_sampler``.
        MissingFileError: there is no such file.
    """

    _added_seed = 233

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
        self._shape = base.image_shape("ImageDetRecordIter", data_shape)
        self._augmentation = DetectionAugmentation(given)
        self._draws_more = self._augmentation.any or given["inter_method"] == resample.DRAWN
        super().__init__(path_imgrec, batch_size, (data_name, label_name), given, given["seed"])
        longest = self._longest_label()
        if 0 < given["label_pad_width"] < longest:
            raise ParameterError(
                f"ImageDetRecordIter: label_pad_width: got {given['label_pad_width']}, expected "
                f"{longest}, the length of the longest label, or more"
            )
        self._label_size = _HEAD + max(longest, given["label_pad_width"])
        self._describe(self._shape, (self._label_size,), np.float32)

    def _longest_label(self) -> int:
        with self._records.opened() as read:
            labels = (self._located(at, self._label_in, read(at)) for at in self._records.places)
            return max(map(len, labels), default=0)

    def _label_in(self, record: bytes) -> np.ndarray:
        return self._label_of(unpack(record)[0])

    def _image(self, image: np.ndarray, label: np.ndarray, drawn: Drawn) -> Labelled:
        head, boxes = box_label(label)
        if drawn.more is not None:
            image, boxes = self._augmentation(image, boxes, drawn.more)
        image = self._resized(image, drawn.interp)
        height, width, channels = image.shape
        if drawn.numbers[2] < self._given["rand_mirror_prob"]:
            image = image[:, ::-1]
            boxes[:, [1, 3]] = 1 - boxes[:, [3, 1]]
        planes = np.zeros((channels, *self._shape[1:]), np.float32)
        planes[:, :height, :width] = image.transpose(2, 0, 1)
        label = np.full(self._label_size, self._given["label_pad_value"], np.float32)
        made = np.concatenate([head, boxes.ravel()])
        label[:_HEAD] = channels, height, width, len(made)
        label[_HEAD : _HEAD + len(made)] = made
        self._scale(planes)
        return planes, label

    def _resized(self, image: np.ndarray, interp: int) -> np.ndarray:
        """The image in its size in the batch."""
        mode = self._given["resize_mode"]
        height, width = self._shape[1:]
        if mode != "force":
            rows, columns = image.shape[:2]
            if mode == "shrink" and rows <= height and columns <= width:
                return image
            if height * columns < width * rows:
                width = max(columns * height // rows, 1)
            else:
                height = max(rows * width // columns, 1)
        return resample.of_size(image, height, width, interp)

    def _scale(self, planes: np.ndarray) -> None:
        """Make ``(pixel - mean) / std * scale`` of pixels, (C, H, W), in place."""
        for plane, c in zip(planes, "rgb", strict=False):
            plane -= np.float32(self._given[f"mean_{c}"])
            plane /= np.float32(self._given[f"std_{c}"] or 1)
        planes *= np.float32(self._given["scale"])


def _read_options(given: Mapping[str, Any]) -> dict[str, Any]:
    for name, default in _REFUSED.items():
        if given.get(name, default) != default:
            raise NotSupportedError(
                f"ImageDetRecordIter: {name}: got {given[name]!r}, only {default!r} is supported"
            )
    return base.read_options("ImageDetRecordIter", given, _OPTIONS, (*_REFUSED, *_INERT))
