"""Layers: convolution, pooling, normalization, dense layers, resizing, regions."""

from __future__ import annotations

import math

import numpy as np

from modkit.onnx.graph_builder import Call, Sizes, ints
from modkit.onnx.writers.reductions import total
from modkit.onnx.writers.table import writes
from modkit.ops.nn.adaptive_pooling import averages

_ACTIVATIONS = {
    "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softrelu": "Softplus",
    "softsign": "Softsign",
}  # fmt: skip


@writes("Activation")
def _activation(call: Call) -> str:
    return call.emit(_ACTIVATIONS[call.act_type], call.x)


@writes("LeakyReLU")
def _leaky_relu(call: Call) -> str:
    slope = float(call.slope)
    if call.act_type == "prelu":
        gamma = call.inputs[1]
        name = gamma.name
        if len(gamma.shape) == 1 and call.rank > 2:
            name = call.reshape(name, (*gamma.shape, *[1] * (call.rank - 2)))
        return call.emit("PRelu", call.x, name)
    if call.act_type == "gelu":
        half = call.emit("Mul", call.x, call.number(0.5))
        inner = call.emit("Erf", call.emit("Div", call.x, call.number(math.sqrt(2))))
        return call.emit("Mul", half, call.emit("Add", inner, call.number(1)))
    if call.act_type == "selu":
        return call.emit("Selu", call.x)
    if call.act_type == "elu":
        return call.emit("Elu", call.x, alpha=slope)
    if call.act_type == "rrelu":  # prediction takes the mean slope
        slope = (float(call.lower_bound) + float(call.upper_bound)) / 2
    return call.emit("LeakyRelu", call.x, alpha=slope)


@writes("FullyConnected")
def _fully_connected(call: Call) -> str:
    weight, *bias = (v.name for v in call.inputs[1:])
    if call.flatten or call.rank == 2:
        x = call.x if call.rank == 2 else call.emit("Flatten", call.x, axis=1)
        return call.emit("Gemm", x, weight, *bias, transB=1)
    found = call.emit("MatMul", call.x, call.transpose(weight, (1, 0)))
    return call.emit("Add", found, *bias) if bias else found


def _filled(call: Call, name: str, value: int) -> list[int]:
    """A parameter with a number for each axis of a window; ``()`` is the default for all."""
    return list(call.params[name]) or [value] * len(call.kernel)


def _to_first(call: Call, x: str) -> str:
    """Channels last to channels first."""
    return call.transpose(x, [0, call.rank - 1, *range(1, call.rank - 1)])


def _to_last(call: Call, x: str) -> str:
    """Channels first to channels last."""
    return call.transpose(x, [0, *range(2, call.rank), 1])


def _channels_last(call: Call) -> bool:
    return bool(call.layout) and call.layout[-1] == "C"


@writes("Convolution")
def _convolution(call: Call) -> str:
    last = _channels_last(call)
    x, weight, *bias = (v.name for v in call.inputs)
    if last:
        x, weight = _to_first(call, x), _to_first(call, weight)
    found = call.emit(
        "Conv", x, weight, *bias,
        kernel_shape=list(call.kernel), group=call.num_group,
        strides=_filled(call, "stride", 1), dilations=_filled(call, "dilate", 1),
        pads=_filled(call, "pad", 0) * 2,
    )  # fmt: skip
    return _to_last(call, found) if last else found


@writes("Deconvolution")
def _deconvolution(call: Call) -> str:
    if _channels_last(call):
        raise call.refuse(f"layout={call.layout!r} of a Deconvolution")
    strides, pads = _filled(call, "stride", 1), _filled(call, "pad", 0)
    dilations, extra = _filled(call, "dilate", 1), _filled(call, "adj", 0)
    if any(call.target_shape):  # pads and extra sizes follow from it
        sizes = call.static(call.inputs[0], *range(2, call.rank))
        for i, target in enumerate(call.target_shape):
            whole = strides[i] * (sizes[i] - 1) + dilations[i] * (call.kernel[i] - 1) + 1
            over = whole - target
            pads[i], extra[i] = (over + 1) // 2, over % 2
    return call.emit(
        "ConvTranspose", *(v.name for v in call.inputs),
        kernel_shape=list(call.kernel), group=call.num_group, strides=strides,
        dilations=dilations, pads=pads * 2, output_padding=extra,
    )  # fmt: skip


@writes("Pooling")
def _pooling(call: Call) -> str:
    if not _channels_last(call):
        return _pooled(call, call.x, call.shape, call.outputs[0].shape)

    def first(shape: Sizes) -> Sizes:
        return shape[0], shape[-1], *shape[1:-1]

    x = _to_first(call, call.x)
    found = _pooled(call, x, first(call.shape), first(call.outputs[0].shape))
    return _to_last(call, found)


