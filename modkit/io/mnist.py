"""MNISTIter: batches from the files of the MNIST digits."""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from modkit.errors import FileFormatError
from modkit.files import check_is_file, named_errors, path_of
from modkit.io.file_iter import HostBatch, MXDataIter
from modkit.io.order import Shuffler, part_of
from modkit.ops.parameters import parse_value

# Maximum ratio of Deflate, which bounds the size of an unpacked file.
_MOST_PACKED = 1032
_MOST_BYTES = 2**62
_GZIP = b"\x1f\x8b"


class MNISTIter(MXDataIter):
    """Batches of images from idx files, packed with gzip or not; pixels become value / 256.

    Samples that do not fill a batch are left out. The order is drawn once, from ``seed``.

    Args:
        image: path of the images.
        label: path of the labels.
        shuffle: whether to visit the samples in random order.
        flat: images as vectors, rather than (1, H, W).
        seed: of the order.
        num_parts, part_index: number of parts of the data, and the one to read.
        data_name, label_name: names of the data and of the label.
        **inert: Ignored: ``prefetch_buffer``, ``ctx``, ``silent``, ... do not change the batches.

    Raises:
        FileFormatError: a file is no idx file, or they do not fit each other.
        MissingFileError: there is no such file.
    """

    def __init__(
        self,
        image: str | os.PathLike[str] = "./train-images-idx3-ubyte",
        label: str | os.PathLike[str] = "./train-labels-idx1-ubyte",
        batch_size: int = 128,
        shuffle: bool = True,
        flat: bool = False,
        seed: int = 0,
        num_parts: int = 1,
        part_index: int = 0,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **inert: Any,
    ):
        super().__init__(batch_size, data_name, label_name, inert)
        images = read_idx(path_of(image), ndim=3)
        labels = read_idx(path_of(label), ndim=1)
        if len(images) != len(labels):
            raise FileFormatError(
                f"{path_of(label)}: got {len(labels)} labels, expected {len(images)}, as many as "
                f"{path_of(image)} has images"
            )
        part = part_of(len(images), num_parts, part_index, "MNISTIter")
        self._images, self._labels = images[part], labels[part]
        self._order = np.arange(len(self._images))
        if parse_value(shuffle, bool, where="MNISTIter: shuffle"):
            seed = parse_value(seed, int, where="MNISTIter: seed")
            self._order = np.array(Shuffler(seed).shuffled(self._order), np.int64)
        flat = parse_value(flat, bool, where="MNISTIter: flat")
        self._shape = (math.prod(images.shape[1:]),) if flat else (1, *images.shape[1:])
        self._describe(self._shape, (), np.float32)

    def _epoch(self) -> Iterator[HostBatch]:
        size = self.batch_size
        for start in range(0, len(self._order) - size + 1, size):
            ids = self._order[start : start + size]
            data = self._images[ids].reshape(size, *self._shape).astype(np.float32)
            data *= np.float32(1 / 256)
            yield HostBatch(data, self._labels[ids].astype(np.float32), 0, ids.astype(np.uint64))


def read_idx(path: str, ndim: int) -> np.ndarray:
    """The array of bytes in an idx file, packed with gzip or not.

    Raises:
        FileFormatError: it is no idx file of bytes with ``ndim`` dimensions, or is cut off.
        MissingFileError: there is no such file.
    """
    check_is_file(Path(path))
    with named_errors(path, "read"), Path(path).open("rb") as raw:
        packed = raw.read(2) == _GZIP
    limit = Path(path).stat().st_size * (_MOST_PACKED if packed else 1)
    try:
        with gzip.open(path) if packed else Path(path).open("rb") as file:
            header = file.read(4 + 4 * ndim)
            if len(header) < 4 + 4 * ndim or header[:4] != bytes((0, 0, 8, ndim)):
                raise FileFormatError(
                    f"{path}: at byte 0: got {header[:4]!r}, expected the beginning of an idx file "
                    f"of bytes with {ndim} dimensions"
                )
            shape = struct.unpack(f">{ndim}I", header[4:])
            size = math.prod(shape)
            if not size and math.prod(n or 1 for n in shape) > _MOST_BYTES:
                raise FileFormatError(f"{path}: at byte 4: the impossible shape {shape}")
            content = file.read(size) if size <= limit else b""
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FileFormatError(f"{path}: at byte 0: not packed as gzip does: {error}") from error
    if len(content) < size:
        raise FileFormatError(
            f"{path}: at byte {len(header)}: shape {shape} takes {size} bytes, but the file has "
            "fewer"
        )
    return np.frombuffer(content, np.uint8).reshape(shape)
