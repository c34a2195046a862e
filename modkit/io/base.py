"""DataDesc, DataBatch and DataIter: the protocol between data and modules."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from modkit.errors import (
    NotReadyError,
    NotSupportedError,
    ParameterError,
    instance_hint,
    typed,
    wrong,
)
from modkit.io.random_state import seed_streams
from modkit.ndarray import NDArray


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """Name, shape, dtype and layout of one input; equal to the tuple ``(name, shape)``.

    Args:
        name: of the argument it feeds.
        shape: of a whole batch.
        layout: a letter for each axis; ``N`` is the batch.

    >>> DataDesc("data", (32, 3, 28, 28)).shape
    (32, 3, 28, 28)
    """

    dtype: Any
    layout: str | None

    def __new__(
        cls, name: str, shape: Sequence[int], dtype: Any = np.float32, layout: str | None = "NCHW"
    ) -> DataDesc:
        self = super().__new__(cls, name, shape)
        self.dtype = dtype
        self.layout = layout
        return self

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    def __reduce__(self) -> Any:
        return DataDesc, (self.name, self.shape, self.dtype, self.layout)

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The batch axis of ``layout``: that of the ``N``; 0 where there is no layout.

        >>> DataDesc.get_batch_axis("TNC")
        1
        """
        if not isinstance(layout, str | None):
            raise wrong("DataDesc: layout", layout, 'a text such as "NCHW", or None')
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Any, types: Any = None) -> list[DataDesc]:
        """Descriptions from ``(name, shape)`` pairs and, where given, ``(name, dtype)`` pairs."""
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        dtypes = dict(types)
        return [DataDesc(name, shape, dtypes[name]) for name, shape in shapes]


class DataBatch:
    """One batch.

    Args:
        data: a list of arrays, one an input.
        label: a list of arrays, or ``None``.
        pad: number of padding samples at the end.
        index: numbers of the samples.
        provide_data: descriptions of ``data``, where the batch differs from its iterator.
        provide_label: the same of ``label``.

    Raises:
        ParameterError: data or label is not a list.
    """

    def __init__(
        self,
        data: Sequence[NDArray] | None,
        label: Sequence[NDArray] | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: Sequence[DataDesc] | None = None,
        provide_label: Sequence[DataDesc] | None = None,
    ):
        for what, value in (("data", data), ("label", label)):
            if value is not None and not isinstance(value, list | tuple):
                raise wrong(f"DataBatch: {what}", type(value), "a list of NDArrays")
        self.data, self.label = data, label
        self.pad, self.index, self.bucket_key = pad, index, bucket_key
        self.provide_data, self.provide_label = provide_data, provide_label

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        data = [getattr(d, "shape", d) for d in self.data or ()]
        label = [getattr(d, "shape", d) for d in self.label] if self.label else None
        return f"{type(self).__name__}: data shapes: {data} label shapes: {label}"


