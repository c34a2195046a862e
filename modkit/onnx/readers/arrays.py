"""ONNX operators that move, cut, join, gather and create elements."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from modkit import symbol as sym
from modkit.onnx.element_types import dtype_of
from modkit.onnx.onnx_node import OnnxNode
from modkit.onnx.readers.table import READERS, of_inputs, reads
from modkit.onnx.sizes import Size, target_shape
from modkit.symbol import Symbol

_FAR = 2**31 - 1
"""Bounds beyond this stand for the end of an axis."""


@reads("Reshape")
def _reshape(node: OnnxNode) -> Symbol:
    sizes = node.attr("shape") or _target(node, 1)
    shape = target_shape(sizes, node.dims() or ())
    if shape is None and (-1 in sizes or 0 in sizes):
        raise node.refuse(f"its shape {sizes} has two sizes that nothing decides")
    if shape is None:
        ones: list[Size] = [1] * len(sizes)
        like = _repeated(node, sym.ones((1,) * len(sizes)), ones, sizes)
        return sym.reshape_like(node.symbol(), like)
    if node.attr("allowzero", 0) and 0 in shape:
        raise node.refuse("allowzero=1 with a size of 0")
    return sym.Reshape(node.symbol(), shape=shape or (1,))


@reads("Flatten")
def _flatten(node: OnnxNode) -> Symbol:
    axis = node.attr("axis", 1)
    if axis == 1:
        return sym.Flatten(node.symbol())
    if axis == 0:
        return sym.Reshape(node.symbol(), shape=(1, -1))
    node.rank()  # an error where it is open
    rest = (node.shape() or ())[axis:]
    if None in rest:
        raise node.refuse(f"axis={axis} with sizes after it that the model leaves open")
    size = int(np.prod([s for s in rest if s is not None]))
    return sym.Reshape(node.symbol(), shape=(-1, size))


@reads("Squeeze")
def _squeeze(node: OnnxNode) -> Symbol:
    axes = node.ints(1, "axes")
    return sym.squeeze(node.symbol(), axis=None if axes is None else tuple(axes))


@reads("Unsqueeze")
def _unsqueeze(node: OnnxNode) -> Symbol:
    x, axes = node.symbol(), node.ints(1, "axes")
    if node.is_scalar():
        return sym.Reshape(x, shape=(1,) * len(axes))
    for axis in sorted(_from_first(node, axes, len(axes))):
        x = sym.expand_dims(x, axis=axis)
    return x


def _from_first(node: OnnxNode, axes: list[int], more: int = 0) -> list[int]:
    """Axes of the first input, and as many more, none of them negative."""
    if all(axis >= 0 for axis in axes):
        return axes
    return [axis % (node.rank() + more) for axis in axes]


def with_axes_ahead(x: Symbol, count: int) -> Symbol:
    """``x`` with as many more axes of size 1 ahead of its own."""
    for _ in range(count):
        x = sym.expand_dims(x, axis=0)
    return x


@reads("Split")
def _split(node: OnnxNode) -> list[Symbol]:
    axis, count = node.attr("axis", 0), len(node.outputs)
    sizes = node.ints(1, "split")
    size = (node.shape() or {axis: None})[axis]
    if sizes is None and size is not None and size % count:  # the last part is smaller
        part = -(-size // count)
        sizes = [part] * (count - 1) + [size - part * (count - 1)]
    if sizes is None or len(set(sizes)) == 1:
        found = sym.SliceChannel(node.symbol(), num_outputs=count, axis=axis)
        return list(found)
    ends = np.cumsum(sizes).tolist()
    return [
        sym.slice_axis(node.symbol(), axis=axis, begin=end - size, end=end)
        for size, end in zip(sizes, ends, strict=True)
    ]


@reads("Slice")
def _slice(node: OnnxNode) -> Symbol:
    starts, open_ = node.ints(1, "starts"), node.sizes(2)
    axes = _from_first(node, node.ints(3, "axes", list(range(len(starts)))))
    steps = node.ints(4, default=[1] * len(starts))
    x = node.symbol()
    if open_ is not None and any(isinstance(e, str) for e in open_):
        x = _cut_to_lengths(node, x, axes, open_)
        ends = [_FAR if isinstance(e, str) else e for e in open_]
    else:
        ends = node.ints(2, "ends")
    begin: list[int | None] = [None] * (max(axes, default=0) + 1)
    end, step = list(begin), list(begin)
    dims = node.dims() or (None,) * len(begin)
    for axis, b, e, s in zip(axes, starts, ends, steps, strict=True):
        begin[axis] = None if b >= _FAR or b < -_FAR else b
        end[axis] = None if e >= _FAR or e < -_FAR else e
        step[axis] = s
        size = dims[axis]
        if s < 0 and b < -(size if isinstance(size, int) else _FAR):
            begin[axis] = 0  # ONNX cuts a start off to the axis
    return sym.slice(x, begin=tuple(begin), end=tuple(end), step=tuple(step))


def _cut_to_lengths(node: OnnxNode, x: Symbol, axes: list[int], ends: list[Size]) -> Symbol:
    """``x`` up to ends that are sizes which the model leaves open."""
    for axis, end in zip(axes, ends, strict=True):
        if isinstance(end, str):
            like = sym.Reshape(node.values.length(end), shape=(1,) * axis + (-1,))
            x = sym.slice_like(x, like, axes=(axis,))
    return x


@reads("Gather")
def _gather(node: OnnxNode) -> Symbol:
    axis, where = node.attr("axis", 0), node.constant(1)
    if where is not None and where.ndim == 0:
        found = sym.slice_axis(
            node.symbol(), axis=axis, begin=int(where), end=int(where) + 1 or None
        )
        return sym.squeeze(found, axis=axis)
    found = sym.take(node.symbol(), _positions(node, axis), axis=axis)
    return sym.squeeze(found, axis=axis) if node.is_scalar(1) else found


def _positions(node: OnnxNode, axis: int) -> Symbol:
    """Positions, from the start of the axis: ONNX counts negative ones from the end."""
    where = node.constant(1)
    if where is not None and (where >= 0).all():
        return node.symbol(1)
    shape = node.shape()
    size = None if shape is None else shape[axis]
    if size is None and where is not None:
        raise node.refuse(f"negative positions on axis {axis}, whose size the model leaves open")
    if size is None:
        return node.symbol(1)  # taken to be positive: the axis has no known end
    return node.symbol(1) % size


@reads("GatherND")
def _gather_nd(node: OnnxNode) -> Symbol:
    if node.attr("batch_dims", 0):
        raise node.refuse("batch_dims")
    return sym.gather_nd(node.symbol(), _places(node))


def _places(node: OnnxNode) -> Symbol:
    """Positions, with the axis of their parts ahead."""
    last = node.rank(1) - 1
    return sym.transpose(node.symbol(1), axes=(last, *range(last)))


@reads("ScatterND")
def _scatter_nd(node: OnnxNode) -> Symbol:
    if node.attr("reduction", "none") != "none":
        raise node.refuse("reduction")
    shape = node.shape()
    if shape is None or None in shape:
        raise node.refuse("the model leaves the shape of its data open")
    x, new = node.symbol(), node.symbol(2)
    return sym._internal._scatter_set_nd(x, new, _places(node), shape=shape)


@reads("GatherElements")
def _gather_elements(node: OnnxNode) -> Symbol:
    axis, shapes = node.attr("axis", 0) % node.rank(), [node.dims(0), node.dims(1)]
    count, outer = None, []
    for shape in shapes:
        if shape is not None:
            count = shape[axis]
            outer.append(shape[:axis] + shape[axis + 1 :])
    if not isinstance(count, int) or outer[0] != outer[-1]:
        raise node.refuse(
            "positions whose number along the axis the model leaves open, or which "
            "lack a part of another axis"
        )
    x, at = node.symbol(), _positions(node, axis)
    parts = [sym.slice_axis(at, axis=axis, begin=i, end=i + 1) for i in range(count)]
    return sym.concat(*(sym.pick(x, part, axis=axis, keepdims=True) for part in parts), dim=axis)


@reads("Expand")
def _expand(node: OnnxNode) -> Symbol:
    x, dims, sizes = node.symbol(), list(node.dims() or ()), _target(node, 1)
    node.rank()
    more = len(sizes) - len(dims)
    return _repeated(node, with_axes_ahead(x, more), [1] * more + dims, [1] * -more + sizes)


def _target(node: OnnxNode, index: int) -> list[Size]:
    """A shape that is an input."""
    sizes = node.sizes(index)
    if sizes is None:
        raise node.refuse("its shape depends on data")
    return sizes


def _repeated(node: OnnxNode, x: Symbol, dims: list[Size], sizes: list[Size]) -> Symbol:
    """``x``, of the shape ``dims``, repeated along axes of size 1 until it has other sizes."""
    for axis, (dim, size) in enumerate(zip(dims, sizes, strict=True)):
        if size not in (1, dim):
            like = node.values.length(size)
            x = sym.broadcast_like(x, like, lhs_axes=(axis,), rhs_axes=(0,))
    return x


@reads("Pad")
def _pad(node: OnnxNode) -> Symbol:
    pads, mode = node.ints(1, "pads"), node.attr("mode", "constant")
    value = node.number(2, "value", 0.0)
    if mode == "wrap":
        raise node.refuse("mode='wrap'")
    if node.has(3):
        axes, rank = node.ints(3), node.rank()
        whole = [0] * 2 * rank
        for i, axis in enumerate(axes):
            whole[axis % rank], whole[axis % rank + rank] = pads[i], pads[i + len(axes)]
        pads = whole
    x, count = node.symbol(), len(pads) // 2
    widths = list(zip(pads[:count], pads[count:], strict=True))
    for axis, (before, after) in enumerate(widths):
        if min(before, after) < 0:
            begin, end = max(-before, 0), min(after, 0) or None
            x = sym.slice_axis(x, axis=axis, begin=begin, end=end)
    widths = [(max(before, 0), max(after, 0)) for before, after in widths]
    of_first = any(map(any, widths[:2]))
    if mode == "constant" and (count not in (4, 5) or of_first):
        return padded(x, widths, value)
    if count == 3 and not of_first:
        x = sym.expand_dims(x, axis=2)
        found = sym.Pad(x, mode=mode, pad_width=(0, 0, 0, 0, 0, 0, *widths[2]))
        return sym.squeeze(found, axis=2)
    return sym.Pad(x, mode=mode, pad_width=tuple(chain(*widths)), constant_value=value)


def padded(x: Symbol, widths: Iterable[tuple[int, int]], value: float) -> Symbol:
    """Padding of any axis: `Pad` takes the last ones of four or five axes alone."""
    for axis, (before, after) in enumerate(widths):
        for width, first in ((before, True), (after, False)):
            if width:
                edge = sym.slice_axis(x, axis=axis, begin=0, end=1)
                block = sym.zeros_like(sym.repeat(edge, repeats=width, axis=axis)) + value
                x = sym.concat(*((block, x) if first else (x, block)), dim=axis)
    return x


@reads("DepthToSpace")
def _depth_to_space(node: OnnxNode) -> Symbol:
    size, x = node.attr("blocksize"), node.symbol()
    if node.attr("mode", "DCR") == "DCR":
        return sym.depth_to_space(x, block_size=size)
    apart = sym.Reshape(x, shape=(0, -4, -1, size * size, 0, 0))
    apart = sym.Reshape(apart, shape=(0, 0, -4, size, size, 0, 0))
    return sym.Reshape(sym.transpose(apart, axes=(0, 1, 4, 2, 5, 3)), shape=(0, 0, -3, -3))


@reads("OneHot")
def _one_hot(node: OnnxNode) -> Symbol:
    depth, values = int(node.number(1, "depth")), node.constant(2)
    if values is None or node.attr("axis", -1) not in (-1, node.rank()):
        raise node.refuse("values that depend on data, and another axis than the last")
    off, on = values.tolist()
    where = node.symbol()
    where = where + (where < 0) * depth  # negative positions count from the end
    return sym.one_hot(where, depth=depth, on_value=on, off_value=off, dtype=values.dtype.name)


@reads("ConstantOfShape")
def _constant_of_shape(node: OnnxNode) -> Symbol:
    sizes, value = _target(node, 0), node.tensor("value", np.zeros(1, "float32"))
    dtype = "float32" if value.dtype.kind == "b" else value.dtype.name
    one = sym.full((1,) * len(sizes), value.item(), dtype=dtype)
    return _repeated(node, one, [1] * len(sizes), sizes)


@reads("Range")
def _range(node: OnnxNode) -> Symbol:
    (start,), (end,), (step,) = (_target(node, i) for i in range(3))
    if start != 0 or step != 1 or isinstance(end, int):
        raise node.refuse("its bounds depend on data; from 0 to a size in steps of 1 is read")
    return sym.contrib.arange_like(node.values.length(end))


@reads("Trilu")
def _trilu(node: OnnxNode) -> Symbol:
    x, shift, upper = node.symbol(), int(node.number(1, "k", 0)), node.attr("upper", 1)
    rows = sym.expand_dims(sym.contrib.arange_like(x, axis=node.rank() - 2), axis=1)
    columns = sym.expand_dims(sym.contrib.arange_like(x, axis=node.rank() - 1), axis=0)
    compare = sym.broadcast_lesser_equal if upper else sym.broadcast_greater_equal
    kept = compare(rows + shift, columns)
    kept = with_axes_ahead(kept, node.rank() - 2)
    like = sym.cast(sym.zeros_like(x), dtype="float32")
    return sym.where(sym.broadcast_like(kept, like), x, sym.zeros_like(x))


@reads("ReverseSequence")
def _reverse_sequence(node: OnnxNode) -> Symbol:
    x, lengths = node.symbols()
    if (node.attr("time_axis", 0), node.attr("batch_axis", 1)) == (0, 1):
        return sym.SequenceReverse(x, lengths, use_sequence_length=True)
    turned = sym.SequenceReverse(sym.SwapAxis(x, dim1=0, dim2=1), lengths, use_sequence_length=True)
    return sym.SwapAxis(turned, dim1=0, dim2=1)


@reads("RandomUniform", "RandomNormal")
def _random(node: OnnxNode) -> Symbol:
    more: Any = {"shape": tuple(node.attr("shape")), "dtype": dtype_of(node.attr("dtype", 1))}
    if node.op_type == "RandomUniform":
        return sym.random.uniform(node.attr("low", 0.0), node.attr("high", 1.0), **more)
    return sym.random.normal(node.attr("mean", 0.0), node.attr("scale", 1.0), **more)


@reads("MatMul")
def _matmul(node: OnnxNode) -> Symbol:
    a, b = node.symbols()
    if node.rank(1) <= 2:
        return sym.dot(a, b)
    shapes = [node.shape(0) or (), node.shape(1) or ()]
    if len(shapes[0]) == 1:
        found = _broadcast_product(sym.Reshape(a, shape=(1, -1)), b, [(), shapes[1][:-2]])
        return sym.squeeze(found, axis=len(shapes[1]) - 2)
    outer: list[tuple[int | None, ...]] = [s[:-2] for s in shapes]
    if len(outer[0]) != len(outer[1]) or any(
        (x == 1) != (y == 1) for x, y in zip(*outer, strict=True)
    ):
        return _broadcast_product(a, b, outer)
    return sym.linalg.gemm2(a, b)


def _broadcast_product(a: Symbol, b: Symbol, outer: list[tuple[int | None, ...]]) -> Symbol:
    """The product of stacks of matrices whose outer axes broadcast."""
    rank = max(map(len, outer))
    a = with_axes_ahead(a, rank - len(outer[0]))
    b = with_axes_ahead(b, rank - len(outer[1]))
    return sym.linalg.gemm2(
        sym.broadcast_mul(a, _ones_outside(b)), sym.broadcast_mul(b, _ones_outside(a))
    )


def _ones_outside(x: Symbol) -> Symbol:
    """Ones of the shape of ``x``, with 1 as the size of the last two axes."""
    for axis in (-1, -2):
        x = sym.slice_axis(x, axis=axis, begin=0, end=1)
    return sym.ones_like(x)


READERS |= {
    "Transpose": of_inputs(sym.transpose, {"perm": ("axes", ())}),
    "Tile": lambda node: sym.tile(node.symbol(), reps=tuple(node.ints(1))),
    "Size": of_inputs(sym.size_array),
}
