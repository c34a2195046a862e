"""Functions of arrays of one shape, element by element."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from modkit.ops.arithmetic import (
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
from modkit.ops.registry import binary, op


def _checked(name: str, fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def run(lhs: Any, rhs: Any) -> Any:
        check_types(name, lhs, rhs)
        check_shapes(name, lhs, rhs)
        return fn(lhs, rhs)

    return run


_ROWS: list[tuple[str, Sequence[str], Callable[[Any, Any], Any], str]] = [
    # name, aliases, function, what it computes
    (
        "elemwise_add",
        ("_add", "_plus", "_Plus", "_sparse_elemwise_add"),
        jnp.add,
        "``lhs + rhs``",
    ),
    (
        "elemwise_sub",
        ("_sub", "_minus", "_Minus", "_sparse_elemwise_sub"),
        jnp.subtract,
        "``lhs - rhs``",
    ),
    ("elemwise_mul", ("_mul", "_Mul", "_sparse_elemwise_mul"), jnp.multiply, "``lhs * rhs``"),
    ("elemwise_div", ("_div", "_Div", "_sparse_elemwise_div"), divide, "``lhs / rhs``"),
    ("_grad_add", (), jnp.add, "``lhs + rhs``, of two gradients"),
    ("_mod", ("_Mod",), modulo, "the remainder of ``lhs / rhs``, with the sign of ``rhs``"),
    ("_power", ("_Power",), power, "``lhs`` to the power ``rhs``"),
    ("_maximum", ("_Maximum",), maximum, "the larger of both"),
    ("_minimum", ("_Minimum",), minimum, "the smaller of both"),
    ("_hypot", ("_Hypot",), hypotenuse, "``sqrt(lhs² + rhs²)``"),
    ("_scatter_elemwise_div", (), divide, "``lhs / rhs``; the name is from sparse arrays"),
]

for _name, _aliases, _fn, _doc in _ROWS:
    binary(_name, _checked(_name, _fn), _doc, aliases=_aliases)
for _name, (_fn, _doc) in COMPARISONS.items():
    _title = "_" + "_".join(word.title() for word in _name.split("_"))
    binary(f"_{_name}", _checked(f"_{_name}", _fn), _doc, aliases=(_title,))


@op(
    "add_n",
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


@op("_identity_with_attr_like_rhs", same_shape=True)
def _identity_with_attr_like_rhs(lhs: Any, rhs: Any) -> Any:
    """``lhs`` unchanged; shape and type inference learn from ``rhs``."""
    check_shapes("_identity_with_attr_like_rhs", lhs, rhs)
    return lhs
