"""NDArrayIter: batches cut from arrays in memory, or from files that index like arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any, Literal, get_args

import jax
import numpy as np

from modkit.constructors import check_at_least, check_keywords
from modkit.context import Context
from modkit.errors import (
    DTypeError,
    NotReadyError,
    NotSupportedError,
    ParameterError,
    ShapeError,
    one_of,
    some,
)  # fmt: skip
from modkit.io.base import DataBatch, DataDesc, DataIter, check_position
from modkit.io.order import part_of
from modkit.ndarray import CSRNDArray, NDArray, array, from_jax
from modkit.ndarray.sparse import is_sparse
from modkit.ndarray.sparse_kernels import rows_of
from modkit.ndarray.storage import HostCell, aligned

LastBatch = Literal["pad", "discard", "roll_over"]


def to_device(rows: np.ndarray, ctx: Context) -> NDArray:
    """A batch as an NDArray on ``ctx``, without a change of type.

    The rows must not be written to afterwards. They are transferred to the device when the array
    is read; the step of a module takes them from the host.
    """
    return NDArray(HostCell(rows, ctx), ctx)


class Held:
    """An array in memory, sliced into batches on the host."""

    def __init__(self, array: NDArray):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self._version: Any = None
        self._host = np.empty(0)

    def rows(self, ids: slice | np.ndarray, axis: int) -> NDArray:
        """The samples ``ids`` along ``axis``: a view of the array, or a copy."""
        cell = self.array._cell
        if cell.rows is not self._host:  # else nothing has been written since
            version = cell.version()
            if version is None or version is not self._version:
                self._host, self._version = np.asarray(cell.unmoved()), version
        value = self._host
        if isinstance(ids, slice):
            part = value[(slice(None),) * axis + (ids,)]
        else:
            shape = (*self.shape[:axis], len(ids), *self.shape[axis + 1 :])
            part = aligned(shape, value.dtype)
            np.take(value, ids, axis, out=part, mode="clip")  # any mode: no index is out of range
        return NDArray(HostCell(part, self.array._ctx), self.array._ctx)

    def ordered(self, order: np.ndarray | None, axis: int) -> Any:
        """The whole array in the order of ``order``; the array itself for ``None``."""
        return self.array if order is None else self.rows(order, axis)


class HeldCsr(Held):
    """A csr array, cut into csr batches."""

    array: CSRNDArray

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, ids: slice | np.ndarray) -> CSRNDArray:
        return self.array[ids] if isinstance(ids, slice) else rows_of(self.array, ids)

    def rows(self, ids: slice | np.ndarray, axis: int) -> CSRNDArray:
        """The samples ``ids``, which are rows; ParameterError where they lie along another axis."""
        if axis:
            raise ParameterError(f"NDArrayIter: got samples along axis {axis} of a csr array")
        return self[ids]


class OnDisk:
    """An array on disk (h5py data set, memory map), read batch by batch."""

    dtype = np.float32

    def __init__(self, array: Any):
        self.array, self.shape = array, tuple(array.shape)

    def rows(self, ids: slice | np.ndarray, axis: int) -> NDArray:
        """The samples ``ids`` along ``axis``, as float32."""
        before = (slice(None),) * axis
        if isinstance(ids, slice):
            part = np.asarray(self.array[(*before, ids)])
        else:
            # h5py reads rows in increasing order only, and each once.
            wanted, inverse = np.unique(ids, return_inverse=True)
            part = np.take(np.asarray(self.array[(*before, wanted)]), inverse, axis)
        return to_device(part.astype(np.float32), Context("cpu", 0))

    def ordered(self, order: np.ndarray | None, axis: int) -> Any:
        """The array on disk itself, in its own order."""
        return self.array


Source = Held | OnDisk


def named_sources(data: Any, default_name: str, what: str) -> list[tuple[str, Source]]:
    """Sources with their names, by name in alphabetical order.

    Args:
        data: ``None``, an array, a list of them, or a dictionary of name to array.
        default_name: the name of a single array; several are ``_0_<name>``, ``_1_<name>``, ...
        what: the parameter, for errors.

    Raises:
        ParameterError: it is none of these.
    """
    if data is None:
        return []
    if isinstance(data, tuple):
        raise ParameterError(
            f"NDArrayIter: {what}: got a tuple, expected an array, a list or a dictionary of them; "
            "list(...) of it is several inputs, np.array(...) of it is one"
        )
    if not isinstance(data, list | Mapping):
        data = [data]
    if not isinstance(data, Mapping):
        names = (
            [default_name] if len(data) == 1 else [f"_{i}_{default_name}" for i in range(len(data))]
        )
        data = dict(zip(names, data, strict=True))
    return [(name, _source(data[name], f"{what} {name!r}")) for name in sorted(data)]


def init_data(data: Any, allow_empty: bool, default_name: str) -> list[tuple[str, Any]]:
    """Arrays with their names, as programs that derive from MXNet's iterators use them."""
    if isinstance(data, list) and not data:
        data = None
    if data is None and not allow_empty:
        raise ParameterError(f"{default_name}: got no arrays, expected at least one")
    return [(name, each.array) for name, each in named_sources(data, default_name, "data")]


