"""CompositeEvalMetric, several metrics as one, and the factory ``create``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from modkit.errors import ParameterError, wrong
from modkit.metric.base import EvalMetric, Names, alias, keeps_updates, register
from modkit.metric.custom import CustomMetric
from modkit.metric.functions import Combined, positions, select
from modkit.overriding import replaced
from modkit.registry import get_create_func

_create = get_create_func(EvalMetric, "metric")


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """A metric from a name, a metric class, a function, an instance, a configuration, or a list.

    Args:
        metric: a registered name such as ``"acc"``; a function of NumPy ``(label, output)``; a
            metric, returned unchanged; a dictionary or JSON text from ``get_config``; or a list
            of these.
        *args: arguments of the metric's class.
        **kwargs: arguments of the metric's class; for a list, of each entry.

    Raises:
        NameNotFoundError: no metric has that name.
        ParameterError: ``metric`` is none of these.

    >>> create(["acc", "ce"]).get()[0]
    ['accuracy', 'cross-entropy']
    """
    if isinstance(metric, type) and issubclass(metric, EvalMetric):
        return metric(*args, **kwargs)
    if callable(metric) and not isinstance(metric, EvalMetric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, list | tuple):
        return CompositeEvalMetric([create(each, *args, **kwargs) for each in metric])
    return _create(metric, *args, **kwargs)


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics over the same labels and outputs.

    Args:
        metrics: arguments of `create`.
        name: name of the composite; `get` returns the names of the metrics instead.
        output_names: outputs passed on to the metrics; default: all.
        label_names: labels passed on to the metrics; default: all.

    >>> metric = mx.metric.CompositeEvalMetric(["mae", "mse"])
    >>> metric.update([mx.nd.array([1.0, 3.0])], [mx.nd.array([1.5, 2.0])])
    >>> metric.get()
    (['mae', 'mse'], [0.75, 0.625])
    """

    def __init__(
        self,
        metrics: Sequence[Any] | None = None,
        name: str = "composite",
        output_names: Names = None,
        label_names: Names = None,
    ):
        if isinstance(metrics, str) or not isinstance(metrics, Iterable | None):
            raise wrong("CompositeEvalMetric: metrics", metrics, "a list of metrics")
        self.metrics: list[EvalMetric] = []
        super().__init__(name, output_names, label_names, has_global_stats=True)
        self.metrics += map(create, metrics or ())  # after the reset: they keep their counts

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {vars(self).get('metrics')}>"

    def add(self, metric: Any) -> None:
        """Append a metric: any argument of `create`."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric at ``index``.

        Raises:
            ParameterError: the index is out of range.
        """
        if not isinstance(index, int | np.integer):
            raise wrong("CompositeEvalMetric: index", index, "an integer")
        if not -len(self.metrics) <= index < len(self.metrics):
            raise ParameterError(f"Metric index {index} is out of range 0 and {len(self.metrics)}")
        return self.metrics[index]

    def update_dict(self, label: Mapping[str, Any], pred: Mapping[str, Any]) -> None:
        """Update each metric from labels and outputs by name."""
        if self.label_names is not None:
            label = {n: v for n, v in label.items() if n in self.label_names}
        if self.output_names is not None:
            pred = {n: v for n, v in pred.items() if n in self.output_names}
        for metric in self.metrics:
            metric.update_dict(label, pred)

    def update(self, labels: Any, preds: Any) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        """Clear the local totals of each metric."""
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[Any], list[Any]]:
        """The names and the values of all metrics, as two lists."""
        return _joined(metric.get() for metric in self.metrics)

    def get_global(self) -> tuple[list[Any], list[Any]]:
        """The names and the global values of all metrics, as two lists."""
        return _joined(metric.get_global() for metric in self.metrics)

    def get_config(self) -> dict[str, Any]:
        """The configuration, including those of the metrics."""
        return {**super().get_config(), "metrics": [m.get_config() for m in self.metrics]}

    def state_dict(self) -> dict[str, Any]:
        return {"metrics": [metric.state_dict() for metric in self.metrics]}

    def _snapshot(self) -> Callable[[], dict[str, Any]]:
        if type(self).state_dict is not CompositeEvalMetric.state_dict:
            return super()._snapshot()
        parts = [metric._snapshot() for metric in self.metrics]
        return lambda: {"metrics": [part() for part in parts]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for metric, part in zip(self.metrics, state["metrics"], strict=True):
            metric.load_state_dict(part)

    def merge(self, state: Mapping[str, Any]) -> None:
        for metric, part in zip(self.metrics, state["metrics"], strict=True):
            metric.merge(part)

    def fused(
        self, label_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None
    ) -> Callable[[Sequence[Any], Sequence[Any]], Any] | None:
        """See `EvalMetric.fused`. ``None`` if it is ``None`` for one of the metrics."""
        if not keeps_updates(self, *_UPDATES):
            return None
        labels, label_at = _filtered(label_names, self.label_names)
        outputs, output_at = _filtered(output_names, self.output_names)
        if (labels is None and self.label_names) or (outputs is None and self.output_names):
            return None
        parts: Any = tuple(metric.fused(labels, outputs) for metric in self.metrics)
        if any(part is None for part in parts):
            return None
        return select(label_at, output_at, Combined(parts))

    def absorb(self, sums: Any, *, stacked: bool = False) -> None:
        for metric, part in zip(self.metrics, sums, strict=True):
            metric.absorb(part, stacked=stacked)


_UPDATES = CompositeEvalMetric.update, CompositeEvalMetric.update_dict


def leaves(metric: EvalMetric) -> list[EvalMetric]:
    """The metrics of a composite, and of composites in it; of another metric it alone."""
    if not isinstance(metric, CompositeEvalMetric):
        return [metric]
    return [leaf for each in getattr(metric, "metrics", []) for leaf in leaves(each)]


_READ = ("get", "get_global", "get_name_value", "get_global_name_value")


def known_names(metric: EvalMetric) -> list[str] | None:
    """Names of a metric's values before any batch; ``None`` where a user's own method names them.

    >>> known_names(create(["acc", "ce"]))
    ['accuracy', 'cross-entropy']
    """
    if any(replaced(each, *_READ) for each in (metric, *leaves(metric))):
        return None
    return [name for name, _ in metric.get_name_value()]


def _filtered(
    given: Sequence[str] | None, kept: Sequence[str] | None
) -> tuple[Sequence[str] | None, tuple[int, ...] | None]:
    """The names in both lists, in the order of ``given``, and their positions there."""
    if given is None or kept is None:
        return given, None
    names = [n for n in given if n in kept]
    return names, positions(names, given)


def _joined(parts: Any) -> tuple[list[Any], list[Any]]:
    names: list[Any] = []
    values: list[Any] = []
    for name, value in parts:
        names += name if isinstance(name, list) else [name]
        values += value if isinstance(value, list) else [value]
    return names, values
