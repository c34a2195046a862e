"""ImageRecordBase: the base of the iterators over images in RecordIO files."""

from __future__ import annotations

import bisect
import contextlib
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np

from modkit.errors import FileFormatError, ParameterError
from modkit.files import located, path_of
from modkit.io.file_iter import (
    HostBatch,
    MXDataIter,
    PaddedBatches,
    check_parameters,
    files_at,
    shape_of,
)
from modkit.io.image_decoding import check_scaled, pixels
from modkit.io.list_file import list_lines
from modkit.io.order import Shuffler, checked_part, generator
from modkit.io.packing import IRHeader, unpack
from modkit.io.recordio import MXIndexedRecordIO, MXRecordIO
from modkit.io.resample import drawn_interp, of_size
from modkit.ndarray.storage import aligned
from modkit.ops.parameters import parse_value

Result = TypeVar("Result")

Labelled = tuple[np.ndarray, np.ndarray]
"""An image and its label."""


class Drawn(NamedTuple):
    """Random choices for one image.

    Attributes:
        numbers: three random numbers below 1.
        more: a generator of further ones; ``None`` where none are needed.
        interp: code of the interpolation.
    """

    numbers: np.ndarray
    more: np.random.Generator | None
    interp: int


OPTIONS: dict[str, tuple[Any, Any]] = {
    "path_imglist": (str, ""),
    "resize": (int, -1),
    **{f"mean_{c}": (float, 0.0) for c in "rgb"},
    "scale": (float, 1.0),
    "shuffle": (bool, False),
    "seed": (int, 0),
    "round_batch": (bool, True),
    "num_parts": (int, 1),
    "part_index": (int, 0),
    "preprocess_threads": (int, 4),
}
"""Parameters with their types and defaults."""
_OPEN = 16
"""Number of files that are open at once, those with the latest records."""


class RecordFiles:
    """The records of one part of the files, which are read as if concatenated.

    Args:
        path: see `files_at`.
        num_parts, part_index: number of parts of about equal size, and the one to read. A record
            belongs to the part of the bytes in which it begins.
        index: path of an index: parts have equal numbers of its records, and begin with one.

    Attributes:
        places: where the records begin, in the bytes of all files.
    """

    def __init__(self, path: str, num_parts: int, part_index: int, index: str = ""):
        self._files = list(map(os.fspath, files_at(path)))
        self._begins: list[int] = []
        self.places: list[int] = []
        total = 0
        for name in self._files:
            with MXRecordIO(name, "r") as file:
                offsets, size = file.places()
            self._begins.append(total)
            self.places += [total + offset for offset in offsets]
            total += size
        if index:
            with contextlib.closing(MXIndexedRecordIO(index, self._files[0], "r", str)) as file:
                begins = sorted(file.idx.values())
            if not begins:
                raise FileFormatError(f"{index}: got no lines, expected one for each record")
            ends = [*begins[:: math.ceil(len(begins) / num_parts)], *[total] * num_parts]
            low, high = ends[part_index : part_index + 2]
        else:
            step = math.ceil(total / num_parts)
            low, high = step * part_index, step * (part_index + 1)
        self.places = [place for place in self.places if low <= place < high]

    def _found(self, place: int) -> tuple[int, int]:
        """The number of a file, and the offset in it."""
        number = bisect.bisect(self._begins, place) - 1
        return number, place - self._begins[number]

    def name(self, place: int) -> str:
        """File and offset of a record, for errors."""
        number, offset = self._found(place)
        return f"{self._files[number]}: at byte {offset}"

    @contextlib.contextmanager
    def opened(self) -> Iterator[Callable[[int], bytes]]:
        """A block with a function that reads the record of a place."""
        files: dict[int, MXRecordIO] = {}  # the latest last

        def read(place: int) -> bytes:
            number, offset = self._found(place)
            file = files.pop(number, None) or MXRecordIO(self._files[number], "r")
            files[number] = file
            if len(files) > _OPEN:
                files.pop(next(iter(files))).close()
            return file.read_at(offset)

        try:
            yield read
        finally:
            for file in files.values():
                file.close()


