"""Conversion of batches, and the input shapes that they need."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from modkit.errors import ParameterError, wrong
from modkit.io import DataBatch, DataDesc
from modkit.io.base import descriptions
from modkit.ndarray import NDArray, concatenate
from modkit.ndarray.storage import cell_of


class Shapes(NamedTuple):
    """Descriptions of the data inputs, and of the labels."""

    data: list[DataDesc]
    label: list[DataDesc] | None

    def __str__(self) -> str:
        return ", ".join(f"{d.name} {tuple(d.shape)}" for d in (*self.data, *(self.label or ())))


def as_batch(given: Any, labelled: bool) -> DataBatch:
    """Convert to a DataBatch: from one, a list of them, or an object with a list ``data``.

    Args:
        labelled: whether its labels are read, so that they have to be arrays.

    Raises:
        ParameterError: it is none of these.
    """
    if isinstance(given, list | tuple) and not hasattr(given, "data"):
        return _joined([as_batch(each, labelled) for each in given])
    if not isinstance(given, DataBatch):
        if not isinstance(getattr(given, "data", None), list | tuple):
            expected = "a DataBatch; a batch of one array is mx.io.DataBatch([array])"
            raise wrong("forward", type(given), expected)
        names = ("data", "label", "pad", "index", "bucket_key", "provide_data", "provide_label")
        given = DataBatch(*(getattr(given, n, None) for n in names))
    for value in (*(given.data or ()), *((given.label or ()) if labelled else ())):
        if not isinstance(value, NDArray) and not hasattr(value, "shape"):
            raise ParameterError(
                f"forward: got {type(value).__name__} in the batch, expected NDArrays; "
                "mx.nd.array(...) makes one"
            )
    return given


def _joined(batches: Sequence[DataBatch]) -> DataBatch:
    """One batch from one for each context."""
    if not batches:
        raise ParameterError("forward: got an empty list, expected a DataBatch for each context")
    arrays = zip(*(b.data or () for b in batches), strict=True)
    data = [concatenate(list(parts)) for parts in arrays]
    label = None
    if batches[0].label:
        labels = zip(*(b.label or () for b in batches), strict=True)
        label = [concatenate(list(parts)) for parts in labels]
    return DataBatch(data, label)


def held(batch: Any) -> Any:
    """A copy of the batch that later writes to its arrays do not change."""
    if isinstance(batch, list | tuple):
        return [held(each) for each in batch]
    if not (hasattr(batch, "data") and hasattr(batch, "label")):
        return batch  # of which `as_batch` raises an error
    own = copy.copy(batch)
    own.data, own.label = (
        None if arrays is None else [_own(a) for a in arrays]
        for arrays in (batch.data, batch.label)
    )
    return own


def _own(array: Any) -> Any:
    if type(array) is NDArray:
        return NDArray(cell_of(array._cell.for_program(), array.ctx), array.ctx)
    return array.copy() if isinstance(array, np.ndarray | NDArray) else array


def shapes_for(batch: DataBatch, data: Sequence[Any], bound: Shapes) -> Shapes | None:
    """The input shapes that a batch needs; ``None`` if they are bound already."""
    if _fit(data, bound.data) and _fit(batch.label or (), bound.label or ()):
        return None
    # Shapes are the arrays' own: descriptions of a short last batch may be its iterator's.
    new_data = _like(data, descriptions(batch.provide_data) if batch.provide_data else bound.data)
    if batch.provide_label:
        label = descriptions(batch.provide_label)
        return Shapes(new_data, _like(batch.label, label) if batch.label else label)
    if batch.label and bound.label:
        return Shapes(new_data, _like(batch.label, bound.label))
    return Shapes(new_data, _resized_labels(bound.label, bound.data, new_data))


def _like(arrays: Sequence[Any], descs: Sequence[DataDesc]) -> list[DataDesc]:
    """The descriptions with the arrays' shapes."""
    return [
        DataDesc(d.name, tuple(a.shape), d.dtype, d.layout)
        for a, d in zip(arrays, descs, strict=False)
    ]


def _fit(arrays: Sequence[Any], descs: Sequence[DataDesc]) -> bool:
    return all(tuple(a.shape) == tuple(d.shape) for a, d in zip(arrays, descs, strict=False))


def _resized_labels(
    labels: Sequence[DataDesc] | None, old: Sequence[DataDesc], new: Sequence[DataDesc]
) -> list[DataDesc] | None:
    """The bound labels, with the new batch size, for a batch that brings none."""
    if not labels:
        return None
    axis = DataDesc.get_batch_axis(old[0].layout)
    before, after = old[0].shape[axis], new[0].shape[axis]
    resized = []
    for desc in labels:
        at, shape = DataDesc.get_batch_axis(desc.layout), list(desc.shape)
        if at >= 0 and shape[at] == before:
            shape[at] = after
        resized.append(DataDesc(desc.name, tuple(shape), desc.dtype, desc.layout))
    return resized
