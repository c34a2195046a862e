"""CSVIter and LibSVMIter: batches from text files."""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from modkit.constructors import check_arguments
from modkit.context import Context
from modkit.errors import FileFormatError, ParameterError, expect
from modkit.files import path_of, text_lines
from modkit.io.array import HeldCsr
from modkit.io.file_iter import FileTable, HostBatch, MXDataIter, PaddedBatches, files_at, shape_of
from modkit.io.order import checked_part
from modkit.ndarray import CSRNDArray, csr_matrix
from modkit.ops.parameters import parse_value

_CSV_TYPES = ("float32", "int32", "int64")


class _TableIter(MXDataIter):
    """The rows of ``_table``, in epochs that ``_round`` begins and ends."""

    def _set_epochs(self, table: FileTable, round_batch: Any) -> None:
        """Set what the epochs are over."""
        where = f"{type(self).__name__}: round_batch"
        self._table = table
        self._batches = PaddedBatches(self.batch_size, parse_value(round_batch, bool, where=where))

    def _place(self) -> dict[str, Any]:
        return {"begin": self._batches.begin}

    def _move_to(self, place: Mapping[str, Any]) -> None:
        self._batches.begin = place["begin"]

    def _epoch(self) -> Iterator[HostBatch]:
        return self._batches.epoch(self._table)


@check_arguments
class CSVIter(_TableIter):
    """Batches from a CSV file, or all files of a folder: a line is a sample.

    With ``round_batch`` an incomplete last batch is padded with the first samples, and the next
    epoch begins after them. Without, it is padded with samples of the previous batch.

    Differs: the files are read when the iterator is made; ``reset`` in the middle of an epoch goes
    to the beginning; as integers, ``1.0e+01`` is 10, of which MXNet reads the 1. A first batch that
    is incomplete is padded with its own rows; in MXNet 1.9.1 the padding is unwritten memory, or
    with ``round_batch`` an error. MXNet's ``iter_next`` stays at the first batch if `next` was
    never called, and its `getdata` at the end of the file ends the process.

    Args:
        data_csv: path of the data; or several with ``;`` between.
        label_csv: path of the labels; without, the label of each sample is the number 0.
        round_batch: see above.
        dtype: ``"float32"``, ``"int32"`` or ``"int64"``.
        data_name, label_name: names of the data and of the label.
        **inert: Ignored: ``prefetch_buffer``, ``ctx``, ``silent``, ... do not change the batches.

    Raises:
        FileFormatError: a line is not of this shape, or there are fewer labels than samples.
        MissingFileError: there is no such file.
    """

    def __init__(
        self,
        data_csv: str | os.PathLike[str],
        data_shape: Any,
        label_csv: str | os.PathLike[str] | None = None,
        label_shape: Any = (1,),
        *,
        batch_size: int | str,
        round_batch: bool = True,
        dtype: Any = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **inert: Any,
    ):
        super().__init__(batch_size, data_name, label_name, inert)
        kind = _csv_type(dtype)
        shape = shape_of(data_shape, "CSVIter: data_shape")
        label_shape = shape_of(label_shape, "CSVIter: label_shape")
        data = _csv_table(path_of(data_csv), shape, kind)
        # One label is a number, so that a batch of them is a vector.
        label_shape = () if label_shape == (1,) else label_shape
        if label_csv is None or label_csv == "NULL":
            label_shape, label = (), np.broadcast_to(np.zeros((), kind), len(data))
        else:
            label = _csv_table(path_of(label_csv), label_shape, kind)
        self._set_epochs(_table(data, label, path_of(label_csv or "")), round_batch)
        self._describe(shape, label_shape, kind.type)


def _csv_type(dtype: Any) -> np.dtype:
    if dtype is None or dtype == "None":
        return np.dtype(np.float32)
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    expect(name in _CSV_TYPES, "CSVIter: dtype", dtype, f"one of {', '.join(_CSV_TYPES)}")
    return np.dtype(name)


def _table(data: Any, label: Any, where: str) -> FileTable:
    if len(label) < len(data):
        raise FileFormatError(
            f"{where}: got {len(label)} labels, expected {len(data)}, one for each sample"
        )
    return FileTable(data, label)


