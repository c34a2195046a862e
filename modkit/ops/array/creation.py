"""Arrays made from parameters alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError, expect
from modkit.ops.elementwise.arithmetic import convert, is_whole
from modkit.ops.parameters import Device, DType, Shape
from modkit.ops.registry import op, unary
from modkit.ops.stype import Storage, first


def require_shape(name: str, shape: Shape | None) -> Shape:
    """The shape, with 0 for -1, a size to be inferred; ShapeError for ``None`` or a size below."""
    if shape is None:
        raise ShapeError(f"{name}: got no shape, expected one such as shape=(2, 3)")
    if min(shape, default=0) < -1:
        raise ShapeError(f"{name}: got shape {shape}, expected sizes from -1")
    return tuple(max(size, 0) for size in shape)


@op("_zeros", precision="float32")
def _zeros(*, shape: Shape | None = (), ctx: Device = "", dtype: DType = "float32") -> Any:
    """Zeros."""
    return jnp.zeros(require_shape("_zeros", shape), dtype)


@op("_ones", precision="float32")
def _ones(*, shape: Shape | None = (), ctx: Device = "", dtype: DType = "float32") -> Any:
    """Ones."""
    return jnp.ones(require_shape("_ones", shape), dtype)


@op("_full", precision="float32")
def _full(
    *, shape: Shape | None = None, ctx: Device = "", dtype: DType = "float32", value: float
) -> Any:
    """One ``value`` everywhere."""
    number = int(value) if is_whole(jnp.dtype(dtype)) and dtype != "bool" else value
    return jnp.full(require_shape("_full", shape), number, dtype)


def _steps(count: int, dtype: Any, value: Callable[[Any], Any]) -> Any:
    """``value`` of 0, 1, ..., computed in ``dtype``, or float32 where that is narrower."""
    narrow = not is_whole(dtype) and dtype.itemsize < 4
    return value(jnp.arange(count, dtype=jnp.float32 if narrow else dtype)).astype(dtype)


@op("_arange", precision="float32")
def _arange(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: Device = "",
    dtype: DType = "float32",
) -> Any:
    """Numbers from ``start`` up to ``stop`` by ``step``, each ``repeat`` times.

    Without ``stop``, from 0 up to ``start``. For a whole-number ``dtype``, ``start`` and ``step``
    are cut off towards zero first.

    Args:
        infer_range: without ``stop``, go on from ``start`` through an array of the shape that the
            rest of the graph decides, which replaces the ``True`` when the graph runs.

    Raises:
        ParameterError: ``step`` is 0, or leads away from ``stop``; ``repeat`` is below 1.
        ShapeError: nothing decides the shape for ``infer_range``.
    """
    shape: Any = infer_range if stop is None else False
    if shape is True:
        raise ShapeError("_arange: got infer_range=True and no reader of known shape; give stop")
    if shape is not False:
        stop = start + step * max(math.ceil(math.prod(shape) / max(repeat, 1)) - 0.5, 0.5)
    elif stop is None:
        start, stop = 0.0, start
    if step == 0 or repeat < 1 or (stop - start) / step <= 0:
        raise ParameterError(
            f"_arange: got start={start}, stop={stop}, step={step}, repeat={repeat}, expected at "
            "least one number from start to stop"
        )
    kind = jnp.dtype(dtype)
    first, by = (int(start), int(step)) if is_whole(kind) else (start, step)
    numbers = _steps(math.ceil((stop - start) / step), kind, lambda i: first + i * by)
    numbers = jnp.repeat(numbers, repeat) if repeat > 1 else numbers
    return numbers if shape is False else numbers[: math.prod(shape)].reshape(shape)


@op("_linspace", precision="float32")
def _linspace(
    *,
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Device = "",
    dtype: DType = "float32",
) -> Any:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, without it if not ``endpoint``.

    Raises:
        ParameterError: ``num`` is below 0.
    """
    expect(num >= 0, "_linspace: num", num, "0 or more")
    by = (stop - start) / max(num - endpoint, 1)
    kind = jnp.dtype(dtype)
    working = jnp.dtype(jnp.float32) if is_whole(kind) else kind
    return convert(_steps(num, working, lambda i: start + i * by), kind)


@op("_eye", precision="float32")
def _eye(*, N: int, M: int = 0, k: int = 0, ctx: Device = "", dtype: DType = "float32") -> Any:
    """A matrix with ones on its ``k``-th diagonal.

    Shapes:
        returns: (N, M); (N, N) where ``M`` is not above 0.
    """
    return jnp.eye(N, M if M > 0 else N, k, dtype=dtype)


unary(
    "zeros_like",
    jnp.zeros_like,
    "zeros of the shape and type of ``data``",
    aliases=("_sparse_zeros_like",),
    precision="through",
    storage=Storage(first, gradient="input"),
    gradient="zero",
)
unary(
    "ones_like",
    jnp.ones_like,
    "ones of the shape and type of ``data``",
    precision="through",
    storage=Storage(gradient="input"),
    gradient="zero",
)
