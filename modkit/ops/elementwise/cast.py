"""Conversion of element types: Cast, and the casts of automatic mixed precision."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from modkit.ops.elementwise.arithmetic import convert, is_whole
from modkit.ops.entry import numbered
from modkit.ops.own_gradient import with_gradient
from modkit.ops.parameters import Attrs, DType
from modkit.ops.partial_shapes import Rule, Sizes, merge
from modkit.ops.registry import op


@op("Cast", precision="float32", aliases=("cast",), same_shape=True, elementwise=True)
def cast(data: Any, *, dtype: DType) -> Any:
    """``data`` as another element type; fractions are cut off towards zero.

    The gradient passes through a cast to whole numbers and back, as in MXNet; see
    `cast_through`.

    Differs: in loops, and in segments of a graph that repeat, this is the only operator on whole
    numbers that passes a gradient on. In MXNet others do so too, such as a sum between two casts.
    """
    return convert(data, dtype)


def cast_through(data: Any, *, through: tuple[str, ...], dtype: str) -> Any:
    """``data`` as each of the types ``through``, whole numbers, and then as ``dtype``.

    The gradient is the cotangent, cast to the same types in reverse: the straight-through
    estimator (arXiv:1308.3432), rounded towards zero, as MXNet 1.9.1 computes it.
    """
    types = (*through, dtype)
    if is_whole(data.dtype) or is_whole(jnp.dtype(dtype)):
        return functools.reduce(convert, types, data)

    def gradient(_made: Any, head: Any) -> Any:
        return functools.reduce(convert, (*reversed(through), str(data.dtype)), head)

    return with_gradient(lambda x: functools.reduce(convert, types, x), gradient, data)


_WIDTHS = {"float16": 16, "bfloat16": 16, "float32": 32}
"""Bits of the types that automatic mixed precision casts."""


def _amp_cast_types(ins: Sequence[str | None], attrs: Attrs) -> Any:
    known = ins[0]
    return [known], [attrs["dtype"] if known in _WIDTHS else known]


@op("amp_cast", precision="float32", same_shape=True, elementwise=True, dtypes=_amp_cast_types)
def amp_cast(data: Any, *, dtype: DType) -> Any:
    """Numbers of 16 and 32 bits as another element type; float64 and whole numbers stay.

    Differs: with oneDNN, MXNet rounds float32 to whole numbers, half to even; fractions are cut off
    towards zero, as it does without oneDNN and from float16.
    """
    return convert(data, dtype) if str(data.dtype) in _WIDTHS else data


def _multicast_type(types: Sequence[str], narrow: bool) -> str | None:
    floats = [t for t in types if t in _WIDTHS]
    if not narrow and "float32" not in floats and types[0] != "bool":
        return types[0]
    choose = min if narrow else max
    return choose(floats, key=_WIDTHS.__getitem__) if floats else None


def _multicast_types(ins: Sequence[str | None], attrs: Attrs) -> Any:
    if None in ins:
        return list(ins), [None] * len(ins)
    common = _multicast_type([t for t in ins if t], attrs["cast_narrow"])
    return list(ins), [common if t in _WIDTHS else t for t in ins]


def _multicast_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], _attrs: Attrs) -> Rule:
    each = [merge("amp_multicast", *pair) for pair in zip(ins, outs, strict=True)]
    return each, each


@op(
    "amp_multicast",
    precision="float32",
    variadic="num_outputs",
    outputs=lambda attrs: numbered(attrs["num_outputs"]),
    partial=_multicast_partial,
    dtypes=_multicast_types,
)
def amp_multicast(*data: Any, cast_narrow: bool = False) -> Any:
    """Inputs of 16 and 32 bits as one type, the widest or the narrowest; others as they are.

    As in MXNet float16 becomes the type of the first input where no input is float32 and
    ``cast_narrow`` is false: float64, or an integer, which cuts off fractions.

    Differs: boolean inputs, which MXNet refuses, stay as they are.
    """
    common = _multicast_type([str(x.dtype) for x in data], cast_narrow)
    return tuple(convert(x, common) if str(x.dtype) in _WIDTHS else x for x in data)
