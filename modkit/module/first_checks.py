"""Warnings of mistakes by which nothing is learned: labels that are not classes, zero gradients."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modkit.errors import caller_level
from modkit.ndarray import NDArray
from modkit.symbol import Symbol


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
