"""Functions of two arrays with broadcasting: ``broadcast_add`` and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.elementwise.arithmetic import (
    COMPARISONS,
    check_types,
    divide,
    hypotenuse,
    maximum,
    minimum,
    modulo,
    power,
)
from modkit.ops.registry import Precision, binary


def _checked(name: str, fn: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def run(lhs: Any, rhs: Any) -> Any:
        check_types(name, lhs, rhs)
        try:
            jnp.broadcast_shapes(lhs.shape, rhs.shape)
        except ValueError as error:
            raise ShapeError(
                f"{name}: got shapes {lhs.shape} and {rhs.shape}, expected sizes that agree, "
                "counted from the last, or are 1"
            ) from error
        return fn(lhs, rhs)

    return run


_ROWS: list[tuple[str, Sequence[str], Callable[[Any, Any], Any], str, Precision]] = [
    # name, aliases, function, what it computes, precision
    ("add", ("plus",), jnp.add, "``lhs + rhs``", "alike"),
    ("sub", ("minus",), jnp.subtract, "``lhs - rhs``", "alike"),
    ("mul", (), jnp.multiply, "``lhs * rhs``", "alike"),
    ("div", (), divide, "``lhs / rhs``", "alike"),
    ("mod", (), modulo, "the remainder of ``lhs / rhs``, with the sign of ``rhs``", "float32"),
    ("power", (), power, "``lhs`` to the power ``rhs``", "float32"),
    ("maximum", (), maximum, "the larger of both", "alike"),
    ("minimum", (), minimum, "the smaller of both", "alike"),
    ("hypot", (), hypotenuse, "``sqrt(lhs² + rhs²)``", "float32"),
    *((name, (), fn, doc, "float32") for name, (fn, doc) in COMPARISONS.items()),
]

for _short, _others, _fn, _doc, _precision in _ROWS:
    _names = [f"broadcast_{n}" for n in (_short, *_others)]
    if _short in ("add", "sub", "mul", "div"):
        _names += [f"_sparse_{n}" for n in _names]
    binary(
        _names[0],
        _checked(_names[0], _fn),
        f"{_doc}, with dimensions of size 1 stretched",
        aliases=_names[1:],
        same_shape=False,
        precision=_precision,
        loss=_short in COMPARISONS,
    )
