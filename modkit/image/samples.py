"""Encoded images and their labels: from RecordIO files, from lists, and from files of lists."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from modkit.errors import FileFormatError, ParameterError
from modkit.files import located, named_errors
from modkit.io.list_file import list_lines
from modkit.io.order import checked_part
from modkit.io.packing import IRHeader, unpack
from modkit.io.recordio import MXIndexedRecordIO, MXRecordIO
from modkit.ndarray import NDArray

Listed = tuple[np.ndarray, str]
"""A label and a file."""


class Samples:
    """Labels and encoded images, one after the other; the arguments are those of `ImageIter`.

    Attributes:
        imgrec: the opened RecordIO file, or ``None``.
        imglist: labels and files by key, or ``None``.
        seq: keys in their present order; ``None`` for a RecordIO file without an index.
        where: file and place of the sample that was read last, for errors.
    """

    def __init__(
        self,
        path_imgrec: str | None,
        path_imgidx: str | None,
        path_imglist: str | None,
        imglist: Sequence[Any] | None,
        path_root: str | None,
        *,
        shuffle: bool,
        num_parts: int,
        part_index: int,
    ):
        if not (path_imgrec or path_imglist or (isinstance(imglist, list) and imglist)):
            raise ParameterError(
                "ImageIter: got no images, expected path_imgrec, path_imglist or imglist"
            )
        self.path_root, self.shuffle = path_root or "", shuffle
        self.imgrec: Any = None
        keys: list[Any] | None = None
        if path_imgrec and path_imgidx:
            self.imgrec = MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
            keys = list(self.imgrec.keys)
        elif path_imgrec:
            self.imgrec = MXRecordIO(path_imgrec, "r")
        self.imglist = _listed(path_imglist, imglist)
        if self.imgrec is None:
            keys = list(self.imglist or ())
        if keys is None and (shuffle or num_parts > 1):
            raise ParameterError(
                "ImageIter: shuffle and num_parts need path_imgidx, the index of path_imgrec; "
                "MXIndexedRecordIO writes one"
            )
        num_parts, part_index = checked_part(num_parts, part_index, "ImageIter")
        if keys is not None and num_parts > 1:
            share = len(keys) // num_parts
            keys = keys[part_index * share : (part_index + 1) * share]
        self.seq, self.cur = keys, 0
        self._count, self.where = 0, ""

    def shuffled(self) -> None:
        """Draw a new order from Python's random stream, if there is one to draw."""
        if self.shuffle and self.seq is not None:
            random.shuffle(self.seq)

    def rewind(self) -> None:
        """Go back to the first sample."""
        self.cur = self._count = 0
        if self.imgrec is not None and self.seq is None:
            self.imgrec.reset()

    def next(self) -> tuple[Any, bytes]:
        """The next label and encoded image.

        Raises:
            StopIteration: there is none.
            FileFormatError: a record is damaged, or has no line in the list.
            FileAccessError: a listed file cannot be read.
        """
        if self.seq is None:
            self.where = f"{self.imgrec.uri}: record {self._count}"
            self._count += 1
            record = self.imgrec.read()
            if record is None:
                raise StopIteration
            header, image = self._unpacked(record)
            return header.label, image
        if self.cur >= len(self.seq):
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            label, name = (self.imglist or {})[key]
            self.where = os.fspath(Path(self.path_root, name))
            return label, self.read(name)
        self.where = f"{self.imgrec.uri}: key {key!r}"
        header, image = self._unpacked(self.imgrec.read_idx(key))
        if self.imglist is None:
            return header.label, image
        if key not in self.imglist:
            raise FileFormatError(f"{self.where}: path_imglist has no line with this key")
        return self.imglist[key][0], image

    def _unpacked(self, record: bytes) -> tuple[IRHeader, bytes]:
        with located(self.place):
            return unpack(record)

    @property
    def place(self) -> str:
        """``where``, or the name of the class before the first sample."""
        return self.where or type(self).__name__

    def read(self, name: str) -> bytes:
        """The bytes of a listed file."""
        path = Path(self.path_root, name)
        with named_errors(path, "read"):
            return path.read_bytes()


def _listed(path: str | None, given: Sequence[Any] | None) -> Mapping[Any, Listed] | None:
    if path:
        return {
            line.number: (np.array(line.labels, np.float32), line.path) for line in list_lines(path)
        }
    if not isinstance(given, list):
        return None
    return {str(number): _split(entry) for number, entry in enumerate(given, 1)}


def _split(entry: Any) -> Listed:
    *label, name = entry
    if len(label) == 1 and isinstance(label[0], NDArray):
        label = label[0].asnumpy()
    return np.asarray(label, np.float32).ravel(), name
