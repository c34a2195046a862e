"""``mx.contrib.io``: loops over (data, label) pairs as a DataIter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from modkit.errors import ParameterError
from modkit.io import DataBatch, DataDesc, DataIter
from modkit.ndarray import NDArray, array


class DataLoaderIter(DataIter):
    """A DataIter over an iterable of ``(data, label)`` batches, such as a data loader.

    A last batch that is smaller is filled up with zeros, and ``pad`` says by how many rows.

    Args:
        loader: gives pairs of arrays, (N, ...) and (N, ...); every loop over it is an epoch.
        data_name, label_name: names of the data and of the label.
        dtype: element type of both.

    Raises:
        ParameterError: there is no batch.
    """

    def __init__(
        self,
        loader: Iterable[Any],
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
    ):
        self._loader, self.dtype = loader, dtype
        first = next(iter(loader), None)
        if first is None:
            raise ParameterError("DataLoaderIter: the loader has no batch")
        data, label = first
        super().__init__(int(data.shape[0]))
        self.provide_data = [DataDesc(data_name, tuple(data.shape), dtype)]
        self.provide_label = [DataDesc(label_name, tuple(label.shape), dtype)]
        self._batches = iter(loader)

    def reset(self) -> None:
        """Begin another loop over the loader."""
        self._batches = iter(self._loader)

    def next(self) -> DataBatch:
        data, label = next(self._batches)
        pad = self.batch_size - int(data.shape[0])
        arrays = [array(self._filled(each, pad), dtype=self.dtype) for each in (data, label)]
        return DataBatch(arrays[:1], arrays[1:], pad=pad)

    @staticmethod
    def _filled(rows: Any, pad: int) -> Any:
        if not pad:
            return rows
        rows = rows.asnumpy() if isinstance(rows, NDArray) else np.asarray(rows)
        return np.concatenate([rows, np.zeros((pad, *rows.shape[1:]), rows.dtype)])
