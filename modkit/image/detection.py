"""ImageDetIter: batches of images with boxes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from modkit.errors import ShapeError, expect
from modkit.files import located
from modkit.image.augmenters import IMAGENET_MEAN, IMAGENET_STD
from modkit.image.detection_augmenters import CreateDetAugmenter as CreateDetAugmenter
from modkit.image.detection_augmenters import (
    CreateMultiRandCropAugmenter as CreateMultiRandCropAugmenter,
)
from modkit.image.detection_augmenters import DetAugmenter as DetAugmenter
from modkit.image.detection_augmenters import DetBorrowAug as DetBorrowAug
from modkit.image.detection_augmenters import DetHorizontalFlipAug as DetHorizontalFlipAug
from modkit.image.detection_augmenters import DetRandomCropAug as DetRandomCropAug
from modkit.image.detection_augmenters import DetRandomPadAug as DetRandomPadAug
from modkit.image.detection_augmenters import DetRandomSelectAug as DetRandomSelectAug
from modkit.image.drawing import show, with_boxes
from modkit.image.iterator import ImageIter, Sample
from modkit.io import DataBatch
from modkit.io.packing import box_label
from modkit.ndarray import NDArray, array


class ImageDetIter(ImageIter):
    """Batches of images and their boxes, changed by augmenters.

    A sample's label is ``[header width, box width, (rest of the header,) box, box, ...]``, each box
    (class, left, top, right, bottom, ...) with coordinates in [0, 1]. Boxes without area are left
    out; a sample without any other is an error. Missing boxes of a batch are -1.

    Args:
        data_shape: (3, height, width) after augmentation.
        path_imgrec, path_imglist, path_root, path_imgidx, shuffle, part_index, num_parts, imglist,
            data_name, label_name, last_batch_handle: see `ImageIter`.
        aug_list: DetAugmenters; default those of `CreateDetAugmenter` with ``kwargs``.
        kwargs: of `CreateDetAugmenter`.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Sequence[DetAugmenter] | None = None,
        imglist: Sequence[Any] | None = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ):
        super().__init__(
            batch_size, data_shape, path_imgrec=path_imgrec, path_imglist=path_imglist,
            path_root=path_root, path_imgidx=path_imgidx, shuffle=shuffle, part_index=part_index,
            num_parts=num_parts, aug_list=[], imglist=imglist, data_name=data_name,
            label_name=label_name, last_batch_handle=last_batch_handle,
        )  # fmt: skip
        made = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.auglist: Any = made
        self._set_label_shape(self._estimate_label_shape())

    def _set_label_shape(self, shape: tuple[int, int]) -> None:
        self.label_shape = shape
        self.provide_label = [(self.provide_label[0][0], (self.batch_size, *shape))]

    def _estimate_label_shape(self) -> tuple[int, int]:
        """The largest number of boxes, and their width."""
        count, width = 0, 5
        self.reset()
        try:
            while True:
                boxes = self._parse_label(self.next_sample()[0])
                count, width = max(count, len(boxes)), boxes.shape[1]
        except StopIteration:
            pass
        self.reset()
        return count, width

    def _parse_label(self, label: Any) -> np.ndarray:
        """The valid boxes of a sample's label; a subclass may read labels of another form.

        Raises:
            FileFormatError: it has not the form of a label (a ``RuntimeError``).
            ShapeError: it has no valid box (a ``RuntimeError``).
        """
        with located(self._samples.place):
            _, boxes = box_label(np.ravel(np.asarray(label, np.float32)))
            if not len(boxes):
                raise ShapeError("ImageDetIter: a sample has no box of positive area")
            return boxes

    def check_label_shape(self, label_shape: Sequence[int]) -> None:
        """Raise ShapeError (a ``ValueError``) for fewer boxes than now, or another width."""
        if len(label_shape) != 2:
            raise ShapeError(f"ImageDetIter: label_shape: got {label_shape}, expected two sizes")
        (count, width), (least, own) = label_shape, self.label_shape
        if count < least or width != own:
            raise ShapeError(
                f"ImageDetIter: label_shape: got {count} boxes of {width} numbers, expected "
                f"{least} or more boxes of {own}, as in the data"
            )

    def reshape(
        self, data_shape: Sequence[int] | None = None, label_shape: Sequence[int] | None = None
    ) -> None:
        """Change the shape of images, or the number of boxes."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.data_shape = tuple(data_shape)
            name = self.provide_data[0][0]
            self.provide_data = [(name, (self.batch_size, *self.data_shape))]
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self._set_label_shape((label_shape[0], label_shape[1]))

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Give both iterators the larger number of boxes of the two; returns ``it``."""
        expect(isinstance(it, ImageDetIter), "sync_label_shape", type(it), "an ImageDetIter")
        del verbose
        shape = max(self.label_shape[0], it.label_shape[0]), self.label_shape[1]
        for each in (self, it):
            each.reshape(label_shape=shape)
        return it

    def draw_next(
        self,
        color: Sequence[int] | None = None,
        thickness: int = 2,
        mean: Any = None,
        std: Any = None,
        clip: bool = True,
        waitKey: int | None = None,
        window_name: str = "draw_next",
        id2labels: Mapping[int, str] | None = None,
    ) -> Iterator[np.ndarray]:
        """The following images, one by one, as augmented, with their boxes drawn.

        Args:
            color: red, green and blue of the boxes; default one drawn for each.
            thickness: of the lines, in pixels.
            mean, std: what the augmenters subtract and divide by, which is undone first; ``True``
                for ImageNet's.
            clip: numbers outside of 0 ... 255 become the nearest of these; else they wrap around.
            waitKey: milliseconds for which a window of OpenCV shows each; default no window.
            window_name: its name.
            id2labels: names by class, to be written into the boxes.

        Returns:
            Images (H, W, 3) of uint8.

        Raises:
            NotSupportedError: Pillow is not installed, or OpenCV for ``waitKey``.
        """
        scale = 1.0 if std is None else IMAGENET_STD if std is True else np.asarray(std)
        offset = 0.0 if mean is None else IMAGENET_MEAN if mean is True else np.asarray(mean)
        while True:
            with self._turn:
                self._fill(samples := [], 1)
            if not samples:
                return
            ((image, label),) = samples
            pixels = image.transpose(1, 2, 0) * scale + offset
            whole = (np.clip(pixels, 0, 255) if clip else pixels).astype(np.int64).astype(np.uint8)
            boxes = label[label[:, 0] >= 0]
            colors = [
                tuple(random.choices(range(256), k=3) if color is None else color) for _ in boxes
            ]
            drawn = with_boxes(whole, boxes, colors, thickness, id2labels or {})
            if waitKey is not None:
                show(drawn, window_name, waitKey)
            yield drawn

    def augmentation_transform(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, data: NDArray, label: np.ndarray
    ) -> tuple[NDArray, np.ndarray]:
        """The image and the boxes after all augmenters."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def _sample(self, image: NDArray, label: Any) -> Sample:
        image, boxes = self.augmentation_transform(image, self._parse_label(label))
        made = self.postprocess_data(image).asnumpy()
        if boxes.shape[1] != self.label_shape[1]:
            raise ShapeError(
                f"{self._samples.where}: ImageDetIter: got boxes of {boxes.shape[1]} numbers, "
                f"expected {self.label_shape[1]}, as in the other samples"
            )
        padded = np.full(self.label_shape, -1, np.float32)
        padded[: len(boxes)] = boxes[: len(padded)]
        return self._checked(made), padded

    def _batch(self, samples: Sequence[Sample], pad: int) -> DataBatch:
        data = np.stack([image for image, _ in samples]).astype(np.float32)
        label = np.stack([boxes for _, boxes in samples])
        return DataBatch([array(data)], [array(label)], pad=pad)
