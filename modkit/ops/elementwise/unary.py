"""Functions of one array, element by element; ``identity``, ``BlockGrad`` and ``clip``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy import special

from modkit.errors import DTypeError
from modkit.interpreter.reverse import CustomJvp
from modkit.interpreter.tracing import where
from modkit.ops.elementwise.arithmetic import convert, in_float, is_whole, refuse_bool
from modkit.ops.entry import Precision
from modkit.ops.parameters import Attrs, Traced
from modkit.ops.registry import op, unary
from modkit.ops.stype import DENSE, KEPT, KEPT_BACK, KEPT_ZEROS, PLAIN, Storage, if_csr


def _number(fn: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    def run(data: Any) -> Any:
        refuse_bool(name, data)
        return fn(data)

    return run


def _rounding(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that leaves whole numbers as they are."""
    return lambda data: data if is_whole(data.dtype) else fn(data)


def _rint(data: Any) -> Any:
    below, above = jnp.floor(data), jnp.ceil(data)
    return jnp.where(data - below <= above - data, below, above)


@_rounding
def nearest(data: Any) -> Any:
    """The nearest whole number, halves away from zero."""
    return jax.lax.round(data, jax.lax.RoundingMethod.AWAY_FROM_ZERO)


def sign(data: Any) -> Any:
    """-1, 0 or 1; 0 for NaN."""
    return where(data != data, 0, jnp.sign(data)).astype(data.dtype)


_GAMMA = np.array([np.nan, np.inf, *(float(math.factorial(n)) for n in range(171)), np.inf])
"""The gamma function at -1, 0, 1, 2, ..., 172, where float64 ends."""


def _gamma(data: Any) -> Any:
    if not is_whole(data.dtype):
        # As `special.gamma`, whose sign takes NumPy twice as many steps.
        below = jnp.floor(data)
        half = below * 0.5
        left = where(below == data, jnp.nan, where(jnp.floor(half) == half, 1, -1))
        right = where(data == 0, jnp.sign(1 / data), 1)
        return where(data < 0, left, right).astype(data.dtype) * jnp.exp(special.gammaln(data))
    with jax.enable_x64(True):
        place = 1 + jnp.clip(data.astype("float64"), -1, 172).astype("int32")
        return convert(jnp.asarray(_GAMMA)[place], data.dtype)


@CustomJvp
def relu(data: Any) -> Any:
    """``max(data, 0)``."""
    return jnp.maximum(data, 0)


@relu.defjvp
def _relu_jvp(primals: Any, tangents: Any) -> Any:
    """The derivative is 0 at 0, and NaN where the data is."""
    (x,), (dx,) = primals, tangents
    return relu(x), dx * jnp.where(x != x, jax.lax.stop_gradient(x), x > 0)


@CustomJvp
def softsign(data: Any) -> Any:
    """``data / (1 + |data|)``."""
    return jax.nn.soft_sign(data)


@softsign.defjvp
def _softsign_jvp(primals: Any, tangents: Any) -> Any:
    """The derivative is 0 at infinity."""
    (x,), (dx,) = primals, tangents
    return softsign(x), dx / jnp.square(1 + jnp.abs(x))


def magnitude(data: Any) -> Any:
    """The magnitude. Its derivative at 0 is 0, where that of ``jnp.abs`` is 1; at NaN, too."""
    return data * sign(data)


_Row = tuple[str, Callable[[Any], Any], str, Precision, Storage]

_ARCSINH = """the inverse hyperbolic sine.

Differs: its second derivative is ``-data / (1 + data ** 2) ** 1.5``; MXNet's has the other sign."""

