"""``tile``, ``repeat``, ``Pad`` and ``diag``."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import ParameterError, expect
from modkit.ops.parameters import Attrs, Shape
from modkit.ops.partial_shapes import by_axes, check_axis, link
from modkit.ops.registry import op


@op("tile", precision="through")
def tile(data: jax.Array, *, reps: Shape | None) -> jax.Array:
    """The whole array again and again, ``reps[i]`` times along axis i.

    Shapes:
        data: any.
        returns: sizes times ``reps``; the shorter of the two gets ones ahead.
    """
    reps = reps or ()  # None: MXNet reads it as no axes
    expect(min(reps, default=0) >= 0, "tile: reps", reps, "0 or more for each axis")
    return jnp.tile(data, reps)


@op("repeat", precision="through")
def repeat(data: jax.Array, *, repeats: int, axis: int | None = None) -> jax.Array:
    """Each element ``repeats`` times in a row.

    Args:
        axis: along which axis; default: of the array as one row.

    Shapes:
        data: any.
        returns: ``data.shape`` with size ``axis`` times ``repeats``; without an axis one row.
    """
    expect(repeats >= 0, "repeat: repeats", repeats, "0 or more")
    if axis is None:
        return jnp.repeat(data.ravel(), repeats)
    return jnp.repeat(data, repeats, check_axis("repeat", axis, data.ndim))


@by_axes("Pad", rank=lambda attrs: len(attrs["pad_width"]) // 2)
def _pad_partial(xs: list[int], ys: list[int], attrs: Attrs) -> None:
    width = attrs["pad_width"]
    for i in range(len(xs)):
        more = width[2 * i] + width[2 * i + 1]
        link("Pad", xs, i, ys, i, lambda s, m=more: s + m, lambda s, m=more: s - m)


@op("Pad", precision="through", aliases=("pad",), partial=_pad_partial)
def pad(
    data: jax.Array,
    *,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: Shape,
    constant_value: float = 0.0,
) -> jax.Array:
    """A border around the array.

    Args:
        mode: what is in the border: ``constant_value``, the nearest element, or the array
            mirrored at its edge.
        pad_width: before and after each axis: ``(before_0, after_0, before_1, ...)``.
        constant_value: the value with ``mode="constant"``.

    Shapes:
        data: any.
        returns: each size plus its two widths.

    Raises:
        ParameterError: not two widths an axis, a mirror wider than the array, or a constant that
            the type of whole numbers does not hold.

    Differs: MXNet pads floating point images and volumes only, and never their first two axes; here
    any array of any type may be padded on any axis.
    """
    pairs = list(zip(pad_width[::2], pad_width[1::2], strict=False))
    if len(pad_width) != 2 * data.ndim:
        raise ParameterError(
            f"Pad: pad_width: got {len(pad_width)} numbers for data of shape {data.shape}, "
            f"expected {2 * data.ndim}: before and after each axis"
        )
    if mode == "constant":
        if jnp.issubdtype(data.dtype, jnp.integer):
            limits = jnp.iinfo(data.dtype)
            inside = limits.min <= constant_value <= limits.max
            expected = f"{limits.min} to {limits.max} for data of type {data.dtype}"
            expect(inside, "Pad: constant_value", constant_value, expected)
        value = jnp.asarray(constant_value, data.dtype)
        return lax.pad(data, value, [(before, after, 0) for before, after in pairs])
    for size, widths in zip(data.shape, pairs, strict=True):
        if min(widths) < 0 or (mode == "reflect" and max(widths) >= size and max(widths)):
            raise ParameterError(
                f"Pad: pad_width: got {widths} for an axis of size {size}, expected 0 or more"
                + (f" and less than {size} with mode='reflect'" if mode == "reflect" else "")
            )
    return jnp.pad(data, pairs, mode=mode)


@op("diag", precision="float32")
def diag(data: jax.Array, *, k: int = 0, axis1: int = 0, axis2: int = 1) -> jax.Array:
    """A diagonal of matrices, or the matrix with a given diagonal.

    Args:
        data: one row makes a matrix; otherwise the diagonal is taken.
        k: which diagonal: above the main one where positive.
        axis1: the rows.
        axis2: the columns.

    Shapes:
        data: (N,), or two axes or more.
        returns: (N + |k|, N + |k|), or the other axes of ``data`` and then the diagonal.

    Raises:
        ParameterError: there is no such diagonal.
    """
    if data.ndim == 1:
        return jnp.diag(data, k)
    rows, columns = (check_axis("diag", a, data.ndim) for a in (axis1, axis2))
    if rows == columns:
        raise ParameterError(f"diag: axis1, axis2: got {axis1} and {axis2}, expected two axes")
    if min(data.shape[rows] + min(k, 0), data.shape[columns] - max(k, 0)) < 0:
        raise ParameterError(f"diag: k: got {k}, which is outside data of shape {data.shape}")
    return jnp.diagonal(data, k, rows, columns)
