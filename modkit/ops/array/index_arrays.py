"""Arrays of indices and sizes: raveled and unraveled indices, ranges, histograms, shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import ParameterError, ShapeError, expect
from modkit.ops.array.indexing import whole
from modkit.ops.dtype_inference import int64_result
from modkit.ops.elementwise.arithmetic import is_whole
from modkit.ops.parameters import Attrs, Axes, Device, Shape
from modkit.ops.partial_shapes import Rule, Sizes, check_axis, merge, results
from modkit.ops.registry import op


def _long() -> Any:
    """int64 where 64-bit types are on, else int32."""
    return jax.dtypes.canonicalize_dtype("int64")


def _need_shape(name: str, shape: Shape) -> None:
    if not shape:
        raise ParameterError(f"{name}: shape: got (), expected the sizes of the array indexed")


def _ravelled(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    data, made = ins[0], outs[0]
    if made is not None and made != (1,):  # of one index the coordinates may have one axis
        data = merge("data", data, (len(attrs["shape"]), *made))
    return [data], [made if data is None else data[1:] or (1,)]


@op("_ravel_multi_index", precision="float32", aliases=("ravel_multi_index",), partial=_ravelled)
def ravel_multi_index(data: jax.Array, *, shape: Shape = ()) -> jax.Array:
    """Flat indices from coordinates.

    Args:
        data: coordinates, a row for each axis.
        shape: sizes of the array they point into; the first may be -1.

    Shapes:
        data: (M, ...).
        returns: (...).

    Raises:
        ShapeError: ``shape`` has not M sizes.
    """
    _need_shape("ravel_multi_index", shape)
    if data.shape[0] != len(shape):
        raise ShapeError(
            f"ravel_multi_index: got {data.shape[0]} rows of coordinates, expected {len(shape)} "
            f"for shape {shape}"
        )
    flat = jnp.zeros(data.shape[1:] or (1,), whole(data).dtype)
    for row, size in zip(whole(data), shape, strict=True):
        flat = flat * size + row
    return flat.astype(data.dtype)


def _unravelled(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    flat, made = ins[0], outs[0]
    if made is not None and len(made) > 1:
        flat = merge("data", flat, made[1:])
    return [flat], [made if flat is None else (len(attrs["shape"]), *flat)]


@op("_unravel_index", precision="float32", aliases=("unravel_index",), partial=_unravelled)
def unravel_index(data: jax.Array, *, shape: Shape = ()) -> jax.Array:
    """Coordinates from flat indices.

    Args:
        shape: sizes of the array they point into; the first may be -1.

    Shapes:
        data: any.
        returns: M = ``len(shape)``, and then ``data.shape``.

    Differs: MXNet leaves most of the result unwritten where ``data`` has more than one axis.
    """
    _need_shape("unravel_index", shape)
    left, rows = whole(data), []
    for size in shape[:0:-1]:
        rows.append(lax.rem(left, jnp.full_like(left, size)))
        left = lax.div(left, jnp.full_like(left, size))
    return jnp.stack([left, *rows[::-1]]).astype(data.dtype)


@op("_contrib_index_array", precision="float32", dtypes=lambda ins, _: (list(ins), ["int64"]))
def index_array(data: jax.Array, *, axes: Axes | None = None) -> jax.Array:
    """The coordinates of every element.

    Args:
        data: its sizes are used, not its elements.
        axes: which coordinates; default all.

    Shapes:
        data: any, with N axes.
        returns: ``data.shape`` and then N, or ``len(axes)``.
    """
    chosen = range(data.ndim) if axes is None else axes
    at = [check_axis("_contrib_index_array", a, data.ndim, what="axes") for a in chosen]
    rows = [lax.broadcasted_iota(_long(), data.shape, a) for a in at]
    return jnp.stack(rows, axis=-1) if rows else jnp.zeros((*data.shape, 0), _long())


@op("_contrib_arange_like", precision="float32")
def arange_like(
    data: jax.Array,
    *,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: Device = "",
    axis: int | None = None,
) -> jax.Array:
    """Evenly spaced numbers, as many as an array has elements.

    Args:
        data: its sizes and type are used, not its elements.
        start: the first number; cut off for whole numbers, as ``step``.
        step: from one to the next.
        repeat: how often each comes.
        ctx: no effect.
        axis: count along this axis alone.

    Shapes:
        data: any.
        returns: as ``data``, or with ``axis`` one row.
    """
    expect(repeat >= 1, "_contrib_arange_like: repeat", repeat, "1 or more")
    if axis is None:
        shape = data.shape
    else:
        shape = (data.shape[check_axis("_contrib_arange_like", axis, data.ndim)],)
    count = lax.iota(jnp.int32, math.prod(shape)) // repeat
    if is_whole(data.dtype):
        made = int(start) + int(step) * count
    else:
        kind = jnp.promote_types(data.dtype, jnp.float32)
        made = jnp.asarray(start, kind) + jnp.asarray(step, kind) * count.astype(kind)
    return lax.stop_gradient(made.astype(data.dtype).reshape(shape))


def _bin_of_equal(values: jax.Array, edges: jax.Array, whole: jax.Array) -> jax.Array:
    """The bin of equal width, moved by one where the value is outside its edges as whole numbers.

    Shapes:
        values: (N,).  edges: (K + 1,), and cut off to whole numbers.  returns: (N,).
    """
    last = len(edges) - 2
    share = (values - edges[0]) / (edges[-1] - edges[0])
    at = jnp.clip(jnp.floor(share * (last + 1)), 0, last).astype(jnp.int32)
    at = at - (values < whole[at])
    return at + ((at < last) & (values >= whole[at + 1]))


def _counted(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
    count = attrs["bin_cnt"]
    return list(ins), list(outs) if count is None else [(count,), (count + 1,)]


@op(
    "_histogram",
    precision="float32",
    when={"bins": lambda attrs: attrs["bin_cnt"] is None},
    outputs=("output0", "output1"),
    dtypes=lambda ins, attrs: ([ins[0]] * len(ins), ["int64", ins[0]]),
    partial=_counted,
    gradient="refused",
)
def histogram(
    data: jax.Array,
    bins: jax.Array | None = None,
    *,
    bin_cnt: int | None = None,
    range: tuple[float, ...] | None = None,
) -> tuple[jax.Array, jax.Array]:
    """The number of elements in each bin. Only the last bin includes its upper edge.

    Args:
        bins: the edges, where there is no ``bin_cnt``. Among edges that do not rise a bin ends at
            the first one above the element.
        bin_cnt: how many bins of one width.
        range: the lowest and the highest edge, with ``bin_cnt``.

    Shapes:
        data: any.
        bins: (K + 1,).
        returns: (K,) counts, whole numbers, and (K + 1,) edges.

    Raises:
        ParameterError: only one of ``bin_cnt`` and ``range``.
        ShapeError: fewer than two edges.
    """
    if (bin_cnt is None) != (range is None) or (range is not None and len(range) != 2):
        raise ParameterError(
            f"_histogram: bin_cnt, range: got {bin_cnt}, {range}; expected a number and "
            "(low, high), or neither"
        )
    kind = jnp.promote_types(data.dtype, jnp.float32)
    kind = kind if jnp.issubdtype(kind, jnp.floating) else jnp.float32
    if bins is None:
        low, high = range or (0.0, 0.0)
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        edges = jnp.linspace(low, high, (bin_cnt or 0) + 1, dtype=kind)
    else:
        edges = bins.astype(kind)
    if edges.ndim != 1 or len(edges) < 2:
        raise ShapeError(f"_histogram: bins: got shape {edges.shape}, expected two edges or more")
    values = data.ravel().astype(kind)
    inside = (values >= edges[0]) & (values <= edges[-1])
    if bins is None and is_whole(data.dtype):
        at = _bin_of_equal(values, edges, edges.astype(data.dtype))
    else:
        at = jnp.searchsorted(jax.lax.cummax(edges), values, side="right") - 1
        at = jnp.minimum(at, len(edges) - 2)
    at = jnp.where(inside, at, len(edges) - 1)
    counts = jnp.zeros(len(edges) - 1, _long()).at[at].add(1, mode="drop")
    return counts, edges.astype(data.dtype)


@op(
    "shape_array",
    precision="float32",
    partial=lambda ins, outs, attrs: (ins, [(0,) if ins[0] is None else (len(ins[0]),)]),
    dtypes=int64_result,
    gradient="zero",
)
def shape_array(data: Any) -> Any:
    """The shape of ``data``, as an array of int64."""
    return jnp.array(data.shape, jnp.int64)


@op("size_array", precision="float32", partial=results((1,)), dtypes=int64_result, gradient="zero")
def size_array(data: Any) -> Any:
    """The number of elements of ``data``, as an array of one int64."""
    return jnp.array([data.size], jnp.int64)
