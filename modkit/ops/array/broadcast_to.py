"""Dimensions of size 1 repeated: ``broadcast_to``, ``broadcast_axis``, ``broadcast_like``."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from modkit.errors import ShapeError
from modkit.ops.dtype_inference import first_decides
from modkit.ops.parameters import Axes, Shape
from modkit.ops.registry import op


def _stretch(name: str, data: Any, shape: Shape) -> Any:
    fits = len(shape) == data.ndim and all(
        s in (1, t) for s, t in zip(data.shape, shape, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"{name}: got shape {data.shape}, expected {shape} or 1 in the place of any size"
        )
    return jnp.broadcast_to(data, shape)


@op("broadcast_to", precision="through")
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


@op("broadcast_axis", precision="through", aliases=("broadcast_axes",))
def broadcast_axis(data: Any, *, axis: Axes = (), size: Axes = ()) -> Any:
    """``data`` repeated ``size`` times along each ``axis``, where its size is 1.

    Raises:
        ShapeError: an axis is not there, not of size 1 or named twice, or there are not as many
            sizes as axes.
    """
    shape = list(data.shape)
    if len(axis) != len(size):
        raise ShapeError(f"broadcast_axis: got axis={axis} and size={size}, expected as many")
    for at, count in zip(axis, size, strict=True):
        if not 0 <= at < data.ndim or data.shape[at] != 1 or list(axis).count(at) > 1:
            raise ShapeError(
                f"broadcast_axis: got axis {at} of shape {data.shape}, expected one of size 1, once"
            )
        shape[at] = count
    return _stretch("broadcast_axis", data, tuple(shape))


@op("broadcast_like", precision="through", dtypes=first_decides)
def broadcast_like(
    lhs: Any, rhs: Any, *, lhs_axes: Axes | None = None, rhs_axes: Axes | None = None
) -> Any:
    """``lhs`` repeated along dimensions of size 1 until it has the shape of ``rhs``.

    With ``lhs_axes`` and ``rhs_axes`` only those dimensions are made like each other; one of the
    two alone has no effect.

    Args:
        lhs: the array that is repeated.
        rhs: an array of the wanted sizes.
        lhs_axes: the axes of ``lhs`` that are repeated.
        rhs_axes: axes of ``rhs``, in the same order, whose sizes they get.

    Raises:
        ShapeError: a size that is not 1 would change, or the axes do not pair up.
    """
    if lhs_axes is None or rhs_axes is None:
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