_MATH: list[_Row] = [
    # name, function, what it computes, precision, storage types
    ("exp", jnp.exp, "e to the power ``data``", "float32", PLAIN),
    ("expm1", jnp.expm1, "``exp(data) - 1``, exact near 0", "float32", KEPT),
    ("log", jnp.log, "the natural logarithm", "float32", PLAIN),
    ("log2", jnp.log2, "the logarithm to base 2", "float32", PLAIN),
    ("log10", jnp.log10, "the logarithm to base 10", "float32", PLAIN),
    ("log1p", jnp.log1p, "``log(1 + data)``, exact near 0", "float32", KEPT),
    ("sqrt", jnp.sqrt, "the square root", "float32", KEPT),
    ("rsqrt", jax.lax.rsqrt, "``1 / sqrt(data)``", "float32", PLAIN),
    ("cbrt", jnp.cbrt, "the cube root", "float32", KEPT),
    ("rcbrt", lambda x: 1 / jnp.cbrt(x), "``1 / cbrt(data)``", "float32", PLAIN),
    ("sin", jnp.sin, "the sine, of radians", "float32", KEPT),
    ("cos", jnp.cos, "the cosine, of radians", "float32", PLAIN),
    ("tan", jnp.tan, "the tangent, of radians", "float32", KEPT),
    ("arcsin", jnp.arcsin, "the inverse sine, in radians", "float32", KEPT),
    ("arccos", jnp.arccos, "the inverse cosine, in radians", "float32", PLAIN),
    ("arctan", jnp.arctan, "the inverse tangent, in radians", "float32", KEPT),
    ("sinh", jnp.sinh, "the hyperbolic sine", "float32", KEPT),
    ("cosh", jnp.cosh, "the hyperbolic cosine", "float32", PLAIN),
    ("tanh", jnp.tanh, "the hyperbolic tangent", "through", KEPT),
    ("arcsinh", jnp.arcsinh, _ARCSINH, "float32", KEPT),
    ("arccosh", jnp.arccosh, "the inverse hyperbolic cosine", "float32", PLAIN),
    ("arctanh", jnp.arctanh, "the inverse hyperbolic tangent", "float32", KEPT),
    ("degrees", jnp.degrees, "radians to degrees", "float32", KEPT),
    ("radians", jnp.radians, "degrees to radians", "float32", KEPT),
    ("erf", jax.lax.erf, "the error function", "float32", PLAIN),
    ("erfinv", jax.lax.erf_inv, "the inverse of the error function", "float32", PLAIN),
    (
        "gammaln", special.gammaln, "the logarithm of the gamma function's magnitude", "float32",
        PLAIN,
    ),
    ("sigmoid", jax.nn.sigmoid, "``1 / (1 + exp(-data))``", "through", PLAIN),
    ("softsign", softsign, "``data / (1 + |data|)``", "through", PLAIN),
    ("reciprocal", lambda x: 1 / x, "``1 / data``", "float32", PLAIN),
]  # fmt: skip
"""Computed in floating point. Whole numbers come back whole, cut off towards zero."""

_EXACT: list[_Row] = [
    # name, function, what it computes, precision, storage types
    ("negative", jnp.negative, "``-data``", "through", KEPT_BACK),
    ("abs", magnitude, "the magnitude", "through", KEPT_BACK),
    ("sign", sign, "-1, 0 or 1; 0 for NaN", "float32", KEPT_BACK),
    ("gamma", _gamma, "the gamma function", "float32", PLAIN),
    ("square", jnp.square, "``data * data``", "float32", KEPT_BACK),
    ("relu", relu, "``max(data, 0)``", "through", KEPT_BACK),
]
"""Computed in the type of ``data``."""

_PIECEWISE_CONSTANT: list[_Row] = [
    # name, function, what it computes, precision, storage types
    ("round", nearest, "the nearest whole number, halves away from zero", "float32", KEPT_ZEROS),
    ("rint", _rounding(_rint), "the nearest whole number, halves down", "float32", KEPT_ZEROS),
    ("ceil", _rounding(jnp.ceil), "the next whole number up", "float32", KEPT_ZEROS),
    ("floor", _rounding(jnp.floor), "the next whole number down", "float32", KEPT_ZEROS),
    ("trunc", _rounding(jnp.trunc), "the next whole number towards zero", "float32", KEPT_ZEROS),
    ("fix", _rounding(jnp.trunc), "the next whole number towards zero", "float32", KEPT_ZEROS),
    (
        "logical_not", lambda data: (data == 0).astype(data.dtype), "1 where ``data`` is 0, else 0",
        "float32", PLAIN,
    ),
]  # fmt: skip
"""Computed in the type of ``data``; their derivative is 0, so they need no cotangent."""

_DENSE_ONLY = ("rcbrt", "erf", "erfinv", "softsign", "reciprocal", "logical_not")
"""Functions without an alias under ``sparse``, as in MXNet."""


_ROUNDED = ("cbrt", "log10", "log2")
"""Functions that are whole for many whole numbers, where XLA's results are not quite."""

