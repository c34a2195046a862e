"""EvalMetric: a running mean over batches, which every metric is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import jax
import numpy as np

from modkit.errors import (
    NameNotFoundError,
    NotSupportedError,
    ParameterError,
    ShapeError,
    nearest,
)
from modkit.ndarray import NDArray
from modkit.registry import get_alias_func, get_register_func

Names = Sequence[str] | None
Average = Literal["macro", "micro"]


class EvalMetric:
    """A running mean of something over batches; the base of every metric.

    A metric of your own overrides `update`, and adds to ``sum_metric`` and ``num_inst`` (and to
    ``global_sum_metric`` and ``global_num_inst``, with ``has_global_stats=True``).

    Args:
        name: shown in logs.
        output_names: which outputs `update_dict` takes; default all of them.
        label_names: which labels it takes; default all of them.
        **kwargs: kept for `get_config`. ``has_global_stats=True`` says that the global
            totals, which `reset_local` keeps, are counted too.
    """

    sum_metric: Any
    num_inst: Any
    global_sum_metric: Any
    global_num_inst: Any

    def __init__(
        self,
        name: Any,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ):
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """The metric as a dictionary that `create` takes, also as JSON text."""
        return {
            **self._kwargs,
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Update from labels and outputs by name.

        Raises:
            NameNotFoundError: one of ``label_names`` or ``output_names`` is not there.
        """
        self.update(
            _chosen(label, self.label_names, f"{self.name}: label"),
            _chosen(pred, self.output_names, f"{self.name}: output"),
        )

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch: lists of labels and of outputs, or one of each."""
        raise NotSupportedError(f"{type(self).__name__} has no update(labels, preds); write one")

    def reset(self) -> None:
        """Forget everything."""
        self.num_inst = 0
        self.sum_metric = 0.0
        self.global_num_inst = 0
        self.global_sum_metric = 0.0

    def reset_local(self) -> None:
        """Forget what `get` shows; keep what `get_global` shows."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self) -> tuple[Any, Any]:
        """Name and value since the last reset; NaN where nothing was counted."""
        return self.name, self._value(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """Name and value since the last full `reset`."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value(self.global_sum_metric, self.global_num_inst)

    def _value(self, total: Any, count: Any) -> Any:
        return total / count if count else math.nan

    def get_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and value, as `get`."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """Pairs of name and value, as `get_global`."""
        return _pairs(*self.get_global()) if self._has_global_stats else self.get_name_value()

    def fused(
        self,
        label_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
    ) -> Callable[[Sequence[Any], Sequence[Any]], Any] | None:
        """The metric as a function that can be traced into a compiled step.

        Args:
            label_names: names of the labels that the function will get, in order.
            output_names: names of the outputs, in order.

        Returns:
            A hashable ``f(labels, outputs) -> sums`` over lists of arrays, whose result goes to
            `absorb`; ``None`` where the metric must see values on the host, as a user's own does.
        """
        del label_names, output_names
        return None

    def absorb(self, sums: Any, *, stacked: bool = False) -> None:
        """Add what the function from `fused` returned; the arrays are not read now.

        Args:
            sums: the result, arrays still being computed.
            stacked: every array has a leading axis of replicas, each an update of its own.
        """
        del sums, stacked
        raise NotSupportedError(f"{type(self).__name__}: fused() is None, so absorb() has no use")


register = get_register_func(EvalMetric, "metric")
alias = get_alias_func(EvalMetric, "metric")


def check_label_shapes(
    labels: Any, preds: Any, wrap: bool = False, shape: bool = False
) -> tuple[Any, Any]:
    """Check that labels and outputs are equally many.

    Args:
        labels: a list of arrays, or one array.
        preds: the same of outputs.
        wrap: return lists also for single arrays.
        shape: compare the shapes of two arrays, rather than their lengths.

    Raises:
        ShapeError: they are not.
        ParameterError: they are neither lists nor arrays.
    """
    try:
        one, other = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    except (TypeError, AttributeError) as error:
        raise ParameterError(
            f"labels and outputs: got {type(labels).__name__} and {type(preds).__name__}, "
            "expected a list of arrays or an array for each"
        ) from error
    if one != other:
        raise uneven(one, other)
    if wrap:
        labels = [labels] if _is_array(labels) else labels
        preds = [preds] if _is_array(preds) else preds
    return labels, preds


def uneven(labels: Any, preds: Any) -> ShapeError:
    """The error for unlike numbers of labels and outputs."""
    return ShapeError(
        f"Shape of labels {labels} does not match shape of predictions {preds}; "
        "give one label for each output, or name them with label_names and output_names"
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, NDArray | np.ndarray | jax.Array)


def as_numpy(value: Any) -> np.ndarray:
    """An array of any kind on the host."""
    return value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)


def _chosen(values: Mapping[str, Any], names: Sequence[str] | None, what: str) -> list[Any]:
    if names is None:
        return list(values.values())
    names = [names] if isinstance(names, str) else names
    missing = [n for n in names if n not in values]
    if missing:
        raise NameNotFoundError(
            f"{what} {missing[0]!r} is not there.{nearest(missing[0], values)} "
            f"There are: {', '.join(values) or 'none'}"
        )
    return [values[n] for n in names]


def _pairs(name: Any, value: Any) -> list[tuple[str, Any]]:
    names = name if isinstance(name, list) else [name]
    values = value if isinstance(value, list) else [value]
    return list(zip(names, values, strict=False))


def check_average(average: str) -> None:
    """Raise ``ParameterError`` unless ``average`` is ``"macro"`` or ``"micro"``."""
    if average not in ("macro", "micro"):
        raise ParameterError(f"average: got {average!r}, expected 'macro' or 'micro'")
