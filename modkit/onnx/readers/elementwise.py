"""Elementwise ONNX operators."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from modkit import symbol as sym
from modkit.onnx.correspondence import ARITHMETIC, COMPARED, LOGICAL
from modkit.onnx.element_types import dtype_of
from modkit.onnx.onnx_node import OnnxNode
from modkit.onnx.package import onnx
from modkit.onnx.readers.arrays import with_axes_ahead
from modkit.onnx.readers.table import READERS, Reader, of_inputs, reads
from modkit.ops.dtypes import CODE_OF_DTYPE
from modkit.symbol import Symbol

_PAIRS = {
    op_type: getattr(sym, f"broadcast_{name}")
    for name, op_type in (ARITHMETIC | LOGICAL | COMPARED).items()
}

_OPERATORS: dict[str, Callable[[Any, Any], Symbol]] = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": operator.truediv,
    "Equal": operator.eq, "Greater": operator.gt, "GreaterOrEqual": operator.ge,
    "Less": operator.lt, "LessOrEqual": operator.le,
}  # fmt: skip
"""Operators of which one operand may be a number."""


def _pair(op_type: str) -> Reader:
    def read(node: OnnxNode) -> Symbol:
        for index in (1, 0):
            number = node.constant(index)
            if op_type not in _OPERATORS or number is None or number.ndim or number.dtype == bool:
                continue
            # Numbers are no operands of `Div` in whole types, which cuts off fractions.
            if op_type == "Div" and not node.dtype(index).startswith("float"):
                continue
            other = node.symbol(1 - index)
            pair = (other, number.item()) if index else (number.item(), other)
            return _OPERATORS[op_type](*pair)
        if node.opset < 7 and node.attr("axis") is not None:  # it placed the second operand
            raise node.refuse("broadcasting of opset 6 and before with axis=")
        return _PAIRS[op_type](*node.symbols())

    return read


@reads("Pow")
def _power(node: OnnxNode) -> Symbol:
    base, exponent = node.symbol(), node.constant(1)
    kinds = node.dtype(), node.dtype(1)  # ONNX gives the result the type of the base
    common = kinds[0] if kinds[0].startswith("float") else kinds[1]
    base = base if kinds[0] == common else sym.cast(base, dtype=common)
    if exponent is not None and exponent.ndim == 0:
        return base ** exponent.item()
    return sym.broadcast_power(base, sym.cast(node.symbol(1), dtype=common))


def _folded(function: Callable[[Symbol, Symbol], Symbol]) -> Reader:
    return lambda node: reduce(function, node.symbols())


READERS |= {
    **{op_type: _pair(op_type) for op_type in _PAIRS},
    "Identity": of_inputs(sym.identity),
    "Not": of_inputs(sym.logical_not),
    "Sum": _folded(sym.broadcast_add),
    "Max": _folded(sym.broadcast_maximum),
    "Min": _folded(sym.broadcast_minimum),
}


@reads("Mod")
def _mod(node: OnnxNode) -> Symbol:
    a, b = node.symbols()
    if not node.attr("fmod", 0):
        return sym.broadcast_mod(a, b)  # the sign of the divisor
    return sym.broadcast_mul(sym.sign(a), sym.broadcast_mod(sym.abs(a), sym.abs(b)))


@reads("Round")
def _round(node: OnnxNode) -> Symbol:
    x = node.symbol()
    down = sym.floor(x)
    rest = x - down
    even = down % 2 == 0
    up = sym.broadcast_logical_or(
        rest > 0.5, sym.broadcast_logical_and(rest == 0.5, sym.logical_not(even))
    )
    return down + up


@reads("Cast")
def _cast(node: OnnxNode) -> Symbol:
    x, code = node.symbol(), node.attr("to")
    if code == onnx.TensorProto.BOOL:
        return sym.cast(x != 0, dtype="float32")
    dtype = dtype_of(code)
    if dtype not in CODE_OF_DTYPE:
        raise node.refuse(f"element type {dtype}; symbols have {', '.join(CODE_OF_DTYPE)}")
    return sym.cast(x, dtype=dtype)


@reads("Where")
def _where(node: OnnxNode) -> Symbol:
    shapes = [node.shape(i) for i in range(3)]
    if shapes[0] is not None and shapes[0] == shapes[1] == shapes[2] and None not in shapes[0]:
        return sym.where(*node.symbols())
    # `where` does not broadcast.
    rank = max(node.rank(i) for i in range(3))
    arrays = {
        i: with_axes_ahead(node.symbol(i), rank - node.rank(i))
        for i in range(3)
        if not _is_number(node, i)
    }
    zeros = [sym.cast(sym.zeros_like(a), dtype="float32") for a in arrays.values()]
    whole = reduce(sym.broadcast_add, zeros)
    like = arrays.get(1, arrays.get(2, whole))  # of the type of the result
    parts = [arrays[i] if i in arrays else _filled(node, i, like) for i in range(3)]
    return sym.where(*(sym.broadcast_like(part, whole) for part in parts))


def _filled(node: OnnxNode, index: int, like: Symbol) -> Symbol:
    """An array of one number, which is a constant input, in the shape of another."""
    constant = node.constant(index)
    dtype = "float32" if constant is None or constant.dtype == bool else constant.dtype.name
    return sym.cast(sym.zeros_like(like), dtype=dtype) + node.number(index, "")


def _is_number(node: OnnxNode, index: int) -> bool:
    constant = node.constant(index)
    return constant is not None and constant.ndim == 0


@reads("IsInf")
def _isinf(node: OnnxNode) -> Symbol:
    x, ends = node.symbol(), {"detect_positive": math.inf, "detect_negative": -math.inf}
    wanted = [x == end for name, end in ends.items() if node.attr(name, 1)]
    return reduce(sym.broadcast_add, wanted) if wanted else sym.zeros_like(x)


@reads("Celu")
def _celu(node: OnnxNode) -> Symbol:
    x, alpha = node.symbol(), node.attr("alpha", 1.0)
    return sym.maximum(x, 0) + sym.minimum(alpha * (sym.exp(x / alpha) - 1), 0)


@reads("Selu")
def _selu(node: OnnxNode) -> Symbol:
    x, alpha, gamma = node.symbol(), node.attr("alpha", 1.67326), node.attr("gamma", 1.0507)
    return sym.maximum(x, 0) * gamma + (sym.exp(sym.minimum(x, 0)) - 1) * (alpha * gamma)


@reads("Gelu")
def _gelu(node: OnnxNode) -> Symbol:
    x = node.symbol()
    if node.attr("approximate", "none") == "none":
        return sym.LeakyReLU(x, act_type="gelu")
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + sym.tanh(inner))


_OF_FIRST: dict[str, Callable[[OnnxNode, Symbol], Symbol]] = {
    "Clip": lambda node, x: sym.clip(
        x, a_min=node.number(1, "min", -math.inf), a_max=node.number(2, "max", math.inf)
    ),
    "Dropout": lambda node, x: sym.Dropout(x, p=node.number(1, "ratio", 0.5)),
    "Elu": lambda node, x: sym.LeakyReLU(x, act_type="elu", slope=node.attr("alpha", 1.0)),
    "HardSwish": lambda node, x: x * sym.hard_sigmoid(x, alpha=1 / 6, beta=0.5),
    "IsNaN": lambda node, x: sym.broadcast_not_equal(x, x),
    "LeakyRelu": lambda node, x: sym.LeakyReLU(x, act_type="leaky", slope=node.attr("alpha", 0.01)),
    "Mish": lambda node, x: x * sym.tanh(sym.Activation(x, act_type="softrelu")),
    "PRelu": lambda node, x: (
        sym.maximum(x, 0) + sym.broadcast_mul(sym.minimum(x, 0), node.symbol(1))
    ),
    "Softplus": lambda node, x: sym.Activation(x, act_type="softrelu"),
    "ThresholdedRelu": lambda node, x: x * (x > node.attr("alpha", 1.0)),
}
"""Functions of the node and its first input."""

for _name, _function in _OF_FIRST.items():
    READERS[_name] = lambda node, function=_function: function(node, node.symbol())
READERS["Mean"] = lambda node: reduce(sym.broadcast_add, node.symbols()) / len(node.inputs)
