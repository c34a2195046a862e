"""NumPy forms of JAX's elementwise primitives, with XLA's semantics at the edges."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = Any
"""A NumPy array or scalar."""


def _special(name: str) -> Callable[..., Array]:
    """A function of `scipy.special`, imported at its first call."""

    @functools.cache
    def found() -> Any:
        import scipy.special  # SciPy is a dependency of JAX; 0.15 s

        return getattr(scipy.special, name)

    return lambda *args: found()(*args)


def _polynomial(*coefficients: float) -> Callable[[Array], Array]:
    """A polynomial in single precision, by Horner's rule; the highest power first."""
    first, *rest = [np.array(each, np.float32) for each in coefficients]

    def value(x: Array) -> Array:
        total = np.full_like(x, first)
        for each in rest:
            np.multiply(total, x, total)
            np.add(total, each, total)
        return total

    return value


_CENTRE = _polynomial(
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
    -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
_TAIL = _polynomial(
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip
"""Giles, "Approximating the erfinv function", 2011: XLA's form, which needs no SciPy."""


def _erf_inv(x: Array) -> Array:
    if x.dtype.itemsize > 4:
        return np.copysign(_special("erfinv")(x), x)  # -0 stays -0
    x = np.asarray(x, np.float32)
    spread = -np.log1p(-x * x)
    found, tails = _CENTRE(spread - np.float32(2.5)), spread >= 5
    if tails.any():
        found[tails] = _TAIL(np.sqrt(spread[tails]) - np.float32(3))
    found *= x
    if np.isinf(spread).any():  # at 1 and -1
        found = np.where(np.abs(x) == 1, x * np.float32(np.inf), found)
    return found


def _digamma(x: Array) -> Array:
    return _special("psi")(np.where(x == 0, x.dtype.type(np.nan), x))


def _lgamma(x: Array) -> Array:
    return _special("gammaln")(np.where(x == -np.inf, x.dtype.type(np.inf), x))


def _sign(x: Array) -> Array:
    return np.sign(x) if x.dtype.kind != "f" else np.copysign(np.sign(x), x)  # of -0 it is -0


@functools.cache
def _below_half(dtype: np.dtype[Any]) -> Any:
    """The largest number below 0.5: 0.5 itself would round up the largest number below 0.5."""
    return np.nextafter(dtype.type(0.5), dtype.type(0))


def _round(x: Array, *, rounding_method: Any) -> Array:
    if int(rounding_method) == 1:
        return np.rint(x)
    return np.trunc(x + np.copysign(_below_half(x.dtype), x))  # -0.4 becomes -0


def _integer_pow(x: Array, *, y: int) -> Array:
    out, base, left = np.ones_like(x), x, abs(y)
    while left:
        out = out * base if left & 1 else out
        base, left = base * base if left > 1 else base, left >> 1
    return np.reciprocal(out) if y < 0 else out


def _div(x: Array, y: Array) -> Array:
    # XLA: x / 0 is -1 (all bits), the smallest integer / -1 is itself.
    safe = np.where(y == 0, np.ones_like(y), y)
    quotient = np.floor_divide(x, safe)
    if x.dtype.kind == "i":
        quotient = quotient + ((x - quotient * safe != 0) & ((x < 0) != (safe < 0))).astype(x.dtype)
    return np.where(y == 0, ~np.zeros_like(y), quotient)


def _pow(x: Array, y: Array) -> Array:
    if any(y.strides) or not y.size or y.flat[0] != 0.5:
        return np.power(x, y)
    # By one exponent of 0.5 NumPy takes the square root, whose values at -0 and -inf are others.
    shape = np.broadcast_shapes(x.shape, y.shape)
    return np.power(np.atleast_1d(x), np.full(shape or 1, 0.5, y.dtype)).reshape(shape)


def _rem(x: Array, y: Array) -> Array:
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, np.ones_like(y), y)))


def _bits(x: Array) -> int:
    return 8 * x.dtype.itemsize


def _shift_left(x: Array, y: Array) -> Array:
    inside = (y >= 0) & (y < _bits(x))
    return np.where(inside, np.left_shift(x, np.where(inside, y, 0)), 0)


SHIFTS: Mapping[str, tuple[np.ufunc, str]] = {
    "shift_left": (np.left_shift, "iu"),
    "shift_right_arithmetic": (np.right_shift, "i"),
    "shift_right_logical": (np.right_shift, "u"),
}
"""NumPy's own shifts, and the kinds of the types that they serve, by a number within the bits."""


def _shift_right_logical(x: Array, y: Array) -> Array:
    inside = (y >= 0) & (y < _bits(x))
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    x, y = np.asarray(x), np.where(inside, y, 0).astype(unsigned)
    return np.where(inside, np.right_shift(x.view(unsigned), y), 0).astype(unsigned).view(x.dtype)


def _shift_right_arithmetic(x: Array, y: Array) -> Array:
    signed = np.dtype(f"i{x.dtype.itemsize}")
    inside = (y >= 0) & (y < _bits(x))
    far = np.where(inside, y, _bits(x) - 1).astype(signed)
    return np.right_shift(np.asarray(x).view(signed), far).view(x.dtype)


def total_order(x: Array) -> Array:
    """Keys whose integer order is the total order of floating-point numbers, by IEEE 754."""
    if x.dtype.kind != "f":
        return x
    kind = np.dtype(f"i{x.dtype.itemsize}")
    bits = np.asarray(x).view(kind)
    return bits ^ ((bits >> kind.type(_bits(x) - 1)) & kind.type(np.iinfo(kind).max))


_BY_BITS = 1 << 13
"""Least number of elements for a selection by bits: `numpy.where` mispredicts its branches then."""

