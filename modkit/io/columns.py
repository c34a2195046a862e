"""Arrays by name: the columns of arrays, dictionaries, data frames and pairs; sample weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from modkit.errors import (
    NameNotFoundError,
    NotSupportedError,
    ParameterError,
    ShapeError,
    expect,
    nearest,
)
from modkit.ndarray import NDArray

Columns = dict[str, Any]
"""Arrays by name."""

WEIGHT = "sample_weight"


def columns(
    data: Any, data_names: Sequence[str], label_names: Sequence[str], where: str
) -> tuple[Columns, Columns] | None:
    """Data and labels by name, of arrays; ``None`` for something else.

    ``data`` is an array or data frame, a list or a dictionary of them, or a pair of data and label.

    Raises:
        NameNotFoundError: a dictionary has a name that the network has not, or lacks an input.
        ParameterError: another number of arrays.
    """
    if isinstance(data, tuple) and len(data) == 2:
        labels = label_names
        if not isinstance(data[1], list | tuple) or len(data[1]) == len(label_names) - 1:
            labels = [n for n in label_names if n != WEIGHT]
        x, y = (_named(v, n, where) for v, n in zip(data, (data_names, labels), strict=True))
        return None if x is None or y is None else (x, y)
    if isinstance(data, Mapping):
        known = [*data_names, *label_names]
        for name in [*data, *data_names]:
            if name not in known or name not in data:
                raise NameNotFoundError(
                    f"{where}: the column {name!r} is only in "
                    f"{'the data' if name in data else 'the network'}.{nearest(name, known)} "
                    f"The network's inputs: {', '.join(data_names)}; its labels: "
                    f"{', '.join(label_names) or 'none'}"
                )
        return {n: data[n] for n in data_names}, {n: data[n] for n in label_names if n in data}
    named = _named(data, data_names, where) if is_array(data) else None
    return None if named is None else (named, {})


def _named(value: Any, names: Sequence[str], where: str) -> Columns | None:
    """Arrays by name; ``None`` if they are no arrays."""
    if isinstance(value, Mapping):
        return dict(value)
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not all(map(is_array, values)):
        return None
    if len(values) != len(names):
        raise ParameterError(
            f"{where}: got {len(values)} arrays, expected {len(names)}: "
            f"{', '.join(names) or 'none'}"
        )
    return dict(zip(names, values, strict=True))


def is_array(value: Any) -> bool:
    """True for objects with a shape: arrays and data frames of any library."""
    return hasattr(value, "shape") and not isinstance(value, type)


def weighted(
    data: tuple[Columns, Columns],
    label_names: Sequence[str],
    sample_weight: Any = None,
    class_weight: Mapping[int, float] | None = None,
) -> tuple[Columns, Columns]:
    """Columns with `WEIGHT` added, if the network has this label: the given weights, or ones.

    Args:
        class_weight: weights by class of the first label; 1 for others.

    Raises:
        NotSupportedError: there are weights, and the network has no input for them.
        ParameterError: class weights without a label.
    """
    x, y = data
    given = sample_weight is not None or class_weight is not None
    if WEIGHT not in label_names:
        if given:
            raise NotSupportedError(
                f"fit: {WEIGHT if sample_weight is not None else 'class_weight'}: the network has "
                f"no input {WEIGHT!r}, by which its loss would be weighted; docs/training.md has "
                f"the lines that add one, and Module(..., label_names=[..., {WEIGHT!r}])"
            )
        return data
    if WEIGHT in y and not given:
        return data
    count = len(next(iter(x.values())))
    given_weight = y.get(WEIGHT) if sample_weight is None else sample_weight
    weight = np.ones(count, np.float32)
    if given_weight is not None:
        weight = np.asarray(host(given_weight), np.float32)
    if weight.ndim != 1:  # another length is an error of the iterator, as for other labels
        raise ShapeError(f"fit: sample_weight: got shape {weight.shape}, expected ({count},)")
    if class_weight is not None:
        by_number = isinstance(class_weight, Mapping) and all(
            isinstance(k, Real) for k in class_weight
        )
        expected = "a dictionary of weights by the number of a class, such as {0: 1.0, 1: 2.5}"
        expect(by_number, "fit: class_weight", class_weight, expected)
        labels = next((host(v) for n, v in y.items() if n != WEIGHT), None)
        if labels is None:
            raise ParameterError("fit: class_weight: train_data has no label")
        labels = np.asarray(labels._cell.unmoved() if isinstance(labels, NDArray) else labels)
        weight = weight * np.vectorize(class_weight.get, [np.float32])(labels, 1.0)
    y = {**y, WEIGHT: weight}
    return x, {n: y[n] for n in label_names if n in y}


def host(value: Any) -> Any:
    """An array of any library as NumPy's, or as an NDArray where it is one."""
    if isinstance(value, NDArray):
        return value
    if hasattr(value, "detach"):  # a tensor of PyTorch's
        value = value.detach().cpu()
    to_numpy = getattr(value, "to_numpy", None) or getattr(value, "numpy", None)
    return np.asarray(value if to_numpy is None else to_numpy())
