"""ImageRecordIter: batches of images from RecordIO files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from modkit.errors import FileFormatError, NotSupportedError, ParameterError, ShapeError
from modkit.io.file_iter import MXDataIter, Round, Rows, check_parameters, shape_of
from modkit.io.images import check_scaled, decode_image
from modkit.io.order import Shuffler
from modkit.io.packing import unpack
from modkit.io.recordio import MXRecordIO
from modkit.ops.registry import parse_value

_SEED = 111
"""The number that MXNet adds to ``seed``."""

_OPTIONS: dict[str, tuple[Any, Any]] = {
    "path_imgidx": (str, ""),
    "label_width": (int, 1),
    "shuffle": (bool, False),
    "seed": (int, 0),
    "seed_aug": (int | None, None),
    "round_batch": (bool, True),
    "num_parts": (int, 1),
    "part_index": (int, 0),
    "resize": (int, -1),
    "rand_crop": (bool, False),
    "rand_mirror": (bool, False),
    "mirror": (bool, False),
    "mean_r": (float, 0.0),
    "mean_g": (float, 0.0),
    "mean_b": (float, 0.0),
    "std_r": (float, 1.0),
    "std_g": (float, 1.0),
    "std_b": (float, 1.0),
    "scale": (float, 1.0),
    "dtype": (Literal["float32", "uint8"], "float32"),
    "preprocess_threads": (int, 4),
}
"""Parameters with their types and defaults."""

_ABSENT = frozenset(
    [
        "path_imglist",
        "aug_seq",
        "shuffle_chunk_size",
        "shuffle_chunk_seed",
        "random_resized_crop",
        "max_rotate_angle",
        "max_aspect_ratio",
        "min_aspect_ratio",
        "max_shear_ratio",
        "max_crop_size",
        "min_crop_size",
        "max_random_scale",
        "min_random_scale",
        "max_random_area",
        "min_random_area",
        "max_img_size",
        "min_img_size",
        "brightness",
        "contrast",
        "saturation",
        "pca_noise",
        "random_h",
        "random_s",
        "random_l",
        "rotate",
        "fill_value",
        "inter_method",
        "pad",
        "mean_img",
        "mean_a",
        "std_a",
        "max_random_contrast",
        "max_random_illumination",
        "device_id",
    ]
)


@dataclass(frozen=True)
class Look:
    """Preprocessing of each image; channels in the order red, green, blue."""

    shape: tuple[int, int, int]
    resize: int
    rand_crop: bool
    rand_mirror: bool
    mirror: bool
    mean: tuple[float, ...]
    std: tuple[float, ...]
    scale: float

    def __call__(self, image: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """An image of a batch: cropped, mirrored, and scaled.

        Shapes:
            image: (H, W, C).
            draws: (3,), random numbers below 1: position of the crop, and mirroring.
            returns: (C, height, width).
        """
        if self.resize > 0:
            image = resized(image, self.resize)
        _, height, width = self.shape
        spare = image.shape[0] - height, image.shape[1] - width
        if min(spare) < 0:
            raise ShapeError(
                f"ImageRecordIter: an image of {image.shape[:2]} is smaller than data_shape "
                f"{self.shape}; pass resize=, the length of its shorter edge"
            )
        corner = (draws[:2] * (np.array(spare) + 1)) if self.rand_crop else np.array(spare) / 2
        y, x = corner.astype(int)
        image = image[y : y + height, x : x + width]
        if self.mirror or (self.rand_mirror and draws[2] < 0.5):
            image = image[:, ::-1]
        if image.dtype != np.uint8 or any(self.mean) or self.scale != 1 or set(self.std) != {1.0}:
            channels = image.shape[2]
            mean, std = (np.array(v[:channels], np.float32) for v in (self.mean, self.std))
            image = (image.astype(np.float32) - mean) * np.float32(self.scale) / std
        return image.transpose(2, 0, 1)


def resized(image: np.ndarray, shorter: int) -> np.ndarray:
    """An image resized bilinearly, so that its shorter edge has ``shorter`` pixels.

    Shapes:
        image: (H, W, C).
        returns: (H * shorter / min(H, W), W * shorter / min(H, W), C), rounded down.

    Raises:
        FileFormatError: it would become too large, because one edge is so much longer.
    """
    check_scaled(image.shape[0], image.shape[1], shorter)
    edge = min(image.shape[:2])
    for axis in (0, 1):
        size = image.shape[axis]
        count = size * shorter // edge
        at = np.clip((np.arange(count) + 0.5) * (size / count) - 0.5, 0, size - 1)
        low = at.astype(np.int64)
        high = np.minimum(low + 1, size - 1)
        part = (at - low).astype(np.float32).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        image = np.take(image, low, axis) * (1 - part) + np.take(image, high, axis) * part
    return np.rint(image).astype(np.uint8)


class ImageRecordIter(MXDataIter):
    """Batches of images and labels from a RecordIO file, cropped to one size and scaled.

    A pixel becomes ``(pixel - mean) * scale / std``. Crops are central or random.
    Differs: MXNet's random augmentations are limited to cropping and mirroring, with other random
    numbers; the whole file is shuffled.

    Args:
        path_imgrec: path of the records.
        data_shape: (channels, height, width) of an image in the batch; 1 or 3 channels.
        batch_size: samples in a batch.
        data_name: name of the data.
        label_name: name of the label.
        **options: the options below; ``prefetch_buffer``, ``ctx``, ``verbose`` and
            ``path_imgidx`` are ignored: they do not change the batches.

    Options:
        label_width: labels of an image (1).
        shuffle: a new order in every epoch, from ``seed`` (no).
        seed: of the order and the augmentations (0).
        seed_aug: of the augmentations; default ``seed``.
        round_batch: pad an incomplete last batch with the first samples, as in `CSVIter` (yes).
        num_parts: number of parts of about equal size in bytes (1).
        part_index: the part to read (0).
        resize: length of the shorter edge before the crop.
        rand_crop: crop at random, not at the centre (no).
        rand_mirror: mirror half of the images horizontally (no).
        mirror: mirror all images horizontally (no).
        mean_r, mean_g, mean_b: means of red (or grey), green and blue (0).
        std_r, std_g, std_b: their standard deviations (1).
        scale: factor (1).
        dtype: ``"float32"``, or ``"uint8"`` for pixels as they are.
        preprocess_threads: number of images decoded at a time (4).

    Raises:
        NotSupportedError: another augmentation, or Pillow is missing.
        MissingFileError: there is no such file.
    """

    def __init__(
        self,
        path_imgrec: str | os.PathLike[str],
        data_shape: Any,
        batch_size: int,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **options: Any,
    ):
        given = _read_options(options)
        super().__init__(_parsed("batch_size", batch_size, int), data_name, label_name)
        shape = shape_of(data_shape, "ImageRecordIter: data_shape")
        if len(shape) != 3 or shape[0] not in (1, 3):
            raise ParameterError(
                f"ImageRecordIter: data_shape: got {shape}, expected (1 or 3, height, width)"
            )
        self._look = Look(
            shape=(shape[0], shape[1], shape[2]),
            mean=(given["mean_r"], given["mean_g"], given["mean_b"]),
            std=(given["std_r"], given["std_g"], given["std_b"]),
            **{n: given[n] for n in ("resize", "rand_crop", "rand_mirror", "mirror", "scale")},
        )
        self._path = os.fspath(path_imgrec)
        self._dtype = np.dtype(given["dtype"])
        self._label_width = given["label_width"]
        self._threads = max(given["preprocess_threads"], 1)
        self._shuffler = Shuffler(_SEED + given["seed"]) if given["shuffle"] else None
        seed_aug = given["seed"] if given["seed_aug"] is None else given["seed_aug"]
        self._draws = np.random.default_rng(seed_aug)
        self._offsets = _part(self._path, given["num_parts"], given["part_index"])
        self._following: list[int] | None = None
        self._round = Round(self.batch_size, given["round_batch"])
        label_shape = () if self._label_width == 1 else (self._label_width,)
        self._describe(shape, label_shape, self._dtype.type)

    def reseed(self, seed: int) -> None:
        """Begin anew, with orders and augmentations of this seed."""
        self._shuffler = self._shuffler and Shuffler(_SEED + seed)
        self._draws = np.random.default_rng(seed)
        self._following, self._round.begin = None, 0
        self.reset()

    def _place(self) -> dict[str, Any]:
        return {
            "begin": self._round.begin, "following": self._following,
            "draws": self._draws.bit_generator.state,
            "drawn": self._shuffler and self._shuffler.drawn,
        }  # fmt: skip

    def _move_to(self, place: Mapping[str, Any]) -> None:
        self._round.begin, self._following = place["begin"], place["following"]
        self._draws.bit_generator.state = place["draws"]
        if self._shuffler:
            self._shuffler.move_to(place["drawn"])

    def _epoch(self) -> Iterator[Rows]:
        order, self._following = self._following or self._new_order(), None
        with ThreadPoolExecutor(self._threads) as pool, MXRecordIO(self._path, "r") as file:
            for ids, pad in self._round.ids(len(order)):
                real = len(ids) - pad
                if pad and self._round.round_batch:
                    # The padding of the batch is the beginning of the next epoch.
                    self._following = self._new_order()
                filling = self._following or order
                numbers = [order[i] for i in ids[:real]] + [filling[i] for i in ids[real:]]
                draws = self._draws.random((len(numbers), 3))
                if self._passing_over:
                    yield Rows(np.empty(0), np.empty(0), pad, np.array(numbers, np.uint64))
                    continue
                offsets = [self._offsets[n] for n in numbers]
                records = [file.read_at(offset) for offset in offsets]
                pairs = list(pool.map(self._sample, offsets, records, draws))
                yield Rows(
                    np.stack([image for image, _ in pairs]).astype(self._dtype),
                    np.stack([label for _, label in pairs]).astype(self._dtype),
                    pad,
                    np.array(numbers, np.uint64),
                )

    def _new_order(self) -> list[int]:
        count = range(len(self._offsets))
        return self._shuffler.shuffled(count) if self._shuffler else list(count)

    def _sample(
        self, place: int, record: bytes, draws: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        try:
            return self._image(record, draws)
        except (FileFormatError, ShapeError) as error:
            raise type(error)(f"{self._path}: at byte {place}: {error}") from error

    def _image(self, record: bytes, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        header, data = unpack(record)
        label = np.atleast_1d(np.asarray(header.label, np.float32))
        if len(label) != self._label_width:
            raise FileFormatError(
                f"an image has {len(label)} labels, but label_width is {self._label_width}"
            )
        grey = self._look.shape[0] == 1
        image = decode_image(data, iscolor=0 if grey else 1)
        image = image[..., np.newaxis] if grey else image[..., ::-1]
        return self._look(image, draws), label[0] if self._label_width == 1 else label


class ImageRecordUInt8Iter(ImageRecordIter):
    """`ImageRecordIter` with pixels as they are."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **{**kwargs, "dtype": "uint8"})


def _read_options(given: dict[str, Any]) -> dict[str, Any]:
    absent = sorted(_ABSENT.intersection(given))
    if absent:
        raise NotSupportedError(
            f"ImageRecordIter: {absent[0]} is not supported; write a DataIter that reads with "
            "mx.recordio.MXIndexedRecordIO and changes the images as you like"
        )
    rest = {name: value for name, value in given.items() if name not in _OPTIONS}
    check_parameters("ImageRecordIter", rest, _OPTIONS)
    return {
        name: _parsed(name, given.get(name, default), kind)
        for name, (kind, default) in _OPTIONS.items()
    }


def _parsed(name: str, value: Any, kind: Any) -> Any:
    return parse_value(value, kind, where=f"ImageRecordIter: {name}")


def _part(path: str, num_parts: int, part_index: int) -> Sequence[int]:
    """Offsets of the records of a part: those that begin in its share of the bytes."""
    if not 0 <= part_index < num_parts:
        raise ParameterError(
            f"ImageRecordIter: part_index: got {part_index}, expected 0 to {num_parts - 1}"
        )
    with MXRecordIO(path, "r") as file:
        offsets, size = file.places()
    step = math.ceil(size / num_parts)
    return [offset for offset in offsets if offset // step == part_index]
