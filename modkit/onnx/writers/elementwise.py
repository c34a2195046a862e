"""Elementwise operators: functions of one array, of an array and a number, of two arrays."""

from __future__ import annotations

import math

import numpy as np

from modkit.onnx.correspondence import ARITHMETIC, COMPARED, LOGICAL
from modkit.onnx.graph_builder import Call, Operand
from modkit.onnx.writers.table import WRITERS, Writer, of_inputs, writes

_PASSED = (
    "_copy", "BlockGrad", "make_loss", "MakeLoss", "IdentityAttachKLSparseReg",
    "LinearRegressionOutput", "MAERegressionOutput", "SVMOutput", "_identity_with_attr_like_rhs",
)  # fmt: skip
"""Operators whose output is their first input: losses predict what they read."""

_PAIRS = {"power": "Pow", "maximum": "Max", "minimum": "Min"}
_NUMBERS = {"plus": "Add", "minus": "Sub", "mul": "Mul", "div": "Div", **_PAIRS}
"""Functions of two arrays; functions of an array and a number."""


def _scaled(op_type: str, factor: float) -> Writer:
    return lambda call: call.emit("Mul", call.emit(op_type, call.x), call.number(factor))


def _with_number(op_type: str, reverse: bool = False) -> Writer:
    def write(call: Call) -> str:
        x, number = call.as_type(call.inputs[0], call.dtype), call.number(call.scalar, call.dtype)
        return call.emit(op_type, number, x) if reverse else call.emit(op_type, x, number)

    return write


def _second(call: Call) -> Operand:
    """The other operand: the second input, or the parameter ``scalar``."""
    return call.inputs[1].name if len(call.inputs) > 1 else call.number(call.scalar)


def _comparison(op_type: str, negated: bool = False) -> Writer:
    def write(call: Call) -> str:
        found = call.emit(op_type, call.x, _second(call))
        return call.cast(call.emit("Not", found) if negated else found, call.dtype)

    return write


def _logical(op_type: str) -> Writer:
    def write(call: Call) -> str:
        operands: list[Operand] = [call.as_type(v, "bool") for v in call.inputs]
        if len(operands) == 1:
            operands.append(np.asarray(bool(call.scalar)))
        return call.cast(call.emit(op_type, *operands), call.dtype)

    return write


@writes("broadcast_mod", "_mod", "_mod_scalar")
def _mod(call: Call) -> str:
    a, b = call.x, _second(call)
    # ONNX's Mod of floats has the sign of the dividend.
    whole = call.emit("Floor", call.emit("Div", a, b))
    return call.emit("Sub", a, call.emit("Mul", b, whole))


@writes("broadcast_hypot", "_hypot")
def _hypot(call: Call) -> str:
    squares = [call.emit("Mul", v.name, v.name) for v in call.inputs]
    return call.emit("Sqrt", call.emit("Add", *squares))


@writes("where")
def _where(call: Call) -> str:
    condition, x, y = call.inputs
    chosen = call.as_type(condition, "bool")
    if len(condition.shape) == 1 < len(x.shape):
        chosen = call.reshape(chosen, (condition.shape[0], *[1] * (len(x.shape) - 1)))
    return call.emit("Where", chosen, x.name, y.name)


@writes("smooth_l1")
def _smooth_l1(call: Call) -> str:
    sigma2 = float(call.scalar) ** 2
    size = call.emit("Abs", call.x)
    near = call.emit("Mul", call.emit("Mul", call.x, call.x), call.number(sigma2 / 2))
    far = call.emit("Sub", size, call.number(0.5 / sigma2))
    return call.emit("Where", call.emit("Less", size, call.number(1 / sigma2)), near, far)


@writes("_contrib_div_sqrt_dim")
def _div_sqrt_dim(call: Call) -> str:
    (size,) = call.static(call.inputs[0], -1)
    return call.emit("Div", call.x, call.number(math.sqrt(size)))


@writes("trunc", "fix")
def _trunc(call: Call) -> str:
    return call.emit("Mul", call.emit("Sign", call.x), call.emit("Floor", call.emit("Abs", call.x)))


@writes("Cast", "amp_cast")
def _cast(call: Call) -> str:
    return call.as_type(call.inputs[0], call.dtype)


_TRUTHS = {
    **{name: _comparison(op_type) for name, op_type in COMPARED.items()},
    **{name: _logical(op_type) for name, op_type in LOGICAL.items()},
    "not_equal": _comparison("Equal", negated=True),
}

WRITERS |= {
    **dict.fromkeys(_PASSED, lambda call: call.x),
    **{f"broadcast_{name}": of_inputs(op_type) for name, op_type in (ARITHMETIC | _PAIRS).items()},
    **{f"elemwise_{name}": of_inputs(op_type) for name, op_type in ARITHMETIC.items()},
    **{f"_{name}": of_inputs(op_type) for name, op_type in _PAIRS.items()},
    **{f"_{name}_scalar": _with_number(op_type) for name, op_type in _NUMBERS.items()},
    **{f"_r{n}_scalar": _with_number(_NUMBERS[n], reverse=True) for n in ("minus", "div", "power")},
    **{f"broadcast_{name}": writer for name, writer in _TRUTHS.items()},
    **{f"_{name}{end}": writer for name, writer in _TRUTHS.items() for end in ("", "_scalar")},
    "log2": _scaled("Log", 1 / math.log(2)),
    "log10": _scaled("Log", 1 / math.log(10)),
    "logical_not": lambda call: call.cast(
        call.emit("Not", call.as_type(call.inputs[0], "bool")), call.dtype
    ),
    "clip": lambda call: call.emit(
        "Clip", call.x, call.number(call.a_min), call.number(call.a_max)
    ),
    "square": lambda call: call.emit("Mul", call.x, call.x),
    "rsqrt": lambda call: call.emit("Reciprocal", call.emit("Sqrt", call.x)),
    "log1p": lambda call: call.emit("Log", call.emit("Add", call.x, call.number(1))),
    "expm1": lambda call: call.emit("Sub", call.emit("Exp", call.x), call.number(1)),
    "degrees": lambda call: call.emit("Mul", call.x, call.number(180 / math.pi)),
    "radians": lambda call: call.emit("Mul", call.x, call.number(math.pi / 180)),
    "add_n": of_inputs("Sum"),
}
