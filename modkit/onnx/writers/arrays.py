"""Operators that move, cut, join, gather and create elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from modkit.onnx.element_types import code_of
from modkit.onnx.graph_builder import Call, Operand, Value, ints
from modkit.onnx.writers.reductions import within
from modkit.onnx.writers.table import WRITERS, writes

_END = np.iinfo(np.int64).max
_START = np.iinfo(np.int64).min


@writes("SwapAxis")
def _swap_axis(call: Call) -> str:
    order = list(range(call.rank))
    order[call.dim1], order[call.dim2] = order[call.dim2], order[call.dim1]
    return call.transpose(call.x, order)


@writes("squeeze")
def _squeeze(call: Call) -> str:
    if call.axis is None or call.outputs[0].shape == (1,):
        return call.shaped(call.x)
    return call.emit("Squeeze", call.x, ints(call.axes(call.axis)))


@writes("stack")
def _stack(call: Call) -> str:
    axis = call.axis % (call.rank + 1)
    parts = [call.emit("Unsqueeze", v.name, ints([axis])) for v in call.inputs]
    return call.emit("Concat", *parts, axis=axis)


@writes("SliceChannel", "_split_v2")
def _split(call: Call) -> list[str]:
    axis = call.axis % call.rank
    sizes = [1 if call.squeeze_axis else call.static(v, axis)[0] for v in call.outputs]
    parts = call.emit_many("Split", (call.x, ints(sizes)), len(sizes), axis=axis)
    return [call.emit("Squeeze", p, ints([axis])) if call.squeeze_axis else p for p in parts]


def _cut(
    call: Call, x: str, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int],
    steps: Sequence[int] | None = None,
) -> str:  # fmt: skip
    operands: list[Operand] = [x, ints(starts), ints(ends), ints(axes)]
    return call.emit("Slice", *operands, *([ints(steps)] if steps else []))


@writes("slice")
def _slice(call: Call) -> str:
    count = max(len(call.begin), len(call.end))
    steps = [s or 1 for s in (*call.step, *[None] * (count - len(call.step)))]
    starts = [
        (0 if s > 0 else _END) if b is None else b for b, s in zip(call.begin, steps, strict=True)
    ]
    ends = [
        (_END if s > 0 else _START) if e is None else e
        for e, s in zip(call.end, steps, strict=True)
    ]
    return _cut(call, call.x, starts, ends, range(count), steps)


@writes("slice_axis")
def _slice_axis(call: Call) -> str:
    end = _END if call.end is None else call.end
    return _cut(call, call.x, [call.begin], [end], [call.axis])


@writes("slice_like")
def _slice_like(call: Call) -> str:
    like = call.inputs[1]
    if call.params["axes"] is None:
        return call.emit("Identity", call.x)
    axes = [a % call.rank for a in call.params["axes"]] or list(range(len(like.shape)))
    found = [like.shape[a] for a in axes]
    ends: Operand = ints(s or 0 for s in found)
    if None in found:
        ends = call.emit("Gather", call.emit("Shape", like.name), ints(axes))
    return call.emit("Slice", call.x, ints([0] * len(axes)), ends, ints(axes))


@writes("Crop")
def _crop(call: Call) -> str:
    height, width = call.static(call.inputs[0], 2, 3)
    rows, columns = call.static(call.outputs[0], 2, 3)
    top, left = call.offset
    if call.center_crop:
        top, left = (height - rows) // 2, (width - columns) // 2
    return _cut(call, call.x, [top, left], [top + rows, left + columns], [2, 3])


@writes("reverse")
def _reverse(call: Call) -> str:
    axes = call.axes(call.axis)
    n = len(axes)
    return _cut(call, call.x, [_END] * n, [_START] * n, axes, [-1] * n)


@writes("tile")
def _tile(call: Call) -> str:
    reps = list(call.reps or ())
    sizes = [1] * (len(reps) - call.rank) + list(call.shape)
    x = call.reshape(call.x, sizes) if len(sizes) > call.rank else call.x
    return call.emit("Tile", x, ints([1] * (len(sizes) - len(reps)) + reps))


@writes("repeat")
def _repeat(call: Call) -> str:
    x, sizes, axis = call.x, list(call.shape), call.axis
    if axis is None:
        x, sizes, axis = call.reshape(x, (None,)), [None], 0
    axis %= len(sizes)
    apart = call.emit("Unsqueeze", x, ints([axis + 1]))
    target = [1] * (len(sizes) + 1)
    target[axis + 1] = call.repeats
    return call.shaped(call.emit("Expand", apart, ints(target)))


@writes("broadcast_axis", "broadcast_to")
def _expanded(call: Call) -> str:
    """The first input in the shape of the output."""
    # A size of 1 leaves the size of the data, which may be dynamic.
    sizes = [1 if a == b else b for a, b in zip(call.shape, call.outputs[0].shape, strict=True)]
    if None in sizes:
        raise call.refuse(
            "a size that it makes is dynamic", "give it as a number in dynamic_input_shapes"
        )
    return call.emit("Expand", call.x, ints(sizes))


@writes("broadcast_like")
def _broadcast_like(call: Call) -> str:
    if call.lhs_axes is not None:
        return _expanded(call)
    return call.emit("Expand", call.x, call.emit("Shape", call.inputs[1].name))


@writes("Pad")
def _pad(call: Call) -> str:
    widths = call.pad_width
    pads = ints([*widths[::2], *widths[1::2]])
    if call.mode == "constant":
        return call.emit("Pad", call.x, pads, call.number(call.constant_value), mode="constant")
    return call.emit("Pad", call.x, pads, mode=call.mode)


def _indices(call: Call, value: Value, size: int | None, mode: str = "clip") -> str:
    """Positions as whole numbers, those out of range clipped or wrapped as MXNet does."""
    found = call.as_type(value, "int64")
    if mode == "raise":
        return found
    if size is None:
        raise call.refuse("the size of the axis that it reads is dynamic", "make it static")
    if mode == "wrap":
        return call.emit("Mod", found, np.asarray(size, np.int64))
    return call.emit("Clip", found, np.asarray(0, np.int64), np.asarray(size - 1, np.int64))


@writes("Embedding")
def _embedding(call: Call) -> str:
    data, weight = call.inputs
    return call.emit("Gather", weight.name, _indices(call, data, weight.shape[0]), axis=0)


@writes("take")
def _take(call: Call) -> str:
    axis = call.axis % call.rank
    where = _indices(call, call.inputs[1], call.shape[axis], call.mode)
    return call.emit("Gather", call.x, where, axis=axis)


@writes("pick")
def _pick(call: Call) -> str:
    if call.axis is None:
        raise call.refuse("axis=None is not part of ONNX", "flatten the data first")
    axis = call.axis % call.rank
    where = _indices(call, call.inputs[1], call.shape[axis], call.mode)
    if len(call.inputs[1].shape) < call.rank:
        where = call.emit("Unsqueeze", where, ints([axis]))
    found = call.emit("GatherElements", call.x, where, axis=axis)
    if len(call.outputs[0].shape) == call.rank:
        return found
    return call.emit("Squeeze", found, ints([axis]))


@writes("gather_nd")
def _gather_nd(call: Call) -> str:
    where = call.inputs[1]
    order = [*range(1, len(where.shape)), 0]
    found = call.transpose(call.as_type(where, "int64"), order)
    return call.emit("GatherND", call.x, found)


@writes("one_hot")
def _one_hot(call: Call) -> str:
    dtype = call.dtype
    values = np.asarray([call.off_value, call.on_value], dtype)
    where = call.as_type(call.inputs[0], "int64")
    # ONNX counts negative positions from the end; MXNet gives no position to them.
    absent = np.asarray(call.depth, np.int64)
    negative = call.emit("Less", where, np.asarray(0, np.int64))
    where = call.emit("Where", negative, absent, where)
    return call.emit("OneHot", where, np.asarray(call.depth, np.int64), values, axis=-1)


def _filled(call: Call, value: float) -> str:
    made = call.outputs[0]
    if None not in made.shape:
        return call.builder.constant(np.full(call.static(made), value, call.dtype))
    sizes = [call.size(made, axis) for axis in range(len(made.shape))]
    return call.emit("Expand", np.asarray(value, call.dtype), call.emit("Concat", *sizes, axis=0))


@writes("_arange", "_contrib_arange_like")
def _arange(call: Call) -> str:
    if call.outputs[0].shape == (None,) and call.repeat == 1:
        count = call.emit("Squeeze", call.size(call.outputs[0], 0), ints([0]))
        steps = call.emit("Range", np.asarray(0, np.int64), count, np.asarray(1, np.int64))
        steps = call.emit("Mul", call.cast(steps, call.dtype), np.asarray(call.step, call.dtype))
        return call.emit("Add", steps, np.asarray(call.start, call.dtype))
    sizes = call.static(call.outputs[0])
    size = math.prod(sizes)
    steps = np.arange(-(-size // call.repeat)) * call.step + call.start
    steps = np.repeat(steps, call.repeat)[:size].reshape(sizes)
    return call.builder.constant(steps.astype(call.dtype))


def _sampled(call: Call, op_type: str, **attrs: float) -> str:
    dtype = code_of(call.dtype)
    return call.emit(op_type, shape=call.static(call.outputs[0]), dtype=dtype, **attrs)


@writes("_random_uniform_like")
def _random_uniform_like(call: Call) -> str:
    dtype = code_of(call.dtype)
    low, high = float(call.low), float(call.high)
    return call.emit("RandomUniformLike", call.x, dtype=dtype, low=low, high=high)


@writes("_sample_multinomial")
def _sample_multinomial(call: Call) -> str:
    if call.get_prob:
        raise call.refuse("get_prob=True is not part of ONNX")
    classes = call.static(call.inputs[0], -1)[0]
    rows = call.x if call.rank == 2 else call.reshape(call.x, (None, classes))
    size = math.prod(s or 0 for s in call.outputs[0].shape[call.rank - 1 :])
    code = code_of("int32")
    found = call.emit("Multinomial", call.emit("Log", rows), sample_size=size, dtype=code)
    found = call.shaped(found)
    return found if call.dtype == "int32" else call.cast(found, call.dtype)


@writes("SequenceMask")
def _sequence_mask(call: Call) -> str:
    if not call.use_sequence_length:
        return call.x
    length, axis = call.inputs[1], call.axis
    if axis not in (0, 1):
        raise call.refuse(f"axis={axis}: sequences are along axis 0 or 1")
    batch = [s if a == 1 - axis else 1 for a, s in enumerate(call.shape)]
    valid = within(call, length, axis, batch)
    return call.emit("Where", valid, call.x, call.number(call.value))


@writes("SequenceReverse")
def _sequence_reverse(call: Call) -> str:
    if not call.use_sequence_length:
        return _cut(call, call.x, [_END], [_START], [0], [-1])
    lengths = call.as_type(call.inputs[1], "int64")
    return call.emit("ReverseSequence", call.x, lengths, time_axis=0, batch_axis=1)


@writes("dot")
def _dot(call: Call) -> str:
    a, b = call.inputs
    x, y = a.name, b.name
    if call.transpose_a:
        x = call.transpose(x, [*range(1, len(a.shape)), 0])
    if call.transpose_b:
        y = call.transpose(y, [len(b.shape) - 1, *range(len(b.shape) - 1)])
    if len(a.shape) == 1 and len(b.shape) == 1:
        return call.shaped(call.emit("MatMul", x, y))
    if len(b.shape) > 2:
        (inner,) = call.static(b, -1 if call.transpose_b else 0)
        y = call.reshape(y, (inner, None))
        return call.shaped(call.emit("MatMul", x, y))
    return call.emit("MatMul", x, y)


def _last_axes_swapped(call: Call, value: Value) -> str:
    n = len(value.shape)
    return call.transpose(value.name, [*range(n - 2), n - 1, n - 2])


@writes("batch_dot")
def _product(call: Call) -> str:
    """The product of the matrices on the last two axes of two inputs."""
    a, b = call.inputs[:2]
    x = _last_axes_swapped(call, a) if call.transpose_a else a.name
    y = _last_axes_swapped(call, b) if call.transpose_b else b.name
    return call.emit("MatMul", x, y)


@writes("_linalg_gemm2", "_linalg_gemm")
def _gemm(call: Call) -> str:
    if call.axis != -2:
        raise call.refuse(f"axis={call.axis}: matrices are on the last two axes")
    found = _product(call)
    if call.alpha != 1:
        found = call.emit("Mul", found, call.number(call.alpha))
    if len(call.inputs) < 3:
        return found
    added = call.emit("Mul", call.inputs[2].name, call.number(call.beta))
    return call.emit("Add", found, added)


def _heads(call: Call, index: int, parts: int) -> str:
    """Queries, keys or values of each head: (batch * heads, length, channels of a head)."""
    length, batch, size = call.static(call.inputs[0])
    width = size // (call.heads * parts)
    apart = call.reshape(call.x, (length, batch, call.heads, parts, width))
    part = call.emit("Gather", apart, np.asarray(index, np.int64), axis=3)
    moved = call.transpose(part, (1, 2, 0, 3))
    return call.reshape(moved, (batch * call.heads, length, width))


@writes("_contrib_interleaved_matmul_selfatt_qk")
def _self_attention_scores(call: Call) -> str:
    queries, keys = _heads(call, 0, 3), _heads(call, 1, 3)
    width = call.static(call.inputs[0], 2)[0] // (3 * call.heads)
    scaled = call.emit("Div", queries, call.number(np.sqrt(width)))
    return call.emit("MatMul", scaled, call.transpose(keys, (0, 2, 1)))


@writes("_contrib_interleaved_matmul_selfatt_valatt")
def _self_attention_values(call: Call) -> str:
    length, batch, size = call.static(call.inputs[0])
    found = call.emit("MatMul", call.inputs[1].name, _heads(call, 2, 3))
    width = size // (3 * call.heads)
    apart = call.reshape(found, (batch, call.heads, length, width))
    return call.shaped(call.transpose(apart, (2, 0, 1, 3)))


WRITERS |= {
    "_rnn_param_concat": lambda call: call.emit(
        "Concat", *(call.reshape(v.name, (None,)) for v in call.inputs), axis=0
    ),
    "depth_to_space": lambda call: call.emit(
        "DepthToSpace", call.x, blocksize=call.block_size, mode="DCR"
    ),
    "_zeros": lambda call: _filled(call, 0),
    "_ones": lambda call: _filled(call, 1),
    "_full": lambda call: _filled(call, call.value),
    "_random_uniform": lambda call: _sampled(
        call, "RandomUniform", low=float(call.low), high=float(call.high)
    ),
    "_random_normal": lambda call: _sampled(
        call, "RandomNormal", mean=float(call.loc), scale=float(call.scale)
    ),
    **dict.fromkeys(("Reshape", "reshape_like"), lambda call: call.shaped(call.x)),
    "Flatten": lambda call: call.emit("Flatten", call.x, axis=1),
    "transpose": lambda call: call.transpose(call.x, call.params["axes"] or range(call.rank)[::-1]),
    "expand_dims": lambda call: call.emit("Unsqueeze", call.x, ints([call.axis])),
    "size_array": lambda call: call.reshape(call.emit("Size", call.x), (1,)),
    "zeros_like": lambda call: call.emit("Expand", call.number(0), call.emit("Shape", call.x)),
    "ones_like": lambda call: call.emit("Expand", call.number(1), call.emit("Shape", call.x)),
}
