"""MXDataIter: the base class of the iterators over files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from modkit import fork
from modkit.context import Context
from modkit.errors import FileFormatError, ParameterError, nearest, warn_caller
from modkit.files import named_errors
from modkit.io.array import to_device
from modkit.io.base import DataBatch, DataDesc, HeldBatchIter, check_position
from modkit.ndarray import NDArray
from modkit.ops.parameters import parse_value
from modkit.ops.partial_shapes import check_elements
from modkit.signals import DeferredSignals

_INERT: dict[str, Any] = {
    "prefetch_buffer": int,
    "ctx": str,
    "silent": bool,
    "verbose": bool,
    "input_shape": tuple[int, ...],
    "data_shape": tuple[int, ...],
    "round_batch": bool,
    "dtype": Literal["None", "float32"],
}
"""Parameters that affect only how MXNet works, not its results, or that have one valid value."""


@dataclass(frozen=True)
class HostBatch:
    """A batch on the host: data, label, number of padding samples, and sample numbers."""

    data: np.ndarray | NDArray
    label: np.ndarray
    pad: int
    index: np.ndarray


class MXDataIter(HeldBatchIter):
    """The base of the iterators over files. A subclass yields the batches in ``_epoch``.

    Where a sample cannot be read, each call raises the same FileFormatError until `reset`.

    Args:
        data_name, label_name: names of the data and of the label.
        inert: parameters without an effect; see `check_parameters`.
    """

    def __init__(
        self,
        batch_size: int | str,
        data_name: str = "data",
        label_name: str = "softmax_label",
        inert: Mapping[str, Any] | None = None,
    ):
        caller = type(self).__name__
        check_parameters(caller, inert or {})
        super().__init__(parse_value(batch_size, int, where=f"{caller}: batch_size"))
        if self.batch_size < 1:
            raise ParameterError(f"{caller}: batch_size: got {batch_size}, expected at least 1")
        self._names = data_name, label_name
        self._rows: Iterator[HostBatch] | None = None
        self._failure: Exception | None = None
        self._begin: dict[str, Any] = {}
        self._taken = 0
        self._passing_over = False
        self._turn = fork.lock()  # held while a batch is read

    def _epoch(self) -> Iterator[HostBatch]:
        """The batches of an epoch."""
        raise NotImplementedError

    def _describe(
        self,
        data_shape: tuple[int, ...],
        label_shape: tuple[int, ...],
        dtype: type,
        label_dtype: type | None = None,
    ) -> None:
        """Set the descriptions of a batch from shapes and types of a sample and a label."""
        data_name, label_name = self._names
        try:
            np.empty((self.batch_size, *label_shape), label_dtype or dtype)
        except (MemoryError, ValueError) as error:
            raise ParameterError(
                f"{type(self).__name__}: a batch of {self.batch_size} labels of shape "
                f"{label_shape} does not fit into memory: lower batch_size or label_shape"
            ) from error
        check_elements(f"{type(self).__name__}: data", (self.batch_size, *data_shape))
        self.provide_data = [DataDesc(data_name, (self.batch_size, *data_shape), dtype)]
        self.provide_label = [
            DataDesc(label_name, (self.batch_size, *label_shape), label_dtype or dtype)
        ]

    def _place(self) -> dict[str, Any]:
        """Everything that decides the batches of the epochs that have not begun."""
        return {}

    def _move_to(self, place: Mapping[str, Any]) -> None:
        """Restore what `_place` returned."""

    def state_dict(self) -> dict[str, Any]:
        """The position: the beginning of the epoch, and the number of batches read since then."""
        began = self._rows is not None
        return {
            "batch_size": self.batch_size,
            "place": self._begin if began else self._place(),
            "taken": self._taken if began else None,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to the position of `state_dict`; ParameterError for that of another batch size."""
        check_position(self, state, batch_size=self.batch_size)
        with self._turn:
            self._move_to(state["place"])
            self.reset()
            if state["taken"] is None:
                return
            self._passing_over = True
            try:
                for _ in range(state["taken"]):
                    self.iter_next()
            finally:
                self._passing_over = False

    def __getstate__(self) -> dict[str, Any]:
        """All but the epoch, which a copy begins anew and reads up to the same batch."""
        with self._turn:
            none = dict.fromkeys(("_rows", "current_batch", "_failure"))
            return {**self.__dict__, **none, "_begin": self.state_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.load_state_dict(self._begin)

    def reset(self) -> None:
        with self._turn:
            self._rows = self.current_batch = self._failure = None

    def iter_next(self) -> bool:
        with self._turn:
            if self._failure is not None:  # the generator has ended, but not the epoch
                raise self._failure.with_traceback(None)  # whose frames hold arrays
            if self._rows is None:
                self._begin, self._taken = self._place(), 0
                self._rows = self._epoch()
            with DeferredSignals():  # an exception ends a generator
                try:
                    self.current_batch = next(self._rows, None)
                except Exception as error:
                    self._failure = error
                    raise
                self._taken += 1  # not a batch that failed: it fails in copies too
            return self.current_batch is not None

    def next(self) -> DataBatch:
        """The next batch; threads that share the iterator get different ones."""
        with self._turn:
            if not self.iter_next():
                raise StopIteration
            return DataBatch(
                data=[self.getdata()],
                label=[self.getlabel()],
                pad=self.getpad(),
                index=self.getindex(),
            )

    def getdata(self) -> NDArray:
        data = self._present().data
        return data if isinstance(data, NDArray) else to_device(data, Context("cpu", 0))

    def getlabel(self) -> NDArray:
        return to_device(self._present().label, Context("cpu", 0))


def check_parameters(caller: str, given: Mapping[str, Any], known: Iterable[str] = ()) -> None:
    """Check parameters that have no effect in modkit; warn of those that no iterator has.

    Raises:
        ParameterError: an invalid value.
    """
    for name, value in given.items():
        if name in _INERT:
            parse_value(value, _INERT[name], where=f"{caller}: {name}")
        else:
            close = nearest(name, [*known, *_INERT])
            warn_caller(f"{caller}: no parameter {name!r}.{close} As in MXNet, it has no effect")


def files_at(path: str) -> list[Path]:
    """The file at ``path``, or all files of the folder, by name; without empty ones.

    ``path`` may be several paths with ``;`` between.

    Raises:
        MissingFileError: there is no such file or folder.
        FileFormatError: there are only empty ones.
    """
    places = [Path(path)]
    if ";" in path and not places[0].exists():
        places = [Path(part) for part in path.split(";") if part]
    files = []
    for place in places:
        with named_errors(place, "read"):
            inside = sorted(filter(Path.is_file, place.iterdir())) if place.is_dir() else [place]
        files += inside
    filled = []
    for each in files:
        with named_errors(each, "read"):
            filled += [each] if each.stat().st_size else []
    if not filled:
        one = len(places) == 1 and not places[0].is_dir()
        raise FileFormatError(f"{path}: {'the file is' if one else 'all files are'} empty")
    return filled


def shape_of(value: Any, where: str) -> tuple[int, ...]:
    """A shape from a tuple, a number or their text.

    Raises:
        ParameterError: it is no shape.
        ShapeError: it has 2**40 elements or more.
    """
    shape = parse_value(value, tuple[int, ...], where=where)
    check_elements(where, shape)
    return shape


@dataclass(frozen=True)
class FileTable:
    """All samples and labels of a file."""

    data: Any
    label: Any

    def __len__(self) -> int:
        return len(self.data)


class PaddedBatches:
    """Batches of a table, with padding of an incomplete last batch.

    With ``round_batch`` the padding is the first samples, and the next epoch begins after them.
    Without, it is the samples at the same positions of the previous batch.

    Attributes:
        begin: number of the first sample of the next epoch.
    """

    def __init__(self, batch_size: int, round_batch: bool):
        self.batch_size, self.round_batch = batch_size, round_batch
        self.begin = 0

    def ids(self, count: int) -> Iterator[tuple[np.ndarray, int]]:
        """Sample numbers and padding of each batch of the next epoch over ``count`` samples."""
        begin, self.begin = self.begin, 0
        size = self.batch_size
        ids = np.zeros(size, np.int64)
        for start in range(begin, count, size):
            pad = max(start + size - count, 0)
            if self.round_batch:
                ids = np.arange(start, start + size) % count
                self.begin = pad % count
            else:
                ids = np.concatenate([np.arange(start, start + size - pad), ids[size - pad :]])
            yield ids, pad

    def epoch(self, table: FileTable) -> Iterator[HostBatch]:
        """The batches of the next epoch over ``table``."""
        for ids, pad in self.ids(len(table)):
            yield HostBatch(table.data[ids], table.label[ids], pad, ids.astype(np.uint64))
