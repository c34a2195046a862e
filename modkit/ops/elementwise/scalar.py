"""Functions of an array and a number: ``_plus_scalar`` and the like."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from modkit.ops.elementwise.arithmetic import (
    COMPARISONS,
    convert,
    divide,
    hypotenuse,
    is_whole,
    maximum,
    minimum,
    modulo,
    power,
)
from modkit.ops.entry import Gradient, Precision
from modkit.ops.parameters import Attrs, Traced
from modkit.ops.registry import op
from modkit.ops.stype import DENSE, KEPT, KEPT_BACK, PLAIN, Storage


def _working_type(dtype: str, is_int: bool) -> str:
    """The type that the number is brought to, which is that of the result."""
    if is_int:
        return "int64" if dtype == "bool" else dtype
    return "float64" if is_whole(jnp.dtype(dtype)) else dtype


def _scalar_types(ins: Sequence[str | None], attrs: Attrs) -> Any:
    known = ins[0]
    return [known], [known and _working_type(known, attrs["is_int"])]


def _number(scalar: Any, dtype: Any) -> Any:
    """The number in an array's type: cut off for whole ones, and around where they are narrow."""
    if isinstance(scalar, float) and math.isfinite(scalar) and is_whole(dtype):
        scalar = np.asarray(int(scalar)).astype(dtype)  # exact, as float32 would not be
    return convert(jnp.asarray(scalar), dtype)


def _register(
    name: str,
    fn: Callable[[Any, Any], Any],
    doc: str,
    aliases: Sequence[str],
    flip: bool,
    precision: Precision,
    gradient: Gradient = "derivative",
    storage: Storage = PLAIN,
) -> None:
    def run(data: Any, *, scalar: Traced = 1.0, is_int: bool = True) -> Any:
        array = convert(data, _working_type(str(data.dtype), is_int))
        number = _number(scalar, array.dtype)
        return fn(number, array) if flip else fn(array, number)

    run.__name__ = name.lstrip("_")
    run.__doc__ = (
        f"{doc[0].upper()}{doc[1:]}.\n\n"
        "Whole-number ``data`` takes the number cut off towards zero; with ``is_int=False`` both\n"
        "become float64. Truth values become int64."
    )
    op(
        name,
        precision=precision,
        aliases=aliases,
        same_shape=True,
        elementwise=True,
        dtypes=_scalar_types,
        gradient=gradient,
        storage=storage,
    )(run)


_Row = tuple[str, str, Callable[[Any, Any], Any], str, bool, Precision, Storage]


def _kept_if(test: Callable[[float, float], bool]) -> Storage:
    """Of an array and a number: the array's storage type where ``0 ∘ number`` is 0."""

    def result(stypes: Sequence[str], attrs: Attrs) -> str:
        return DENSE if test(0.0, float(attrs["scalar"])) else stypes[0]

    return Storage(result, "values")


_ROWS: list[_Row] = [
    # name, alias, function of (array, number), meaning, whether the number comes first, precision,
    # storage types
    (
        "_plus_scalar",
        "_PlusScalar",
        jnp.add,
        "``data + scalar``",
        False,
        "through",
        _kept_if(operator.ne),
    ),
    (
        "_minus_scalar",
        "_MinusScalar",
        jnp.subtract,
        "``data - scalar``",
        False,
        "through",
        _kept_if(operator.ne),
    ),
    (
        "_rminus_scalar",
        "_RMinusScalar",
        jnp.subtract,
        "``scalar - data``",
        True,
        "through",
        PLAIN,
    ),
    ("_mul_scalar", "_MulScalar", jnp.multiply, "``data * scalar``", False, "through", KEPT_BACK),
    ("_div_scalar", "_DivScalar", divide, "``data / scalar``", False, "through", KEPT_BACK),
    ("_rdiv_scalar", "_RDivScalar", divide, "``scalar / data``", True, "float32", PLAIN),
    (
        "_mod_scalar",
        "_ModScalar",
        modulo,
        "the remainder of ``data / scalar``",
        False,
        "float32",
        PLAIN,
    ),
    (
        "_rmod_scalar",
        "_RModScalar",
        modulo,
        "the remainder of ``scalar / data``",
        True,
        "float32",
        PLAIN,
    ),
    (
        "_power_scalar",
        "_PowerScalar",
        power,
        "``data`` to the power ``scalar``",
        False,
        "float32",
        PLAIN,
    ),
    (
        "_rpower_scalar",
        "_RPowerScalar",
        power,
        "``scalar`` to the power ``data``",
        True,
        "float32",
        PLAIN,
    ),
    (
        "_maximum_scalar",
        "_MaximumScalar",
        maximum,
        "the larger of both",
        False,
        "through",
        PLAIN,
    ),
    (
        "_minimum_scalar",
        "_MinimumScalar",
        minimum,
        "the smaller of both",
        False,
        "through",
        PLAIN,
    ),
    (
        "_hypot_scalar",
        "_HypotScalar",
        hypotenuse,
        "``sqrt(data² + scalar²)``",
        False,
        "float32",
        PLAIN,
    ),
]

_TESTS = {
    "equal": operator.eq, "not_equal": operator.ne, "greater": operator.gt,
    "greater_equal": operator.ge, "lesser": operator.lt, "lesser_equal": operator.le,
}  # fmt: skip

for _name, _alias, _fn, _doc, _flip, _precision, _storage in _ROWS:
    _register(_name, _fn, _doc, (_alias,), _flip, _precision, storage=_storage)
for _name, (_fn, _doc) in COMPARISONS.items():
    _camel = "".join(word.title() for word in _name.split("_"))
    _stored = _kept_if(_TESTS[_name]) if _name in _TESTS else PLAIN
    _text = _doc.replace("lhs", "data").replace("rhs", "scalar")
    _register(
        f"_{_name}_scalar", _fn, _text, (f"_{_camel}Scalar",), False, "float32", "zero", _stored
    )
for _name, _fn, _doc in (
    ("_scatter_plus_scalar", jnp.add, "``data + scalar``; the name is from sparse arrays"),
    ("_scatter_minus_scalar", jnp.subtract, "``data - scalar``; the name is from sparse arrays"),
):
    _register(_name, _fn, _doc, (), False, "float32", storage=KEPT)
