"""Arrays joined along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError
from modkit.ops.nn.layout import with_channels_last
from modkit.ops.parameters import Attrs
from modkit.ops.partial_shapes import Rule, Sizes, check_axis, link, opened, rank_of
from modkit.ops.registry import op
from modkit.ops.stype import CSR, DENSE, Storage


def _same_sizes(name: str, shapes: Sequence[Sizes], free: int | None) -> None:
    """Refuse known sizes that differ anywhere but at axis ``free``."""
    known = [(at, shape) for at, shape in enumerate(shapes) if shape is not None]
    for at, shape in known[1:]:
        first, expected = known[0]
        if len(shape) != len(expected) or any(
            a and b and a != b and i != free
            for i, (a, b) in enumerate(zip(shape, expected, strict=True))
        ):
            where = "" if free is None else f" except at axis {free}"
            raise ShapeError(
                f"{name}: input {at}: got shape {shape}, "
                f"expected that of input {first}, {expected}{where}"
            )


def _some(name: str, args: Sequence[jax.Array]) -> None:
    if not args:
        raise ParameterError(f"{name}: got no arrays, expected one or more")


def _concat_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    rank = rank_of(*((shape, 0) for shape in (*ins, *outs)))
    if rank is None:
        return list(ins), list(outs)
    dim = check_axis("Concat", attrs["dim"], rank, what="dim")
    _same_sizes("Concat", ins, dim)
    parts = [opened("Concat", shape, rank) for shape in ins]
    whole = opened("Concat", outs[0], rank)
    # Twice: what the last array tells must reach the first.
    for part in (*parts, *parts):
        for i in range(rank):
            if i != dim:
                link("Concat", part, i, whole, i)
    _fill_sum(parts, whole, dim)
    return [tuple(part) for part in parts], [tuple(whole)]


def _fill_sum(parts: Sequence[list[int]], whole: list[int], dim: int) -> None:
    """Sizes along ``dim``: the whole from its parts, or the one part that is not known."""
    known = sum(part[dim] for part in parts)
    unknown = [part for part in parts if not part[dim]]
    if not unknown:
        if whole[dim] not in (0, known):
            raise ShapeError(
                f"Concat: got {known} elements along axis {dim}, expected {whole[dim]}"
            )
        whole[dim] = known
    elif len(unknown) == 1 and whole[dim]:
        if known >= whole[dim]:
            raise ShapeError(
                f"Concat: got more than {known} elements along axis {dim}, expected {whole[dim]}"
            )
        unknown[0][dim] = whole[dim] - known


def _concat_channels_last(_attrs: Attrs) -> Callable[..., Any]:
    return lambda *args, dim: concat(*args, dim=with_channels_last(dim))


def _concat_storage(stypes: Sequence[str], attrs: Attrs) -> str:
    return CSR if set(stypes) == {CSR} and attrs["dim"] == 0 else DENSE


@op(
    "Concat",
    precision="alike",
    costly=True,
    aliases=("concat", "_sparse_concat"),
    variadic="num_args",
    partial=_concat_partial,
    channels_last=_concat_channels_last,
    storage=Storage(_concat_storage),
)
def concat(*args: jax.Array, dim: int = 1) -> jax.Array:
    """Arrays one after the other along an axis.

    Shapes:
        args: equal, except at ``dim``.
        returns: the same, with the sum of sizes at ``dim``.

    Differs: while the size of a part is unknown, so is the sum; MXNet's `infer_shape_partial` adds
    the others up, and the layers after have wrong shapes.
    """
    _some("Concat", args)
    axis = check_axis("Concat", dim, args[0].ndim, what="dim")
    _same_sizes("Concat", [a.shape for a in args], axis)
    return jnp.concatenate(args, axis)


@op("_rnn_param_concat", precision="float32", variadic="num_args", partial=_concat_partial)
def rnn_param_concat(*args: jax.Array, dim: int = 1) -> jax.Array:
    """``Concat`` under the name that the packing of recurrent weights has.

    Shapes:
        args: equal, except at ``dim``.
        returns: the same, with the sum of sizes at ``dim``.
    """
    return concat(*args, dim=dim)


def _stack_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    rank = rank_of(*((shape, 0) for shape in ins), (outs[0], 1))
    if rank is None:
        return list(ins), list(outs)
    axis = check_axis("stack", attrs["axis"], rank + 1)
    parts = [opened("stack", shape, rank) for shape in ins]
    whole = opened("stack", outs[0], rank + 1)
    whole[axis] = len(parts)
    for part in (*parts, *parts):
        for i in range(rank):
            link("stack", part, i, whole, i + (i >= axis))
    return [tuple(part) for part in parts], [tuple(whole)]


@op("stack", precision="alike", variadic="num_args", partial=_stack_partial)
def stack(*args: jax.Array, axis: int = 0) -> jax.Array:
    """Arrays side by side along a new axis.

    Args:
        axis: the place of the new axis in the result.

    Shapes:
        args: all the same.
        returns: the same, with ``len(args)`` at ``axis``.
    """
    _some("stack", args)
    _same_sizes("stack", [a.shape for a in args], None)
    return jnp.stack(args, check_axis("stack", axis, args[0].ndim + 1))
