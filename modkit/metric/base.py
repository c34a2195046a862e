"""EvalMetric: the base class of metrics, a running mean over batches."""

from __future__ import annotations

import copy
import dataclasses
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import jax
import numpy as np

from modkit import fork
from modkit.constructors import ChecksArguments
from modkit.errors import (
    NameNotFoundError,
    NotReadyError,
    NotSupportedError,
    ParameterError,
    ShapeError,
    nearest,
    wrong,
)
from modkit.ndarray import NDArray
from modkit.registry import get_alias_func, get_register_func

Names = Sequence[str] | None

totals_lock = fork.lock()
"""Held while totals on the host change or are read together; never while a device computes."""


class EvalMetric(ChecksArguments):
    """A running mean over batches; the base class of metrics, which take the arguments below too.

    A custom subclass overrides `update` and adds to ``sum_metric`` and ``num_inst``; with
    ``has_global_stats=True`` also to ``global_sum_metric`` and ``global_num_inst``.

    Args:
        name: shown in logs.
        output_names: outputs that `update_dict` selects; default: all.
        label_names: labels that `update_dict` selects; default: all.
        **kwargs: stored for `get_config`. With ``has_global_stats=True`` the metric also
            maintains global totals, which `reset_local` keeps.
    """

    sum_metric: Any
    num_inst: Any
    global_sum_metric: Any
    global_num_inst: Any
    name = ""  # as where a subclass does not call the constructor
    output_names: Names = None
    label_names: Names = None
    _has_global_stats = False

    def __init__(
        self,
        name: Any,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **kwargs: Any,
    ):
        for what, names in (("output_names", output_names), ("label_names", label_names)):
            if not isinstance(names, Iterable | None):
                raise wrong(f"{type(self).__name__}: {what}", names, "a list of names, or None")
        self.name = str(name)
        self.output_names, self.label_names = output_names, label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __repr__(self) -> str:
        """Class, name and parameters; not the value, which waits for the device."""
        given = "".join(
            f", {name}={value!r}" for name, value in vars(self).get("_kwargs", {}).items()
        )
        return f"<{type(self).__name__} {vars(self).get('name')!r}{given}>"

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """The configuration of the metric: a JSON-serializable argument for `create`."""
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
            NameNotFoundError: one of ``label_names`` or ``output_names`` is missing.
        """
        self.update(
            _by_name(label, self.label_names, f"{self.name}: label"),
            _by_name(pred, self.output_names, f"{self.name}: output"),
        )

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch: lists of labels and of outputs, or one of each."""
        raise self._missing("update(labels, preds) is not implemented; override it")

    def _missing(self, what: str) -> NotSupportedError:
        return NotSupportedError(f"{type(self).__name__}: {what}")

    def reset(self) -> None:
        """Clear the local and the global totals."""
        # With a float of Python, NumPy 2 adds up a subclass's float32 numbers in float32.
        with totals_lock:
            self.num_inst = self.global_num_inst = 0
            self.sum_metric = self.global_sum_metric = np.float64(0)

    def reset_local(self) -> None:
        """Clear the local totals of `get`; keep the global ones of `get_global`."""
        with totals_lock:
            self.num_inst = 0
            self.sum_metric = np.float64(0)

    def get(self) -> tuple[Any, Any]:
        """Name and value since the last reset; NaN without any instance.

        Differs: the value is a Python float, which prints as MXNet's NumPy numbers do with NumPy 1.
        """
        return self.name, self._value_of(*self._present_sums())

    def get_global(self) -> tuple[Any, Any]:
        """Name and value since the last `reset`; `reset_local` does not affect it."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value_of(*self._present_sums("global_"))

    def _present_sums(self, kind: Literal["", "global_"] = "") -> tuple[Any, Any]:
        """A total and its number of instances, read together."""
        try:
            with totals_lock:
                return getattr(self, f"{kind}sum_metric"), getattr(self, f"{kind}num_inst")
        except AttributeError as error:
            raise NotReadyError(
                f"{type(self).__name__} has no {error.name}: call super().__init__(name) in its "
                "__init__, or override get()"
            ) from error

    def _value_of(self, total: Any, count: Any) -> Any:
        value = total / count if count else math.nan
        return float(value) if isinstance(value, np.floating) else value

    def get_name_value(self) -> list[tuple[str, Any]]:
        """The result of `get` as pairs of name and value."""
        return self._named(self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """The result of `get_global` as pairs of name and value."""
        return self._named(self.get_global()) if self._has_global_stats else self.get_name_value()

    def _named(self, got: Any) -> list[tuple[str, Any]]:
        if not isinstance(got, tuple | list) or len(got) != 2:
            expected = "(name, value), or lists of both; check its return statement"
            raise wrong(f"{type(self).__name__}.get", got, expected)
        names, values = (each if isinstance(each, list) else [each] for each in got)
        return list(zip(names, values, strict=False))

    def state_dict(self) -> dict[str, Any]:
        """The totals so far: the attributes that are numbers, arrays, or lists and dicts of them.

        A custom subclass whose totals are something else overrides it, and `load_state_dict`.
        """
        own = {n: v for n, v in vars(self).items() if n not in _CONFIGURATION and _is_state(v)}
        return {n: copy.deepcopy(_fields(v)) for n, v in own.items()}

    def _snapshot(self) -> Callable[[], dict[str, Any]]:
        """A function that returns the present state; called later, by another thread."""
        state = self.state_dict()
        return lambda: state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the totals that `state_dict` returned."""
        for name, value in state.items():
            setattr(self, name, rebuilt(value, getattr(self, name, None)))

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add the totals of another metric of this class, as its `state_dict` returns them.

        Raises:
            NotSupportedError: a subclass whose `get` is its own, and that has not overridden this.
        """
        names = ("sum_metric", "num_inst", "global_sum_metric", "global_num_inst")
        if type(self).get is not EvalMetric.get or not all(name in state for name in names):
            raise self._missing(
                "its totals are its own, and not added up over workers; override merge(state)"
            )
        for name in names:
            setattr(self, name, getattr(self, name) + state[name])

    def fused(
        self, label_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None
    ) -> Callable[[Sequence[Any], Sequence[Any]], Any] | None:
        """The metric as a traceable function, for fusion into the compiled step.

        Args:
            label_names: names of the function's labels, in order.
            output_names: names of the function's outputs, in order.

        Returns:
            A hashable ``f(labels, outputs) -> sums`` over lists of arrays, whose result is an
            argument of `absorb`; ``None`` for metrics that need values on the host, such as
            user-defined ones.
        """
        return None

    def absorb(self, sums: Any, *, stacked: bool = False) -> None:
        """Add the result of the function from `fused` without blocking on it.

        Args:
            sums: the result; its arrays may still be computing.
            stacked: every array has a leading replica axis; each replica is one update.
        """
        raise self._missing("fused() is None, so absorb() is not supported; use update()")


_CONFIGURATION = frozenset([
    "name", "output_names", "label_names", "statistic", "_kwargs", "_pairs", "_pending",
    "_pending_bytes", "_each_bytes",
])  # fmt: skip


def _is_state(value: Any) -> bool:
    """True for numbers, arrays, data classes, and for lists and dicts of them."""
    if isinstance(value, list | tuple):
        return all(map(_is_state, value))
    if isinstance(value, dict):
        return all(isinstance(n, str | int) and _is_state(v) for n, v in value.items())
    fields = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return fields or isinstance(value, numbers.Number | np.ndarray)


def _fields(value: Any) -> Any:
    """A state with dictionaries in place of data classes."""
    if isinstance(value, list):
        return [_fields(each) for each in value]
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value  # type: ignore[arg-type]


def rebuilt(value: Any, present: Any) -> Any:
    """A state with the data classes of the present one."""
    if isinstance(value, list) and isinstance(present, list) and len(present) == len(value):
        return [rebuilt(v, p) for v, p in zip(value, present, strict=True)]
    return type(present)(**value) if dataclasses.is_dataclass(present) else copy.deepcopy(value)  # type: ignore[misc]


def keeps_updates(metric: EvalMetric, update: Any, update_dict: Any) -> bool:
    """Whether labels and outputs are added by these functions, and by none of a user's."""
    kind, own = type(metric), metric.__dict__
    if kind.update is not update or kind.update_dict is not update_dict:
        return False
    return "update" not in own and "update_dict" not in own


