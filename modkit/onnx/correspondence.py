"""Facts that reading and writing share: operators that MXNet and ONNX have, and orders of gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

Attributes = Mapping[str, tuple[str, Any]]
"""ONNX's attributes: MXNet's parameter and ONNX's default of each."""

_SAME = {
    "abs": "Abs", "arccos": "Acos", "arccosh": "Acosh", "arcsin": "Asin", "arcsinh": "Asinh",
    "arctan": "Atan", "arctanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh",
    "erf": "Erf", "exp": "Exp", "floor": "Floor", "log": "Log", "negative": "Neg",
    "reciprocal": "Reciprocal", "relu": "Relu", "sigmoid": "Sigmoid", "sign": "Sign",
    "sin": "Sin", "sinh": "Sinh", "softsign": "Softsign", "sqrt": "Sqrt", "tan": "Tan",
    "tanh": "Tanh",
}  # fmt: skip
"""Functions of one array."""

ALIKE: dict[str, tuple[str, Attributes]] = {
    **{name: (op_type, {}) for name, op_type in _SAME.items()},
    "Concat": ("Concat", {"axis": ("dim", 1)}),
    "InstanceNorm": ("InstanceNormalization", {"epsilon": ("eps", 1e-5)}),
    "LRN": ("LRN", {
        "alpha": ("alpha", 1e-4), "beta": ("beta", 0.75), "bias": ("knorm", 1.0),
        "size": ("nsize", None),
    }),
    "ROIPooling": ("MaxRoiPool", {
        "pooled_shape": ("pooled_size", None), "spatial_scale": ("spatial_scale", 1.0),
    }),
    "hard_sigmoid": ("HardSigmoid", {"alpha": ("alpha", 0.2), "beta": ("beta", 0.5)}),
    "shape_array": ("Shape", {}),
    "space_to_depth": ("SpaceToDepth", {"blocksize": ("block_size", None)}),
}  # fmt: skip
"""Operators with the same inputs in both."""

ARITHMETIC = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div"}
"""Functions of two arrays; MXNet's names have ``broadcast_`` ahead, as those of the next two."""

LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
COMPARED = {
    "equal": "Equal", "greater": "Greater", "greater_equal": "GreaterOrEqual", "lesser": "Less",
    "lesser_equal": "LessOrEqual",
}  # fmt: skip

REDUCED = {"mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd"}
"""Reductions whose axes are an attribute in opset 13."""

GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}
"""Positions in MXNet of the gates of ONNX's recurrent operators."""


def registering(table: dict[str, Any]) -> Callable[..., Callable[[T], T]]:
    """A decorator that registers a function in a table, under one name or several."""

    def registers(*names: str) -> Callable[[T], T]:
        def register(function: T) -> T:
            table.update(dict.fromkeys(names, function))
            return function

        return register

    return registers


def reordered(rows: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """Rows of the gates, as many for each, in another order of gates."""
    apart = rows.reshape(len(order), -1, *rows.shape[1:])
    return apart[list(order)].reshape(rows.shape)
