"""Functions of arrays of one shape, element by element."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from modkit.ops.elementwise.arithmetic import (
    COMPARISONS,
    check_shapes,
    check_types,
    divide,
    hypotenuse,
    maximum,
    minimum,
    modulo,
    power,
)
from modkit.ops.registry import Precision, binary, op


def _checked(name: str, fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def run(lhs: Any, rhs: Any) -> Any:
        check_types(name, lhs, rhs)
        check_shapes(name, lhs, rhs)
        return fn(lhs, rhs)

    return run


_ROWS: list[tuple[str, Sequence[str], Callable[[Any, Any], Any], str, Precision]] = [
    # name, aliases, function, what it computes, precision
    (
        "elemwise_add",
        ("_add", "_plus", "_Plus", "_sparse_elemwise_add"),
        jnp.add,
        "``lhs + rhs``",
        "alike",
    ),
    (
        "elemwise_sub",
        ("_sub", "_minus", "_Minus", "_sparse_elemwise_sub"),
        jnp.subtract,
        "``lhs - rhs``",
        "alike",
    ),
    (
        "elemwise_mul",
        ("_mul", "_Mul", "_sparse_elemwise_mul"),
        jnp.multiply,
        "``lhs * rhs``",
        "alike",
    ),
    ("elemwise_div", ("_div", "_Div", "_sparse_elemwise_div"), divide, "``lhs / rhs``", "alike"),
    ("_grad_add", (), jnp.add, "``lhs + rhs``, of two gradients", "float32"),
    (
        "_mod",
        ("_Mod",),
        modulo,
        "the remainder of ``lhs / rhs``, with the sign of ``rhs``",
        "float32",
    ),
    ("_power", ("_Power",), power, "``lhs`` to the power ``rhs``", "float32"),
    ("_maximum", ("_Maximum",), maximum, "the larger of both", "alike"),
    ("_minimum", ("_Minimum",), minimum, "the smaller of both", "alike"),
    ("_hypot", ("_Hypot",), hypotenuse, "``sqrt(lhs² + rhs²)``", "float32"),
    (
        "_scatter_elemwise_div",
        (),
        divide,
        "``lhs / rhs``; the name is from sparse arrays",
        "float32",
    ),
]

for _name, _aliases, _fn, _doc, _precision in _ROWS:
    binary(_name, _checked(_name, _fn), _doc, aliases=_aliases, precision=_precision)
for _name, (_fn, _doc) in COMPARISONS.items():
    _title = "_" + "_".join(word.title() for word in _name.split("_"))
    binary(
        f"_{_name}",
        _checked(f"_{_name}", _fn),
        _doc,
        aliases=(_title,),
        precision="float32",
        loss=True,  # its derivative is 0
    )


@op(
    "add_n",
    precision="alike",
    aliases=("ElementWiseSum", "_sparse_ElementWiseSum", "_sparse_add_n"),
    variadic="num_args",
    same_shape=True,
    elementwise=True,
)
def add_n(*args: Any) -> Any:
    """The sum of all inputs, which are of one shape and type."""
    check_types("add_n", *args)
    check_shapes("add_n", *args)
    return functools.reduce(operator.add, args)


@op("_identity_with_attr_like_rhs", precision="float32", same_shape=True)
def _identity_with_attr_like_rhs(lhs: Any, rhs: Any) -> Any:
    """``lhs`` unchanged; shape and type inference use ``rhs``."""
    check_shapes("_identity_with_attr_like_rhs", lhs, rhs)
    return lhs
