"""Functions of two arrays, element by element: of one shape, or with broadcasting."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError
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
from modkit.ops.entry import Gradient, Precision
from modkit.ops.parameters import Attrs
from modkit.ops.partial_shapes import Rule, Sizes, merge
from modkit.ops.registry import binary, op
from modkit.ops.stype import ALIKE, ALIKE_BACK, CSR, DENSE, PLAIN, ROWS, Storage


def _checked(name: str, fn: Callable[[Any, Any], Any], check: Any) -> Callable[[Any, Any], Any]:
    def run(lhs: Any, rhs: Any) -> Any:
        check_types(name, lhs, rhs)
        check(name, lhs, rhs)
        return fn(lhs, rhs)

    return run


def _check_broadcast(name: str, lhs: Any, rhs: Any) -> None:
    try:
        jnp.broadcast_shapes(lhs.shape, rhs.shape)
    except ValueError as error:
        raise _apart(name, lhs.shape, rhs.shape) from error


def _apart(name: str, lhs: Sizes, rhs: Sizes) -> ShapeError:
    """The error of shapes that do not broadcast."""
    return ShapeError(
        f"{name}: got shapes {lhs} and {rhs}, expected sizes that agree, counted from the last, "
        "or are 1"
    )


def _broadcast_partial(
    name: str, ins: Sequence[Sizes], outs: Sequence[Sizes], _attrs: Attrs
) -> Rule:
    """A size of the output is unknown, as in MXNet 1.9.1, where one of the inputs' is."""
    lhs, rhs = ins
    if lhs is None or rhs is None:
        return [lhs, rhs], list(outs)
    ones = (1,) * abs(len(lhs) - len(rhs))
    longer, shorter = sorted((lhs, rhs), key=len, reverse=True)
    pairs = list(zip(longer, ones + shorter, strict=True))
    if any(a and b and a != b and 1 not in (a, b) for a, b in pairs):
        raise _apart(name, lhs, rhs)
    made = tuple(a and b and (a if b == 1 else b) for a, b in pairs)
    return [lhs, rhs], [merge(name, made, outs[0])]


def _of_product(stypes: Sequence[str], _attrs: Attrs) -> str:
    """Of arrays that are alike, or of a sparse and a dense one."""
    kinds = set(stypes) - {DENSE}
    return kinds.pop() if len(kinds) == 1 else DENSE


def _times_row(stypes: Sequence[str], _attrs: Attrs) -> str:
    return CSR if list(stypes) == [CSR, DENSE] else DENSE


def _if_rows(stypes: Sequence[str], _attrs: Attrs) -> str:
    return ROWS if stypes[0] == ROWS else DENSE


_BY_ROW = Storage(_times_row)

_ROWS: list[tuple[str, Sequence[str], Callable[[Any, Any], Any], str, Precision]] = [
    # stem of broadcast_..., names for equal shapes, function, what it computes, precision
    ("add", ("elemwise_add", "_add", "_plus", "_Plus"), jnp.add, "``lhs + rhs``", "alike"),
    ("sub", ("elemwise_sub", "_sub", "_minus", "_Minus"), jnp.subtract, "``lhs - rhs``", "alike"),
    ("mul", ("elemwise_mul", "_mul", "_Mul"), jnp.multiply, "``lhs * rhs``", "alike"),
    ("div", ("elemwise_div", "_div", "_Div"), divide, "``lhs / rhs``", "alike"),
    (
        "mod", ("_mod", "_Mod"), modulo, "the remainder of ``lhs / rhs``, with the sign of ``rhs``",
        "float32",
    ),
    ("power", ("_power", "_Power"), power, "``lhs`` to the power ``rhs``", "float32"),
    ("maximum", ("_maximum", "_Maximum"), maximum, "the larger of both", "alike"),
    ("minimum", ("_minimum", "_Minimum"), minimum, "the smaller of both", "alike"),
    ("hypot", ("_hypot", "_Hypot"), hypotenuse, "``sqrt(lhs² + rhs²)``", "float32"),
    *(
        (name, (f"_{name}", f"_{name.title()}"), fn, doc, "float32")
        for name, (fn, doc) in COMPARISONS.items()
    ),
]  # fmt: skip
_SPARSE = ("add", "sub", "mul", "div")
"""Rows that sparse arrays have names for."""
_STORAGE = {
    "elemwise_add": ALIKE_BACK, "elemwise_sub": ALIKE_BACK, "_maximum": ALIKE, "_minimum": ALIKE,
    "_hypot": ALIKE, "elemwise_mul": Storage(_of_product, "pairs"),
    "broadcast_mul": _BY_ROW, "broadcast_div": _BY_ROW,
}  # fmt: skip
_OTHERWISE = {"add": ("plus",), "sub": ("minus",)}

for _stem, _names, _fn, _doc, _precision in _ROWS:
    _wide = [f"broadcast_{n}" for n in (_stem, *_OTHERWISE.get(_stem, ()))]
    if _stem in _SPARSE:
        _names = (*_names, f"_sparse_{_names[0]}")
        _wide += [f"_sparse_{n}" for n in _wide]
    _gradient: Gradient = "zero" if _stem in COMPARISONS else "derivative"
    binary(
        _names[0], _checked(_names[0], _fn, check_shapes), _doc, precision=_precision,
        aliases=_names[1:], gradient=_gradient, storage=_STORAGE.get(_names[0], PLAIN),
    )  # fmt: skip
    binary(
        _wide[0], _checked(_wide[0], _fn, _check_broadcast),
        f"{_doc}, with dimensions of size 1 stretched", precision=_precision, aliases=_wide[1:],
        same_shape=False, gradient=_gradient, storage=_STORAGE.get(_wide[0], PLAIN),
        partial=functools.partial(_broadcast_partial, _wide[0]),
    )  # fmt: skip

binary(
    "_grad_add", _checked("_grad_add", jnp.add, check_shapes), "``lhs + rhs``, of two gradients",
    precision="float32", gradient="refused", storage=ALIKE,
)  # fmt: skip
binary(
    "_scatter_elemwise_div", _checked("_scatter_elemwise_div", divide, check_shapes),
    "``lhs / rhs``; the name is from sparse arrays", precision="float32",
    storage=Storage(_if_rows, "pairs"),
)  # fmt: skip


@op(
    "add_n",
    precision="alike",
    aliases=("ElementWiseSum", "_sparse_ElementWiseSum", "_sparse_add_n"),
    variadic="num_args",
    same_shape=True,
    elementwise=True,
    storage=Storage(lambda stypes, _: ROWS if set(stypes) == {ROWS} else DENSE, gradient="result"),
)
def add_n(*args: Any) -> Any:
    """The sum of all inputs, which are of one shape and type."""
    if not args:
        raise ParameterError("add_n: got no arrays, expected one or more")
    check_types("add_n", *args)
    check_shapes("add_n", *args)
    return functools.reduce(operator.add, args)


@op(
    "_identity_with_attr_like_rhs",
    precision="float32",
    same_shape=True,
    storage=Storage(lambda stypes, _: stypes[1]),
)
def _identity_with_attr_like_rhs(lhs: Any, rhs: Any) -> Any:
    """``lhs`` unchanged; shape and type inference use ``rhs``."""
    check_shapes("_identity_with_attr_like_rhs", lhs, rhs)
    return lhs
