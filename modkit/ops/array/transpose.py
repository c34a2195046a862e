"""Axes: ``transpose``, ``swapaxes``, ``expand_dims``, ``squeeze`` and ``flip``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError, wrong
from modkit.ops.parameters import Attrs, Axes, Shape
from modkit.ops.partial_shapes import Rule, Sizes, by_axes, check_axis, link, opened
from modkit.ops.registry import op


def _one_to_one(name: str, source: Callable[[Mapping[str, Any], int], Sequence[int]]) -> Any:
    """The ``partial`` rule of an operator whose axes are ``source(attrs, rank)`` of the input's."""

    @by_axes(name)
    def rule(xs: list[int], ys: list[int], attrs: Attrs) -> None:
        for to, at in enumerate(source(attrs, len(xs))):
            link(name, xs, at, ys, to)

    return rule


def _order(attrs: Attrs, rank: int) -> Sequence[int]:
    axes = attrs["axes"]
    if not axes:
        return range(rank)[::-1]
    order = [a + rank if a < 0 else a for a in axes]
    if sorted(order) != list(range(rank)):
        expected = f"each of 0 .. {rank - 1} once for an array with {rank} axes"
        raise wrong("transpose: axes", axes, expected)
    return order


@op("transpose", precision="through", partial=_one_to_one("transpose", _order))
def transpose(data: jax.Array, *, axes: Axes = ()) -> jax.Array:
    """The axes in another order; reversed by default.

    Args:
        axes: ``axes[i]`` is the axis that becomes the i-th.

    Shapes:
        data: any.
        returns: ``data.shape[a] for a in axes``.

    Raises:
        ParameterError: ``axes`` does not name each axis once.
    """
    return jnp.transpose(data, tuple(_order({"axes": axes}, data.ndim)))


def _swapped(attrs: Attrs, rank: int) -> Sequence[int]:
    order = list(range(rank))
    first = check_axis("SwapAxis", attrs["dim1"], rank, what="dim1")
    second = check_axis("SwapAxis", attrs["dim2"], rank, what="dim2")
    order[first], order[second] = second, first
    return order


@op(
    "SwapAxis",
    precision="through",
    aliases=("swapaxes",),
    partial=_one_to_one("SwapAxis", _swapped),
)
def swap_axis(data: jax.Array, *, dim1: int = 0, dim2: int = 0) -> jax.Array:
    """Exchange two axes.

    Shapes:
        data: any.
        returns: as ``data``, with sizes ``dim1`` and ``dim2`` exchanged.
    """
    return jnp.transpose(data, _swapped({"dim1": dim1, "dim2": dim2}, data.ndim))


@by_axes("expand_dims", more=1)
def _expand_partial(xs: list[int], ys: list[int], attrs: Attrs) -> None:
    axis = check_axis("expand_dims", attrs["axis"], len(ys))
    ys[axis] = 1
    for i in range(len(xs)):
        link("expand_dims", xs, i, ys, i + (i >= axis))


@op("expand_dims", precision="through", partial=_expand_partial)
def expand_dims(data: jax.Array, *, axis: int) -> jax.Array:
    """Put in a new axis of size 1.

    Args:
        axis: its place in the result; from the end where negative.

    Shapes:
        data: any.
        returns: ``data.shape`` with a 1 at ``axis``.
    """
    return jnp.expand_dims(data, check_axis("expand_dims", axis, data.ndim + 1))


def _squeezed(sizes: Shape, axis: Axes | None) -> list[int]:
    """The axes that go."""
    if axis is None:
        return [i for i, size in enumerate(sizes) if size == 1]
    gone = [check_axis("squeeze", a, len(sizes)) for a in axis]
    for a in gone:
        if sizes[a] not in (0, 1):
            raise ShapeError(f"squeeze: got size {sizes[a]} at axis {a} of {sizes}, expected 1")
    return gone


def _squeeze_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    data = ins[0]
    # Without a list of axes, a size that is not known may turn out to be 1.
    if data is None or (attrs["axis"] is None and 0 in data):
        return list(ins), list(outs)
    gone = _squeezed(data, attrs["axis"])
    kept = [i for i in range(len(data)) if i not in gone]
    if not kept:
        return [(1,) * len(data)], [(1,)]
    xs, ys = list(data), opened("squeeze", outs[0], len(kept))
    for a in gone:
        xs[a] = 1
    for to, at in enumerate(kept):
        link("squeeze", xs, at, ys, to)
    return [tuple(xs)], [tuple(ys)]


@op("squeeze", precision="through", partial=_squeeze_partial)
def squeeze(data: jax.Array, *, axis: Axes | None = None) -> jax.Array:
    """Leave out axes of size 1: all of them, or those named.

    Shapes:
        data: any.
        returns: ``data.shape`` without them; (1,) where none is left.

    Raises:
        ShapeError: an axis named has another size.
    """
    return jnp.atleast_1d(jnp.squeeze(data, tuple(_squeezed(data.shape, axis))))


def _reversed_axes(axis: Axes, rank: int) -> tuple[int, ...]:
    axes = [check_axis("reverse", a, rank) for a in axis]
    return tuple(a for a in range(rank) if axes.count(a) % 2)


@op("reverse", precision="through", aliases=("flip",), same_shape=True)
def reverse(data: jax.Array, *, axis: Axes) -> jax.Array:
    """The elements along some axes in the opposite order, twice along an axis that is named twice.

    Shapes:
        data: any.
        returns: as ``data``.
    """
    return jnp.flip(data, _reversed_axes(axis, data.ndim))
