"""`BatchesIter`: batches of an iterable, such as a list or a DataLoader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from modkit.errors import ParameterError
from modkit.io.base import KIND, DataBatch, DataDesc, DataIter, checked_iter
from modkit.io.columns import columns, host, is_array
from modkit.io.random_state import set_streams, streams
from modkit.ndarray import NDArray, array, from_jax


class BatchesIter(DataIter):
    """Batches of an iterable, such as a list, a DataLoader of PyTorch's, or a user's own class.

    A batch is an array, a pair of data and label, each of them an array, a list or a dictionary by
    name; a dictionary of all columns by name; or a DataBatch. Floating-point arrays become
    float32, as everywhere. A batch may be smaller than the first one.

    Args:
        batches: the iterable; each epoch iterates over it anew.
        where: the argument, for errors.
        order: the names in the order of a DataBatch; default as they are.

    Raises:
        ParameterError: there is no batch, or an element is not a batch as above.
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
        self._began, self._read = streams(), 0
        self._left: Iterator[Any] | None = checked_iter(batches, where)
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
            self._check_again()
            self._began, self._read = streams(), 0
            self._left = iter(self._batches)
        first, self._first = self._first, None
        batch = self._batch(next(self._left) if first is None else first)
        self._read += 1
        return batch

    def state_dict(self) -> dict[str, Any]:
        """The number of batches read in this pass, and the random streams at its start."""
        read = None if self._left is None else self._read
        return {KIND: type(self._batches).__name__, "read": read, "began": self._began}

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
        self._check_again()
        set_streams(state["began"])
        self._began, self._left, self._read = state["began"], iter(self._batches), state["read"]
        for number in range(self._read):
            if next(self._left, None) is None:
                raise ParameterError(
                    f"{self._where}: got {number} batches, expected at least the {self._read} "
                    "before the checkpoint"
                )
        set_streams(present)

    def _check_again(self) -> None:
        """Raise ParameterError where the iterable can be read only once."""
        if self._once:
            raise ParameterError(
                f"{self._where}: a {type(self._batches).__name__} can be read only once; give an "
                "iterable that begins anew, such as a list or an object with __iter__"
            )

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
        for name, value in {**data, **label}.items():
            if not np.shape(value):
                raise ParameterError(
                    f"{self._where}: got batches whose {name!r} is one number, expected arrays "
                    "with a row a sample; give all samples as arrays, (x, y), with batch_size"
                )
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
    return host(value) if is_array(value) and not isinstance(value, NDArray) else value


def _device(value: Any) -> NDArray:
    if isinstance(value, NDArray):
        return value
    return from_jax(value) if isinstance(value, jax.Array) else array(value)


def _hint(given: Any) -> str:
    lists = isinstance(given, list | tuple) and any(isinstance(each, list) for each in given)
    return "; make arrays of lists: np.array(...)" if lists else ""