def _csv_table(path: str, shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """The numbers of the files at ``path``: (lines, *shape)."""
    width = math.prod(shape)
    parts = [_csv_file(file, width, dtype) for file in files_at(path)]
    empty = np.zeros((0, width), dtype)
    return np.concatenate([empty, *parts]).reshape(-1, *shape)


_EXACT = 2**53
"""From here on float64 has not every integer."""


def _csv_file(path: Path, width: int, dtype: np.dtype) -> np.ndarray:
    if not any(line.strip() for _, line in text_lines(path)):
        return np.zeros((0, width), dtype)
    try:
        try:
            rows = _csv_rows(path, dtype)
        except ValueError:  # as of a comma at the end of a line
            rows = _csv_rows([line for _, line in _csv_lines(path, width)], dtype)
    except (ValueError, OverflowError) as error:
        _check_csv_lines(path, width, dtype)
        raise FileFormatError(f"{path}: {_csv_fault(error)}") from error
    if rows.shape[1] != width:
        _check_csv_lines(path, width, dtype)
    return rows


def _csv_lines(path: Path, width: int) -> Iterator[tuple[int, str]]:
    """The lines with their numbers, without a comma that ends the last number."""
    for number, line in text_lines(path):
        ends = line.endswith(",") and line.count(",") == width
        yield number, line[:-1] if ends else line


def _csv_rows(source: Path | list[str], dtype: np.dtype) -> np.ndarray:
    read = functools.partial(np.loadtxt, source, delimiter=",", comments=None, ndmin=2,
                             encoding="utf-8")  # fmt: skip
    try:
        return read(dtype)
    except ValueError:
        if dtype.kind not in "iu":
            raise
        written = read(np.float64)  # an integer may be written as 1.0e+01
        if not (abs(written) < _EXACT).all():
            raise
        rows = written.astype(dtype)
        if not np.array_equal(rows, written):
            raise
        return rows


def _check_csv_lines(path: Path, width: int, dtype: np.dtype) -> None:
    """Raise for the first line that is at fault by itself: NumPy's rows leave out empty lines."""
    for number, line in _csv_lines(path, width):
        count = line.count(",") + 1
        if line and count != width:
            raise FileFormatError(
                f"{path}: line {number}: got {count} number{'s' * (count > 1)}, expected {width}, "
                "as the shape says"
            )
        try:
            if line:
                _csv_rows([line], dtype)
        except (ValueError, OverflowError) as error:
            kind = "a number" if dtype.kind == "f" else f"an integer of {dtype.name}"
            fault = _csv_fault(error)
            for column, word in enumerate(line.split(","), 1):
                if not _reads(lambda word: _csv_rows([word], dtype), word):
                    fault = f"got {word[:40]!r} in column {column}, expected {kind}"
                    break
            raise FileFormatError(f"{path}: line {number}: {fault}") from error


def _reads(read: Callable[[str], Any], word: str) -> bool:
    try:
        return bool(word.strip()) and read(word) is not None
    except (ValueError, OverflowError):
        return False


def _csv_fault(error: Exception) -> str:
    return re.sub(r"row \d+, ", "", str(error))


@check_arguments
class LibSVMIter(_TableIter):
    """Batches from a LibSVM file: a line is a label and the elements that are not zero.

    Indices begin at 0. Data are csr arrays, labels are dense. A ``#`` begins a comment, and
    ``qid:`` after a label is passed over.

    Differs: labels from a file of their own are dense too, and a part has those of its samples;
    MXNet cuts both files by bytes, each for itself. An index beyond the shape is an error;
    MXNet accepts it, and a dense copy of its array has that element in another row, or corrupts
    memory.

    Args:
        data_libsvm: path of the data; or several with ``;`` between.
        data_shape: shape of a sample: one number.
        label_libsvm: path of labels in the same form; without, the first number of each line of
            the data is its label.
        label_shape: shape of a label: one number.
        num_parts, part_index: number of parts of about equal size in bytes, and the one to read.
        round_batch: pad an incomplete last batch with the first samples, as in `CSVIter`.
        data_name, label_name: names of the data and of the label.
        **inert: Ignored: ``prefetch_buffer``, ``ctx``, ``silent``, ... do not change the batches.

    Raises:
        FileFormatError: a line cannot be read, or has an element outside the shape.
        MissingFileError: there is no such file.
    """

    def __init__(
        self,
        data_libsvm: str | os.PathLike[str],
        data_shape: Any,
        label_libsvm: str | os.PathLike[str] | None = None,
        label_shape: Any = (1,),
        *,
        batch_size: int | str,
        num_parts: int | str = 1,
        part_index: int | str = 0,
        round_batch: bool = True,
        data_name: str = "data",
        label_name: str = "softmax_label",
        **inert: Any,
    ):
        super().__init__(batch_size, data_name, label_name, inert)
        (width,) = _vector(data_shape, "LibSVMIter: data_shape")
        label_width = _vector(label_shape, "LibSVMIter: label_shape")
        path = path_of(data_libsvm)
        data, label = _libsvm_table(path, width)
        label_shape = ()
        if label_libsvm is not None and label_libsvm != "NULL":
            label = _libsvm_table(path_of(label_libsvm), label_width[0])[0]
            label_shape = label_width
        elif label_width != (1,):
            raise ParameterError(
                f"LibSVMIter: label_shape: got {label_width} without label_libsvm, expected (1,): "
                "a line of the data has one label"
            )
        self._describe((width,), label_shape, np.float32)
        parts, index = checked_part(num_parts, part_index, "LibSVMIter")
        part = slice(None) if parts == 1 else _lines_of_part(path, parts, index)
        table = _table(data, label, path_of(label_libsvm or data_libsvm))
        label = table.label[: len(data)][part]
        label = _DenseRows(label) if label_shape else label
        self._set_epochs(FileTable(HeldCsr(data[part]), label), round_batch)


def _lines_of_part(path: str, parts: int, index: int) -> slice:
    """The samples of a part: the lines that begin within its range of the bytes.

    A line that begins at the border of two ranges belongs to the first, unless it begins
    its file.
    """
    keys, offset = [], 0
    for file in files_at(path):
        content = file.read_bytes()
        begin = offset
        for line in content.splitlines(keepends=True):
            if line.partition(b"#")[0].strip():
                keys.append(offset - (offset > begin))
            offset += len(line)
    step = math.ceil(offset / parts)
    return slice(*np.searchsorted(keys, [step * index, step * (index + 1)]).tolist())


class _DenseRows(HeldCsr):
    """A csr array, cut into dense batches."""

    def __getitem__(self, ids: slice | np.ndarray) -> Any:
        return super().__getitem__(ids)._dense()


def _vector(shape: Any, where: str) -> tuple[int, ...]:
    shape = shape_of(shape, where)
    expect(len(shape) == 1, where, shape, "one number")
    return shape


def _libsvm_fault(words: Sequence[str]) -> str:
    """The error of the first word of a line that cannot be read."""
    label_is_read = all(_reads(float, part) for part in words[0].split(":", 1))
    for word in words[1:] if label_is_read else ():
        place, _, value = word.partition(":")
        if not (_reads(int, place) and _reads(float, value)):
            return f"got the element {word[:40]!r}, expected index:value, such as 3:0.5"
    return f"got the label {words[0][:40]!r}, expected a number"


def _libsvm_table(path: str, width: int) -> tuple[CSRNDArray, np.ndarray]:
    """Samples and their labels: (lines, width) and (lines,)."""
    labels, starts, places, values = [], [0], [], []
    for file in files_at(path):
        for number, line in text_lines(file):
            words = line.partition("#")[0].split()
            if not words:
                continue
            if words[1:] and words[1].startswith("qid:"):  # the query of a ranking
                del words[1]
            try:
                label, *_ = map(float, words[0].split(":", 1))  # a weight may follow it
                labels.append(label)
                pairs = [word.split(":") for word in words[1:]]
                # The last one counts where a place is given twice.
                elements = {int(place): float(value) for place, value in pairs}
            except (ValueError, OverflowError) as error:
                fault = _libsvm_fault(words)
                raise FileFormatError(f"{file}: line {number}: {fault}") from error
            order = sorted(elements)
            if order and not 0 <= order[0] <= order[-1] < width:
                outside = next(place for place in elements if not 0 <= place < width)
                raise FileFormatError(
                    f"{file}: line {number}: element {outside} is outside the shape ({width},)"
                )
            places += order
            values += map(elements.__getitem__, order)
            starts.append(len(places))
    parts = np.array(values, np.float32), np.array(places, np.int64), starts
    data = csr_matrix(parts, shape=(len(labels), width), ctx=Context("cpu", 0))
    return data, np.array(labels, np.float32)