class ImageRecordBase(MXDataIter):
    """Order, parts, padding, and decoding in threads. A subclass has ``_image``."""

    _added_seed = 111
    """The number that MXNet adds to ``seed``."""
    _dtype = np.dtype("float32")
    _by_index = False
    """Parts are those of ``path_imgidx``."""
    _draws_more = False
    """``_image`` takes a generator of random numbers too."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        batch_size: int | str,
        names: tuple[str, str],
        given: Mapping[str, Any],
        seed_aug: int,
    ):
        super().__init__(batch_size, *names)
        self._given = given
        self._threads = max(given["preprocess_threads"], 1)
        self._shuffler = Shuffler(self._added_seed + given["seed"]) if given["shuffle"] else None
        self._draws = generator(seed_aug)
        part = checked_part(given["num_parts"], given["part_index"], type(self).__name__)
        index = given["path_imgidx"] if self._by_index else ""
        self._records = RecordFiles(path_of(path), *part, index)
        self._following: list[int] | None = None
        self._batches = PaddedBatches(self.batch_size, given["round_batch"])
        self._labels: dict[int, np.ndarray] | None = None
        if path_imglist := given["path_imglist"]:
            lines = list_lines(path_imglist)
            self._labels = {line.number: np.array(line.labels, np.float32) for line in lines}

    def _image(self, image: np.ndarray, label: np.ndarray, drawn: Drawn) -> Labelled:
        """The (C, H, W) image of a batch, from a decoded (H, W, C) one, and its label."""
        raise NotImplementedError

    def _label_of(self, header: IRHeader) -> np.ndarray:
        """The label of a record, or that of its line in ``path_imglist``."""
        if self._labels is None:
            label = np.atleast_1d(np.asarray(header.label, np.float32))
        elif header.id in self._labels:
            label = self._labels[header.id]
        else:
            raise FileFormatError(f"path_imglist has no line for the image with id {header.id}")
        width = self._given["label_width"]
        if width not in (-1, len(label)):
            raise FileFormatError(
                f"an image has a label of length {len(label)}, but label_width is {width}; pass "
                "the length that all labels have; ImageDetRecordIter takes any with -1"
            )
        return label

    def reseed(self, seed: int) -> None:
        """Begin anew, with orders and augmentations of this seed."""
        self._shuffler = self._shuffler and Shuffler(self._added_seed + seed)
        self._draws = generator(seed)
        self._following, self._batches.begin = None, 0
        self.reset()

    def _place(self) -> dict[str, Any]:
        return {
            "begin": self._batches.begin, "following": self._following,
            "draws": self._draws.bit_generator.state,
            "drawn": self._shuffler and self._shuffler.drawn,
        }  # fmt: skip

    def _move_to(self, place: Mapping[str, Any]) -> None:
        self._batches.begin, self._following = place["begin"], place["following"]
        self._draws.bit_generator.state = place["draws"]
        if self._shuffler:
            self._shuffler.move_to(place["drawn"])

    def _epoch(self) -> Iterator[HostBatch]:
        order, self._following = self._following or self._new_order(), None
        pool = ThreadPoolExecutor(self._threads)
        with contextlib.ExitStack() as opened:
            # No join: garbage collection ends the block of an epoch that was left,
            # perhaps while `threading` holds the lock that a join takes.
            opened.callback(pool.shutdown, wait=False)
            read = opened.enter_context(self._records.opened())
            for ids, pad in self._batches.ids(len(order)):
                real = len(ids) - pad
                if pad and self._batches.round_batch:
                    # The padding of the batch is the beginning of the next epoch.
                    self._following = self._new_order()
                filling = self._following or order
                numbers = [order[i] for i in ids[:real]] + [filling[i] for i in ids[real:]]
                draws = self._draws.random((len(numbers), 3))
                seeds: Any = [None] * len(numbers)
                if self._draws_more:
                    seeds = self._draws.integers(0, 2**63, len(numbers))
                if self._passing_over:
                    yield HostBatch(np.empty(0), np.empty(0), pad, np.array(numbers, np.uint64))
                    continue
                places = [self._records.places[n] for n in numbers]
                records = list(map(read, places))
                data = aligned((len(numbers), *self.provide_data[0].shape[1:]), self._dtype)
                filled = pool.map(
                    self._located, places, repeat(self._fill), data, records, draws, seeds
                )
                labels = np.stack(list(filled))
                yield HostBatch(data, labels, pad, np.array(numbers, np.uint64))

    def _fill(
        self, target: np.ndarray, record: bytes, draws: np.ndarray, seed: int | None
    ) -> np.ndarray:
        """Write the image of a record to its place in the batch, and return the label."""
        header, data = unpack(record)
        label = self._label_of(header)
        more = None if seed is None else np.random.default_rng(seed)
        interp = drawn_interp(self._given["inter_method"], more)
        image, edge = decoded_to(data, len(target)), self._given["resize"]
        if edge > 0:
            image = resized(image, edge, interp)
        target[...], label = self._image(image, label, Drawn(draws, more, interp))
        return label

    def _new_order(self) -> list[int]:
        count = range(len(self._records.places))
        return self._shuffler.shuffled(count) if self._shuffler else list(count)

    def _located(self, place: int, call: Callable[..., Result], *args: Any) -> Result:
        """The result of a call for the record at a place, which its errors name."""
        with located(self._records.name(place)):
            return call(*args)


def decoded_to(data: bytes, channels: int) -> np.ndarray:
    """An encoded image, (H, W, channels), in the order red, green, blue."""
    image = pixels(data, "L" if channels == 1 else "RGB")
    return image.reshape(*image.shape[:2], channels)


def resized(image: np.ndarray, shorter: int, interp: int = 1) -> np.ndarray:
    """An image resized so that its shorter edge has ``shorter`` pixels.

    Args:
        image: (H, W, C).
        shorter: length of the shorter edge.
        interp: code of the interpolation; default linear.

    Shapes:
        returns: (H * shorter / min(H, W), W * shorter / min(H, W), C), rounded down.

    Raises:
        FileFormatError: it would become too large, because one edge is so much longer.
    """
    return of_size(image, *kept_ratio(image, min(image.shape[:2]), shorter), interp)


def kept_ratio(image: np.ndarray, edge: int, size: int) -> tuple[int, int]:
    """Height and width of an image (H, W, C) whose edge of ``edge`` pixels becomes ``size``."""
    rows, columns, _ = image.shape
    check_scaled(rows, columns, min(rows, columns) * size // edge)
    return rows * size // edge, columns * size // edge


def read_options(
    caller: str,
    given: Mapping[str, Any],
    options: Mapping[str, tuple[Any, Any]],
    inert: Sequence[str],
) -> dict[str, Any]:
    """Values of all ``options``, from those that are given; ``inert`` ones are passed over."""
    rest = {n: value for n, value in given.items() if n not in options and n not in inert}
    check_parameters(caller, rest, options)
    return {
        name: parse_value(given.get(name, default), kind, where=f"{caller}: {name}")
        for name, (kind, default) in options.items()
    }


def image_shape(caller: str, given: Any) -> tuple[int, int, int]:
    """``data_shape`` of an iterator; a ParameterError unless it is (channels, height, width)."""
    shape = shape_of(given, f"{caller}: data_shape")
    if len(shape) != 3 or shape[0] not in (1, 3):
        raise ParameterError(f"{caller}: data_shape: got {shape}, expected (1 or 3, height, width)")
    return shape[0], shape[1], shape[2]