def _pooled(call: Call, x: str, shape: Sizes, out: Sizes) -> str:
    if call.global_pool:
        return _pooled_globally(call, x, shape)
    kernel = list(call.kernel)
    count = len(kernel)
    pads = _filled(call, "pad", 0)[:count]
    strides = _filled(call, "stride", 1)
    ends = list(pads)
    if call.pooling_convention != "valid":
        # The last window may reach beyond the padding: so much more padding at the end.
        sizes, outs = _static(call, shape[2:]), _static(call, out[2:])
        for i in range(count):
            reach = (outs[i] - 1) * strides[i] + kernel[i] - sizes[i] - pads[i]
            ends[i] = max(reach, pads[i])
    window = {"kernel_shape": kernel, "strides": strides}
    if call.pool_type == "max":
        if ends == pads:
            return call.emit("MaxPool", x, **window, pads=[*pads, *ends])
        around = ints([0, 0, *pads, 0, 0, *ends])
        # Windows in the padding alone have MXNet's least number.
        least = np.asarray(np.finfo(call.dtype).min, call.dtype)
        x = call.emit("Pad", x, around, least, mode="constant")
        return call.emit("MaxPool", x, **window)
    if call.pool_type == "lp":
        return call.emit("LpPool", x, **window, pads=[*pads, *ends], p=call.p_value or 2)
    if call.pool_type == "avg" and ends == pads:
        inside = int(call.count_include_pad is not False)
        return call.emit("AveragePool", x, **window, pads=[*pads, *ends], count_include_pad=inside)
    x = call.emit("Pad", x, ints([0, 0, *pads, 0, 0, *ends]), mode="constant")
    mean = call.emit("AveragePool", x, **window)
    whole = math.prod(kernel)
    if call.pool_type == "sum":
        return call.emit("Mul", mean, call.number(whole))
    counts = _counts(call, _static(call, shape[2:]), _static(call, out[2:]), pads, strides)
    return call.emit("Mul", mean, (whole / counts).astype(call.dtype))


def _static(call: Call, sizes: Sizes) -> list[int]:
    found = [s for s in sizes if s is not None]
    if len(found) < len(sizes):
        raise call.refuse("this pooling needs static sizes", "pooling_convention='valid'")
    return found


def _counts(
    call: Call, sizes: list[int], outs: list[int], pads: list[int], strides: list[int]
) -> np.ndarray:
    """Divisors of an average pooling: the number of elements of each window."""
    counts = np.ones([1] * len(outs))
    for i, (size, out) in enumerate(zip(sizes, outs, strict=True)):
        start = np.arange(out) * strides[i] - pads[i]
        end = np.minimum(start + call.kernel[i], size + pads[i])
        if call.count_include_pad is False:
            start, end = np.maximum(start, 0), np.minimum(end, size)
        axis = [-1 if a == i else 1 for a in range(len(outs))]
        counts = counts * np.maximum(end - start, 0).reshape(axis)
    return np.maximum(counts, 1)[None, None]  # windows without elements sum to 0


def _pooled_globally(call: Call, x: str, shape: Sizes) -> str:
    if call.pool_type == "max":
        return call.emit("GlobalMaxPool", x)
    if call.pool_type == "lp":
        return call.emit("GlobalLpPool", x, p=call.p_value or 2)
    if call.pool_type == "avg":
        return call.emit("GlobalAveragePool", x)
    return total(call, x, list(range(2, len(shape))), keepdims=True)


@writes("BatchNorm", "_contrib_SyncBatchNorm", "_contrib_BatchNormWithReLU")
def _batch_norm(call: Call) -> str | list[str]:
    if call.params.get("output_mean_var"):
        raise call.refuse("output_mean_var=True", "take the moving statistics from the parameters")
    axis = call.params.get("axis", 1) % call.rank
    # Of 16-bit data the statistics have 32 bits; ONNX 13 has one type for all.
    kind = call.inputs[0].dtype
    gamma, beta, mean, var = (call.as_type(v, kind) for v in call.inputs[1:])
    if call.fix_gamma:
        (size,) = call.static(call.inputs[1])
        gamma = call.builder.constant(np.ones(size, kind))
    order = [a for a in range(call.rank) if a != axis]
    order.insert(1, axis)
    x = call.transpose(call.x, order)
    found = call.emit("BatchNormalization", x, gamma, beta, mean, var, epsilon=float(call.eps))
    found = call.transpose(found, np.argsort(order).tolist())
    if call.node.op_name == "_contrib_BatchNormWithReLU":
        found = call.emit("Relu", found)
    return found