_INTEGERS = {"f4": np.int32, "i4": np.int32, "u4": np.int32, "f8": np.int64, "i8": np.int64}
"""Integers of the size of an element type."""


def _where(which: Array, then: Array, otherwise: Array) -> Array:
    """`numpy.where`, at a quarter of its time for large arrays; by one condition, no copy."""
    if which.ndim == 0 and then.shape == otherwise.shape and then.dtype == otherwise.dtype:
        return then if which else otherwise
    if which.size < _BY_BITS:
        return np.where(which, then, otherwise)
    integer = _INTEGERS.get(then.dtype.str[1:])
    if integer is None or then.dtype != otherwise.dtype:
        return np.where(which, then, otherwise)
    kind, kept = then.dtype, otherwise.view(integer)
    chosen = then.view(integer) ^ kept
    if np.shape(chosen) != which.shape:
        return np.where(which, then, otherwise)
    mask = which.astype(integer)
    np.negative(mask, out=mask)
    np.bitwise_and(chosen, mask, out=chosen)
    np.bitwise_xor(chosen, kept, out=chosen)
    return chosen.view(kind)


def _select_n(which: Array, *cases: Array) -> Array:
    if which.dtype == bool:
        return _where(which, cases[1], cases[0])
    return functools.reduce(
        lambda out, at: np.where(which == at, cases[at], out), range(1, len(cases)), cases[0]
    )


_limits = functools.cache(np.iinfo)

_FEW = 1 << 12
"""Elements whose squares are summed in less time than the least and the largest are found."""


def convert(x: Array, dtype: np.dtype[Any]) -> Array:
    """A cast. Floats saturate as integers, and NaN becomes 0."""
    if x.dtype == dtype:
        return x
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return x.astype(dtype)
    limits = _limits(dtype)
    if dtype.kind == "i" and x.size <= _FEW and np.vdot(x, x) < 0.99 * limits.max**2:
        return x.astype(dtype)  # each is inside where the sum of their squares is
    least, most = (each.reduce(x, axis=None, initial=0) for each in (np.minimum, np.maximum))
    if limits.min <= least and most < limits.max + 1:  # neither holds if there is a NaN
        return x.astype(dtype)
    clipped = np.where((x > limits.min) & (x < limits.max), x, 0).astype(dtype)
    clipped = np.where(x >= limits.max, np.array(limits.max, dtype), clipped)
    return np.where(x <= limits.min, np.array(limits.min, dtype), clipped)


def _bitcast(x: Array, *, new_dtype: Any) -> Array:
    x, kind = np.asarray(x), np.dtype(new_dtype)
    if kind.itemsize < x.dtype.itemsize:
        return x[..., None].copy().view(kind)
    if kind.itemsize > x.dtype.itemsize:
        return np.ascontiguousarray(x).view(kind)[..., 0]
    return x.view(kind)


def reduce_precision(out: Any, params: Any) -> Callable[[Array], Array]:
    """Rounding to float16; to other types a program is compiled."""
    if (params["exponent_bits"], params["mantissa_bits"]) != (5, 10):
        raise NotImplementedError("reduce_precision")
    return lambda x: x.astype(np.float16).astype(out.dtype)


ELEMENTWISE: Mapping[str, Callable[..., Array]] = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "add": np.add, "add_any": np.add,
    "and": np.bitwise_and,
    "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atan2": np.arctan2,
    "atanh": np.arctanh, "cbrt": np.cbrt, "ceil": np.ceil,
    "clamp": lambda least, x, most: np.minimum(np.maximum(x, least), most),
    "cos": np.cos, "cosh": np.cosh,
    "digamma": _digamma, "div": _div, "eq": np.equal, "erf": _special("erf"),
    "erf_inv": _erf_inv, "erfc": _special("erfc"), "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "floor": np.floor, "ge": np.greater_equal, "gt": np.greater,
    "integer_pow": _integer_pow, "is_finite": np.isfinite, "le": np.less_equal,
    "le_to": lambda x, y: total_order(x) <= total_order(y), "lgamma": _lgamma, "log": np.log,
    "log1p": np.log1p, "logistic": lambda x: np.reciprocal(1 + np.exp(-x)), "lt": np.less,
    "lt_to": lambda x, y: total_order(x) < total_order(y), "max": np.maximum, "min": np.minimum,
    "mul": np.multiply, "ne": np.not_equal, "neg": np.negative, "nextafter": np.nextafter,
    "not": np.invert, "or": np.bitwise_or, "pow": _pow,
    "one_minus_square": lambda x: 1 - x * x,  # of JAX 0.12 on: the derivative of tanh by its value
    "rem": _rem, "round": _round, "rsqrt": lambda x: np.reciprocal(np.sqrt(x)),
    "select_n": _select_n, "shift_left": _shift_left,
    "shift_right_arithmetic": _shift_right_arithmetic,
    "shift_right_logical": _shift_right_logical, "sign": _sign, "sin": np.sin, "sinh": np.sinh,
    "sqrt": np.sqrt, "square": np.square, "sub": np.subtract, "tan": np.tan, "tanh": np.tanh,
    "xor": np.bitwise_xor,
    "bitcast_convert_type": _bitcast,
}  # fmt: skip
"""By name; parameters of the primitive are keyword arguments."""

FLOATS: Mapping[str, Callable[..., Array]] = {"div": np.true_divide, "rem": np.fmod}
"""The forms of floating-point results that differ from those of whole numbers."""

COSTLY = frozenset({
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "digamma",
    "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "lgamma", "log", "log1p", "logistic", "pow",
    "rem", "sin", "sinh", "tan", "tanh",
})  # fmt: skip
"""Primitives that take about ten times an addition for each element."""
