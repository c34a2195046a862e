"""Padded sequences: SequenceMask, SequenceLast and SequenceReverse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ShapeError, expect
from modkit.ops.dtype_inference import first_by_default
from modkit.ops.elementwise.arithmetic import convert
from modkit.ops.parameters import Attrs, Inert
from modkit.ops.partial_shapes import Rule, Sizes, link, opened, rank_of
from modkit.ops.registry import op


def _partial(name: str, *, whole: bool) -> Any:
    """The rule of an operator whose result has all axes of the data, or all but the time."""

    def rule(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
        rank = rank_of((ins[0], 0), (outs[0], 0 if whole else -1))
        if rank is None:
            return list(ins), list(outs)
        time = attrs["axis"]
        xs = opened(name, ins[0], rank)
        ys = opened(name, outs[0], rank if whole else rank - 1)
        for i in range(rank):
            if whole or i != time:
                link(name, xs, i, ys, i if whole else i - (i > time))
        if len(ins) == 1:
            return [tuple(xs)], [tuple(ys)]
        lengths = opened(name, ins[1], 1)
        link(name, xs, 1 - time, lengths, 0)
        return [tuple(xs), tuple(lengths)], [tuple(ys)]

    return rule


def _sequence(name: str, *, whole: bool) -> Any:
    """Register an operator whose sequences have lengths with ``use_sequence_length``."""
    return op(
        name,
        precision="through",
        when={"sequence_length": lambda attrs: attrs["use_sequence_length"]},
        params=lambda data, *, axis, **_: {"sequence_length": (data[1 - axis],)},
        partial=_partial(name, whole=whole),
        dtypes=first_by_default,
    )


def _check(name: str, data: jax.Array, lengths: jax.Array | None, axis: int) -> None:
    expect(axis in (0, 1), f"{name}: axis", axis, "0 or 1")
    if data.ndim < 2:
        raise ShapeError(f"{name}: data: got shape {data.shape}, expected two axes or more")
    if lengths is not None and lengths.shape != (data.shape[1 - axis],):
        raise ShapeError(
            f"{name}: sequence_length: got shape {lengths.shape}, expected "
            f"{(data.shape[1 - axis],)}, one for each sequence of data {data.shape}"
        )


def _steps(data: jax.Array, axis: int) -> jax.Array:
    """The time of each element of the first two axes, in a shape that spreads over ``data``."""
    size = data.shape[axis]
    return jnp.arange(size, dtype=jnp.int32).reshape((size, 1) if axis == 0 else (1, size))


def _spread(per_step: jax.Array, data: jax.Array) -> jax.Array:
    """An array over the first two axes, made to spread over all of ``data``."""
    return per_step.reshape(*per_step.shape, *(1,) * (data.ndim - 2))


@_sequence("SequenceMask", whole=True)
def sequence_mask(
    data: jax.Array,
    sequence_length: jax.Array | None = None,
    *,
    use_sequence_length: Inert[bool] = False,
    value: float = 0.0,
    axis: int = 0,
) -> jax.Array:
    """Every step at or after a sequence's length becomes ``value``.

    Args:
        sequence_length: how long each one is, fractions cut off; with ``use_sequence_length``.
        use_sequence_length: whether there are lengths; without, nothing is masked.
        value: what is put there.
        axis: the axis of time, 0 or 1.

    Shapes:
        data: (T, N, ...), or (N, T, ...) with ``axis=1``.
        sequence_length: (N,).
        returns: as ``data``.
    """
    _check("SequenceMask", data, sequence_length, axis)
    if sequence_length is None:
        return data
    lengths = jnp.expand_dims(sequence_length.astype(jnp.int32), axis)
    inside = _spread(_steps(data, axis) < lengths, data)
    return jnp.where(inside, data, convert(jnp.asarray(value), data.dtype))


@_sequence("SequenceLast", whole=False)
def sequence_last(
    data: jax.Array,
    sequence_length: jax.Array | None = None,
    *,
    use_sequence_length: Inert[bool] = False,
    axis: int = 0,
) -> jax.Array:
    """The last step of each sequence.

    Args:
        sequence_length: how long each one is, 1 or more; with ``use_sequence_length``.
        use_sequence_length: whether there are lengths; without, all are as long as the array.
        axis: the axis of time, 0 or 1.

    Shapes:
        data: (T, N, ...), or (N, T, ...) with ``axis=1``.
        sequence_length: (N,).
        returns: (N, ...).

    Differs: a length of 0 or beyond T, for which MXNet reads memory that is not the array's, gives
    the first or the last step.
    """
    _check("SequenceLast", data, sequence_length, axis)
    if sequence_length is None:
        return jnp.take(data, data.shape[axis] - 1, axis)
    last = jnp.clip(sequence_length.astype(jnp.int32) - 1, 0, data.shape[axis] - 1)
    at = _spread(jnp.expand_dims(last, axis), data)
    return jnp.squeeze(jnp.take_along_axis(data, at, axis), axis)


@_sequence("SequenceReverse", whole=True)
def sequence_reverse(
    data: jax.Array,
    sequence_length: jax.Array | None = None,
    *,
    use_sequence_length: Inert[bool] = False,
    axis: int = 0,
) -> jax.Array:
    """The steps of each sequence in the opposite order; those after its end stay.

    Args:
        sequence_length: how long each one is; with ``use_sequence_length``.
        use_sequence_length: whether there are lengths; without, all are as long as the array.
        axis: the axis of time: 0.

    Shapes:
        data: (T, N, ...).
        sequence_length: (N,).
        returns: as ``data``.

    Differs: a length beyond T, for which MXNet reads memory that is not the array's, counts as T.
    """
    _check("SequenceReverse", data, sequence_length, axis)
    swapped = "0; swap the axes first: swapaxes(data, dim1=0, dim2=1)"
    expect(axis == 0, "SequenceReverse: axis", axis, swapped)
    if sequence_length is None:
        return jnp.flip(data, 0)
    lengths = jnp.minimum(sequence_length.astype(jnp.int32), data.shape[0])
    step = _steps(data, 0)
    at = _spread(jnp.where(step < lengths, lengths - 1 - step, step), data)
    return jnp.take_along_axis(data, at, 0)
