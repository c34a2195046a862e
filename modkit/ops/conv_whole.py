"""Convolutions over two axes that see all channels, in the forms that are fastest on CPUs."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from modkit.ops.conv_slices import pad, views, weighted
from modkit.ops.conv_tiles import (
    part_count,
    tile_counts,
    tiled,
    tiled_data_gradient,
    tiled_weight_gradient,
)
from modkit.ops.floating import accumulator
from modkit.ops.moves import Moves
from modkit.ops.registry import Shape

_FEW = 4
"""Channels of data, at most, that XLA's own form is slow for (`benchmarks.conv_sweep`)."""

_MOST_TERMS = 32
"""Cells times channels of the largest kernel that few channels are summed with slice by slice."""

_MANY = 1 << 12
"""Places of data from which on they are so summed: with fewer that is done by one thread."""

_MANY_CHANNELS = 128
"""Channels of data, and of results, from which on tiles are worth their sums."""

_MANY_TILES = 192
"""Tiles, at once, from which on they are worth the sums of the kernel."""

_MOST_TURNS = 8
"""Parts of the samples that tiles are made of one after another, at most: each is compiled."""

_MOST_PARTS = 64
"""Cells of the largest kernel, and of the largest step, whose gradient is a sum of parts: each is
an operation to compile, and a transposed convolution that enlarges by 32 has kernels of 64x64."""


def by_xla(
    data: jax.Array, weight: jax.Array, moves: Moves, groups: int = 1, layout: str = "NHWC"
) -> jax.Array:
    """Cross-correlation in XLA's own form, in any layout; the weight has N read as outputs."""
    return lax.conv_general_dilated(
        data,
        weight,
        window_strides=moves.stride,
        padding=moves.pads,
        rhs_dilation=moves.dilate,
        dimension_numbers=(layout, layout.replace("C", "I").replace("N", "O"), layout),
        feature_group_count=groups,
    )


# ── 1x1 ─────────────────────────────────────────────────────────────────────────────────────


@jax.custom_vjp
def product(data: jax.Array, weight: jax.Array) -> jax.Array:
    """``data @ weight.T``, with gradients that are products too, as is fastest on CPUs.

    The weight's gradient sums over all places of the data, for which XLA writes one of its two
    factors anew, with places last: the first one. So the one with fewer channels stands first.
    It is worth more than the copy itself where XLA drops barriers, since it then computes what
    stands first once more in that copy: in a residual network the sum of all gradients from above.

    Shapes:
        data: (N, H, W, C).
        weight: (num_filter, C).
        returns: (N, H, W, num_filter).
    """
    return lax.dot_general(data, weight, (((3,), (1,)), ((), ())))


def _product_forward(data: jax.Array, weight: jax.Array) -> tuple[jax.Array, tuple[Any, Any]]:
    return product(data, weight), (data, weight)


def _product_backward(
    kept: tuple[jax.Array, jax.Array], head: jax.Array
) -> tuple[jax.Array, jax.Array]:
    data, weight = kept
    filters, channels = weight.shape
    places = (((0, 1, 2), (0, 1, 2)), ((), ()))
    if channels < filters:
        # Without the barrier XLA exchanges the factors again.
        weight_grad = lax.optimization_barrier(lax.dot_general(data, head, places)).T
    else:
        weight_grad = lax.dot_general(head, data, places)
    data_grad = lax.dot_general(head, weight, (((3,), (0,)), ((), ())))
    return data_grad.astype(data.dtype), weight_grad.astype(weight.dtype)


product.defvjp(_product_forward, _product_backward)


# ── All channels ────────────────────────────────────────────────────────────────────────────


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def over_all(data: jax.Array, weight: jax.Array, moves: Moves) -> jax.Array:
    """A convolution that sees all channels: XLA's own form, but for few channels and many.

    It has no forward mode.
    """
    if _is_tiled(data, weight, moves):
        return tiled(lax.optimization_barrier(data), weight, moves.pads)
    if not _is_summed(data, weight):
        return _by_xla_apart(data, weight, moves)
    kernel, channels = weight.shape[1:3], weight.shape[3]
    counts = moves.counts(data.shape[1:3], kernel)
    slices = views(pad(data, moves.pads), kernel, moves, counts)
    each = [part[..., c : c + 1] for part in slices for c in range(channels)]
    return weighted(each, jnp.moveaxis(weight, 0, -1))


def _over_all_forward(data: jax.Array, weight: jax.Array, moves: Moves) -> tuple[jax.Array, Any]:
    return over_all(data, weight, moves), (data, weight)


def _over_all_backward(moves: Moves, kept: Any, head: jax.Array) -> tuple[jax.Array, jax.Array]:
    data, weight = kept
    if _is_tiled(data, weight, moves):
        by_data = tiled_data_gradient(lax.optimization_barrier(head), weight, moves.pads)
        # Together, so that the forward pass's sums of the data are not kept for these.
        data, head = lax.optimization_barrier((data, head))
        return by_data, tiled_weight_gradient(data, head, moves.pads)
    by_data, by_weight = jax.vjp(lambda x, w: _by_xla_apart(x, w, moves), data, weight)[1](head)
    if _is_sent_back(data, weight, head, moves):
        by_data = _sent_back(head, weight, moves, data.shape[1:3])
    return by_data, by_weight


