"""ImageRecordIter: batches of images from RecordIO files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from modkit.errors import FileFormatError, NotSupportedError, ParameterError, ShapeError
from modkit.io.file_iter import MXDataIter, Round, Rows, check_parameters, shape_of
from modkit.io.order import Shuffler
from modkit.io.recordio import MXRecordIO, decode_image, record_places, unpack
from modkit.ops.registry import parse_value

_SEED = 111
"""What MXNet adds to ``seed``."""

_ABSENT = frozenset(
    "path_imglist aug_seq shuffle_chunk_size shuffle_chunk_seed random_resized_crop "
    "max_rotate_angle max_aspect_ratio min_aspect_ratio max_shear_ratio max_crop_size "
    "min_crop_size max_random_scale min_random_scale max_random_area min_random_area max_img_size "
    "min_img_size brightness contrast saturation pca_noise random_h random_s random_l rotate "
    "fill_value inter_method pad mean_img mean_a std_a max_random_contrast "
    "max_random_illumination device_id".split()
)


@dataclass(frozen=True)
class Look:
    """What is done to each image; channels in the order red, green, blue."""

    shape: tuple[int, int, int]
    resize: int
    rand_crop: bool
    rand_mirror: bool
    mirror: bool
    mean: tuple[float, ...]
    std: tuple[float, ...]
    scale: float

    def __call__(self, image: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """An image as it stands in a batch: cut, turned, and scaled.

        Shapes:
            image: (H, W, C).
            draws: (3,), random numbers below 1: for the cut's place and for turning.
            returns: (C, height, width).
        """
        if self.resize > 0:
            image = resized(image, self.resize / min(image.shape[:2]))
        _, height, width = self.shape
        spare = image.shape[0] - height, image.shape[1] - width
        if min(spare) < 0:
            raise ShapeError(
                f"ImageRecordIter: an image of {image.shape[:2]} is smaller than data_shape "
                f"{self.shape}; pass resize=, the length of its shorter edge"
            )
        y, x = (int(d * (s + 1)) if self.rand_crop else s // 2 for d, s in zip(draws, spare))
        image = image[y : y + height, x : x + width]
        if self.mirror or (self.rand_mirror and draws[2] < 0.5):
            image = image[:, ::-1]
        if image.dtype != np.uint8 or any(self.mean) or self.scale != 1 or set(self.std) != {1.0}:
            channels = image.shape[2]
            mean, std = np.float32(self.mean[:channels]), np.float32(self.std[:channels])
            image = (image.astype(np.float32) - mean) * np.float32(self.scale) / std
        return image.transpose(2, 0, 1)


def resized(image: np.ndarray, ratio: float) -> np.ndarray:
    """An image made larger or smaller by linear interpolation between four pixels.

    Shapes:
        image: (H, W, C).
        returns: (H * ratio, W * ratio, C), rounded.
    """
    for axis in (0, 1):
        size = image.shape[axis]
        count = max(round(size * ratio), 1)
        places = np.clip((np.arange(count) + 0.5) * (size / count) - 0.5, 0, size - 1)
        low = places.astype(np.int64)
        high = np.minimum(low + 1, size - 1)
        part = (places - low).astype(np.float32).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        image = np.take(image, low, axis) * (1 - part) + np.take(image, high, axis) * part
    return np.rint(image).astype(np.uint8)


class ImageRecordIter(MXDataIter):
    """Batches of images and labels from a RecordIO file, cut to one size and scaled.

    A pixel becomes ``(pixel - mean) * scale / std``. Images are cut at the centre, or anywhere.
    Differs: of MXNet's ways to change images at random only cutting and mirroring are here, drawn
    from a stream of their own; the whole file is shuffled.

    Args:
        path_imgrec: path of the records.
        data_shape: (channels, height, width) of an image in the batch; 1 or 3 channels.
        batch_size: samples in a batch.
        path_imgidx: an index of the records, if there is one; it is not needed.
        label_width: labels of an image.
        shuffle: a new order in every epoch, from ``seed``.
        seed: of the order, and of what is done at random.
        seed_aug: of what is done at random, if not ``seed``.
        round_batch: an incomplete last batch is filled from the beginning; as in `CSVIter`.
        num_parts: how many parts the file is cut into, of about as many bytes.
        part_index: which of them to read.
        resize: make the shorter edge this long first.
        rand_crop: cut anywhere, rather than at the centre.
        rand_mirror: turn left and right round in half of the images.
        mirror: turn them round in all.
        mean_r: mean of red (or of grey).
        mean_g: mean of green.
        mean_b: mean of blue.
        std_r: standard deviation of red (or of grey).
        std_g: standard deviation of green.
        std_b: standard deviation of blue.
        scale: factor.
        dtype: ``"float32"``, or ``"uint8"`` for pixels as they are.
        preprocess_threads: how many images are decoded at a time.
        data_name: name of the data.
        label_name: name of the label.
        **inert: what has no effect here: ``prefetch_buffer``, ``ctx``, ``verbose``, ...

    Raises:
        NotSupportedError: a way of changing images that is not here, or Pillow is missing.
        MissingFileError: there is no such file.
    """

    def __init__(
        self,
        path_imgrec: str | os.PathLike[str],
        data_shape: Any,
        batch_size: int,
        path_imgidx: str | os.PathLike[str] | None = None,
        label_width: int = 1,
        shuffle: bool = False,
        seed: int = 0,
        seed_aug: int | None = None,
        round_batch: bool = True,
        num_parts: int = 1,
        part_index: int = 0,
        resize: int = -1,
        rand_crop: bool = False,
        rand_mirror: bool = False,
        mirror: bool = False,
        mean_r: float = 0.0,
        mean_g: float = 0.0,
        mean_b: float = 0.0,
        std_r: float = 1.0,
        std_g: float = 1.0,
        std_b: float = 1.0,
        scale: float = 1.0,
        dtype: str = "float32",
        preprocess_threads: int = 4,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **inert: Any,
    ):
        _check(inert)
        super().__init__(given("batch_size", int), data_name, label_name)
        shape = shape_of(data_shape, "ImageRecordIter: data_shape")
        if len(shape) != 3 or shape[0] not in (1, 3):
            raise ParameterError(
                f"ImageRecordIter: data_shape: got {shape}, expected (1 or 3, height, width)"
            )
        self._dtype = np.dtype(given("dtype", str) if dtype != "None" else "float32")
        if self._dtype.name not in ("float32", "uint8"):
            raise ParameterError(f"ImageRecordIter: dtype: got {dtype!r}, expected float32 or uint8")
        self._look = Look(
            shape=(shape[0], shape[1], shape[2]),
            resize=given("resize", int),
            rand_crop=given("rand_crop", bool),
            rand_mirror=given("rand_mirror", bool),
            mirror=given("mirror", bool),
            mean=tuple(given(n, float) for n in ("mean_r", "mean_g", "mean_b")),
            std=tuple(given(n, float) for n in ("std_r", "std_g", "std_b")),
            scale=given("scale", float),
        )
        self._path = os.fspath(path_imgrec)
        self._label_width = given("label_width", int)
        self._threads = max(given("preprocess_threads", int), 1)
        seed = given("seed", int)
        self._shuffler = Shuffler(_SEED + seed) if given("shuffle", bool) else None
        self._draws = np.random.default_rng(seed if seed_aug is None else given("seed_aug", int))
        self._places = _part(self._path, given("num_parts", int), given("part_index", int))
        self._order = list(range(len(self._places)))
        self._round = Round(self.batch_size, given("round_batch", bool))
        label_shape = () if self._label_width == 1 else (self._label_width,)
        self._describe(shape, label_shape, self._dtype.type)

    def _epoch(self) -> Iterator[Rows]:
        if self._shuffler:
            self._order = self._shuffler.shuffled(self._order)
        with ThreadPoolExecutor(self._threads) as pool, MXRecordIO(self._path, "r") as file:
            for ids, pad in self._round.ids(len(self._order)):
                numbers = [self._order[i] for i in ids]
                records = [file.read_at(self._places[n]) for n in numbers]
                draws = self._draws.random((len(records), 3))
                pairs = list(pool.map(self._sample, records, draws))
                yield Rows(
                    np.stack([image for image, _ in pairs]).astype(self._dtype),
                    np.stack([label for _, label in pairs]).astype(self._dtype),
                    pad,
                    np.array(numbers, np.uint64),
                )

    def _sample(self, record: bytes, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        header, data = unpack(record)
        label = np.atleast_1d(np.asarray(header.label, np.float32))
        if len(label) != self._label_width:
            raise FileFormatError(
                f"{self._path}: an image has {len(label)} labels, but label_width is "
                f"{self._label_width}"
            )
        grey = self._look.shape[0] == 1
        image = decode_image(data, iscolor=0 if grey else 1)
        image = image[..., np.newaxis] if grey else image[..., ::-1]
        return self._look(image, draws), label[0] if self._label_width == 1 else label


class ImageRecordUInt8Iter(ImageRecordIter):
    """`ImageRecordIter` with pixels as they are."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **{**kwargs, "dtype": "uint8"})


class _Given:
    """Parameters as values, whether they were given as values or as text."""

    def __init__(self, values: dict[str, Any]):
        self._values = values

    def __call__(self, name: str, kind: Any) -> Any:
        return parse_value(self._values[name], kind, where=f"ImageRecordIter: {name}")


def _check(given: dict[str, Any]) -> None:
    absent = sorted(_ABSENT.intersection(given))
    if absent:
        raise NotSupportedError(
            f"ImageRecordIter: {absent[0]} is not supported; write a DataIter that reads with "
            "mx.recordio.MXIndexedRecordIO and changes the images as you like"
        )
    check_parameters("ImageRecordIter", given)


def _part(path: str, num_parts: int, part_index: int) -> Sequence[int]:
    """Places of the records of a part: those that begin in its share of the bytes."""
    if not 0 <= part_index < num_parts:
        raise ParameterError(
            f"ImageRecordIter: part_index: got {part_index}, expected 0 to {num_parts - 1}"
        )
    step = math.ceil(os.path.getsize(path) / num_parts) if os.path.exists(path) else 1
    return [p for p in record_places(path) if p // step == part_index]