class DataIter:
    """The base of all iterators: batches, again and again.

    A subclass either overrides ``next``, or ``iter_next``, ``getdata``, ``getlabel``,
    ``getindex`` and ``getpad``; and ``provide_data`` and ``provide_label``.
    """

    def __init__(self, batch_size: int = 0):
        self.batch_size = batch_size

    def __iter__(self) -> DataIter:
        return self

    def __repr__(self) -> str:
        """The batch's size, names and shapes, as far as a subclass says them."""
        try:
            given = [
                each
                for name in ("provide_data", "provide_label")
                for each in descriptions(getattr(self, name, None) or [])
            ]
        except NotImplementedError:
            given = []
        shapes = ", ".join(f"{each.name} {tuple(each.shape)}" for each in given)
        return f"<{type(self).__name__} batch_size={self.batch_size}{shapes and ': '}{shapes}>"

    def reset(self) -> None:
        """Go back to the first batch."""

    def next(self) -> DataBatch:
        """The next batch."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(
            data=self.getdata(), label=self.getlabel(), pad=self.getpad(), index=self.getindex()
        )

    def __next__(self) -> DataBatch:
        return self.next()

    def iter_next(self) -> bool:
        """Step to the next batch; whether there is one."""
        raise self._absent("iter_next")

    def getdata(self) -> Any:
        """Data of the present batch."""
        raise self._absent("getdata")

    def _absent(self, name: str) -> NotSupportedError:
        return NotSupportedError(
            f"{type(self).__name__} has no {name}(); define next(), which returns a DataBatch or "
            "raises StopIteration; or iter_next() and getdata()"
        )

    def getlabel(self) -> Any:
        """Label of the present batch; by default there is none."""
        return None

    def getindex(self) -> Any:
        """Sample numbers of the present batch."""
        return None

    def getpad(self) -> int:
        """Number of padding samples in the present batch; by default 0."""
        return 0


class HeldBatchIter(DataIter):
    """An iterator whose ``iter_next`` sets ``current_batch``, a whole batch."""

    current_batch: Any = None

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self._present()

    def _present(self) -> Any:
        if self.current_batch is None:
            raise NotReadyError(f"{type(self).__name__}: next() or iter_next() comes first")
        return self.current_batch

    def getdata(self) -> Any:
        return self._present().data

    def getlabel(self) -> Any:
        return self._present().label

    def getindex(self) -> Any:
        return self._present().index

    def getpad(self) -> Any:
        return self._present().pad


_EXPECTED = "expected an iterator of batches, such as an instance of a subclass of mx.io.DataIter"


def check_iterator(data: Any, where: str, needed: Sequence[str]) -> None:
    """Raise unless an iterator of batches has the methods and attributes that are needed.

    Raises:
        ParameterError: it lacks one of them, or ``__next__`` beside a ``next``.
    """
    if lacking := [name for name in needed if not hasattr(data, name)]:
        raise ParameterError(
            f"{where}: got {typed(data):.100}, which has no {' and no '.join(lacking)}; "
            f"{_EXPECTED}{instance_hint(data)}"
        )
    if "__iter__" in needed and hasattr(data, "next") and not hasattr(data, "__next__"):
        checked_iter(data, where)


def checked_iter(data: Any, where: str) -> Iterator[Any]:
    """``iter(data)``; a ParameterError, not a TypeError, for an object that is not iterable."""
    try:
        return iter(data)
    except TypeError as error:
        got = f"{where}: got {typed(data):.100}: {error}"
        raise ParameterError(f"{got}; {_EXPECTED}") from error


KIND = "kind of data"
"""Key of the iterator's type (or its iterable's) in a position."""


def position_of(iterator: Any) -> dict[str, Any] | None:
    """The ``state_dict()`` of an iterator and its kind; ``None`` where it, or a part, has none."""
    own = getattr(iterator, "state_dict", None)
    state = None if own is None else own()
    return None if state is None else {KIND: type(iterator).__name__, **state}


def move_to(iterator: Any, position: Mapping[str, Any]) -> None:
    """Go to the position of `position_of`.

    Raises:
        ParameterError: the position is of another kind of iterator, or of other data.
    """
    present = position_of(iterator) or {KIND: type(iterator).__name__}
    before, now = position.get(KIND, "another iterator"), present[KIND]
    entries = present.keys() - {KIND}
    alike = entries and position.keys() >= entries  # as of another class of the same iterator
    if before != now and not alike:
        raise ParameterError(f"the checkpoint is of data from {before}, and this is {now}")
    iterator.load_state_dict({n: value for n, value in position.items() if n != KIND})


def reseed(iterator: Any, seed: int) -> None:
    """Begin an iterator anew, in an order that ``seed`` decides where it draws one itself.

    One without ``reseed`` is reset: its order has to come from NumPy's or Python's global stream.
    """
    if hasattr(iterator, "reseed"):
        iterator.reseed(seed)
    else:
        iterator.reset()


def seed_all(seed: int, *iterators: Any) -> None:
    """Seed all random streams; the iterators begin anew, in orders that the seed decides."""
    seed = seed_streams(seed)
    for each in iterators:
        if each is not None:
            reseed(each, seed)


def check_position(iterator: Any, state: Mapping[str, Any], **expected: Any) -> None:
    """Raise ParameterError where an entry of a state differs from the iterator's own."""
    for name, value in expected.items():
        if state.get(name) != value:
            raise ParameterError(
                f"{type(iterator).__name__}.load_state_dict: got the state of an iterator with "
                f"{name}={state.get(name)!r}, expected {name}={value!r}"
            )


def descriptions(shapes: Any) -> list[DataDesc]:
    """A list of DataDesc from DataDescs, ``(name, shape)`` pairs or a dictionary."""
    if isinstance(shapes, Mapping):
        shapes = list(shapes.items())
    if isinstance(shapes, str) or not isinstance(shapes, Iterable):
        raise ParameterError(
            f"got {shapes!r}, expected a list of DataDesc or of pairs (name, shape), such as "
            "[('data', (32, 10))]"
        )
    return [_description(each) for each in shapes]


def _description(given: Any) -> DataDesc:
    if isinstance(given, DataDesc):
        return given
    parts: list[Any] = list(given) if isinstance(given, list | tuple) else []
    pair = len(parts) >= 2 and isinstance(parts[0], str)
    if not pair or isinstance(parts[1], str) or not isinstance(parts[1], Iterable):
        raise ParameterError(
            f"got {given!r} as the description of an input, expected a DataDesc or a pair "
            "(name, shape), such as ('data', (32, 10))"
        )
    sizes: Any = parts[1]
    if isinstance(sizes, NDArray) or (isinstance(sizes, np.ndarray) and sizes.ndim != 1):
        shape = sizes.shape
        raise ParameterError(
            f"the description of {parts[0]!r} has an array of shape {shape}, expected the shape "
            f"itself: ({parts[0]!r}, {shape})"
        )
    return DataDesc(parts[0], tuple(sizes), *parts[2:])
