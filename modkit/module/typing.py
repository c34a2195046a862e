"""Types of the arguments that modules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from modkit.io import DataBatch, DataDesc, DataIter
from modkit.metric import EvalMetric
from modkit.ndarray import NDArray

#: An iterator; a pair ``(x, y)`` or a dictionary of arrays or data frames; batches.
Data = DataIter | tuple[Any, ...] | Mapping[str, Any] | Iterable[Any]
Metric = EvalMetric | str | Callable[..., Any] | Sequence[Any]
#: A function, or a list of them.
Functions = Callable[..., Any] | Sequence[Callable[..., Any]] | None
#: An initializer or its name, or a function of a name and the array that it fills.
Initialization = Callable[[Any, NDArray], Any] | str
Shape = DataDesc | tuple[Any, ...]
InputShapes = Sequence[Shape] | Mapping[str, Any]
OptimizerParams = Mapping[str, Any] | Sequence[tuple[str, Any]]
#: Rows to pull of row-sparse parameters, by name, for a batch.
RowIds = Callable[[DataBatch], Mapping[str, NDArray]]
OutGrads = NDArray | Sequence[NDArray]
GradReq = str | Sequence[str] | Mapping[str, str]