over_all.defvjp(_over_all_forward, _over_all_backward)


def _by_xla_apart(data: jax.Array, weight: jax.Array, moves: Moves) -> jax.Array:
    """XLA's own form, with nothing around it computed anew in the order that it reads."""
    return lax.optimization_barrier(by_xla(lax.optimization_barrier(data), weight, moves))


def _is_summed(data: jax.Array, weight: jax.Array) -> bool:
    """Whether it is fastest to sum what each cell of the kernel meets, channel by channel.

    Whole numbers never are, as sums of slices are made in float32 at least.
    """
    few = data.shape[3] <= _FEW and math.prod(weight.shape[1:]) <= _MOST_TERMS
    many = math.prod(data.shape[:3]) >= _MANY
    return few and many and jnp.issubdtype(data.dtype, jnp.floating)


def _is_tiled(data: jax.Array, weight: jax.Array, moves: Moves) -> bool:
    """Whether `tiled` and its gradients are faster than XLA's form, and find room.

    They are not for 16-bit types, whose sums of cells would be rounded.
    """
    filters, *kernel, channels = weight.shape
    if kernel != [3, 3] or (*moves.stride, *moves.dilate) != (1, 1, 1, 1):
        return False
    if min(filters, channels) < _MANY_CHANNELS or data.dtype != accumulator(data):
        return False
    samples, counts = len(data), moves.counts(data.shape[1:3], (3, 3))
    if min(samples, *counts) < 1:
        return False
    most = tuple(map(max, counts, data.shape[1:3]))  # the data's gradient has tiles of the data
    parts = part_count(samples, most, max(filters, channels))
    tiles = samples * math.prod(tile_counts(counts))
    return parts <= min(samples, _MOST_TURNS) and tiles >= _MANY_TILES * parts


def _is_sent_back(data: jax.Array, weight: jax.Array, head: jax.Array, moves: Moves) -> bool:
    """Whether the data's gradient is faster as `_sent_back` than in XLA's form.

    So it is with few channels, and where XLA sees much more than it has to, which is every place of
    the data by every cell of the kernel, zeros between steps included.
    """
    if max(math.prod(weight.shape[1:3]), math.prod(moves.stride)) > _MOST_PARTS:
        return False
    places, results = math.prod(data.shape[1:3]), math.prod(head.shape[1:3])
    return data.shape[3] <= _FEW or 2 * places > 3 * results


def _sent_back(head: jax.Array, weight: jax.Array, moves: Moves, space: Shape) -> jax.Array:
    """The data's gradient: one product, and for each place the sum of what concerns it.

    Along an axis, places that differ by a multiple of the stride are seen by the same cells of the
    kernel. They are summed together, ``stride`` sums an axis, which then take turns. The product is
    kept meanwhile: a number for each place of ``head``, cell and channel of the data.
    """
    filters, *kernel, channels = weight.shape
    times = [-(-size // stride) for size, stride in zip(space, moves.stride, strict=True)]
    seen = [_seen_by(*each) for each in zip(kernel, *moves, strict=True)]
    factors = lax.optimization_barrier(head), weight.reshape(filters, -1)
    wide = accumulator(head)
    parts = lax.dot_general(*factors, (((3,), (0,)), ((), ())), preferred_element_type=wide)
    parts = lax.optimization_barrier(parts).reshape(*head.shape[:3], *kernel, channels)
    zero = jnp.zeros((), wide)

    def total(rows: list[tuple[int, int]], columns: list[tuple[int, int]]) -> jax.Array:
        result = jnp.zeros((head.shape[0], *times, channels), wide)
        for i, down in rows:
            for j, right in columns:
                each = zip((down, right), times, head.shape[1:3], strict=True)
                moved = [(-step, n + step - count, 0) for step, n, count in each]
                result += lax.pad(parts[:, :, :, i, j], zero, [(0, 0, 0), *moved, (0, 0, 0)])
        return result

    rows = [jnp.stack([total(down, right) for right in seen[1]], 3) for down in seen[0]]
    turns = jnp.stack(rows, 2)
    sizes = [n * stride for n, stride in zip(times, moves.stride, strict=True)]
    whole = turns.reshape(head.shape[0], *sizes, channels)
    return lax.optimization_barrier(whole[:, : space[0], : space[1]].astype(head.dtype))


def _seen_by(
    kernel: int, stride: int, dilate: int, pads: tuple[int, int]
) -> list[list[tuple[int, int]]]:
    """For each turn of the places along an axis: the cells that see it, and of which step.

    A place at ``stride * n + turn`` is seen by a cell when the kernel makes its step ``n + step``.
    """
    return [
        [
            (cell, (turn + pads[0] - cell * dilate) // stride)
            for cell in range(kernel)
            if (turn + pads[0] - cell * dilate) % stride == 0
        ]
        for turn in range(stride)
    ]
