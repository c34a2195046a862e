"""ONNX's layers: convolution, pooling, normalization, dense layers, regions."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any, Literal

from modkit import symbol as sym
from modkit.onnx.onnx_node import OnnxNode
from modkit.onnx.readers.arrays import padded
from modkit.onnx.readers.reductions import moments
from modkit.onnx.readers.table import READERS, reads
from modkit.symbol import Symbol

_Kind = Literal["max", "avg", "sum", "lp"]


@reads("Gemm")
def _gemm(node: OnnxNode) -> Symbol:
    alpha, beta = node.attr("alpha", 1.0), node.attr("beta", 1.0)
    flip_a, flip_b = bool(node.attr("transA", 0)), bool(node.attr("transB", 0))
    a, b, *bias = node.symbols()
    units = (node.shape(1) or (0,))[0] or 0  # 0 where it is open
    dense = alpha == beta == 1 and not flip_a and flip_b and units > 0
    if dense and (not bias or node.shape(2) == (units,)):
        return sym.FullyConnected(a, b, *bias, num_hidden=units, no_bias=not bias, flatten=False)
    found = sym.dot(a, b, transpose_a=flip_a, transpose_b=flip_b)
    found = found if alpha == 1 else found * alpha
    return sym.broadcast_add(found, bias[0] if beta == 1 else bias[0] * beta) if bias else found


def _sizes(node: OnnxNode, what: str) -> list[int]:
    """Sizes of the axes of a window; NotSupportedError where the model leaves one open."""
    sizes = (node.shape() or ())[2:]
    found = [size for size in sizes if size is not None]
    if not sizes or len(found) < len(sizes):
        raise node.refuse(f"{what} needs static sizes of its input")
    return found


def _pads(node: OnnxNode, kernel: list[int], strides: list[int], dilations: list[int]) -> list[int]:
    """Padding at the starts and at the ends of the axes."""
    how = node.attr("auto_pad", "NOTSET")
    if not how.startswith("SAME"):
        return _declared_pads(node, len(kernel))
    sizes = _sizes(node, f"auto_pad={how!r}")
    starts, ends = [], []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        reach = (-(-size // stride) - 1) * stride + (k - 1) * dilation + 1
        total = max(reach - size, 0)
        less = total // 2
        starts.append(total - less if how == "SAME_LOWER" else less)
        ends.append(less if how == "SAME_LOWER" else total - less)
    return starts + ends


def _declared_pads(node: OnnxNode, count: int) -> list[int]:
    given = None if node.attr("auto_pad") == "VALID" else node.attr("pads")
    return list(given or [0] * 2 * count)


def _window(node: OnnxNode, kernel: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Strides, dilations, and padding at the starts followed by that at the ends."""
    ones = [1] * len(kernel)
    strides, dilations = node.attr("strides") or ones, node.attr("dilations") or ones
    return list(strides), list(dilations), _pads(node, kernel, strides, dilations)


def _padded(x: Symbol, pads: list[int], value: float = 0.0) -> tuple[Symbol, Any]:
    """``x`` and the padding that is the same at both ends; other padding is done here."""
    count = len(pads) // 2
    starts, ends = pads[:count], pads[count:]
    if starts == ends:
        return x, tuple(starts)
    widths = [(0, 0), (0, 0), *zip(starts, ends, strict=True)]
    if count == 1:
        return padded(x, widths, value), (0,)
    found = sym.Pad(x, mode="constant", pad_width=tuple(chain(*widths)), constant_value=value)
    return found, (0,) * count


def _kernel(node: OnnxNode) -> list[int]:
    kernel = node.attr("kernel_shape") or (node.shape(1) or ())[2:]
    found = [int(k) for k in kernel if k is not None]
    if not kernel or len(found) < len(kernel):
        raise node.refuse("the model does not say the size of its kernel")
    return found


@reads("Conv")
def _conv(node: OnnxNode) -> Symbol:
    kernel = _kernel(node)
    strides, dilations, pads = _window(node, kernel)
    data, *weights = node.symbols()
    x, pad = _padded(data, pads)
    return sym.Convolution(
        x, *weights, kernel=tuple(kernel), stride=tuple(strides), dilate=tuple(dilations),
        pad=pad, num_filter=_size(node, 1, 0), num_group=node.attr("group", 1),
        no_bias=not node.has(2),
    )  # fmt: skip


