"""ImageIter: batches of images from records or files, changed by augmenters."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from modkit import fork
from modkit.constructors import check_arguments
from modkit.errors import DTypeError, ParameterError, ShapeError, expect, one_of
from modkit.files import located
from modkit.image.augmenters import CreateAugmenter
from modkit.image.functions import imdecode
from modkit.image.samples import Samples
from modkit.io import DataBatch, DataIter
from modkit.ndarray import NDArray, array, transpose
from modkit.ops.dtypes import dtype_name

_logger = logging.getLogger(__name__)

Sample = tuple[np.ndarray, np.ndarray]
"""Pixels, (C, H, W), and a label."""


@check_arguments
class ImageIter(DataIter):
    """Batches of images and labels, changed by augmenters in Python.

    `modkit.io.ImageRecordIter` is faster where cropping and mirroring are enough. A subclass may
    override ``imdecode``, ``read_image``, ``augmentation_transform`` and ``postprocess_data``.

    Args:
        data_shape: (channels, height, width) after augmentation; 3 channels.
        label_width: labels of an image.
        path_imgrec: path of a RecordIO file.
        path_imglist: path of a list: lines with key, labels and file, with tabs between.
        path_root: folder of the files in a list.
        path_imgidx: path of the index of ``path_imgrec``, for ``shuffle`` and ``num_parts``.
        shuffle: a new order each epoch, from Python's ``random``.
        aug_list: augmenters; default those of `CreateAugmenter` with ``kwargs``.
        imglist: a list of [label, ..., file].
        data_name, label_name: names of the data and of the label.
        dtype: without effect: batches are float32.
        last_batch_handle: an incomplete batch is completed with the first images (``"pad"``), left
            out (``"discard"``), or begins the next epoch (``"roll_over"``).
        kwargs: of `CreateAugmenter`.

    Raises:
        ParameterError: no source of images, another number of channels, or another parameter.
        MissingFileError: a file is not there.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Sequence[Any] | None = None,
        imglist: Sequence[Any] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ):
        expect(batch_size >= 1, f"{type(self).__name__}: batch_size", batch_size, "1 or more")
        super().__init__(batch_size)
        one_of("ImageIter: last_batch_handle", last_batch_handle, ("pad", "discard", "roll_over"))
        self._samples = Samples(
            path_imgrec, path_imgidx, path_imglist, imglist, path_root,
            shuffle=shuffle, num_parts=num_parts, part_index=part_index,
        )  # fmt: skip
        self.check_data_shape(data_shape)
        self.data_shape, self.label_width = tuple(data_shape), label_width
        self.auglist = CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        try:
            dtype_name(dtype)
        except DTypeError as error:
            raise ParameterError(f"ImageIter: dtype: {error}") from error
        self.last_batch_handle, self.dtype = last_batch_handle, dtype
        label = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_data: list[Any] = [(data_name, (batch_size, *self.data_shape))]
        self.provide_label: list[Any] = [(label_name, label)]
        self._carried: list[Sample] = []
        self._ended = False
        self._turn = fork.lock()  # held while a batch is read
        self.reset()

    imgrec = property(lambda self: self._samples.imgrec, doc="The RecordIO file, or ``None``.")
    imglist = property(lambda self: self._samples.imglist, doc="Labels and files by key.")
    seq = property(lambda self: self._samples.seq, doc="Keys in their present order.")
    cur = property(lambda self: self._samples.cur, doc="Position in ``seq``.")
    path_root = property(lambda self: self._samples.path_root, doc="The folder of the files.")
    shuffle = property(lambda self: self._samples.shuffle, doc="Whether the order is drawn.")

    @property
    def num_image(self) -> int | None:
        """The number of images; ``None`` for records without an index."""
        return None if self.seq is None else len(self.seq)

    def reset(self) -> None:
        """Go back to the first image, in a new order; images that roll over are kept."""
        with self._turn:
            self._samples.shuffled()
            self._samples.rewind()
            self._ended = False

    def hard_reset(self) -> None:
        """`reset`, forgetting images that roll over."""
        with self._turn:
            self._carried = []
            self.reset()

    def next_sample(self) -> tuple[Any, bytes]:
        """The next label, an NDArray if it is of a list, and the encoded image.

        Raises:
            StopIteration: there is none. As in MXNet the next call begins anew, unless
                incomplete batches are discarded.
        """
        try:
            label, encoded = self._samples.next()
        except StopIteration:
            if self.last_batch_handle != "discard":
                self._samples.rewind()
            raise
        return (label if self.imglist is None else array(label)), encoded

    def next(self) -> DataBatch:
        """The next batch; threads that share the iterator get different ones."""
        with self._turn:
            return self._next()

    def _next(self) -> DataBatch:
        carried, self._carried = self._carried, []
        samples = list(carried)
        if not self._ended:
            self._fill(samples, self.batch_size)
        missing = self.batch_size - len(samples)
        if missing and (not samples or self.last_batch_handle != "pad"):
            self._carried = samples if self.last_batch_handle == "roll_over" else []
            raise StopIteration
        while len(samples) < self.batch_size:  # a small set of images is repeated
            self._ended = True
            self._fill(samples, self.batch_size)
        return self._batch(samples, missing or (self.batch_size - len(carried)) % self.batch_size)

    def _fill(self, samples: list[Sample], count: int) -> None:
        """Add samples until there are so many of them, or no more."""
        while len(samples) < count:
            try:
                label, encoded = self.next_sample()
            except StopIteration:
                return
            image = self.imdecode(encoded)
            try:
                self.check_valid_image([image])
            except RuntimeError as error:
                _logger.debug("Invalid image, skipping: %s", error)
                continue
            samples.append(self._sample(image, label))

    def _sample(self, image: NDArray, label: Any) -> Sample:
        """An image of a batch, and its label; ShapeError where augmenters leave another shape."""
        made = self.postprocess_data(self.augmentation_transform(image)).asnumpy()
        return self._checked(made), np.asarray(label, np.float32)

    def _checked(self, image: np.ndarray) -> np.ndarray:
        if image.shape != self.data_shape:
            raise ShapeError(
                f"{type(self).__name__}: an image has the shape {image.shape} after augmentation, "
                f"expected data_shape {self.data_shape}; add a crop or ForceResizeAug"
            )
        return image

    def _batch(self, samples: Sequence[Sample], pad: int) -> DataBatch:
        data = np.stack([image for image, _ in samples]).astype(np.float32)
        shape, labels = self.provide_label[0][1], [label for _, label in samples]
        if any(np.size(each) != self.label_width for each in labels):
            raise ShapeError(
                f"ImageIter: an image has a label of length {max(map(np.size, labels))}, but "
                f"label_width is {self.label_width}"
            )
        label = np.stack([np.ravel(each) for each in labels]).reshape(shape)
        return DataBatch([array(data)], [array(label)], pad=pad)

    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        """Raise ParameterError (a ``ValueError``) unless ``data_shape`` is (3, height, width)."""
        fits = len(data_shape) == 3 and data_shape[0] == 3
        where = f"{type(self).__name__}: data_shape"
        expect(fits, where, tuple(data_shape), "three channels: (3, height, width)")

    def check_valid_image(self, data: Sequence[NDArray]) -> None:
        """Raise RuntimeError for a decoded image without axes."""
        if not data[0].shape:
            raise ShapeError("ImageIter: the image has no axes")

    def imdecode(self, s: bytes) -> NDArray:
        """The image of encoded bytes."""
        with located(self._samples.place):
            return imdecode(s)

    def read_image(self, fname: str) -> bytes:
        """The bytes of a listed file."""
        return self._samples.read(fname)

    def augmentation_transform(self, data: NDArray) -> NDArray:
        """The image after all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: NDArray) -> NDArray:
        """The image with channels first."""
        return transpose(datum, axes=(2, 0, 1))
