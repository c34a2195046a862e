"""Convolutions with channels last, in the forms that are fastest on CPUs.

XLA for CPUs has one good form: a convolution over two axes that sees all channels. Others run up to
hundreds of times slower there, some gradients above all, so they are made of that one, of matrix
products and of sums of slices. `benchmarks.layers` measures them.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from modkit.ops.floating import accumulator
from modkit.ops.layout import spatial_axes
from modkit.ops.platforms import Form
from modkit.ops.registry import Shape

_BLOCK = 32
"""Channels that groups are put together for, at most: the others' work is for nothing.

ms of 3x3 in 32 groups, forward, for the gradient of the data and for that of the weight:

    channels of a block    (16, 28, 28, 256)    (16, 56, 56, 128)
                      8           21, 45, 25          74, 104, 82
                     16           15, 29, 19           53, 55, 61
                     32           25, 24, 27           54, 48, 85
                     64           45, 43, 45          88, 82, 101

16 is a tenth faster than 32, and has twice as many convolutions to compile.
"""

_MOST_CELLS = 64
"""Cells of the largest kernel that one channel is summed with slice by slice."""

_FOLDS = 8
"""Slices that are added to each other before the sum over places. With 16 XLA fuses no more."""

_FEW = 4
"""Channels of data, at most, that XLA's own form is slow for (`benchmarks.conv_sweep`)."""

_MOST_TERMS = 32
"""Cells times channels of the largest kernel that few channels are summed with slice by slice."""

_MANY = 1 << 12
"""Places of data from which on they are so summed: with fewer that is done by one thread."""

Pads = tuple[tuple[int, int], ...]