register = get_register_func(EvalMetric, "metric")
alias = get_alias_func(EvalMetric, "metric")


def check_label_shapes(
    labels: Any, preds: Any, wrap: bool = False, shape: bool = False
) -> tuple[Any, Any]:
    """``labels`` and ``preds``, whose numbers have to agree.

    Args:
        labels, preds: a list of arrays, or one array.
        wrap: return single arrays as lists of one.
        shape: compare the shapes of two arrays instead of their lengths.

    Raises:
        ShapeError: they differ.
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
        raise count_mismatch(one, other)
    if wrap:
        labels = [labels] if _is_array(labels) else labels
        preds = [preds] if _is_array(preds) else preds
    return labels, preds


def count_mismatch(labels: Any, preds: Any) -> ShapeError:
    """The error for different numbers of labels and outputs."""
    if labels == 0:
        return ShapeError(
            "a metric got a batch without labels, expected labels to compare outputs with; give "
            "the iterator labels, NDArrayIter(data, label, ...), and bind() label_shapes; without "
            "labels use the metric 'loss', or predict()"
        )
    return ShapeError(
        f"Shape of labels {labels} does not match shape of predictions {preds}; "
        "give one label for each output, or name those to compare: mx.metric.create('mse', "
        "output_names=['fc_output'], label_names=['label'])"
    )


def _is_array(value: Any) -> bool:
    return isinstance(value, NDArray | np.ndarray | jax.Array)


def as_numpy(value: Any) -> np.ndarray:
    """A NumPy array from an array of any kind."""
    return value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)


def _by_name(values: Mapping[str, Any], names: Sequence[str] | None, what: str) -> list[Any]:
    if not isinstance(values, Mapping):
        raise wrong(f"{what}s", type(values), "a dictionary of arrays by name")
    if names is None:
        return list(values.values())
    names = [names] if isinstance(names, str) else names
    missing = [n for n in names if n not in values]
    if missing:
        raise NameNotFoundError(
            f"{what} {missing[0]!r} is not there.{nearest(missing[0], values)} "
            f"Available: {', '.join(values) or 'none'}"
        )
    return [values[n] for n in names]