def _size(node: OnnxNode, index: int, axis: int) -> int:
    size = (node.shape(index) or (None,) * (axis + 1))[axis]
    if size is None:
        raise node.refuse(f"the model does not say the shape of {node.inputs[index]!r}")
    return size


@reads("ConvTranspose")
def _conv_transpose(node: OnnxNode) -> Symbol:
    kernel = _kernel(node)
    count, group, ones = len(kernel), node.attr("group", 1), [1] * len(kernel)
    strides, dilations = node.attr("strides") or ones, node.attr("dilations") or ones
    extra = list(node.attr("output_padding") or [0] * count)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    starts, ends = _cuts(node, list(map(sum, zip(reach, extra, strict=True))), strides)
    ends = [end - e for end, e in zip(ends, extra, strict=True)]
    # Padding takes the same from both ends; a slice takes the rest from one.
    pad = [max(min(pair), 0) for pair in zip(starts, ends, strict=True)]
    found = sym.Deconvolution(
        *node.symbols(), kernel=tuple(kernel), stride=tuple(strides),
        dilate=tuple(dilations), pad=tuple(pad), adj=tuple(max(-end, 0) for end in ends),
        num_filter=_size(node, 1, 1) * group, num_group=group, no_bias=not node.has(2),
    )  # fmt: skip
    for axis, (start, end, both) in enumerate(zip(starts, ends, pad, strict=True), 2):
        before, after = start - both, max(end, 0) - both
        if before or after:
            found = sym.slice_axis(found, axis=axis, begin=before, end=-after or None)
    return found


