"""Functions of two arrays, element by element: of one shape, or with broadcasting."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError
from modkit.ops.elementwise.arithmetic import check_shapes, check_types, divide
from modkit.ops.elementwise.pairs import PAIRS
from modkit.ops.entry import Gradient
from modkit.ops.parameters import Attrs
from modkit.ops.partial_shapes import Rule, Sizes, merge
from modkit.ops.registry import binary, op
from modkit.ops.stype import ALIKE, DENSE, ROWS, Storage


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


for _pair in PAIRS.values():
    _stems = list(dict.fromkeys((_pair.stem, _pair.number or _pair.stem)))
    _names = dict.fromkeys([_pair.alike, *(f"_{n}" for n in _stems), f"_{_stems[-1].title()}"])
    _wide = [f"broadcast_{n}" for n in _stems]
    if _pair.is_sparse:
        _names[f"_sparse_{_pair.alike}"] = None
        _wide += [f"_sparse_{n}" for n in _wide]
    _gradient: Gradient = "zero" if _pair.compares else "derivative"
    binary(
        _pair.alike, _checked(_pair.alike, _pair.compute, check_shapes), _pair.doc,
        precision=_pair.precision, aliases=list(_names)[1:], gradient=_gradient,
        storage=_pair.storage,
    )  # fmt: skip
    binary(
        _pair.wide, _checked(_pair.wide, _pair.compute, _check_broadcast),
        f"{_pair.doc}, with dimensions of size 1 stretched", precision=_pair.precision,
        aliases=_wide[1:], same_shape=False, gradient=_gradient, storage=_pair.storage_wide,
        partial=functools.partial(_broadcast_partial, _pair.wide),
    )  # fmt: skip

binary(
    "_grad_add", _checked("_grad_add", jnp.add, check_shapes), "``lhs + rhs``, of two gradients",
    precision="float32", gradient="refused", storage=ALIKE,
)  # fmt: skip
binary(
    "_scatter_elemwise_div", _checked("_scatter_elemwise_div", divide, check_shapes),
    "``lhs / rhs``; the name is from sparse arrays", precision="float32",
    storage=Storage(lambda kinds, _: ROWS if kinds[0] == ROWS else DENSE, "pairs"),
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
