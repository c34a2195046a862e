"""Reshaping: the same elements in the same order, under other sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError
from modkit.ops.dtype_inference import first_decides
from modkit.ops.parameters import Attrs, Shape
from modkit.ops.partial_shapes import Rule, Sizes, complete, link, merge, opened
from modkit.ops.registry import op


def reshape_sizes(sizes: Shape, codes: Sequence[int], *, reverse: bool = False) -> Shape:
    """The sizes that ``Reshape``'s codes give.

    Args:
        sizes: the array's sizes; 0 is one that is not known yet.
        codes: a size, or: 0 keeps this size; -1 is found from the others (once); -2 keeps all
            that are left; -3 multiplies two; -4 splits one into the two numbers that follow,
            of which one may be -1.
        reverse: read sizes and codes from the right.

    Returns:
        The new sizes; 0 where one depends on a size that is not known.

    Raises:
        ShapeError: the codes do not fit these sizes.
    """
    if reverse:
        return reshape_sizes(sizes[::-1], codes[::-1])[::-1]
    made = _decode(sizes, codes)
    if made.count(-1) > 1:
        raise ShapeError(f"Reshape: got shape {tuple(codes)}, expected -1 at most once")
    if -1 in made:
        made[made.index(-1)] = _missing(sizes, [m for m in made if m != -1], codes)
    if complete(sizes) and complete(tuple(made)) and math.prod(made) != math.prod(sizes):
        shape = str(tuple(codes))
        if made != list(codes):
            shape += f", which makes {tuple(made)}"
        raise ShapeError(
            f"Reshape: got shape {shape} = {math.prod(made)} elements; "
            f"expected {math.prod(sizes)}, as in {sizes}"
        )
    return tuple(made)


def _decode(sizes: Shape, codes: Sequence[int]) -> list[int]:
    """Sizes from codes, with -1 still in."""
    left, queue, made = list(sizes), list(codes), []

    def taken(what: list[int], count: int) -> list[int]:
        if len(what) < count:
            raise ShapeError(f"Reshape: got shape {tuple(codes)}, which does not fit {sizes}")
        part = what[:count]
        del what[:count]
        return part

    while queue:
        code = queue.pop(0)
        if code == 0:
            made += taken(left, 1)
        elif code == -2:
            made += taken(left, len(left))
        elif code == -3:
            made.append(math.prod(taken(left, 2)))
        elif code == -4:
            made += _split(taken(left, 1)[0], *taken(queue, 2))
        elif code >= -1:
            made.append(code)
            del left[:1]
        else:
            raise ShapeError(f"Reshape: got {code} in shape {tuple(codes)}, expected -4 or more")
    return made


def _split(size: int, first: int, second: int) -> tuple[int, int]:
    """Two sizes whose product is ``size``; one of them may be -1."""
    if first == second == -1:
        raise ShapeError("Reshape: got -4, -1, -1; expected at most one -1 after a -4")
    if first == -1:
        first = size // second if second else 0
    elif second == -1:
        second = size // first if first else 0
    if size and first * second != size:
        raise ShapeError(f"Reshape: -4: got {first} * {second}, expected a product of {size}")
    return first, second


def _missing(sizes: Shape, others: Sequence[int], codes: Sequence[int]) -> int:
    """The size that -1 stands for."""
    total, rest = math.prod(sizes), math.prod(others)
    if not rest or not total:
        return 0
    if total % rest:
        raise ShapeError(
            f"Reshape: got shape {tuple(codes)} for {sizes}: {total} elements cannot be divided "
            f"by {rest}"
        )
    return total // rest


def _target(
    sizes: Shape, shape: Shape, reverse: bool, target_shape: Shape | None, keep_highest: bool
) -> Shape:
    """The requested sizes, from ``shape`` or from the older parameters that it replaced."""
    if shape:
        return reshape_sizes(sizes, shape, reverse=reverse)
    if not target_shape:
        if math.prod(sizes) > 1:
            raise ShapeError(
                f"Reshape: shape: got () for {sizes}, expected at least one size or code, or one "
                "element"
            )
        return ()
    codes = [size or -1 for size in target_shape]
    if keep_highest:
        codes[0] = 0
    return reshape_sizes(sizes, codes)


def _reshape_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    (data,), (out,) = ins, outs
    if data is None:
        return [None], [out]
    out = merge("Reshape", out, _target(data, **attrs))
    if out is not None and complete(out) and data.count(0) == 1:
        known = math.prod([size for size in data if size])
        if known and math.prod(out) % known:
            raise ShapeError(
                f"Reshape: got data of shape {data}, expected {math.prod(out)} elements"
            )
        data = tuple(size or (known and math.prod(out) // known) for size in data)
    return [data], [out]


@op("Reshape", precision="through", aliases=("reshape",), partial=_reshape_partial)
def reshape(
    data: jax.Array,
    *,
    shape: Shape = (),
    reverse: bool = False,
    target_shape: Shape | None = (),
    keep_highest: bool = False,
) -> jax.Array:
    """The same elements under another shape.

    Args:
        shape: sizes, or codes: 0 keeps this size, -1 is found from the others, -2 keeps all
            that are left, -3 multiplies two, ``-4, a, b`` splits one.
        reverse: read the codes from the right.
        target_shape: an older form of ``shape``, used where that is empty: 0 is found.
        keep_highest: with ``target_shape``: keep the first size.

    Shapes:
        data: any.
        returns: as ``shape`` says.

    Raises:
        ShapeError: the shape does not fit.

    Differs: MXNet 1.9.1 puts a size of -1 that follows a -2 or -4 after other sizes than the codes
    do, or refuses it.
    """
    return data.reshape(_target(data.shape, shape, reverse, target_shape, keep_highest))


def _span(name: str, begin: int | None, end: int | None, rank: int) -> tuple[int, int]:
    """A range of axes, counted from the front."""
    first = 0 if begin is None else begin + rank * (begin < 0)
    last = rank if end is None else end + rank * (end < 0)
    if not 0 <= first < last <= rank:
        raise ParameterError(
            f"reshape_like: {name}_begin, {name}_end: got {begin}, {end}; expected a range of "
            f"axes within 0 .. {rank}"
        )
    return first, last


@op("reshape_like", precision="through", dtypes=first_decides)
def reshape_like(
    lhs: jax.Array,
    rhs: jax.Array,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> jax.Array:
    """``lhs`` with the sizes of ``rhs``, or with some of its axes in place of some of its own.

    Args:
        lhs: the elements.
        rhs: the sizes.
        lhs_begin: the first axis of ``lhs`` to be replaced; default the first of all.
        lhs_end: the axis after the last one to be replaced; default: to the end.
        rhs_begin: the first axis of ``rhs`` to be put there.
        rhs_end: the axis after the last one.

    Shapes:
        lhs: any.
        rhs: any.
        returns: ``lhs[:lhs_begin] + rhs[rhs_begin:rhs_end] + lhs[lhs_end:]``.

    Raises:
        ShapeError: the number of elements differs.
    """
    first, last = _span("lhs", lhs_begin, lhs_end, lhs.ndim)
    begin, end = _span("rhs", rhs_begin, rhs_end, rhs.ndim)
    sizes = lhs.shape[:first] + rhs.shape[begin:end] + lhs.shape[last:]
    if math.prod(sizes) != lhs.size:
        raise ShapeError(
            f"reshape_like: got {sizes} for lhs of shape {lhs.shape}, expected {lhs.size} elements"
        )
    return lhs.reshape(sizes)


def _flatten_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], _attrs: Attrs) -> Rule:
    (data,), (out,) = ins, outs
    if data is None:
        return [None], [out]
    xs, ys = list(data), opened("Flatten", out, 2)
    link("Flatten", xs, 0, ys, 0)
    ys[1] = ys[1] or math.prod(xs[1:])
    return [tuple(xs)], [tuple(ys)]


@op("Flatten", precision="through", aliases=("flatten",), partial=_flatten_partial)
def flatten(data: jax.Array) -> jax.Array:
    """All axes but the first as one.

    Shapes:
        data: (N, ...).
        returns: (N, K).

    Raises:
        ShapeError: ``data`` has no axis.
    """
    if not data.ndim:
        raise ShapeError("Flatten: got data of shape (), expected one axis or more")
    return jnp.reshape(data, (data.shape[0], math.prod(data.shape[1:])))