def _listed(counts: Mapping[str, int]) -> str:
    """Names by their number of samples, and how lists are read where that explains it."""
    names: dict[int, list[str]] = {}
    for name, count in counts.items():
        names.setdefault(count, []).append(name)
    parts = [f"{some(those, most=3)}: {count}" for count, those in names.items()]
    is_list = any(str(name).startswith("_0_") for name in counts)
    hint = ". Each element of a list is an input; np.array(list) is one" if is_list else ""
    return "; ".join(parts) + hint


def _source(value: Any, what: str) -> Source:
    if is_sparse(value):
        held = array(value)
        return HeldCsr(held) if isinstance(held, CSRNDArray) else Held(held._as_dense())
    if isinstance(value, NDArray):
        return Held(value)
    if isinstance(value, jax.Array):
        return Held(from_jax(value))
    to_numpy = getattr(value, "to_numpy", None)
    if to_numpy is not None:  # pandas: its own indexing is by label
        value = to_numpy()
    if isinstance(value, np.ndarray | list | tuple) and not isinstance(value, np.memmap):
        try:
            return Held(array(value, Context("cpu", 0)))
        except DTypeError as error:
            raise DTypeError(f"NDArrayIter: {what}: {error}{_text_hint(value)}") from error
    if all(hasattr(value, name) for name in ("shape", "dtype", "__getitem__")):
        return OnDisk(value)
    hint = "; make one array of a list of numbers: np.array(list)"
    raise ParameterError(
        f"NDArrayIter: {what}: got {type(value).__name__}, expected an NDArray, a NumPy array, an "
        "h5py data set, a list of them, or a dictionary of name to one of them"
        f"{hint if isinstance(value, str | Number) else ''}"
    )


def _text_hint(value: Any) -> str:
    """Advice for an array with texts; empty for other arrays."""
    try:
        found = np.asarray(value)
    except ValueError:  # parts of several shapes
        return ""
    if not any(isinstance(each, str | bytes) for each in found.flat):
        return ""
    return (
        f"; it has texts (dtype {found.dtype}): number them, classes for instance by "
        "names, numbers = np.unique(texts, return_inverse=True)"
    )


