"""Stretching dimensions of size 1, and functions of two arrays that do it first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.arithmetic import (
    COMPARISONS,
    check_types,
    divide,
    hypotenuse,
    maximum,
    minimum,
    modulo,
    power,
)
from modkit.ops.registry import Axes, Shape, binary, op


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


_ROWS: list[tuple[str, Sequence[str], Callable[[Any, Any], Any], str]] = [
    # name, aliases, function, what it computes
    ("add", ("plus",), jnp.add, "``lhs + rhs``"),
    ("sub", ("minus",), jnp.subtract, "``lhs - rhs``"),
    ("mul", (), jnp.multiply, "``lhs * rhs``"),
    ("div", (), divide, "``lhs / rhs``"),
    ("mod", (), modulo, "the remainder of ``lhs / rhs``, with the sign of ``rhs``"),
    ("power", (), power, "``lhs`` to the power ``rhs``"),
    ("maximum", (), maximum, "the larger of both"),
    ("minimum", (), minimum, "the smaller of both"),
    ("hypot", (), hypotenuse, "``sqrt(lhs² + rhs²)``"),
    *((name, (), fn, doc) for name, (fn, doc) in COMPARISONS.items()),
]

for _short, _others, _fn, _doc in _ROWS:
    _names = [f"broadcast_{n}" for n in (_short, *_others)]
    if _short in ("add", "sub", "mul", "div"):
        _names += [f"_sparse_{n}" for n in _names]
    binary(
        _names[0],
        _checked(_names[0], _fn),
        f"{_doc}, with dimensions of size 1 stretched",
        aliases=_names[1:],
        same_shape=False,
    )


def _stretch(name: str, data: Any, shape: Shape) -> Any:
    fits = len(shape) == data.ndim and all(
        s in (1, t) for s, t in zip(data.shape, shape, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"{name}: got shape {data.shape}, expected {shape} or 1 in the place of any size"
        )
    return jnp.broadcast_to(data, shape)


@op("broadcast_to")
def broadcast_to(data: Any, *, shape: Shape = ()) -> Any:
    """``data`` repeated along dimensions of size 1 until it has ``shape``.

    A 0 in ``shape`` stands for the size that ``data`` has.

    Raises:
        ShapeError: the numbers of dimensions differ, or a size that is not 1 would change.
    """
    if len(shape) != data.ndim:
        raise ShapeError(
            f"broadcast_to: got data of shape {data.shape} and shape={shape}, "
            "expected as many sizes; reshape data first"
        )
    return _stretch("broadcast_to", data, tuple(t or s for t, s in zip(shape, data.shape)))  # noqa: B905 - checked above


@op("broadcast_axis", aliases=("broadcast_axes",))
def broadcast_axis(data: Any, *, axis: Axes = (), size: Axes = ()) -> Any:
    """``data`` repeated ``size`` times along each ``axis``, where its size is 1.

    Raises:
        ShapeError: an axis is not there or not of size 1, or there are not as many sizes as axes.
    """
    shape = list(data.shape)
    if len(axis) != len(size):
        raise ShapeError(f"broadcast_axis: got axis={axis} and size={size}, expected as many")
    for at, count in zip(axis, size, strict=True):
        if not 0 <= at < data.ndim or data.shape[at] != 1:
            raise ShapeError(
                f"broadcast_axis: got axis {at} of shape {data.shape}, expected one of size 1"
            )
        shape[at] = count
    return _stretch("broadcast_axis", data, tuple(shape))


def _like_types(ins: Sequence[str | None], attrs: Mapping[str, Any]) -> Any:
    del attrs
    return list(ins), [ins[0]]


@op("broadcast_like", dtypes=_like_types)
def broadcast_like(
    lhs: Any, rhs: Any, *, lhs_axes: Axes | None = None, rhs_axes: Axes | None = None
) -> Any:
    """``lhs`` repeated along dimensions of size 1 until it has the shape of ``rhs``.

    With ``lhs_axes`` and ``rhs_axes`` only those dimensions are made like each other.

    Raises:
        ShapeError: a size that is not 1 would change, or the axes do not pair up.
    """
    if lhs_axes is None and rhs_axes is None:
        return _stretch("broadcast_like", lhs, rhs.shape)
    if not lhs_axes or not rhs_axes or len(lhs_axes) != len(rhs_axes):
        raise ShapeError(
            f"broadcast_like: got lhs_axes={lhs_axes} and rhs_axes={rhs_axes}, expected as many"
        )
    shape = list(lhs.shape)
    for left, right in zip(lhs_axes, rhs_axes, strict=True):
        if not (-lhs.ndim <= left < lhs.ndim and -rhs.ndim <= right < rhs.ndim):
            raise ShapeError(
                f"broadcast_like: got axes {left} and {right} of shapes {lhs.shape} and {rhs.shape}"
            )
        shape[left] = rhs.shape[right]
    return _stretch("broadcast_like", lhs, tuple(shape))
