"""Functions of ``mx.nd`` that choose an operator by their arguments: arrays or numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from modkit.errors import ParameterError
from modkit.ndarray.ndarray import NDArray, array, invoke, require_array
from modkit.ops.array.split import split_v2_attrs
from modkit.ops.elementwise.pairs import PAIRS
from modkit.ops.registry import get_op, sentence

_OPERAND = (NDArray, bool, int, float, np.number)
_Number = bool | int | float | np.number


def _pair(stem: str) -> Callable[..., Any]:
    """A function of two arrays, of an array and a number, or of two numbers."""
    pair = PAIRS[stem]
    name = pair.public

    def function(lhs: NDArray | _Number, rhs: NDArray | _Number) -> Any:
        if not (isinstance(lhs, _OPERAND) and isinstance(rhs, _OPERAND)):
            raise ParameterError(
                f"{name}: got {type(lhs).__name__} and {type(rhs).__name__}, expected NDArrays or "
                "numbers; mx.nd.array(...) makes an NDArray"
            )
        if not isinstance(rhs, NDArray):
            if not isinstance(lhs, NDArray):
                return pair.on_numbers(lhs, rhs)
            return invoke(get_op(pair.with_number), (lhs,), {"scalar": float(rhs)})
        if not isinstance(lhs, NDArray):
            return invoke(get_op(pair.after_number), (rhs,), {"scalar": float(lhs)})
        return invoke(get_op(pair.wide), (lhs, rhs), {})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = sentence(
        f"{pair.doc}, elementwise with broadcasting; either may be a number"
    )
    return function


add = _pair("add")
subtract = _pair("sub")
multiply = _pair("mul")
divide = true_divide = _pair("div")
modulo = _pair("mod")
_power = _pair("power")


def power(base: NDArray | _Number, exp: NDArray | _Number) -> Any:
    """``base ** exp``, elementwise with broadcasting; either may be a number."""
    return _power(base, exp)


maximum = _pair("maximum")
minimum = _pair("minimum")
equal = _pair("equal")
not_equal = _pair("not_equal")
greater = _pair("greater")
greater_equal = _pair("greater_equal")
lesser = _pair("lesser")
lesser_equal = _pair("lesser_equal")
logical_and = _pair("logical_and")
logical_or = _pair("logical_or")
logical_xor = _pair("logical_xor")


def split_v2(
    ary: NDArray,
    indices_or_sections: int | tuple[int, ...],
    axis: int = 0,
    squeeze_axis: bool = False,
) -> Any:
    """Split along ``axis`` into equal parts, or at the given indices.

    Args:
        indices_or_sections: the number of parts, or a tuple of indices.

    Returns:
        A list of NDArrays; one NDArray where there is one part.
    """
    cut = split_v2_attrs(getattr(ary, "shape", None), indices_or_sections, axis, squeeze_axis)
    return invoke(get_op("_split_v2"), (ary,), cut)


def histogram(
    a: NDArray, bins: NDArray | int = 10, range: tuple[float, float] | None = None
) -> list[NDArray] | tuple[NDArray, ...]:
    """The number of elements between each two edges, and the edges.

    Args:
        a: any shape.
        bins: the edges, or the number of equal bins.
        range: lowest and highest edge, for a number of bins. Default: the extremes of the
            data, which waits for its values; counts and edges are then float32.

    Returns:
        The counts and the edges, in a tuple where neither edges nor a range are given, as in MXNet.

    Raises:
        ParameterError: ``a`` is no NDArray, or ``bins`` neither an NDArray nor an int.
    """
    require_array("histogram: a", a)
    if isinstance(bins, NDArray):
        return invoke(get_op("_histogram"), (a, bins), {})
    if not isinstance(bins, int):
        raise ParameterError(f"histogram: got bins {bins!r}, expected an NDArray or an int")
    if range is not None:
        return invoke(get_op("_histogram"), (a,), {"bin_cnt": bins, "range": range})
    found = np.histogram(a.asnumpy(), bins=bins)
    return tuple(array(part, a.ctx) for part in found)