class NDArrayIter(DataIter):
    """Batches of arrays: ``data`` and, where given, ``label``.

    Shuffling draws from NumPy's global generator (``np.random.seed``), when made and at every
    reset. It reorders an index, not the data; `data` and `label` show the arrays in that order.

    Args:
        data: an NDArray, NumPy array or pandas object (becomes float32), a list of them or a
            dictionary; a csr array, also of SciPy, needs ``last_batch_handle="discard"``; h5py data
            sets and memory maps are read batch by batch.
        label: the same, or ``None``.
        shuffle: whether to visit the samples in random order.
        last_batch_handle: handling of samples that do not fill a batch: ``"pad"`` completes the
            batch with the first samples, ``"discard"`` drops it, ``"roll_over"`` moves them to the
            beginning of the next epoch.
        data_name: name of a single data array.
        label_name: name of a single label array.
        layout: a letter for each axis; samples lie along ``N``.
        num_parts: number of workers that share the batches: each batch is a part of one of
            ``num_parts * batch_size`` samples. Workers that shuffle need the same seed of NumPy's
            generator. MXNet has no parts here.
        part_index: the part of each batch, from 0 on.

    Raises:
        ParameterError: a parameter of the wrong kind.
        NotSupportedError: a csr array without ``last_batch_handle="discard"``.
        ShapeError: the arrays have different numbers of samples.

    Differs: batches of a csr array are csr arrays. MXNet 1.9.1 makes dense ones, in which a row
    (``batch.data[0][0]``) has shape (M,) and not (1, M); ``tostype("default")`` makes them so.

    >>> it = NDArrayIter(np.arange(10), batch_size=4, last_batch_handle="pad")
    >>> [(batch.data[0].asnumpy().astype(int).tolist(), batch.pad) for batch in it]
    [([0, 1, 2, 3], 0), ([4, 5, 6, 7], 0), ([8, 9, 0, 1], 2)]
    """

    @check_keywords
    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: LastBatch = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
        num_parts: int = 1,
        part_index: int = 0,
    ):
        super().__init__(batch_size)
        one_of("NDArrayIter: last_batch_handle", last_batch_handle, get_args(LastBatch))
        check_at_least("NDArrayIter", "batch_size", batch_size, 1)
        check_at_least("NDArrayIter", "num_parts", num_parts, 1)
        self.num_parts = num_parts
        self._stride = num_parts * batch_size
        self._part = part_of(self._stride, num_parts, part_index, "NDArrayIter")
        self._data_sources = named_sources(data, data_name, "data")
        self._label_sources = named_sources(label, label_name, "label")
        if not self._data_sources:
            raise ParameterError("NDArrayIter: data: got nothing, expected at least one array")
        for name, source in self._data_sources + self._label_sources:
            if isinstance(source, HeldCsr) and last_batch_handle != "discard":
                raise NotSupportedError(
                    f"NDArrayIter: {name!r} is a csr array: got last_batch_handle="
                    f"{last_batch_handle!r}, expected 'discard'"
                )
        self.layout, self.shuffle, self.last_batch_handle = layout, shuffle, last_batch_handle
        self._axis = max(DataDesc.get_batch_axis(layout), 0)
        self.num_data = self._count_rows()
        self.num_source = len(self._data_sources) + len(self._label_sources)
        self.idx = np.arange(self.num_data)
        self._row_order: np.ndarray | None = None
        self._carried = self.idx[:0]
        self.cursor = -self._stride
        self.reset()  # a subclass's own, as in MXNet

    def _count_rows(self) -> int:
        counts = {}
        for name, source in self._data_sources + self._label_sources:
            if len(source.shape) <= self._axis:
                raise ShapeError(
                    f"NDArrayIter: {name!r} of shape {source.shape} has no axis {self._axis}, "
                    f"where layout {self.layout!r} has the samples"
                )
            counts[name] = source.shape[self._axis]
        if len(set(counts.values())) > 1:
            raise ShapeError(
                f"NDArrayIter: got different numbers of samples: {_listed(counts)}; expected one "
                f"number, along axis {self._axis} of each array"
            )
        return next(iter(counts.values()))

    # ── What it shows ───────────────────────────────────────────────────────────────────────

    @property
    def data(self) -> list[tuple[str, Any]]:
        """Names and data arrays, the samples in the order of this epoch."""
        return [(name, s.ordered(self._row_order, self._axis)) for name, s in self._data_sources]

    @property
    def label(self) -> list[tuple[str, Any]]:
        """Names and label arrays, the samples in the order of this epoch."""
        return [(name, s.ordered(self._row_order, self._axis)) for name, s in self._label_sources]

    @property
    def data_list(self) -> list[Any]:
        """All arrays, data first."""
        return [value for _, value in self.data + self.label]

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of a batch's data."""
        return [self._describe(name, source) for name, source in self._data_sources]

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of a batch's label."""
        return [self._describe(name, source) for name, source in self._label_sources]

    def _describe(self, name: str, source: Source) -> DataDesc:
        shape = list(source.shape)
        shape[self._axis] = self.batch_size
        return DataDesc(name, tuple(shape), source.dtype, self.layout)

    # ── Epochs ──────────────────────────────────────────────────────────────────────────────

    def state_dict(self) -> dict[str, Any]:
        """The position: the order of the samples and the number of the next one."""
        return {
            "num_data": self.num_data, "batch_size": self._stride, "cursor": self.cursor,
            "carried": self._carried, "order": self._row_order, "idx": self.idx,
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to the position of `state_dict`; ParameterError for other data or batch sizes."""
        check_position(self, state, num_data=self.num_data, batch_size=self._stride)
        self.cursor, self._carried = state["cursor"], state["carried"]
        self._row_order, self.idx = state["order"], state["idx"]

    def _reorder(self) -> None:
        self.idx = self.idx.copy()  # that of a state_dict stays
        np.random.shuffle(self.idx)  # noqa: NPY002 - MXNet's stream, seeded by np.random.seed
        self._row_order = self.idx.copy() if self._row_order is None else self._row_order[self.idx]

    def reseed(self, seed: int) -> None:
        """Begin anew, in an order that depends only on NumPy's global stream."""
        self.idx, self._row_order = np.arange(self.num_data), None
        self.hard_reset()

    def reset(self) -> None:
        """Begin the next epoch; with ``roll_over``, with the remaining samples of this one."""
        behind = self.num_data - self._stride < self.cursor < self.num_data
        if self.last_batch_handle == "roll_over" and behind:
            left = self._ids(self.cursor, self.num_data)
            next_cursor = self.cursor - self.num_data - self._stride
        else:
            left, next_cursor = self.idx[:0], -self._stride
        if self.shuffle:
            self._reorder()
        self._carried, self.cursor = np.asarray(left), next_cursor

    def hard_reset(self) -> None:
        """Begin the next epoch without the samples kept by ``roll_over``."""
        self.cursor = -self._stride
        NDArrayIter.reset(self)

    def iter_next(self) -> bool:
        self.cursor += self._stride
        return self.cursor < self.num_data

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        if self.last_batch_handle != "pad" and self.cursor + self._stride > self.num_data:
            raise StopIteration
        kind, own = type(self), self.__dict__
        if (kind.getdata, kind.getlabel) != _GETS or "getdata" in own or "getlabel" in own:
            return DataBatch(data=self.getdata(), label=self.getlabel(), pad=self.getpad())
        ids, data, label = self._present(), [], []  # in place of `_cut`, for fewer calls a batch
        for sources, arrays in ((self._data_sources, data), (self._label_sources, label)):
            for _, source in sources:
                arrays.append(source.rows(ids, self._axis))
        return DataBatch(data=data, label=label, pad=self.getpad())

    # ── The present batch ───────────────────────────────────────────────────────────────────

    def _ids(self, begin: int, end: int) -> np.ndarray:
        """Sample numbers at these positions of the order; negative ones are rolled over."""
        if self._row_order is not None and begin >= 0 and end <= self.num_data:
            return self._row_order[begin:end]
        positions = np.arange(max(begin, 0), end) % self.num_data
        ids = positions if self._row_order is None else self._row_order[positions]
        return np.concatenate([self._carried, ids]) if begin < 0 else ids

    def _present(self) -> slice | np.ndarray:
        """Indices of the present batch's samples."""
        if not -self._stride < self.cursor < self.num_data:
            raise NotReadyError(
                "NDArrayIter: there is no present batch: next() or iter_next() comes first, and "
                "reset() after the last batch"
            )
        end = self.cursor + self._stride
        if self.last_batch_handle != "pad":
            end = min(end, self.num_data)
        if self._row_order is None and self.cursor >= 0 and end <= self.num_data:
            begin = self.cursor + self._part.start
            return slice(min(begin, end), min(begin + self.batch_size, end))
        return self._ids(self.cursor, end)[self._part]

    def _cut(self, sources: Sequence[tuple[str, Source]], ids: slice | np.ndarray) -> list[NDArray]:
        return [source.rows(ids, self._axis) for _, source in sources]

    def getdata(self) -> list[NDArray]:
        return self._cut(self._data_sources, self._present())

    def getlabel(self) -> list[NDArray]:
        return self._cut(self._label_sources, self._present())

    def getpad(self) -> int:
        """Number of padding samples in the present batch: wrapped around, or rolled over."""
        part, size = self._part, self.batch_size
        if self.last_batch_handle == "pad":
            behind = max(self.cursor + part.stop - self.num_data, 0)
            return behind if self._stride == size else min(behind, size)
        if self.last_batch_handle == "roll_over" and -self._stride < self.cursor < 0:
            return min(max(-self.cursor - part.start, 0), size)
        return 0


_GETS = NDArrayIter.getdata, NDArrayIter.getlabel
"""The methods that `NDArrayIter.next` stands for; a program may set others on the class."""