for _rows in (_MATH, _EXACT, _PIECEWISE_CONSTANT):
    for _name, _fn, _doc, _precision, _storage in _rows:
        if _rows is _MATH:
            _fn = in_float(_fn, rounds=_name in _ROUNDED)
        unary(
            _name,
            _number(_fn, _name),
            _doc,
            aliases=() if _name in _DENSE_ONLY else (f"_sparse_{_name}",),
            precision=_precision,
            storage=_storage,
            gradient="zero" if _rows is _PIECEWISE_CONSTANT else "derivative",
        )


@op("hard_sigmoid", precision="through", same_shape=True)
def hard_sigmoid(data: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    """``alpha * data + beta``, clipped to [0, 1]. The derivative is 0 at both ends, and at NaN.

    Raises:
        DTypeError: ``data`` is not of a floating-point type.
    """
    if is_whole(data.dtype):
        raise DTypeError(f"hard_sigmoid: got {data.dtype}, expected a floating-point type")
    line = alpha * data + beta
    inner = jnp.where(line != line, jax.lax.stop_gradient(line), line)
    return jnp.where(line <= 0, 0, jnp.where(line >= 1, 1, inner)).astype(data.dtype)


@CustomJvp
def _smooth_l1(x: Any, square: Any) -> Any:
    return jnp.where(jnp.abs(x) < 1 / square, 0.5 * x * x * square, jnp.abs(x) - 0.5 / square)


@_smooth_l1.defjvp
def _smooth_l1_jvp(primals: Any, tangents: Any) -> Any:
    """The derivative is 1 and -1 at infinities, and NaN where the data is."""
    x, square = primals
    return _smooth_l1(x, square), tangents[0] * jnp.clip(x * square, -1, 1)


@op("smooth_l1", precision="float32", same_shape=True)
def smooth_l1(data: Any, *, scalar: Traced = 1.0) -> Any:
    """A parabola near 0 and a straight line outside, of one slope where they meet.

    ``(scalar * x)² / 2`` for ``|x| < 1 / scalar²``, else ``|x| - 0.5 / scalar²``. For whole
    numbers the fraction of ``scalar`` is cut off.
    """
    refuse_bool("smooth_l1", data)
    factor = jnp.trunc(scalar) if is_whole(data.dtype) else scalar

    def compute(x: Any) -> Any:
        return _smooth_l1(x, jnp.asarray(factor, x.dtype) ** 2)

    return in_float(compute)(data)


@op(
    "_contrib_quadratic",
    precision="float32",
    same_shape=True,
    storage=Storage(lambda kinds, attrs: DENSE if attrs["c"] else if_csr(kinds, attrs)),
)
def quadratic(data: Any, *, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> Any:
    """``a * data² + b * data + c``."""
    refuse_bool("_contrib_quadratic", data)
    return in_float(lambda x: (a * x + b) * x + c)(data)  # infinite at infinities


unary(
    "_copy",
    jnp.asarray,
    "the array itself",
    aliases=("identity",),
    precision="through",
    storage=KEPT_BACK,
)
unary(
    "BlockGrad",
    jax.lax.stop_gradient,
    "the array itself, through which no gradient flows back",
    aliases=("stop_gradient", "_sparse_stop_gradient"),
    gradient="zero",
    precision="through",
    storage=KEPT_ZEROS,
)


def _bound(value: Any, dtype: Any) -> jax.Array:
    """A bound in the array's type; the nearest there is, for whole numbers."""
    value = jnp.asarray(value)
    if jnp.issubdtype(dtype, jnp.integer):
        limits = jnp.iinfo(dtype)
        value = jnp.clip(value, float(limits.min), float(limits.max))
    return value.astype(dtype)


def _clipped(stypes: Sequence[str], attrs: Attrs) -> str:
    return stypes[0] if attrs["a_min"] <= 0 <= attrs["a_max"] else DENSE


@op(
    "clip",
    precision="through",
    aliases=("_sparse_clip",),
    same_shape=True,
    elementwise=True,
    storage=Storage(_clipped, "values"),
)
def clip(data: jax.Array, *, a_min: Traced, a_max: Traced) -> jax.Array:
    """Values below ``a_min`` become ``a_min``, values above ``a_max`` become ``a_max``.

    The gradient passes where the value stays, also at the bounds themselves.

    Args:
        a_min: the lower bound; of whole numbers its whole part.
        a_max: the upper bound; it wins where the two are in the wrong order.

    Shapes:
        data: any.
        returns: as ``data``.
    """
    low, high = _bound(a_min, data.dtype), _bound(a_max, data.dtype)
    return jnp.where(data > high, high, jnp.where(data < low, low, data))
