"""A metric from a function of NumPy arrays."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy

from modkit.errors import NotSupportedError, ParameterError, expect
from modkit.metric.base import (
    EvalMetric,
    Names,
    as_numpy,
    check_label_shapes,
    register,
    totals_lock,
)

Feval = Callable[[numpy.ndarray, numpy.ndarray], Any]


@register
class CustomMetric(EvalMetric):
    """Mean of ``feval(label, output)`` over batches, on NumPy arrays.

    Args:
        feval: returns the value of the batch, or ``(sum, number of instances)``.
        name: shown in logs; default: the name of the function.
        allow_extra_outputs: allow more outputs than labels; surplus outputs are ignored.

    >>> import numpy as np
    >>> def largest_error(label, pred):
    ...     return np.abs(label - pred).max()
    >>> metric = mx.metric.CustomMetric(largest_error)
    >>> metric.update([mx.nd.array([1.0, 3.0])], [mx.nd.array([1.5, 2.0])])
    >>> metric.get()
    ('largest_error', 1.0)
    """

    def __init__(
        self,
        feval: Feval,
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Names = None,
        label_names: Names = None,
    ):
        expect(callable(feval), "CustomMetric: feval", feval, "a function of label and output")
        _check_signature(feval)
        if name is None:
            name = str(getattr(feval, "__name__", type(feval).__name__))
            name = f"custom({name})" if "<" in name else name
        self._feval, self._allow_extra_outputs = feval, allow_extra_outputs
        kept = {"feval": feval, "allow_extra_outputs": allow_extra_outputs}
        super().__init__(name, output_names, label_names, has_global_stats=True, **kept)

    def update(self, labels: Any, preds: Any) -> None:
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds, strict=False):
            total, count = self._sum_and_count(self._feval(as_numpy(label), as_numpy(pred)))
            with totals_lock:
                self.sum_metric += total
                self.num_inst += count
                self.global_sum_metric += total
                self.global_num_inst += count

    def _sum_and_count(self, value: Any) -> tuple[Any, Any]:
        """A sum, and the number of instances in it, from a value of the function."""
        pair = value if isinstance(value, tuple) else (value, 1)
        summed = len(pair) == 2 and all(
            hasattr(each, "__radd__") and math.prod(getattr(each, "shape", ())) == 1
            for each in pair
        )
        expected = "a number or (sum, number of instances); check its return statement"
        expect(summed, f"{self.name}: the metric's function returned", value, expected)
        return pair

    def get_config(self) -> dict[str, Any]:
        """Raise: a function cannot be serialized."""
        raise NotSupportedError(f"{self.name}: CustomMetric cannot be serialized")


def _check_signature(feval: Feval) -> None:
    try:
        signature = inspect.signature(feval)
    except ValueError:  # a function of C without one
        return
    try:
        signature.bind(None, None)
    except TypeError as error:
        raise ParameterError(
            f"CustomMetric: feval: got a function of {signature}, expected a function of label "
            "and output: def feval(label, pred)"
        ) from error


def np(
    numpy_feval: Feval, name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """A metric from a function of NumPy labels and outputs; see `CustomMetric`."""
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
