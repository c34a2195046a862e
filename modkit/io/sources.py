"""Iterators made from arrays, dictionaries, data frames, pairs, and iterables of batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any

import jax
import numpy as np

from modkit.errors import NameNotFoundError, NotSupportedError, ParameterError, ShapeError, nearest
from modkit.io.array import NDArrayIter
from modkit.io.base import KIND, DataBatch, DataDesc, DataIter
from modkit.io.random_state import set_streams, streams
from modkit.ndarray import NDArray, array, from_jax

Columns = dict[str, Any]


def is_iterator(data: Any) -> bool:
    """True for an iterator of batches in MXNet's sense, which describes its data."""
    return hasattr(data, "provide_data")


def columns(
    data: Any, data_names: Sequence[str], label_names: Sequence[str], where: str
) -> tuple[Columns, Columns] | None:
    """Data and labels by name, of arrays; ``None`` for something else.

    Args:
        data: an array or data frame, a list or a dictionary of them, or a pair of data and label.
        data_names: inputs of the network.
        label_names: its labels.
        where: the argument, for errors.

    Raises:
        NameNotFoundError: a dictionary has a name that the network has not, or lacks an input.
        ParameterError: another number of arrays.
    """
    if isinstance(data, tuple) and len(data) == 2:
        labels = label_names
        if not isinstance(data[1], list | tuple) or len(data[1]) == len(label_names) - 1:
            labels = [n for n in label_names if n != WEIGHT]
        x, y = (_named(v, n, where) for v, n in zip(data, (data_names, labels), strict=True))
        return None if x is None or y is None else (x, y)
    if isinstance(data, Mapping):
        known = [*data_names, *label_names]
        for name in [*data, *data_names]:
            if name not in known or name not in data:
                raise NameNotFoundError(
                    f"{where}: the column {name!r} is only in "
                    f"{'the data' if name in data else 'the network'}.{nearest(name, known)} "
                    f"Inputs: {', '.join(data_names)}; labels: {', '.join(label_names) or 'none'}"
                )
        return {n: data[n] for n in data_names}, {n: data[n] for n in label_names if n in data}
    named = _named(data, data_names, where) if _is_array(data) else None
    return None if named is None else (named, {})


def _named(value: Any, names: Sequence[str], where: str) -> Columns | None:
    """Arrays by name; ``None`` if they are no arrays."""
    if isinstance(value, Mapping):
        return dict(value)
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not all(map(_is_array, values)):
        return None
    if len(values) != len(names):
        raise ParameterError(
            f"{where}: got {len(values)} arrays, expected {len(names)}: "
            f"{', '.join(names) or 'none'}"
        )
    return dict(zip(names, values, strict=True))


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and not isinstance(value, type)


WEIGHT = "sample_weight"


def weighted(
    data: tuple[Columns, Columns],
    label_names: Sequence[str],
    sample_weight: Any = None,
    class_weight: Mapping[int, float] | None = None,
) -> tuple[Columns, Columns]:
    """Columns with that of the weights, where the network has one: ones, or those given.

    Args:
        data: data and labels by name.
        label_names: labels of the network.
        sample_weight: a weight for each sample.
        class_weight: weights by class of the first label; 1 for others.

    Raises:
        NotSupportedError: there are weights, and the network has no input for them.
        ParameterError: class weights without a label.
    """
    x, y = data
    given = sample_weight is not None or class_weight is not None
    if WEIGHT not in label_names:
        if given:
            raise NotSupportedError(
                f"fit: {WEIGHT if sample_weight is not None else 'class_weight'}: the network has "
                f"no input {WEIGHT!r}, by which its loss would be weighted; docs/training.md has "
                f"the lines that add one, and Module(..., label_names=[..., {WEIGHT!r}])"
            )
        return data
    if WEIGHT in y and not given:
        return data
    count = len(next(iter(x.values())))
    given_weight = y.get(WEIGHT) if sample_weight is None else sample_weight
    weight = np.ones(count, np.float32)
    if given_weight is not None:
        weight = np.asarray(_host(given_weight), np.float32)
    if weight.ndim != 1:  # another length is an error of the iterator, as for other labels
        raise ShapeError(f"fit: sample_weight: got shape {weight.shape}, expected ({count},)")
    if class_weight is not None and not (
        isinstance(class_weight, Mapping) and all(isinstance(k, Real) for k in class_weight)
    ):
        raise ParameterError(
            f"fit: class_weight: got {class_weight!r}, expected a dictionary of weights by the "
            "number of a class, such as {0: 1.0, 1: 2.5}"
        )
    if class_weight is not None:
        labels = next((_host(v) for n, v in y.items() if n != WEIGHT), None)
        if labels is None:
            raise ParameterError("fit: class_weight: train_data has no label")
        labels = np.asarray(labels._cell.unmoved() if isinstance(labels, NDArray) else labels)
        weight = weight * np.vectorize(class_weight.get, [np.float32])(labels, 1.0)
    y = {**y, WEIGHT: weight}
    return x, {n: y[n] for n in label_names if n in y}


