"""Functions of an array and a number: ``_plus_scalar`` and the like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from modkit.ops.elementwise.arithmetic import convert, is_whole
from modkit.ops.elementwise.pairs import PAIRS, Function, camel
from modkit.ops.entry import Precision
from modkit.ops.parameters import Attrs, Traced
from modkit.ops.registry import op, sentence
from modkit.ops.stype import Storage, first


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
    name: str, fn: Function, doc: str, precision: Precision, flip: bool = False, **fields: Any
) -> None:
    def run(data: Any, *, scalar: Traced = 1.0, is_int: bool = True) -> Any:
        array = convert(data, _working_type(str(data.dtype), is_int))
        number = _number(scalar, array.dtype)
        return fn(number, array) if flip else fn(array, number)

    run.__name__ = name.lstrip("_")
    run.__doc__ = (
        f"{sentence(doc)}\n\n"
        "Whole-number ``data`` takes the number cut off towards zero; with ``is_int=False`` both\n"
        "become float64. Truth values become int64."
    )
    fields = {"same_shape": True, "elementwise": True, "dtypes": _scalar_types, **fields}
    op(name, precision=precision, **fields)(run)


for _pair in PAIRS.values():
    _precision: Precision = "through" if _pair.precision == "alike" else _pair.precision
    _register(
        _pair.with_number, _pair.compute, _pair.of("data", "scalar"), _precision,
        aliases=(camel(_pair.with_number),), storage=_pair.storage_number,
        gradient="zero" if _pair.compares else "derivative",
    )  # fmt: skip
    if _pair.has_reverse:
        _register(
            _pair.after_number, _pair.compute, _pair.of("scalar", "data"),
            _pair.precision_reverse or _precision, flip=True, aliases=(camel(_pair.after_number),),
        )  # fmt: skip
_STORED_ALONE = Storage(first, "values", keeps_zeros=False)
for _name, _fn, _doc in (
    ("_scatter_plus_scalar", jnp.add, "``data + scalar``; the name is from sparse arrays"),
    ("_scatter_minus_scalar", jnp.subtract, "``data - scalar``; the name is from sparse arrays"),
):
    _register(_name, _fn, _doc, "float32", storage=_STORED_ALONE)
