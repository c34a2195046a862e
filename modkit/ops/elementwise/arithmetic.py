"""Arithmetic by MXNet's rules: for whole numbers, for division by zero, and for derivatives.

Functions of two arrays of one type; the callers check their shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import DTypeError, ShapeError
from modkit.interpreter.reverse import CustomJvp
from modkit.interpreter.tracing import where


def is_whole(dtype: Any) -> bool:
    """Whether a type holds whole numbers (or truth values), which have no derivative."""
    return not jnp.issubdtype(dtype, jnp.inexact)


def convert(x: jax.Array, dtype: Any) -> jax.Array:
    """``x`` as another type by the rules of C: towards zero, and around where it is too narrow.

    >>> import jax.numpy as jnp
    >>> print(convert(jnp.array([-1.5, 2.7, 300.0]), "uint8"))
    [255   2  44]
    """
    target = jnp.dtype(dtype)
    if target == x.dtype:
        return x
    if target == jnp.bool_:
        return x != 0
    if is_whole(target) and not is_whole(x.dtype) and target.itemsize < 4:
        x = x.astype(jnp.int32)
    return x.astype(target)


def in_float(fn: Callable[..., jax.Array], rounds: bool = False) -> Callable[..., jax.Array]:
    """``fn`` for whole numbers too: computed in float64, and cut off towards zero.

    In float32 the cube root of 27 is below 3. Of float16 it is computed in float32: squares in
    derivatives are often beyond 65,504.

    Args:
        rounds: a result that is whole but for rounding is that whole number, as XLA's ``log2(8)``,
            which is below 3.
    """

    def run(*arrays: jax.Array) -> jax.Array:
        dtype = arrays[0].dtype
        if dtype == jnp.float16:
            return fn(*(a.astype(jnp.float32) for a in arrays)).astype(dtype)
        if not is_whole(dtype):
            return fn(*arrays)
        with jax.enable_x64(True):
            y = fn(*(a.astype("float64") for a in arrays))
            if rounds:
                nearest, rounding = jnp.rint(y), 4 * jnp.finfo(y.dtype).eps * jnp.abs(y)
                y = jnp.where(jnp.abs(y - nearest) <= rounding, nearest, y)
            return convert(y, dtype)

    return run


def refuse_bool(name: str, *arrays: jax.Array) -> None:
    """Raise DTypeError for an array of truth values, with which MXNet does not compute."""
    if any(a.dtype == jnp.bool_ for a in arrays):
        raise DTypeError(
            f"{name}: got bool, expected numbers; use cast(data, dtype='float32') first"
        )


def check_types(name: str, *arrays: jax.Array) -> None:
    """Raise DTypeError unless all arrays hold numbers of one type."""
    refuse_bool(name, *arrays)
    if len({a.dtype for a in arrays}) > 1:
        raise DTypeError(
            f"{name}: got {' and '.join(str(a.dtype) for a in arrays)}, expected one element type; "
            "cast one of them with cast(data, dtype=...)"
        )


def check_shapes(name: str, *arrays: jax.Array) -> None:
    """Raise ShapeError unless all arrays are of one shape."""
    if len({a.shape for a in arrays}) > 1:
        raise ShapeError(
            f"{name}: got shapes {' and '.join(str(a.shape) for a in arrays)}, expected one shape; "
            "the broadcast_* operators stretch dimensions of size 1"
        )


def divide(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    """``lhs / rhs``; of whole numbers, the quotient towards zero."""
    if is_whole(lhs.dtype):
        return jax.lax.div(*jnp.broadcast_arrays(lhs, rhs))
    return _quotient(lhs, rhs)


_quotient = in_float(jnp.true_divide)


def modulo(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    """The remainder with the sign of ``rhs``; 0 where ``rhs`` is 0."""
    return _whole_modulo(lhs, rhs) if is_whole(lhs.dtype) else _modulo(lhs, rhs)


def _whole_modulo(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    return jnp.where(rhs == 0, 0, jnp.mod(lhs, jnp.where(rhs == 0, 1, rhs)))


_modulo = CustomJvp(_whole_modulo)


@_modulo.defjvp
def _modulo_jvp(primals: Any, tangents: Any) -> Any:
    (lhs, rhs), (d_lhs, d_rhs) = primals, tangents
    return _modulo(lhs, rhs), d_lhs - jnp.floor(lhs / rhs) * d_rhs


@in_float
def power(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    """``lhs`` to the power ``rhs``.

    Differs: where ``lhs`` is 0, the derivative by ``rhs`` is 0 (MXNet: NaN or infinite); that by
    ``lhs`` is the power rule's, which is NaN where ``rhs`` is 0 too.
    """
    return jnp.power(lhs, rhs)


@in_float
def hypotenuse(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    """``sqrt(lhs² + rhs²)``, without overflow on the way."""
    return _hypotenuse(lhs, rhs)


@CustomJvp
def _hypotenuse(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    return jnp.hypot(lhs, rhs)


@_hypotenuse.defjvp
def _hypotenuse_jvp(primals: Any, tangents: Any) -> Any:
    (lhs, rhs), (d_lhs, d_rhs) = primals, tangents
    value = _hypotenuse(lhs, rhs)
    return value, lhs / value * d_lhs + rhs / value * d_rhs


def _nan_of(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    """The NaN of either, without a gradient."""
    return jax.lax.stop_gradient(lhs + rhs)


def maximum(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    """The larger one. Where they are equal, the whole gradient goes to ``lhs``; none for NaN."""
    return where(lhs >= rhs, lhs, where(rhs > lhs, rhs, _nan_of(lhs, rhs)))


def minimum(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
    """The smaller one. Where they are equal, the whole gradient goes to ``lhs``; none for NaN."""
    return where(lhs <= rhs, lhs, where(rhs < lhs, rhs, _nan_of(lhs, rhs)))


def truth(fn: Callable[[jax.Array, jax.Array], jax.Array]) -> Callable[..., jax.Array]:
    """A comparison that returns ones and zeros of its inputs' type."""

    def run(lhs: jax.Array, rhs: jax.Array) -> jax.Array:
        return fn(lhs, rhs).astype(lhs.dtype)

    return run


def nonzero(fn: Callable[[jax.Array, jax.Array], jax.Array]) -> Callable[..., jax.Array]:
    """`truth` of whether the inputs are not 0."""
    return truth(lambda lhs, rhs: fn(lhs != 0, rhs != 0))