def _standardized(call: Call, x: str, axis: int, eps: float) -> str:
    """``x`` less its mean over an axis, divided by its standard deviation."""
    centred = call.emit("Sub", x, call.emit("ReduceMean", x, axes=[axis], keepdims=1))
    squares = call.emit("Mul", centred, centred)
    variance = call.emit("ReduceMean", squares, axes=[axis], keepdims=1)
    deviation = call.emit("Sqrt", call.emit("Add", variance, call.number(eps)))
    return call.emit("Div", centred, deviation)


def _scaled(call: Call, x: str, shape: list[int | None]) -> str:
    """``x`` times the second input plus the third, both in a shape that broadcasts."""
    gamma, beta = (call.reshape(v.name, shape) for v in call.inputs[1:3])
    return call.emit("Add", call.emit("Mul", x, gamma), beta)


@writes("LayerNorm")
def _layer_norm(call: Call) -> str:
    if call.output_mean_var:
        raise call.refuse("output_mean_var=True")
    axis = call.axis % call.rank
    found = _standardized(call, call.x, axis, call.eps)
    return _scaled(call, found, [None if a == axis else 1 for a in range(call.rank)])


@writes("GroupNorm")
def _group_norm(call: Call) -> str:
    if call.output_mean_var:
        raise call.refuse("output_mean_var=True")
    groups = call.emit("Reshape", call.x, ints([0, call.num_groups, -1]))
    found = _standardized(call, groups, 2, call.eps)
    if call.inputs[1].shape == (call.num_groups,) != call.shape[1:2]:
        return call.reshape(_scaled(call, found, [1, None, 1]), call.shape)
    return _scaled(call, call.reshape(found, call.shape), [1, None, *[1] * (call.rank - 2)])


@writes("Dropout")
def _dropout(call: Call) -> str:
    if call.mode == "always":
        raise call.refuse("mode='always': ONNX models drop nothing in prediction")
    return call.x


@writes("UpSampling")
def _up_sampling(call: Call) -> str:
    scale = call.scale
    if call.sample_type == "bilinear":
        pad = [math.ceil((scale - 1) / 2)] * 2
        kernel, names = [2 * scale - scale % 2] * 2, (v.name for v in call.inputs)
        (channels,) = call.static(call.inputs[0], 1)
        return call.emit(
            "ConvTranspose", *names, kernel_shape=kernel, strides=[scale] * 2,
            pads=pad * 2, group=channels,
        )  # fmt: skip
    factors = [scale]
    if len(call.inputs) > 1:  # all get the size of the first
        height = call.static(call.outputs[0], 2)[0]
        factors = [height / call.static(value, 2)[0] for value in call.inputs]
    how = {"mode": "nearest", "nearest_mode": "floor"}
    how["coordinate_transformation_mode"] = "asymmetric"
    scales = [np.asarray([1, 1, factor, factor], np.float32) for factor in factors]
    pairs = zip(call.inputs, scales, strict=True)
    found = [call.emit("Resize", value.name, "", each, **how) for value, each in pairs]
    if len(found) == 1:
        return found[0]
    if call.multi_input_mode == "sum":
        return call.emit("Sum", *found)
    return call.emit("Concat", *found, axis=1)


@writes("_contrib_BilinearResize2D")
def _bilinear_resize(call: Call) -> str:
    outer = call.emit("Slice", call.emit("Shape", call.x), ints([0]), ints([2]))
    sizes = call.emit("Concat", outer, ints(call.static(call.outputs[0], 2, 3)), axis=0)
    how = "align_corners" if call.align_corners else "half_pixel"
    return call.emit(
        "Resize", call.x, "", "", sizes, mode="linear", coordinate_transformation_mode=how
    )


@writes("_contrib_AdaptiveAvgPooling2D")
def _adaptive_pooling(call: Call) -> str:
    rows, columns = call.outputs[0].shape[2:]
    if rows == columns == 1:
        return call.emit("GlobalAveragePool", call.x)
    height, width = call.static(call.inputs[0], 2, 3)
    left = averages(height, rows or 1).astype(call.dtype)
    right = averages(width, columns or 1).T.astype(call.dtype)
    return call.emit("MatMul", call.emit("MatMul", left, call.x), right)


@writes("_contrib_ROIAlign")
def _roi_align(call: Call) -> str:
    if call.position_sensitive or call.aligned:
        raise call.refuse("position_sensitive=True and aligned=True are not part of ONNX 13")
    rois = call.inputs[1].name
    images = call.emit("Gather", rois, np.asarray(0, np.int64), axis=1)
    boxes = call.emit("Slice", rois, ints([1]), ints([5]), ints([1]))
    rows, columns = call.pooled_size if len(call.pooled_size) > 1 else call.pooled_size * 2
    return call.emit(
        "RoiAlign", call.x, boxes, call.cast(images, "int64"), output_height=rows,
        output_width=columns, sampling_ratio=max(call.sample_ratio, 0),
        spatial_scale=float(call.spatial_scale),
    )  # fmt: skip