def from_dataset(data: Any, batch_size: int | None) -> Any:
    """Columns of a dataset of Hugging Face, or its batches where it is a stream.

    Args:
        data: an object with ``column_names`` and ``with_format``; anything else is returned.
        batch_size: of the batches of a stream; default 32.
    """
    if not hasattr(data, "column_names") or not hasattr(data, "with_format"):
        return data
    arrays = data.with_format("numpy")
    return arrays[:] if hasattr(data, "__getitem__") else _Stream(arrays, batch_size or 32)


class _Stream:
    """Batches of a dataset that has no length; each pass begins anew."""

    def __init__(self, data: Any, size: int):
        self._data, self._size = data, size

    def __iter__(self) -> Iterator[Any]:
        return iter(self._data.iter(batch_size=self._size))


def training_iterator(
    data: tuple[Columns, Columns], batch_size: int, *, shuffle: bool
) -> NDArrayIter:
    """An iterator over arrays for training; samples that fill no batch begin the next epoch.

    Raises:
        ShapeError: the arrays have different numbers of samples, which it lists by name.
    """
    x, y = ({n: _host(v) for n, v in part.items()} for part in data)
    size = min([batch_size, *map(len, x.values())])
    if size == 0:
        raise ParameterError(f"fit: train_data: got 0 samples, in {', '.join(x)}")
    return NDArrayIter(x, y or None, size, shuffle=shuffle, last_batch_handle="roll_over")


def evaluation_iterator(data: tuple[Columns, Columns], batch_size: int) -> BatchesIter:
    """An iterator over arrays for evaluation, whose last batch may be smaller.

    Raises:
        ShapeError: the arrays have different numbers of samples, which it lists by name.
    """
    x, y = ({n: _host(v) for n, v in part.items()} for part in data)
    count = NDArrayIter(x, y or None).num_data
    return BatchesIter(_Slices({**x, **y}, count, batch_size), list(x), list(y), "eval_data")


def _hint(given: Any) -> str:
    lists = isinstance(given, list | tuple) and any(isinstance(each, list) for each in given)
    return "; make arrays of lists: np.array(...)" if lists else ""


class _Slices:
    """Batches of arrays in their order; each pass begins anew."""

    def __init__(self, named: Columns, count: int, size: int):
        self._named, self._count, self._size = named, count, size

    def __iter__(self) -> Iterator[Columns]:
        for begin in range(0, self._count, self._size):
            yield {n: v[begin : begin + self._size] for n, v in self._named.items()}


def split(
    data: tuple[Columns, Columns], share: float
) -> tuple[tuple[Columns, Columns], tuple[Columns, Columns]]:
    """Arrays for training, and the last ``share`` of their samples for validation.

    Raises:
        ParameterError: no sample is left for one of both.
    """
    x, y = ({n: _host(v) for n, v in part.items()} for part in data)
    count = len(next(iter(x.values())))
    kept = count - round(count * share)
    if not 0 < kept < count:
        raise ParameterError(
            f"fit: validation_split: got {share!r} of {count} samples, expected a share between 0 "
            "and 1 that leaves some for both"
        )
    return (
        ({n: v[:kept] for n, v in x.items()}, {n: v[:kept] for n, v in y.items()}),
        ({n: v[kept:] for n, v in x.items()}, {n: v[kept:] for n, v in y.items()}),
    )


