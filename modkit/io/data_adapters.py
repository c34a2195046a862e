"""Iterators over the data of ``fit``, ``score`` and ``predict``: arrays, data frames, batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from modkit.constructors import check_at_least, is_number
from modkit.errors import ParameterError, expect, typed
from modkit.io.array import NDArrayIter
from modkit.io.base import DataBatch, descriptions
from modkit.io.batches import BatchesIter
from modkit.io.columns import Columns, columns, host, weighted

Names = tuple[Sequence[str], Sequence[str]]
"""Names of the data inputs and of the labels."""


def is_iterator(data: Any) -> bool:
    """True for an iterator of batches in MXNet's sense, which describes its data."""
    return hasattr(data, "provide_data")


def training_sources(
    train: Any,
    held_out: Any,
    names: Names,
    *,
    batch_size: int | None,
    shuffle: bool | None,
    validation_split: float,
    sample_weight: Any,
    class_weight: Any,
) -> tuple[Any, Any]:
    """Iterators over ``train_data`` and ``eval_data`` of `fit`, made by its other arguments.

    Raises:
        ParameterError: an argument for arrays with other data, two kinds of validation data, or a
            batch size that is no integer from 1 on.
    """
    if batch_size is not None:
        check_at_least("fit", "batch_size", batch_size, 1)
    before, train = train, _from_dataset(train, batch_size)
    given = None if is_iterator(train) else columns(train, *names, "fit: train_data")
    if given is None:
        _refuse_for_batches(
            train,
            batch_size=batch_size if train is before else None,
            shuffle=shuffle,
            validation_split=validation_split or None,
            sample_weight=sample_weight,
            class_weight=class_weight,
        )
        if not is_iterator(train) and _makes_batches(train):
            train = BatchesIter(train, *names, "fit: train_data")
    else:
        if validation_split and held_out is not None:
            raise ParameterError("fit: got eval_data and validation_split, expected one")
        given = _on_host(weighted(given, names[1], sample_weight, class_weight))
        if validation_split:
            given, held_out = _split(given, validation_split)
        train = _training_iterator(given, batch_size or 32, shuffle is None or shuffle)
    return train, _validation_source(held_out, train, names)


def _refuse_for_batches(train: Any, **given: Any) -> None:
    """Refuse arguments for arrays where training data make batches."""
    for name, value in given.items():
        if value is not None:
            raise ParameterError(
                f"fit: {name}: only for arrays; train_data is of type "
                f"{type(train).__name__}, which makes batches"
            )


def _validation_source(held_out: Any, train: Any, names: Names) -> Any:
    """An iterator over ``eval_data``, in batches and an order of names like those of ``train``."""
    if held_out is None or has_next(held_out):
        return held_out
    expected = "a DataIter, a pair (x, y) of arrays, a dictionary of arrays, or batches"
    expect(not isinstance(held_out, str | bytes), "fit: eval_data", held_out, expected)
    size, order = getattr(train, "batch_size", None) or 32, names
    if is_iterator(train):
        shapes = train.provide_data, train.provide_label or []
        data, labels = ([d.name for d in descriptions(each)] for each in shapes)
        order = data, labels
    return evaluation_source(held_out, names, order, size, "fit: eval_data")


def has_next(data: Any) -> bool:
    """True for an iterator of batches, and for a user's own with ``next``."""
    return is_iterator(data) or hasattr(data, "next")


def evaluation_source(data: Any, names: Names, order: Names, batch_size: int, where: str) -> Any:
    """An iterator over data for evaluation; data that hold no batches are returned unchanged.

    ``order`` has the same names in the order of a batch.
    """
    data = _from_dataset(data, batch_size)
    given = columns(data, *names, where)
    if given is not None:
        x, y = weighted(given, names[1]) if given[1] else given
        arrays = _on_host((_arranged(x, order[0]), _arranged(y, order[1])))
        return _evaluation_iterator(arrays, batch_size, where)
    if not _makes_batches(data):
        return data
    arranged = [list(_arranged(dict.fromkeys(n), o)) for n, o in zip(names, order, strict=True)]
    return BatchesIter(data, *names, where, (arranged[0], arranged[1]))


def _arranged(named: Columns, order: Sequence[str]) -> Columns:
    """Columns in an order of names, those without a place in it last."""
    arranged = [*(n for n in order if n in named), *(n for n in named if n not in order)]
    return {n: named[n] for n in arranged}


def _makes_batches(data: Any) -> bool:
    """True for iterables other than arrays and MXNet's iterators."""
    return hasattr(data, "__iter__") and not isinstance(data, str | DataBatch)


def _from_dataset(data: Any, batch_size: int | None) -> Any:
    """Columns of a Hugging Face dataset; batches of a streamed one."""
    if not hasattr(data, "column_names") or not hasattr(data, "with_format"):
        return data
    arrays = data.with_format("numpy")
    if hasattr(data, "__getitem__"):
        return arrays[:]
    return _Stream(lambda: arrays.iter(batch_size=batch_size or 32))


class _Stream:
    """An iterable that begins anew at each pass."""

    def __init__(self, begin: Callable[[], Iterator[Any]]):
        self._begin = begin

    def __iter__(self) -> Iterator[Any]:
        return self._begin()


def _on_host(data: tuple[Columns, Columns]) -> tuple[Columns, Columns]:
    x, y = ({n: host(v) for n, v in part.items()} for part in data)
    return x, y


def _training_iterator(data: tuple[Columns, Columns], size: int, shuffle: bool) -> NDArrayIter:
    """An iterator over arrays; samples that fill no batch begin the next epoch."""
    x, y = data
    size = min([size, *map(len, x.values())])
    if size == 0:
        raise ParameterError(f"fit: train_data: got 0 samples, in {', '.join(x)}")
    return NDArrayIter(x, y or None, size, shuffle=shuffle, last_batch_handle="roll_over")


def _evaluation_iterator(data: tuple[Columns, Columns], size: int, where: str) -> BatchesIter:
    """An iterator over arrays, whose last batch may be smaller."""
    x, y = data
    count = NDArrayIter(x, y or None).num_data  # which refuses arrays of several lengths

    def batches() -> Iterator[Columns]:
        for begin in range(0, count, size):
            yield {n: v[begin : begin + size] for n, v in {**x, **y}.items()}

    return BatchesIter(_Stream(batches), list(x), list(y), where)


def _split(data: tuple[Columns, Columns], share: float) -> tuple[tuple[Columns, Columns], Columns]:
    """Arrays for training, and the last ``share`` of their samples for validation."""
    count = len(next(iter(data[0].values())))
    kept = count - round(count * share) if is_number(share) else 0
    if not 0 < kept < count:
        raise ParameterError(
            f"fit: validation_split: got {typed(share)} for {count} samples, expected a share "
            "between 0 and 1 that leaves some for both"
        )
    x, y = ({n: v[:kept] for n, v in part.items()} for part in data)
    return (x, y), {n: v[kept:] for part in data for n, v in part.items()}
