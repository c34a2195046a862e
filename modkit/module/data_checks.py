"""Checks of data: names, labels, shapes, and mistakes by which nothing is learned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modkit.errors import ParameterError, ShapeError, warn_caller
from modkit.io import NDArrayIter
from modkit.io.base import descriptions
from modkit.io.batches import BatchesIter
from modkit.metric import MAE, MSE, RMSE, EvalMetric
from modkit.metric.composite import leaves
from modkit.metric.traced import TracedMetric
from modkit.module.data_batch import Shapes
from modkit.module.split_batch import names_of
from modkit.ndarray import NDArray
from modkit.symbol import Symbol


def check_order(source: Any, data: list[str], labels: list[str], where: str) -> None:
    """Refuse an iterator with the bound names in another order: batches go by position."""
    for what, names in (("provide_data", data), ("provide_label", labels)):
        given = getattr(source, what, None)
        given = names_of(descriptions(given)) if given else names
        if given != names and sorted(given) == sorted(names):
            raise ParameterError(
                f"{where}: {what} has the order {given}, but the module is bound for {names}: "
                "arrays go by position and would be swapped. Bind with the iterator's own "
                f"{what} (NDArrayIter sorts the names of a dictionary)"
            )


def check_given_labels(source: Any, wanted: Sequence[str]) -> None:
    """Refuse training data without the labels of the network."""
    given = names_of(descriptions(source.provide_label or []))
    missing = [n for n in wanted if n not in given]
    if missing:
        arrays = "" if given else "give arrays with their labels: fit((data, label), ...); or "
        raise ParameterError(
            f"fit: the network has the label {missing[0]!r}, and train_data provides "
            f"{', '.join(given) or 'no labels'}; {arrays}give train_data labels of that name, "
            "or state their names: Module(..., label_names=[...])"
        )


def check_shapes(symbol: Symbol, params: Sequence[str], bound: Shapes, source: Any) -> None:
    """Refuse validation data of shapes that need other parameters of a network.

    An iterator without ``provide_data`` is not checked.
    """
    given = descriptions(getattr(source, "provide_data", None) or [])
    inputs = {b.name: tuple(g.shape) for b, g in zip(bound.data, given, strict=False)}
    before = {b.name: tuple(b.shape) for b in bound.data[: len(inputs)]}
    if any(n is None for shape in inputs.values() for n in shape) or inputs == before:
        return
    got = f"fit: eval_data: got {Shapes(given, None)}, expected inputs of the network"
    try:
        needed = _sizes(symbol, inputs)
    except ShapeError as error:
        raise ShapeError(f"{got} bound for {bound}: {error}") from error
    present = _sizes(symbol, before)
    for name in params:
        sizes = zip(needed.get(name, ()), present.get(name, ()), strict=False)
        if any(n and own and n != own for n, own in sizes):
            raise ShapeError(
                f"{got} bound for {bound}: {name} has the shape {present[name]}, and these data "
                f"need {needed[name]}"
            )


def warn_of_repeats(source: Any) -> None:
    """Warn of training data with fewer samples than a batch, which repeats them, as in MXNet."""
    padded = isinstance(source, NDArrayIter) and source.last_batch_handle == "pad"
    if padded and 0 < source.num_data < source._stride:
        warn_caller(
            f"fit: train_data has {source.num_data} samples, fewer than a batch of "
            f"{source._stride}, which is filled with the same samples again; give a smaller "
            "batch_size"
        )


def _sizes(symbol: Symbol, inputs: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Shapes of arguments and auxiliary states by name; sizes that are not known are 0."""
    args, _, auxs = symbol.infer_shape_partial(**inputs)
    names = (*symbol.list_arguments(), *symbol.list_auxiliary_states())
    return dict(zip(names, (*(args or ()), *(auxs or ())), strict=False))


def check_labels(names: Sequence[str], source: Any, metric: EvalMetric) -> None:
    """Refuse validation arrays without labels, if a built-in metric compares them with outputs."""
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
        wrong = (rows < 0) | ~(rows < classes) | (rows != np.floor(rows))
        if node.params["use_ignore"]:
            wrong &= rows != node.params["ignore_label"]
        if wrong.any():
            first = rows[wrong][0]
            warn_caller(
                f"fit: label {label!r} of the first batch: got {first:g}, expected a "
                f"class from 0 to {classes - 1}, for SoftmaxOutput {node.name!r}. "
                f"{_effect(first, classes)}"
            )


def _effect(label: Any, classes: int) -> str:
    """The effect on training of a label that is no class, and the remedy."""
    if -1 < label < classes:
        return (
            f"The fraction is cut off: the sample trains class {int(label)}. Round the labels, or "
            "train on numbers with LinearRegressionOutput"
        )
    if label >= classes:
        remedy = "Increase num_hidden of the last layer, or change the labels"
    else:
        remedy = "Number the classes from 0" if label < 0 else "Remove NaN from the labels"
    return f"The sample trains no class: it lowers the scores of all. {remedy}"


def _warn_of_one_hot(label: str, rows: np.ndarray) -> None:
    if rows.ndim == 2 and np.all((rows == 0) | (rows == 1)) and np.all(rows.sum(1) == 1):
        warn_caller(
            f"fit: label {label!r} of the first batch: got one-hot rows of shape {rows.shape}: "
            "SoftmaxOutput trains on them as probabilities, but metrics such as Accuracy compare "
            "them number by number, as in MXNet. Give them classes: y.argmax(axis=1)"
        )


def warn_of_columns(
    metric: EvalMetric, shapes: Mapping[str, tuple[int, ...]], labels: Mapping[str, Any]
) -> None:
    """Warn of MAE, MSE or RMSE of one number a sample and an output of several columns."""
    for each in leaves(metric):
        own = type(each) not in (MAE, MSE, RMSE)  # whose update may be another
        if own or each.label_names or each.output_names:
            continue
        for (label, array), (name, shape) in zip(labels.items(), shapes.items(), strict=False):
            got = array.shape
            if len(shape) == 2 and shape[1] > 1 and got in (shape[:1], (shape[0], 1)):
                warn_caller(
                    f"fit: metric {each.name!r}: got label {label!r} of shape {got} for output "
                    f"{name!r} of shape {shape}: each label is compared with all {shape[1]} "
                    "columns, as in MXNet. For classes use the metric 'acc' or 'ce'; for numbers "
                    "the last layer has num_hidden=1"
                )


def warn_of_no_gradients(group: Any) -> None:
    """Warn of ``update()`` before any ``backward()``, unless gradients were written by hand.

    MXNet updates by zeros, in silence.
    """
    values = (cell.unmoved() for bound in group.bounds for cell in bound.arrays.grads.values())
    if not any(np.any(np.asarray(each)) for each in values):
        warn_caller(
            "update() before any backward(): all gradients are zero, so that nothing is learned; "
            "expected forward(batch, is_train=True), backward(), update()"
        )


def _classes(params: Mapping[str, Any], shape: Sequence[int]) -> int:
    """Number of classes of a SoftmaxOutput."""
    if params["multi_output"]:
        return shape[1]
    return shape[-1] if params["preserve_shape"] else math.prod(shape[1:])