class BatchesIter(DataIter):
    """Batches of an iterable, such as a list, a DataLoader of PyTorch's, or a user's own class.

    A batch is an array, a pair of data and label, each of them an array, a list or a dictionary by
    name; a dictionary of all columns by name; or a DataBatch. Floating-point arrays become
    float32, as everywhere. A batch may be smaller than the first one.

    Args:
        batches: the iterable; each epoch iterates over it anew.
        data_names: inputs of the network.
        label_names: its labels.
        where: the argument, for errors.
        order: the same names in the order of a DataBatch; default as they are.

    Raises:
        ParameterError: it has no batch, or one that is none of these.
    """

    def __init__(
        self,
        batches: Iterable[Any],
        data_names: Sequence[str],
        label_names: Sequence[str],
        where: str,
        order: tuple[Sequence[str], Sequence[str]] | None = None,
    ):
        self._batches, self._names, self._where = batches, (data_names, label_names), where
        self._order = order or self._names
        self._left: Iterator[Any] | None = None
        self._began, self._read = streams(), 0
        self._left = iter(batches)
        self._once = self._left is batches
        self._first = next(self._left, None)
        if self._first is None:
            raise ParameterError(f"{where}: got an iterable without a batch")
        first = self._batch(self._first)
        self.provide_data = self._described(self._order[0], first.data)
        self.provide_label = self._described(self._order[1], first.label)
        super().__init__(self.provide_data[0].shape[0])

    @staticmethod
    def _described(names: Sequence[str], arrays: Any) -> list[DataDesc]:
        return [DataDesc(n, a.shape, a.dtype) for n, a in zip(names, arrays or (), strict=False)]

    def reset(self) -> None:
        """Begin the next epoch, unless no batch of this one has been read."""
        if self._first is None:
            self._left = None

    def next(self) -> DataBatch:
        """The next batch.

        Raises:
            StopIteration: there is none.
            ParameterError: the iterable can be read only once, and has been.
        """
        if self._left is None:
            if self._once:
                raise ParameterError(
                    f"{self._where}: a {type(self._batches).__name__} can be read only once; give "
                    "an iterable that begins anew, such as a list or an object with __iter__"
                )
            self._began, self._read = streams(), 0
            self._left = iter(self._batches)
        first, self._first = self._first, None
        batch = self._batch(next(self._left) if first is None else first)
        self._read += 1
        return batch

    def state_dict(self) -> dict[str, Any]:
        """The number of batches read in this pass, and the random streams at its begin."""
        return {
            KIND: type(self._batches).__name__,
            "read": self._read if self._left is not None else None, "began": self._began,
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to the position of `state_dict`: the batches before it are read again.

        This is exact where their order comes from NumPy's or Python's global stream.

        Raises:
            ParameterError: the iterable can be read only once, or has fewer batches.
        """
        present = streams()
        self._left = self._first = None
        if state["read"] is None:
            return
        if self._once:
            raise ParameterError(
                f"{self._where}: a {type(self._batches).__name__} can be read only once, so that a "
                "training cannot go on with it; give an iterable that begins anew"
            )
        set_streams(state["began"])
        self._began, self._left, self._read = state["began"], iter(self._batches), state["read"]
        for number in range(self._read):
            if next(self._left, None) is None:
                raise ParameterError(
                    f"{self._where}: got {number} batches, expected at least the {self._read} "
                    "before the checkpoint"
                )
        set_streams(present)

    def _batch(self, given: Any) -> DataBatch:
        if isinstance(given, DataBatch):
            return given
        if isinstance(given, list):  # as DataLoaders make them of pairs
            given = tuple(given)
        found = columns(_arrays(given), *self._names, self._where)
        if found is None:
            raise ParameterError(
                f"{self._where}: got a batch of type {type(given).__name__}, expected an array, a "
                f"pair (data, label), a dictionary of arrays by name, or a DataBatch{_hint(given)}"
            )
        data, label = found
        return DataBatch(
            [_device(data[n]) for n in self._order[0]],
            [_device(label[n]) for n in self._order[1] if n in label],
            pad=0,
        )


def _arrays(value: Any) -> Any:
    """A tree with NumPy arrays in place of other libraries' tensors."""
    if isinstance(value, Mapping):
        return {n: _arrays(v) for n, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_arrays(v) for v in value)
    return _host(value) if _is_array(value) and not isinstance(value, NDArray) else value


def _host(value: Any) -> Any:
    """An array of any library as NumPy's, or as an NDArray where it is one."""
    if isinstance(value, NDArray):
        return value
    if hasattr(value, "detach"):  # a tensor of PyTorch's
        value = value.detach().cpu()
    to_numpy = getattr(value, "to_numpy", None) or getattr(value, "numpy", None)
    return np.asarray(value if to_numpy is None else to_numpy())


def _device(value: Any) -> NDArray:
    if isinstance(value, NDArray):
        return value
    return from_jax(value) if isinstance(value, jax.Array) else array(value)
