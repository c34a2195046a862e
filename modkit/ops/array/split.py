"""One array cut into several along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError, ShapeError, wrong
from modkit.ops.entry import numbered
from modkit.ops.parameters import Attrs, Shape, Size
from modkit.ops.partial_shapes import Rule, Sizes, check_axis, link, opened, rank_of
from modkit.ops.registry import op


def _pieces(
    name: str, data: Sizes, outs: Sequence[Sizes], axis: int, squeeze_axis: bool
) -> tuple[list[int], list[list[int]], int] | None:
    """Sizes of the whole and of its pieces, linked except along ``axis``, and that axis."""
    rank = rank_of((data, 0), *((out, -int(squeeze_axis)) for out in outs))
    if rank is None:
        return None
    at = check_axis(name, axis, rank)
    whole = opened(name, data, rank)
    parts = [opened(name, out, rank - squeeze_axis) for out in outs]
    for part in (*parts, *parts):
        for i in range(rank):
            if i != at:
                link(name, whole, i, part, i - (squeeze_axis and i > at))
    return whole, parts, at


def _even(pieces: tuple[list[int], list[list[int]], int], count: int, squeeze_axis: bool) -> None:
    """Cut into ``count`` equal parts."""
    whole, parts, axis = pieces
    if whole[axis] % count or (squeeze_axis and whole[axis] not in (0, count)):
        raise ShapeError(
            f"SliceChannel: got size {whole[axis]} at axis {axis} of {tuple(whole)}, expected "
            + (f"{count} with squeeze_axis" if squeeze_axis else f"a multiple of {count}")
        )
    if squeeze_axis:
        whole[axis] = count
        return
    for part in (*parts, *parts):
        link("SliceChannel", whole, axis, part, axis, lambda s: s // count, lambda s: s * count)


def _slice_channel_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    count, squeezed = attrs["num_outputs"], attrs["squeeze_axis"]
    pieces = _pieces("SliceChannel", ins[0], outs, attrs["axis"], squeezed)
    if pieces is None:
        return list(ins), list(outs)
    _even(pieces, count, squeezed)
    return [tuple(pieces[0])], [tuple(part) for part in pieces[1]]


@op(
    "SliceChannel",
    precision="through",
    aliases=("split",),
    outputs=lambda attrs: (
        numbered(attrs["num_outputs"]) if attrs["num_outputs"] > 1 else ("output0",)
    ),
    partial=_slice_channel_partial,
)
def slice_channel(
    data: jax.Array, *, num_outputs: Size, axis: int = 1, squeeze_axis: bool = False
) -> tuple[jax.Array, ...]:
    """Cut an array into equal parts along an axis.

    Args:
        squeeze_axis: leave the axis out of the parts; each must then be 1 long.

    Shapes:
        data: (..., ``num_outputs`` * K, ...).
        returns: ``num_outputs`` arrays of (..., K, ...).

    Raises:
        ShapeError: the axis cannot be cut into so many equal parts.
    """
    attrs = {"num_outputs": num_outputs, "axis": axis, "squeeze_axis": squeeze_axis}
    _slice_channel_partial([data.shape], [None] * num_outputs, attrs)
    parts = jnp.split(data, num_outputs, axis)
    return tuple(jnp.squeeze(part, axis) if squeeze_axis else part for part in parts)


def split_v2_attrs(
    shape: Shape | None,
    indices_or_sections: int | tuple[int, ...],
    axis: int = 0,
    squeeze_axis: bool = False,
    **kwargs: Any,
) -> dict[str, Any]:
    """The parameters of ``_split_v2`` for a call ``split_v2(array, indices_or_sections, ...)``.

    Args:
        shape: that of an array, which must have equal parts; ``None`` for a symbol.
        indices_or_sections: the number of parts, or where to cut.
        squeeze_axis: leave that axis out of the parts.
        **kwargs: what else the call has, such as ``name``.

    Raises:
        ParameterError: neither an int nor a tuple.
        ShapeError: the axis of an array cannot be cut into so many equal parts.
    """
    if isinstance(indices_or_sections, int):
        indices, sections = [], indices_or_sections
        if shape and sections > 0:
            size = shape[check_axis("split_v2", axis, len(shape))]
            if size % sections:
                raise ShapeError(
                    f"split_v2: got size {size} at axis {axis} of {shape}, expected a multiple of "
                    f"{sections}"
                )
    elif isinstance(indices_or_sections, tuple):
        indices, sections = [0, *indices_or_sections], 0
    else:
        raise ParameterError(
            f"split_v2: indices_or_sections: got {indices_or_sections!r}, "
            "expected an int or a tuple of ints"
        )
    cut = {"indices": indices, "axis": axis, "squeeze_axis": squeeze_axis, "sections": sections}
    return {**cut, **kwargs}


def _split_names(attrs: Attrs) -> tuple[str, ...]:
    count = max(attrs["sections"], 0) or len(attrs["indices"])
    if not count:
        raise ParameterError(
            f"_split_v2: got indices=() and sections={attrs['sections']}, expected where pieces "
            "begin, or their number"
        )
    return numbered(count)


def _split_v2_partial(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    squeezed = attrs["squeeze_axis"]
    pieces = _pieces("_split_v2", ins[0], outs, attrs["axis"], squeezed)
    if pieces is None:
        return list(ins), list(outs)
    whole, parts, axis = pieces
    if squeezed:
        whole[axis] = whole[axis] or len(parts)
    if whole[axis]:
        starts = _starts(attrs["indices"], attrs["sections"], whole[axis])
        sizes = _between(starts, whole[axis], squeezed)
        for part, size in zip(parts, () if squeezed else sizes, strict=not squeezed):
            link("_split_v2", part, axis, [size], 0)
    return [tuple(whole)], [tuple(part) for part in parts]


def _starts(indices: Shape, sections: int, size: int) -> Shape:
    """Beginnings of the parts; of sections the first ones are longer by 1 than the others."""
    if sections <= 0:
        return indices
    each, longer = divmod(size, sections)
    return tuple(i * each + min(i, longer) for i in range(sections))


def _between(starts: Shape, size: int, squeeze_axis: bool) -> list[int]:
    """Lengths of the parts that begin at ``starts``."""
    ends = (*starts[1:], size)
    if not starts or starts[0] != 0 or any(b > e for b, e in zip(starts, ends, strict=True)):
        expected = f"a rising list that begins with 0 and ends at {size} at most"
        raise wrong("_split_v2: indices", starts, expected)
    sizes = [end - begin for begin, end in zip(starts, ends, strict=True)]
    if squeeze_axis and any(size != 1 for size in sizes):
        raise ShapeError(f"_split_v2: got parts of {sizes}, expected 1 with squeeze_axis")
    return sizes


@op("_split_v2", precision="through", outputs=_split_names, partial=_split_v2_partial)
def split_v2(
    data: jax.Array, *, indices: Shape, axis: int = 1, squeeze_axis: bool = False, sections: int = 0
) -> tuple[jax.Array, ...]:
    """Cut an array along an axis: at given places, or into sections.

    Args:
        indices: where each part begins; the first is 0. Used where ``sections`` is not above 0.
        squeeze_axis: leave the axis out of the parts; each must then be 1 long.
        sections: how many parts, as equal as the size allows: the first ones are longer by 1.

    Shapes:
        data: any.
        returns: one array a part, shorter at ``axis``.

    Raises:
        ParameterError: ``indices`` do not rise from 0 to the size of the axis.
        ShapeError: a part is not 1 long with ``squeeze_axis``.
    """
    axis = check_axis("_split_v2", axis, data.ndim)
    starts = _starts(indices, sections, data.shape[axis])
    _between(starts, data.shape[axis], squeeze_axis)
    parts = jnp.split(data, starts[1:], axis)
    return tuple(jnp.squeeze(part, axis) if squeeze_axis else part for part in parts)
