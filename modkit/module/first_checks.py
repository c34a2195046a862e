"""Checks of `fit`: validation data that do not fit, and mistakes by which nothing is learned."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from modkit.errors import ParameterError, ShapeError, caller_level
from modkit.io import NDArrayIter
from modkit.io.base import descriptions
from modkit.io.sources import BatchesIter
from modkit.metric import EvalMetric
from modkit.metric.composite import leaves
from modkit.metric.traced import TracedMetric
from modkit.module.data_batch import Shapes
from modkit.ndarray import NDArray
from modkit.symbol import Symbol


def check_shapes(
    symbol: Symbol, values: Callable[[], Mapping[str, Any]], bound: Shapes, source: Any
) -> None:
    """Check that a network takes the shapes of validation data, which may be others.

    Args:
        symbol: the network.
        values: returns its parameters and auxiliary states by name.
        bound: the inputs that it is bound for.
        source: the iterator; one without ``provide_data`` is not checked.

    Raises:
        ShapeError: it does not.
    """
    given = descriptions(getattr(source, "provide_data", None) or [])
    inputs = {b.name: tuple(g.shape) for b, g in zip(bound.data, given, strict=False)}
    known = not any(n is None for shape in inputs.values() for n in shape)
    if not known or inputs == {b.name: tuple(b.shape) for b in bound.data[: len(inputs)]}:
        return
    got = f"fit: eval_data: got {Shapes(given, None)}, expected inputs of the network"
    try:
        args, _, auxs = symbol.infer_shape_partial(**inputs)
    except ShapeError as error:
        raise ShapeError(f"{got} bound for {bound}: {error}") from error
    names = (*symbol.list_arguments(), *symbol.list_auxiliary_states())
    needed = dict(zip(names, (*(args or ()), *(auxs or ())), strict=False))
    for name, value in values().items():
        if any(n and n != own for n, own in zip(needed.get(name, ()), value.shape, strict=False)):
            raise ShapeError(
                f"{got} bound for {bound}: {name} has the shape {tuple(value.shape)}, and these "
                f"data need {needed[name]}"
            )


def check_labels(names: Sequence[str], source: Any, metric: EvalMetric) -> None:
    """Check that validation arrays have labels, if a built-in metric compares them with outputs.

    Raises:
        ParameterError: they have none.
    """
    if not isinstance(source, NDArrayIter | BatchesIter) or source.provide_label:
        return
    for each in leaves(metric):
        if isinstance(each, TracedMetric) and each._needs_labels:
            raise ParameterError(
                f"fit: eval_data: got no labels, expected {', '.join(names)}, which the metric "
                f"{each.name!r} compares with the outputs"
            )


def warn_of_labels(
    symbol: Symbol, shapes: Mapping[str, tuple[int, ...]], labels: Mapping[str, Any]
) -> None:
    """Warn of labels that are no class of the SoftmaxOutput that they go to.

    Only labels on the host are looked at, which costs nothing. MXNet trains on them in silence.

    Args:
        symbol: the network.
        shapes: shapes of its outputs by name.
        labels: the batch's label arrays by name.
    """
    for entry, name in zip(symbol.heads, symbol.list_outputs(), strict=True):
        node = entry.node
        if node.op_name != "SoftmaxOutput" or node.inputs[1].node.name not in labels:
            continue
        label = node.inputs[1].node.name
        rows = labels[label]._cell.unmoved() if isinstance(labels[label], NDArray) else None
        classes = _classes(node.params, shapes[name])
        if not isinstance(rows, np.ndarray) or not rows.size:
            continue
        if rows.shape == shapes[name]:
            _warn_of_one_hot(label, rows)
            continue
        wrong = (rows < 0) | (rows >= classes)
        if node.params["use_ignore"]:
            wrong &= rows != node.params["ignore_label"]
        if wrong.any():
            warnings.warn(
                f"fit: label {label!r} of the first batch: got {rows[wrong][0]:g}, expected a "
                f"class from 0 to {classes - 1}, for SoftmaxOutput {node.name!r}; "
                "such samples train nothing. Change num_hidden of the last layer, or the labels",
                UserWarning,
                stacklevel=caller_level(),
            )


def _warn_of_one_hot(label: str, rows: np.ndarray) -> None:
    if rows.ndim == 2 and np.all((rows == 0) | (rows == 1)) and np.all(rows.sum(1) == 1):
        warnings.warn(
            f"fit: label {label!r} of the first batch: got one-hot rows of shape {rows.shape}: "
            "SoftmaxOutput trains on them as probabilities, but metrics such as Accuracy compare "
            "them number by number, as in MXNet. Give them classes: y.argmax(axis=1)",
            UserWarning,
            stacklevel=caller_level(),
        )


def warn_of_no_gradients(group: Any) -> None:
    """Warn of ``update()`` before any ``backward()``, unless gradients were written by hand.

    MXNet updates by zeros, in silence.
    """
    values = (bound.grads[n].unmoved() for bound in group.bounds for n in bound.grads)
    if not any(np.any(np.asarray(each)) for each in values):
        warnings.warn(
            "update() before any backward(): all gradients are zero, so that nothing is learned; "
            "expected forward(batch, is_train=True), backward(), update()",
            UserWarning,
            stacklevel=caller_level(),
        )


def _classes(params: Mapping[str, Any], shape: Sequence[int]) -> int:
    """Number of classes of a SoftmaxOutput."""
    if params["multi_output"]:
        return shape[1]
    return shape[-1] if params["preserve_shape"] else math.prod(shape[1:])
