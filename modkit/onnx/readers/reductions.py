"""Reductions, ranking, softmax and normalization by sums, of ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable

from modkit import symbol as sym
from modkit.onnx.correspondence import REDUCED
from modkit.onnx.onnx_node import OnnxNode
from modkit.onnx.readers.table import READERS, Reader, reads
from modkit.symbol import Symbol


def _reduction(function: Callable[..., Symbol]) -> Reader:
    return lambda node: _reduced(node, function, node.symbol())


def _reduced(node: OnnxNode, function: Callable[..., Symbol], x: Symbol) -> Symbol:
    axes, keepdims = node.ints(1, "axes"), bool(node.attr("keepdims", 1))
    if not axes and node.attr("noop_with_empty_axes", 0):
        return x
    return function(x, axis=tuple(axes or range(node.rank())), keepdims=keepdims)


@reads("ReduceLogSumExp")
def _reduce_log_sum_exp(node: OnnxNode) -> Symbol:
    x, axes = node.symbol(), node.ints(1, "axes")
    if not axes and node.attr("noop_with_empty_axes", 0):
        return x
    # The largest of each sum is taken out, so that no exponential overflows; inf - inf is NaN.
    top = sym.max(x, axis=tuple(axes or range(node.rank())), keepdims=True)
    top = sym.where(sym.abs(top) == math.inf, sym.zeros_like(top), top)
    sums = _reduced(node, sym.sum, sym.exp(sym.broadcast_sub(x, top)))
    return sym.log(sums) + _reduced(node, sym.max, x)


def _extreme(function: Callable[..., Symbol]) -> Reader:
    def read(node: OnnxNode) -> Symbol:
        if node.attr("select_last_index", 0):
            raise node.refuse("select_last_index=1")
        axis, keepdims = node.attr("axis", 0), bool(node.attr("keepdims", 1))
        found = function(node.symbol(), axis=axis, keepdims=keepdims)
        return sym.cast(found, dtype="int64")

    return read


@reads("Hardmax")
def _hardmax(node: OnnxNode) -> Symbol:
    x, axis, rank = node.symbol(), node.attr("axis", -1 if node.opset >= 13 else 1), node.rank()
    if node.opset < 13 and axis % rank != rank - 1:
        raise node.refuse("opset 12 and before with another axis than the last")
    at = sym.argmax(x, axis=axis, keepdims=True)
    return sym.broadcast_equal(at, sym.cumsum(sym.ones_like(x), axis=axis) - 1)


@reads("TopK")
def _topk(node: OnnxNode) -> list[Symbol]:
    found = sym.topk(
        node.symbol(), k=int(node.number(1, "k")), axis=node.attr("axis", -1), ret_typ="both",
        is_ascend=not node.attr("largest", 1), dtype="int64",
    )  # fmt: skip
    return list(found)


def _by_row(node: OnnxNode, function: Callable[..., Symbol]) -> Symbol:
    """Softmax over one axis; before opset 13 over ``axis`` and all axes after it."""
    x = node.symbol()
    if node.opset >= 13:
        return function(x, axis=node.attr("axis", -1))
    axis, rank = node.attr("axis", 1), node.rank()
    if axis % rank == rank - 1:
        return function(x, axis=-1)
    flat = sym.Reshape(x, shape=(0,) * (axis % rank) + (-1,))
    return sym.reshape_like(function(flat, axis=-1), x)


@reads("CumSum")
def _cumsum(node: OnnxNode) -> Symbol:
    if node.attr("exclusive", 0) or node.attr("reverse", 0):
        raise node.refuse("exclusive=1 and reverse=1")
    return sym.cumsum(node.symbol(), axis=int(node.number(1, "axis")))


@reads("LpNormalization")
def _lp_normalization(node: OnnxNode) -> Symbol:
    x, axis = node.symbol(), node.attr("axis", -1)
    size = sym.norm(x, ord=node.attr("p", 2), axis=axis, keepdims=True)
    return sym.broadcast_div(x, size + (size == 0))


def moments(x: Symbol, axes: tuple[int, ...]) -> tuple[Symbol, Symbol]:
    """``x`` less its mean over axes, and its variance."""
    centred = sym.broadcast_sub(x, sym.mean(x, axis=axes, keepdims=True))
    return centred, sym.mean(sym.square(centred), axis=axes, keepdims=True)


@reads("MeanVarianceNormalization")
def _standardized(node: OnnxNode) -> Symbol:
    centred, variance = moments(node.symbol(), tuple(node.attr("axes", [0, 2, 3])))
    return sym.broadcast_div(centred, sym.sqrt(variance) + 1e-9)


READERS |= {
    **{op_type: _reduction(getattr(sym, name)) for name, op_type in REDUCED.items()},
    "ArgMax": _extreme(sym.argmax),
    "ArgMin": _extreme(sym.argmin),
    "ReduceSum": _reduction(sym.sum),
    "ReduceL1": lambda node: _reduced(node, sym.sum, sym.abs(node.symbol())),
    "ReduceL2": lambda node: sym.sqrt(_reduced(node, sym.sum, sym.square(node.symbol()))),
    "ReduceSumSquare": lambda node: _reduced(node, sym.sum, sym.square(node.symbol())),
    "ReduceLogSum": lambda node: sym.log(_reduced(node, sym.sum, node.symbol())),
    "Softmax": lambda node: _by_row(node, sym.softmax),
    "LogSoftmax": lambda node: _by_row(node, sym.log_softmax),
}
