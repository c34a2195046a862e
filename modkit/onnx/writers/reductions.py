"""Reductions, sorting, softmax and normalization by sums."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from modkit.onnx.correspondence import REDUCED
from modkit.onnx.graph_builder import Call, Value, ints
from modkit.onnx.writers.table import WRITERS, Writer, writes


def _shaped(call: Call, x: str, axes: list[int]) -> str:
    """A reduced array in the operator's shape: MXNet has no arrays without axes."""
    if call.keepdims or len(axes) < call.rank or call.outputs[0].shape == ():
        return x
    return call.shaped(x)


def _along(call: Call, x: str) -> tuple[str, int]:
    """``x`` and the axis of the node; without one, ``x`` with a single axis, which is 0."""
    return (call.reshape(x, (None,)), 0) if call.axis is None else (x, call.axis)


def _of_type(call: Call, x: str) -> str:
    return x if call.dtype == call.inputs[0].dtype else call.cast(x, call.dtype)


def _reduction(op_type: str) -> Writer:
    def write(call: Call) -> str:
        axes = call.axes(call.axis, call.exclude)
        found = call.emit(op_type, call.x, axes=axes, keepdims=int(call.keepdims))
        return _shaped(call, found, axes)

    return write


def total(call: Call, x: str, axes: list[int], keepdims: bool) -> str:
    """The sum over axes."""
    return call.emit("ReduceSum", x, ints(axes), keepdims=int(keepdims))


@writes("sum")
def _sum(call: Call) -> str:
    axes = call.axes(call.axis, call.exclude)
    return _shaped(call, total(call, call.x, axes, call.keepdims), axes)


@writes("norm")
def _norm(call: Call) -> str:
    if call.ord not in (1, 2):
        raise call.refuse(f"ord={call.ord} is not part of ONNX, only 1 and 2 are")
    axes = call.axes(call.axis)
    op_type = f"ReduceL{call.ord}"
    found = call.emit(op_type, call.x, axes=axes, keepdims=int(call.keepdims))
    return _shaped(call, _of_type(call, found), axes)


def _extreme(op_type: str) -> Writer:
    def write(call: Call) -> str:
        x, axis = _along(call, call.x)
        found = call.emit(op_type, x, axis=axis, keepdims=int(call.keepdims))
        found = call.cast(found, call.dtype)
        return found if call.axis is not None else call.shaped(found)

    return write


def _ranked(call: Call, k: int | None) -> tuple[str, str]:
    """The first ``k`` values along an axis in order, all for ``None``, and their positions."""
    if k is None:
        k = math.prod(call.static(call.inputs[0], *([] if call.axis is None else [call.axis])))
    x, axis = _along(call, call.x)
    values, where = call.emit_many(
        "TopK", (x, ints([k])), 2, axis=axis, largest=int(not call.is_ascend)
    )
    return values, where


@writes("topk")
def _topk(call: Call) -> str | list[str]:
    if call.ret_typ == "mask":
        raise call.refuse("ret_typ='mask' is not part of ONNX", "take 'indices' and one_hot")
    values, where = _ranked(call, call.k if call.k > 0 else None)
    if call.ret_typ == "value":
        return values
    positions = call.cast(where, call.params["dtype"])
    return positions if call.ret_typ == "indices" else [values, positions]


def _scaled(call: Call) -> str:
    """The first input, divided by a temperature."""
    if call.temperature in (None, 1.0):
        return call.x
    return call.emit("Div", call.x, call.number(call.temperature))


@writes("softmax")
def _softmax(call: Call) -> str:
    x = _scaled(call)
    if not call.use_length:
        return _of_type(call, call.emit("Softmax", x, axis=call.axis))
    axis = call.axis % call.rank
    others = [1 if a == axis else s for a, s in enumerate(call.shape)]
    valid = within(call, call.inputs[1], axis, others)
    masked = call.emit("Where", valid, x, call.number(-np.inf))
    found = call.emit("Softmax", masked, axis=call.axis)
    return _of_type(call, call.emit("Where", valid, found, call.number(0)))


def within(call: Call, length: Value, axis: int, sizes: Sequence[int | None]) -> str:
    """Whether a position on ``axis`` of the first input is below a length.

    Args:
        call: the node that is written.
        axis: not negative.
        sizes: a shape for the lengths, which broadcasts to that of the input.
    """
    (size,) = call.static(call.inputs[0], axis)
    limit = call.reshape(call.as_type(length, "int64"), sizes)
    positions = ints(range(size)).reshape([-1 if a == axis else 1 for a in range(call.rank)])
    return call.emit("Less", positions, limit)


@writes("SoftmaxOutput")
def _softmax_output(call: Call) -> str:
    if call.preserve_shape:
        return call.emit("Softmax", call.x, axis=-1)
    if call.multi_output or call.rank == 2:
        return call.emit("Softmax", call.x, axis=1)
    found = call.emit("Softmax", call.emit("Flatten", call.x, axis=1), axis=1)
    return call.reshape(found, call.shape)


@writes("L2Normalization")
def _l2_normalization(call: Call) -> str:
    axes = {
        "instance": list(range(1, call.rank)),
        "channel": [1],
        "spatial": list(range(2, call.rank)),
    }[call.mode]
    squares = total(call, call.emit("Mul", call.x, call.x), axes, keepdims=True)
    size = call.emit("Sqrt", call.emit("Add", squares, call.number(call.eps)))
    return call.emit("Div", call.x, size)


@writes("_np_cumsum")
def _cumsum(call: Call) -> str:
    x, axis = _along(call, call.as_type(call.inputs[0], call.dtype))
    return call.emit("CumSum", x, np.asarray(axis, np.int64))


WRITERS |= {
    "sort": lambda call: _ranked(call, None)[0],
    "argsort": lambda call: call.cast(_ranked(call, None)[1], call.params["dtype"]),
    "softmin": lambda call: _of_type(
        call, call.emit("Softmax", call.emit("Neg", _scaled(call)), axis=call.axis)
    ),
    "log_softmax": lambda call: _of_type(
        call, call.emit("LogSoftmax", _scaled(call), axis=call.axis)
    ),
    "SoftmaxActivation": lambda call: call.emit(
        "Softmax", call.x, axis=1 if call.mode == "channel" else -1
    ),
    "LogisticRegressionOutput": lambda call: call.emit("Sigmoid", call.x),
    "argmax": _extreme("ArgMax"),
    "argmin": _extreme("ArgMin"),
    **{name: _reduction(op_type) for name, op_type in REDUCED.items()},
}