class Moves(NamedTuple):
    """How a kernel moves over each spatial axis; pads, before and after, may be negative."""

    stride: Shape
    dilate: Shape
    pads: Pads

    def only(self, axes: slice) -> Moves:
        """Of some of the axes."""
        return Moves(self.stride[axes], self.dilate[axes], self.pads[axes])

    def counts(self, space: Shape, kernel: Shape) -> Shape:
        """How many places there are along each axis of data with these spatial sizes."""
        each = zip(space, kernel, *self, strict=True)
        return tuple((n + sum(p) - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in each)

    def spans(self, counts: Shape, kernel: Shape) -> Shape:
        """The smallest spatial sizes for so many places."""
        each = zip(counts, kernel, *self, strict=True)
        return tuple((n - 1) * s + d * (k - 1) + 1 - sum(p) for n, k, s, d, p in each)


def convolve_last(data: jax.Array, weight: jax.Array, moves: Moves, groups: int = 1) -> jax.Array:
    """Cross-correlation of ``data`` with ``weight``.

    Shapes:
        data: (N, *space, C), space of one to three axes.
        weight: (num_filter, *kernel, C / groups).
        returns: (N, *space, num_filter).
    """
    if data.ndim == 3:
        flat = Moves((1, *moves.stride), (1, *moves.dilate), ((0, 0), *moves.pads))
        return convolve_last(data[:, None], weight[:, None], flat, groups)[:, 0]
    if data.ndim == 5:
        return _by_depth(data, weight, moves, groups)
    if groups > 1:
        channels, cells = data.shape[-1], math.prod(weight.shape[1:-1])
        if groups == channels and cells <= _MOST_CELLS:
            return _channel_by_channel(data, weight, moves)
        return _in_blocks(data, weight, moves, groups)
    data, weight = _fold_covered(data, weight, moves)
    if weight.shape[1:3] == (1, 1) and not any(map(any, moves.pads)):
        down, right = moves.stride
        seen = lax.optimization_barrier(data[:, ::down, ::right])
        return lax.optimization_barrier(_product(seen, weight[:, 0, 0]))
    return _over_all(data, weight, moves)


def for_layout(form: Form, layout: str) -> Form:
    """``form``, which takes data and weights with channels last, for those of a layout."""
    at = layout.index("C")
    if at == len(layout) - 1:
        return form

    def moved(data: jax.Array, weight: jax.Array) -> jax.Array:
        return jnp.moveaxis(form(jnp.moveaxis(data, at, -1), jnp.moveaxis(weight, at, -1)), -1, at)

    return moved


def by_xla(
    data: jax.Array, weight: jax.Array, moves: Moves, groups: int = 1, layout: str = "NHWC"
) -> jax.Array:
    """The same in XLA's own form, in any layout; the weight has N read as outputs."""
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
def _product(data: jax.Array, weight: jax.Array) -> jax.Array:
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
    return _product(data, weight), (data, weight)


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


_product.defvjp(_product_forward, _product_backward)


# ── All channels ────────────────────────────────────────────────────────────────────────────


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _over_all(data: jax.Array, weight: jax.Array, moves: Moves) -> jax.Array:
    """A convolution that sees all channels: XLA's own form, but where there are few of them."""
    if not _is_summed(data.shape, weight.shape):
        return _by_xla_apart(data, weight, moves)
    kernel, channels = weight.shape[1:3], weight.shape[3]
    counts = moves.counts(data.shape[1:3], kernel)
    slices = _slices(_pad(data, moves.pads), kernel, moves, counts)
    each = [part[..., c : c + 1] for part in slices for c in range(channels)]
    return _weighted(each, jnp.moveaxis(weight, 0, -1))


def _over_all_forward(data: jax.Array, weight: jax.Array, moves: Moves) -> tuple[jax.Array, Any]:
    return _over_all(data, weight, moves), (data, weight)


def _over_all_backward(moves: Moves, kept: Any, head: jax.Array) -> tuple[jax.Array, jax.Array]:
    data, weight = kept
    weight_grad = jax.vjp(lambda each: _by_xla_apart(data, each, moves), weight)[1](head)[0]
    if _is_sent_back(data.shape, weight.shape, head.shape, moves):
        return _sent_back(head, weight, moves, data.shape[1:3]), weight_grad
    return jax.vjp(lambda each: _by_xla_apart(each, weight, moves), data)[1](head)[0], weight_grad


_over_all.defvjp(_over_all_forward, _over_all_backward)


def _by_xla_apart(data: jax.Array, weight: jax.Array, moves: Moves) -> jax.Array:
    """XLA's own form, with nothing around it computed anew in the order that it reads."""
    return lax.optimization_barrier(by_xla(lax.optimization_barrier(data), weight, moves))


def _is_summed(data: Shape, weight: Shape) -> bool:
    """Whether it is fastest to sum what each cell of the kernel meets, channel by channel."""
    few = data[3] <= _FEW and math.prod(weight[1:]) <= _MOST_TERMS
    return few and math.prod(data[:3]) >= _MANY


def _is_sent_back(data: Shape, weight: Shape, head: Shape, moves: Moves) -> bool:
    """Whether the data's gradient is faster as `_sent_back` than in XLA's form.

    So it is with few channels, and where XLA sees much more than it has to: all places of the
    data by all cells of the kernel.
    """
    each = zip(weight[1:3], moves.stride, strict=True)
    if math.prod(-(-size // stride) for size, stride in each) > _MOST_CELLS:
        return False
    needed = math.prod(head[1:3]) * math.prod(moves.stride)
    return data[3] <= _FEW or 2 * math.prod(data[1:3]) > 3 * needed


def _sent_back(head: jax.Array, weight: jax.Array, moves: Moves, space: Shape) -> jax.Array:
    """The data's gradient: one product, and for each place the sum of what concerns it.

    Along an axis, places that differ by a multiple of the stride are seen by the same cells of the
    kernel. They are summed together, ``stride`` sums an axis, which then take turns.
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
    whole = turns.reshape(head.shape[0], times[0] * len(rows), -1, channels)
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


# ── Kernels as large as the data ────────────────────────────────────────────────────────────


def _fold_covered(data: jax.Array, weight: jax.Array, moves: Moves) -> tuple[jax.Array, jax.Array]:
    """The same convolution without the axes that the kernel covers: their cells are channels.

    XLA's gradient of the data pads such an axis by the kernel on both sides: that of a kernel of
    (5, 300) over (60, 300) took 22 s.
    """
    for axis in covered_axes(data, weight, "NHWC", moves.pads):
        data, weight = (_with_channels(each, axis) for each in (data, weight))
    return data, weight


def covered_axes(data: jax.Array, weight: jax.Array, layout: str, pads: Pads) -> list[int]:
    """The spatial axes along which the kernel is as large as the data, and larger than 1."""
    return [
        axis
        for axis, pad in zip(spatial_axes(layout), pads, strict=True)
        if 1 < data.shape[axis] == weight.shape[axis] and pad == (0, 0)
    ]


def _with_channels(array: jax.Array, axis: int) -> jax.Array:
    """One axis made part of the last one; it stays, with one cell."""
    shape = [*array.shape[:axis], 1, *array.shape[axis + 1 : -1], -1]
    return jnp.moveaxis(array, axis, -2).reshape(shape)


# ── A kernel for each channel ───────────────────────────────────────────────────────────────


def _channel_by_channel(data: jax.Array, weight: jax.Array, moves: Moves) -> jax.Array:
    """As many groups as channels: one multiplication a cell of the kernel."""
    times = weight.shape[0] // data.shape[-1]
    kernel = jnp.transpose(weight[..., 0], (1, 2, 0))
    return _depthwise(jnp.repeat(data, times, -1) if times > 1 else data, kernel, moves)


def _slices(padded: jax.Array, kernel: Shape, moves: Moves, counts: Shape) -> list[jax.Array]:
    """What each cell of the kernel meets, row by row."""
    (down, right), (far, wide), _ = moves
    rows, columns = counts
    return [
        padded[:, i : i + (rows - 1) * down + 1 : down, j : j + (columns - 1) * right + 1 : right]
        for i in range(0, kernel[0] * far, far)
        for j in range(0, kernel[1] * wide, wide)
    ]


def _pad(data: jax.Array, pads: Pads, between: Shape = (0, 0)) -> jax.Array:
    """Zeros around, and between the cells; written once, not for each of its readers."""
    config = [(0, 0, 0), *((*p, b) for p, b in zip(pads, between, strict=True)), (0, 0, 0)]
    zero = jnp.zeros((), data.dtype)
    return lax.optimization_barrier(lax.pad(data, zero, config))


def _weighted(slices: list[jax.Array], kernel: jax.Array) -> jax.Array:
    """The sum of slices, each times its cell of the kernel."""
    cells = lax.optimization_barrier(kernel.reshape(-1, kernel.shape[-1]))
    wide = accumulator(kernel)
    products = [part.astype(wide) * cell for part, cell in zip(slices, cells, strict=True)]
    return lax.optimization_barrier(functools.reduce(jnp.add, products).astype(kernel.dtype))


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _depthwise(data: jax.Array, kernel: jax.Array, moves: Moves) -> jax.Array:
    """Each channel with its own kernel, which is (kh, kw, C)."""
    counts = moves.counts(data.shape[1:3], kernel.shape[:2])
    padded = _pad(data, moves.pads)
    slices = _slices(padded, kernel.shape[:2], moves, counts)
    return _weighted(slices, kernel)


def _depthwise_forward(data: jax.Array, kernel: jax.Array, moves: Moves) -> tuple[jax.Array, Any]:
    return _depthwise(data, kernel, moves), (data, kernel)


def _depthwise_backward(moves: Moves, kept: Any, head: jax.Array) -> tuple[jax.Array, jax.Array]:
    data, kernel = kept
    space, counts, size = data.shape[1:3], head.shape[1:3], kernel.shape[:2]
    head, wide = lax.optimization_barrier(head), accumulator(head)
    # The kernel turned around over all that each place was seen by, cells between steps as zeros.
    each = zip(space, counts, size, *moves, strict=True)
    pads = tuple((d * (k - 1) - lo, n + lo - (c - 1) * s - 1) for n, c, k, s, d, (lo, _) in each)
    spread = _pad(head, pads, tuple(s - 1 for s in moves.stride))
    whole = Moves((1, 1), moves.dilate, pads)
    data_grad = _weighted(_slices(spread, size, whole, space), kernel[::-1, ::-1])
    padded = _pad(data, moves.pads)
    cells = [
        jnp.sum(lax.optimization_barrier(_folded(part.astype(wide) * head)), (0, 1, 2))
        for part in _slices(padded, size, moves, counts)
    ]
    return data_grad, jnp.stack(cells).reshape(kernel.shape).astype(kernel.dtype)


_depthwise.defvjp(_depthwise_forward, _depthwise_backward)


def _folded(array: jax.Array) -> jax.Array:
    """The array with parts of it added to each other, which is faster than to sum it all."""
    sizes = array.shape[:2]
    parts, axis = max(
        (math.gcd(size, n), axis) for axis, size in enumerate(sizes) for n in range(1, _FOLDS + 1)
    )
    return functools.reduce(jnp.add, jnp.split(array, parts, axis))


# ── Groups ──────────────────────────────────────────────────────────────────────────────────


def _in_blocks(data: jax.Array, weight: jax.Array, moves: Moves, groups: int) -> jax.Array:
    """A convolution for each block of groups, in which weights between two groups are zeros.

    So what is not finite in one group is seen by the others of its block, in gradients too.
    """
    own, filters = weight.shape[-1], weight.shape[0] // groups
    fitting = [n for n in range(2, groups + 1) if n * max(own, filters) <= _BLOCK]
    together = max((n for n in fitting if groups % n == 0), default=1)
    blocks = groups // together
    split = weight.reshape(blocks, together, filters, *weight.shape[1:-1], 1, own)
    same = jnp.eye(together, dtype=bool)[:, None, None, None, :, None]
    split = jnp.where(same, split, 0)
    split = split.reshape(blocks, together * filters, *weight.shape[1:-1], together * own)
    parts = lax.split(data, [together * own] * blocks, 3)
    results = [convolve_last(part, split[i], moves) for i, part in enumerate(parts)]
    return lax.optimization_barrier(lax.concatenate(results, 3))


# ── Three spatial axes ──────────────────────────────────────────────────────────────────────


def _by_depth(data: jax.Array, weight: jax.Array, moves: Moves, groups: int) -> jax.Array:
    """A convolution over two axes for each cell of the kernel along the first, and their sum.

    16-bit types are computed in float32, as parts of the sum would be rounded, or overflow.
    """
    if data.dtype != accumulator(data):
        wide = data.astype(accumulator(data)), weight.astype(accumulator(data))
        return _by_depth(*wide, moves, groups).astype(data.dtype)
    stride, dilate, pads = moves.stride[0], moves.dilate[0], moves.pads[0]
    deep = weight.shape[1]
    (count,) = moves.only(slice(1)).counts(data.shape[1:2], (deep,))
    padded = lax.pad(data, jnp.zeros((), data.dtype), [(0, 0, 0), (*pads, 0), *[(0, 0, 0)] * 3])
    results = []
    for cell in range(deep):
        begin = cell * dilate
        part = padded[:, begin : begin + (count - 1) * stride + 1 : stride]
        flat = part.reshape(-1, *part.shape[2:])
        results.append(convolve_last(flat, weight[:, cell], moves.only(slice(1, None)), groups))
    total = functools.reduce(jnp.add, results)
    return total.reshape(-1, count, *total.shape[1:])


# ── Transposed ──────────────────────────────────────────────────────────────────────────────


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def deconvolve_last(data: jax.Array, weight: jax.Array, moves: Moves, groups: int) -> jax.Array:
    """The transpose of `convolve_last` in its data.

    Its gradients are a convolution, and a convolution's gradient of the weight: XLA's own was 60
    times slower.

    Shapes:
        data: (N, *space, C).
        weight: (C, *kernel, num_filter / groups).
        returns: (N, *space, num_filter).
    """
    space = moves.spans(data.shape[1:-1], weight.shape[1:-1])
    result = jnp.zeros((data.shape[0], *space, weight.shape[-1] * groups), data.dtype)
    return jax.vjp(lambda each: convolve_last(each, weight, moves, groups), result)[1](data)[0]


def _deconvolve_forward(
    data: jax.Array, weight: jax.Array, moves: Moves, groups: int
) -> tuple[jax.Array, Any]:
    return deconvolve_last(data, weight, moves, groups), (data, weight)


def _deconvolve_backward(
    moves: Moves, groups: int, kept: Any, head: jax.Array
) -> tuple[jax.Array, jax.Array]:
    data, weight = kept
    data_grad, pull = jax.vjp(lambda each: convolve_last(head, each, moves, groups), weight)
    return data_grad, pull(data)[0]


deconvolve_last.defvjp(_deconvolve_forward, _deconvolve_backward)
