"""Facts that reading and writing share: operators that MXNet and ONNX have, and orders of gates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SAME = {
    "abs": "Abs", "arccos": "Acos", "arccosh": "Acosh", "arcsin": "Asin", "arcsinh": "Asinh",
    "arctan": "Atan", "arctanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh",
    "erf": "Erf", "exp": "Exp", "floor": "Floor", "log": "Log", "negative": "Neg",
    "reciprocal": "Reciprocal", "relu": "Relu", "sigmoid": "Sigmoid", "sign": "Sign",
    "sin": "Sin", "sinh": "Sinh", "softsign": "Softsign", "sqrt": "Sqrt", "tan": "Tan",
    "tanh": "Tanh",
}  # fmt: skip
"""Functions of one array."""

ARITHMETIC = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div"}
"""Functions of two arrays; MXNet's names have ``broadcast_`` ahead, as those of `LOGICAL`."""

LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}

REDUCED = {"mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd"}
"""Reductions whose axes are an attribute in opset 13."""

GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}
"""Positions in MXNet of the gates of ONNX's recurrent operators."""


def reordered(rows: np.ndarray, order: Sequence[int]) -> np.ndarray:
    """Rows of the gates, as many for each, in another order of gates."""
    apart = rows.reshape(len(order), -1, *rows.shape[1:])
    return apart[list(order)].reshape(rows.shape)