def _cuts(node: OnnxNode, reach: list[int], strides: list[int]) -> tuple[list[int], list[int]]:
    """Elements that a transposed convolution loses at the starts and ends of the axes.

    ``reach`` is how far one element of the input reaches along each axis.
    """
    count, how, wanted = len(reach), node.attr("auto_pad", "NOTSET"), node.attr("output_shape")
    if not wanted and not how.startswith("SAME"):
        pads = _declared_pads(node, count)
        return pads[:count], pads[count:]
    totals = [r - s for r, s in zip(reach, strides, strict=True)]
    if wanted:
        lengths = zip(_sizes(node, "output_shape"), strides, reach, wanted[-count:], strict=True)
        totals = [(size - 1) * s + r - w for size, s, r, w in lengths]
    if min(totals) < 0:
        raise node.refuse("an output that is larger than what its input reaches")
    less, more = [t // 2 for t in totals], [t - t // 2 for t in totals]
    return (less, more) if how == "SAME_UPPER" else (more, less)


def _pooled(node: OnnxNode, pool_type: _Kind, value: float, **kwargs: Any) -> Symbol:
    kernel = [int(k) for k in node.attr("kernel_shape")]
    strides, dilations, pads = _window(node, kernel)
    if any(d != 1 for d in dilations):
        raise node.refuse("dilated pooling")
    if len(node.outputs) > 1 and node.outputs[1]:
        raise node.refuse("positions of the largest elements")
    x, pad = _padded(_of_any_sign(node, pool_type), pads, value)
    how = "full" if node.attr("ceil_mode", 0) else "valid"
    window: dict[str, Any] = {
        "kernel": tuple(kernel), "stride": tuple(strides), "pad": pad, "pooling_convention": how
    }  # fmt: skip
    unequal = pads[: len(kernel)] != pads[len(kernel) :]
    if unequal and kwargs.get("count_include_pad") is False:
        inside, _ = _padded(sym.ones_like(node.symbol()), pads)
        sums = [sym.Pooling(each, pool_type="sum", **window) for each in (x, inside)]
        found = sums[0] / sums[1]
    else:
        found = sym.Pooling(x, pool_type=pool_type, **window, **kwargs)
    return found if how == "valid" else _windows_on_data(node, found, kernel, strides, pads)


def _of_any_sign(node: OnnxNode, pool_type: _Kind) -> Symbol:
    """The input; its magnitude for a norm, whose odd powers keep signs in MXNet."""
    return sym.abs(node.symbol()) if pool_type == "lp" else node.symbol()


def _windows_on_data(
    node: OnnxNode, found: Symbol, kernel: list[int], strides: list[int], pads: list[int]
) -> Symbol:
    """Outputs of ``ceil_mode`` less those of windows that begin in the padding at the end."""
    count, sizes = len(kernel), (node.shape() or ())[2:]
    for i, (k, stride) in enumerate(zip(kernel, strides, strict=True)):
        if pads[count + i] + stride <= k:
            continue  # no window begins there
        size = sizes[i] if sizes else None
        if size is None:
            raise node.refuse("ceil_mode=1 with windows in the padding needs static sizes")
        windows = -(-(size + pads[i] + pads[count + i] - k) // stride) + 1
        if (windows - 1) * stride >= size + pads[i]:
            found = sym.slice_axis(found, axis=2 + i, begin=0, end=windows - 1)
    return found


@reads("AveragePool")
def _average_pool(node: OnnxNode) -> Symbol:
    inside = bool(node.attr("count_include_pad", 0))
    return _pooled(node, "avg", 0.0, count_include_pad=inside)


def _pooled_globally(node: OnnxNode, pool_type: _Kind, **kwargs: Any) -> Symbol:
    kernel = (1,) * (node.rank() - 2)
    x = _of_any_sign(node, pool_type)
    return sym.Pooling(x, kernel=kernel, global_pool=True, pool_type=pool_type, **kwargs)


@reads("BatchNormalization")
def _batch_norm(node: OnnxNode) -> Symbol:
    if node.attr("spatial", 1) != 1 or node.attr("training_mode", 0):
        raise node.refuse("spatial=0 and training_mode=1")
    return sym.BatchNorm(
        *node.symbols(), eps=node.attr("epsilon", 1e-5), momentum=node.attr("momentum", 0.9),
        fix_gamma=False,
    )[0]  # fmt: skip


def _normalized(x: Symbol, axes: tuple[int, ...], eps: float) -> Symbol:
    """``x`` less its mean, divided by its deviation."""
    centred, variance = moments(x, axes)
    return sym.broadcast_div(centred, sym.sqrt(variance + eps))


@reads("LayerNormalization")
def _layer_norm(node: OnnxNode) -> Symbol:
    axis, rank, eps = node.attr("axis", -1), node.rank(), node.attr("epsilon", 1e-5)
    if any(node.outputs[1:]):
        raise node.refuse("outputs of mean and deviation")
    if axis % rank == rank - 1 and node.has(2):
        return sym.LayerNorm(*node.symbols(), axis=-1, eps=eps)[0]
    found = _normalized(node.symbol(), tuple(range(axis % rank, rank)), eps)
    found = sym.broadcast_mul(found, node.symbol(1))
    return sym.broadcast_add(found, node.symbol(2)) if node.has(2) else found


@reads("GroupNormalization")
def _group_norm(node: OnnxNode) -> Symbol:
    groups, rank = node.attr("num_groups"), node.rank()
    if node.shape(1) == (groups,) and groups != (node.shape() or (0, 0))[1]:
        raise node.refuse("a scale for each group, as before opset 21")
    x = node.symbol()
    apart = sym.Reshape(x, shape=(0, groups, -1))
    found = _normalized(apart, (2,), node.attr("epsilon", 1e-5))
    scale, shift = (sym.Reshape(node.symbol(i), shape=(1, -1, *[1] * (rank - 2))) for i in (1, 2))
    found = sym.broadcast_mul(sym.reshape_like(found, x), scale)
    return sym.broadcast_add(found, shift)


@reads("RoiAlign")
def _roi_align(node: OnnxNode) -> Symbol:
    if node.attr("mode", "avg") != "avg":
        raise node.refuse("mode='max'")
    x, boxes, images = node.symbols()
    how = node.attr("coordinate_transformation_mode")
    aligned = how == "half_pixel" or (how is None and node.opset >= 16)
    first = sym.expand_dims(sym.cast(images, dtype="float32"), axis=1)
    return sym.contrib.ROIAlign(
        x, sym.concat(first, boxes, dim=1), aligned=aligned,
        pooled_size=(node.attr("output_height", 1), node.attr("output_width", 1)),
        spatial_scale=node.attr("spatial_scale", 1.0),
        sample_ratio=node.attr("sampling_ratio", 0) or -1,
    )  # fmt: skip


READERS |= {
    "MaxPool": lambda node: _pooled(node, "max", -math.inf),
    "LpPool": lambda node: _pooled(node, "lp", 0.0, p_value=node.attr("p", 2)),
    "GlobalMaxPool": lambda node: _pooled_globally(node, "max"),
    "GlobalAveragePool": lambda node: _pooled_globally(node, "avg"),
    "GlobalLpPool": lambda node: _pooled_globally(node, "lp", p_value=node.attr("p", 2)),
}
