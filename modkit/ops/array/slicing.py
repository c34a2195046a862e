"""Rectangular parts of an array: read, written, or cut to the size of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError, expect
from modkit.ops.dtype_inference import first_decides
from modkit.ops.elementwise.arithmetic import convert
from modkit.ops.parameters import Attrs, Axes, Shape, Traced
from modkit.ops.partial_shapes import Rule, Sizes, by_axes, check_axis, check_shape, link, opened
from modkit.ops.registry import op
from modkit.ops.stype import DENSE, Storage, if_csr

Bounds = tuple[int | None, ...]
"""A place on each axis; ``None`` is the beginning or the end."""


def slices_of(
    name: str, begin: Bounds, end: Bounds, step: Bounds | None, rank: int
) -> tuple[slice, ...]:
    """One slice for each axis that is named."""
    if len(begin) != len(end) or (step and len(step) != len(begin)):
        raise ParameterError(
            f"{name}: begin, end, step: got {begin}, {end}, {step}; expected one length"
        )
    most = f"at most {rank} numbers for {rank} axes"
    expect(len(begin) <= rank, f"{name}: begin", begin, most)
    expect(0 not in (step or ()), f"{name}: step", step, "no 0")
    return tuple(
        slice(*bounds) for bounds in zip(begin, end, step or (None,) * len(begin), strict=True)
    )


@by_axes("slice")
def _slice_partial(xs: list[int], ys: list[int], attrs: Attrs) -> None:
    cuts = slices_of("slice", attrs["begin"], attrs["end"], attrs["step"], len(xs))
    for i in range(len(xs)):
        if i >= len(cuts):
            link("slice", xs, i, ys, i)
        elif xs[i]:
            link("slice", ys, i, [len(range(*cuts[i].indices(xs[i])))], 0)


def _slice_storage(stypes: Sequence[str], attrs: Attrs) -> str:
    plain = tuple(attrs["step"] or ()) in ((), (None,), (1,))
    return if_csr(stypes, attrs) if plain else DENSE


@op(
    "slice",
    precision="through",
    aliases=("crop", "_sparse_slice"),
    partial=_slice_partial,
    partial_is_complete=True,
    storage=Storage(_slice_storage),
)
def slice_(data: jax.Array, *, begin: Bounds, end: Bounds, step: Bounds | None = ()) -> jax.Array:
    """``data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...]``.

    Args:
        begin: where the part begins on each axis; from the end where negative.
        end: where it ends, exclusive.
        step: every how many; backwards where negative.

    Shapes:
        data: any.
        returns: the sizes of the part; axes not named stay whole.

    Raises:
        ParameterError: ``begin``, ``end`` and ``step`` do not fit each other or the array.
    """
    return data[slices_of("slice", begin, end, step, data.ndim)]


def _range(axis: int, begin: int, end: int | None, size: int) -> slice:
    """The part of an axis of that size, counted from the front; all of an empty one."""
    if size < 1:
        return slice(0, size)
    first = begin + size * (begin < 0)
    last = size if end is None else end + size * (end < 0)
    if not 0 <= first < last <= size:
        raise ParameterError(
            f"slice_axis: begin, end: got {begin}, {end} for axis {axis} of size {size}, "
            f"expected 0 <= begin < end <= {size}"
        )
    return slice(first, last)


@by_axes("slice_axis")
def _slice_axis_partial(xs: list[int], ys: list[int], attrs: Attrs) -> None:
    axis = check_axis("slice_axis", attrs["axis"], len(xs))
    for i in range(len(xs)):
        if i != axis:
            link("slice_axis", xs, i, ys, i)
        elif xs[i]:
            part = _range(axis, attrs["begin"], attrs["end"], xs[i])
            link("slice_axis", ys, i, [part.stop - part.start or xs[i]], 0)


@op("slice_axis", precision="through", partial=_slice_axis_partial, partial_is_complete=True)
def slice_axis(data: jax.Array, *, axis: int, begin: int, end: int | None) -> jax.Array:
    """A part of one axis.

    Args:
        begin: where the part begins; from the end where negative.
        end: where it ends, exclusive; ``None`` is the end of the axis.

    Shapes:
        data: any.
        returns: as ``data``, shorter at ``axis``.

    Raises:
        ParameterError: the part is empty or outside the axis.
    """
    axis = check_axis("slice_axis", axis, data.ndim)
    part = _range(axis, begin, end, data.shape[axis])
    return data[(slice(None),) * axis + (part,)]


@op("slice_like", precision="through", dtypes=first_decides)
def slice_like(data: jax.Array, shape_like: jax.Array, *, axes: Axes | None = ()) -> jax.Array:
    """The beginning of ``data``, as long as ``shape_like`` along some axes.

    Args:
        shape_like: its sizes are used, not its elements.
        axes: which axes are cut; default all, with ``None`` none. They are counted from the end of
            ``data``.

    Shapes:
        data: any.
        shape_like: no longer than ``data`` along ``axes``.
        returns: the sizes of ``shape_like`` along ``axes``, else those of ``data``.

    Raises:
        ShapeError: ``shape_like`` is longer, or has another number of axes and all are cut.
    """
    if axes == () and data.ndim != shape_like.ndim:
        raise ShapeError(
            f"slice_like: got shapes {data.shape} and {shape_like.shape}, expected one number of "
            "axes. Name the axes to cut: slice_like(..., axes=(0, 1))"
        )
    sizes = list(data.shape)
    for given in range(data.ndim) if axes == () else axes or ():
        axis = check_axis("slice_like", given, data.ndim, what="axes")
        wanted = shape_like.shape[check_axis("slice_like", axis, shape_like.ndim, what="axes")]
        if wanted > sizes[axis]:
            raise ShapeError(
                f"slice_like: got size {wanted} at axis {axis} of shape_like, "
                f"expected at most {sizes[axis]}, as in data of shape {data.shape}"
            )
        sizes[axis] = wanted
    return data[tuple(slice(size) for size in sizes)]


def _crop_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    xs, ys = opened("Crop", ins[0], 4), opened("Crop", outs[0], 4)
    for i in (0, 1):
        link("Crop", xs, i, ys, i)
    like = ins[1] if len(ins) > 1 else None
    sizes = list(like[2:]) if like else list(attrs["h_w"]) if len(ins) == 1 else [0, 0]
    for i in (0, 1):
        link("Crop", sizes, i, ys, 2 + i)
    return [tuple(xs), *ins[1:]], [tuple(ys)]


@op("Crop", precision="through", variadic="num_args", partial=_crop_partial)
def crop(
    *args: jax.Array, offset: Shape = (0, 0), h_w: Shape = (0, 0), center_crop: bool = False
) -> jax.Array:
    """A window of images.

    Args:
        args: the images; a second array lends its height and width.
        offset: the first row and column of the window.
        h_w: height and width, where there is one array.
        center_crop: put the window in the middle instead of at ``offset``.

    Shapes:
        args: (N, C, H, W), and (M, D, h, w).
        returns: (N, C, h, w).

    Raises:
        ShapeError: the window is larger than the images, or reaches out of them.
    """
    if len(args) not in (1, 2) or any(a.ndim != 4 for a in args):
        raise ShapeError(
            f"Crop: got shapes {[a.shape for a in args]}, expected one or two of (N, C, H, W)"
        )
    for name, pair, read in (("offset", offset, not center_crop), ("h_w", h_w, len(args) == 1)):
        expect(not read or len(pair) == 2, f"Crop: {name}", pair, "(rows, columns)")
    sizes = args[1].shape[2:] if len(args) == 2 else tuple(h_w)
    full = args[0].shape[2:]
    begin = (
        [(f - s) // 2 for f, s in zip(full, sizes, strict=True)] if center_crop else list(offset)
    )
    if any(s < 1 or b < 0 or b + s > f for f, s, b in zip(full, sizes, begin, strict=True)):
        raise ShapeError(
            f"Crop: got a window of {sizes} at {tuple(begin)}, expected one within {full}"
        )
    rows, columns = (slice(b, b + s) for b, s in zip(begin, sizes, strict=True))
    return args[0][:, :, rows, columns]


def _part_params(lhs: Shape, **attrs: Any) -> dict[str, Shape]:
    part = slices_of("_slice_assign", attrs["begin"], attrs["end"], attrs["step"], len(lhs))
    cut = tuple(len(range(*each.indices(n))) for each, n in zip(part, lhs, strict=False))
    return {"rhs": (*cut, *lhs[len(cut) :])}


@op(
    "_slice_assign",
    precision="float32",
    aliases=("_crop_assign",),
    params=_part_params,
    gradient="refused",
)
def slice_assign(
    lhs: jax.Array, rhs: jax.Array, *, begin: Bounds, end: Bounds, step: Bounds | None = ()
) -> jax.Array:
    """A copy of ``lhs`` in which the part that ``slice`` would read is ``rhs``.

    Shapes:
        lhs: any.
        rhs: the sizes of the part.
        returns: as ``lhs``.

    Raises:
        ShapeError: ``rhs`` has other sizes than the part.
    """
    part = slices_of("_slice_assign", begin, end, step, lhs.ndim)
    check_shape("_slice_assign", "rhs", rhs, jax.eval_shape(lambda x: x[part], lhs).shape)
    return lhs.at[part].set(rhs.astype(lhs.dtype))


@op(
    "_slice_assign_scalar",
    precision="float32",
    aliases=("_crop_assign_scalar",),
    gradient="refused",
)
def slice_assign_scalar(
    data: jax.Array, *, scalar: Traced = 0.0, begin: Bounds, end: Bounds, step: Bounds | None = ()
) -> jax.Array:
    """A copy of ``data`` in which the part that ``slice`` would read is ``scalar``.

    Shapes:
        data: any.
        returns: as ``data``.
    """
    part = slices_of("_slice_assign_scalar", begin, end, step, data.ndim)
    return data.at[part].set(convert(jnp.asarray(scalar), data.dtype))
