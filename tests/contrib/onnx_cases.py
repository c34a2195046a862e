"""Graphs that are written as ONNX models and read again, by name, with the shapes of their inputs.

Inputs are named ``x``, ``y`` and ``z``; other variables are parameters.
"""

from collections.abc import Sequence
from typing import NamedTuple

from modkit import symbol as sym
from modkit.symbol import Symbol

X, Y, Z = map(sym.var, "xyz")
A = (2, 3, 4, 5)


class Case(NamedTuple):
    """A graph, the shapes of its inputs, whether the first sizes may be dynamic, and whether a
    symbol can say what is written."""

    net: Symbol
    shapes: Sequence[tuple[int, ...]]
    dynamic: bool = True
    read: bool = True


_UNARY = """
    abs arccos arcsin arctan ceil cos erf exp floor negative reciprocal relu sigmoid sign sin
    softsign sqrt tan tanh log2 log10 log square rsqrt log1p expm1 degrees radians fix trunc
    hard_sigmoid logical_not identity BlockGrad zeros_like ones_like shape_array size_array sinh
    cosh arcsinh arctanh
"""
_BINARY = """
    add sub mul div power maximum minimum equal not_equal greater greater_equal lesser
    lesser_equal logical_and logical_or logical_xor mod hypot
"""


def _elementwise() -> dict[str, Case]:
    cases = {name: Case(getattr(sym, name)(X), [A]) for name in _UNARY.split()}
    for name in _BINARY.split():
        function = getattr(sym, f"broadcast_{name}")
        cases[f"broadcast_{name}"] = Case(function(X, Y), [A, (2, 1, 4, 1)])
    numbers = (2 - X) * 3 / (X + 1.5) + 1 / X + X**2 + 2**X + X % 0.3
    compared = (X > 0.5) + (X <= 0.5) + (X != 0.5) + (X == 0.5) + (X >= 0.2) + (X < 0.7)
    return cases | {
        "arccosh": Case(sym.arccosh(X + 1), [A]),
        "numbers": Case(numbers + sym.maximum(X, 0.5) + sym.minimum(X, 0.5), [A]),
        "compared with numbers": Case(compared, [A]),
        "clip": Case(sym.clip(X, a_min=0.2, a_max=0.6), [A]),
        "Cast": Case(sym.Cast(X * 9, dtype="int32"), [A]),
        "add_n": Case(sym.add_n(X, Y, X), [A, A]),
        "where": Case(sym.where(Y > 0.5, X, Y), [A, A]),
        "where by row": Case(sym.where(Z > 0.5, X, Y), [A, A, (2,)]),
        "smooth_l1": Case(sym.smooth_l1(X * 4 - 2, scalar=1.5), [A]),
        "div_sqrt_dim": Case(sym.contrib.div_sqrt_dim(X), [A]),
    }


def _reductions() -> dict[str, Case]:
    cases = {}
    for name in ("sum", "mean", "max", "min", "prod"):
        function = getattr(sym, name)
        cases[name] = Case(
            sym.Group(
                [function(X, axis=1), function(X, axis=(1, -1), keepdims=True), function(X),
                 function(X, axis=0, exclude=True)]
            ),
            [A],
        )  # fmt: skip
    return cases | {
        "norm": Case(sym.Group([sym.norm(X), sym.norm(X, axis=1, ord=1)]), [A]),
        "argmax": Case(sym.argmax(X, axis=2), [A]),
        "argmax of all": Case(sym.argmax(X), [A]),
        "argmin": Case(sym.argmin(X, axis=1, keepdims=True), [A]),
        "topk both": Case(sym.Group(list(sym.topk(X, k=2, ret_typ="both", axis=1))), [A]),
        "topk ascending": Case(sym.topk(X, k=2, is_ascend=True), [A]),
        "topk of all": Case(sym.topk(X, k=3, ret_typ="value", axis=None), [A]),
        "sort": Case(sym.sort(X, axis=2), [A]),
        "sort all": Case(sym.sort(X, axis=None, is_ascend=False), [A], dynamic=False),
        "argsort": Case(sym.argsort(X), [A]),
        "softmax": Case(sym.softmax(X, axis=1, temperature=2.0), [A]),
        "softmax of length": Case(
            sym.softmax(X, sym.Cast(Y * 3 + 1, dtype="int32"), use_length=True, axis=1),
            [(2, 3, 4), (2, 4)],
        ),
        "softmin": Case(sym.softmin(X), [A]),
        "log_softmax": Case(sym.log_softmax(X, axis=1), [A]),
        "SoftmaxActivation": Case(sym.SoftmaxActivation(X), [A]),
        "SoftmaxActivation channel": Case(sym.SoftmaxActivation(X, mode="channel"), [A]),
        "SoftmaxOutput": Case(sym.SoftmaxOutput(X, name="softmax"), [A]),
        "SoftmaxOutput multi": Case(sym.SoftmaxOutput(X, multi_output=True, name="softmax"), [A]),
        "SoftmaxOutput shape": Case(sym.SoftmaxOutput(X, preserve_shape=True, name="soft"), [A]),
        "LogisticRegressionOutput": Case(sym.LogisticRegressionOutput(X, name="l"), [(2, 3)]),
        "LinearRegressionOutput": Case(sym.LinearRegressionOutput(X * 1, name="l"), [(2, 3)]),
        "SVMOutput": Case(sym.SVMOutput(X * 2, name="l"), [(2, 3)]),
        "L2Normalization": Case(sym.L2Normalization(X), [A]),
        "L2Normalization channel": Case(sym.L2Normalization(X, mode="channel"), [A]),
        "L2Normalization spatial": Case(sym.L2Normalization(X, mode="spatial"), [A]),
        "cumsum": Case(sym.cumsum(X, axis=1), [A]),
    }


def _arrays() -> dict[str, Case]:
    split = sym.SliceChannel(X, num_outputs=5, axis=-1, squeeze_axis=True)
    backwards = sym.slice(X, begin=(None, None, -1), end=(None, None, 0), step=(1, 1, -2))
    return {
        "Reshape": Case(sym.Reshape(X, shape=(0, -1, 5)), [A]),
        "Reshape codes": Case(sym.Reshape(X, shape=(0, -3, -4, 1, -1)), [A]),
        "Flatten": Case(sym.Flatten(X), [A]),
        "transpose": Case(sym.transpose(X), [A]),
        "transpose axes": Case(sym.transpose(X, axes=(0, 2, 3, 1)), [A]),
        "SwapAxis": Case(sym.SwapAxis(X, dim1=1, dim2=-1), [A]),
        "expand_dims": Case(sym.expand_dims(X, axis=-1), [A]),
        "squeeze": Case(sym.squeeze(X, axis=1), [(2, 1, 3)]),
        "squeeze all": Case(sym.squeeze(X), [(2, 1, 3, 1)]),
        "Concat": Case(sym.Concat(X, Y, dim=1), [A, (2, 7, 4, 5)]),
        "stack": Case(sym.stack(X, Y, axis=-1), [A, A]),
        "SliceChannel": Case(sym.Group(list(sym.SliceChannel(X, num_outputs=3))), [A]),
        "SliceChannel squeezed": Case(sym.Group(list(split)), [A]),
        "split_v2": Case(sym.Group(list(sym.split_v2(X, (1, 2), axis=1))), [A]),
        "slice": Case(sym.slice(X, begin=(None, 1, 0), end=(None, 3, 4), step=(None, 1, 2)), [A]),
        "slice backwards": Case(backwards, [A]),
        "slice_axis": Case(sym.slice_axis(X, axis=-1, begin=1, end=-1), [A]),
        "slice_like": Case(sym.slice_like(X, Y, axes=(2, 3)), [A, (2, 3, 2, 3)]),
        "slice_like all": Case(sym.slice_like(X, Y), [A, (1, 3, 2, 3)]),
        "Crop": Case(
            sym.Crop(X, Y, num_args=2, center_crop=True), [(1, 3, 6, 7), (1, 2, 3, 4)]
        ),
        "Crop at": Case(sym.Crop(X, num_args=1, h_w=(2, 3), offset=(1, 1)), [(1, 3, 6, 7)]),
        "reverse": Case(sym.reverse(X, axis=(1, 3)), [A]),
        "tile": Case(sym.tile(X, reps=(2, 1, 3)), [(2, 3)]),
        "tile last": Case(sym.tile(X, reps=(2,)), [(2, 3)]),
        "repeat": Case(sym.repeat(X, repeats=3, axis=1), [A]),
        "repeat all": Case(sym.repeat(X, repeats=2), [(2, 3)]),
        "broadcast_axis": Case(sym.broadcast_axis(X, axis=(1,), size=(4,)), [(2, 1, 3)]),
        "broadcast_to": Case(sym.broadcast_to(X, shape=(2, 4, 3)), [(2, 1, 3)], dynamic=False),
        "broadcast_like": Case(sym.broadcast_like(X, Y), [(2, 1, 3), (2, 4, 3)]),
        "Pad": Case(
            sym.Pad(X, mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 2, 1), constant_value=3), [A]
        ),
        "Pad edge": Case(sym.Pad(X, mode="edge", pad_width=(0, 0, 0, 0, 1, 2, 2, 1)), [A]),
        "Pad reflect": Case(sym.Pad(X, mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 2, 1)), [A]),
        "depth_to_space": Case(sym.depth_to_space(X, block_size=2), [(1, 8, 3, 4)]),
        "space_to_depth": Case(sym.space_to_depth(X, block_size=2), [(1, 2, 4, 6)]),
        "Embedding": Case(
            sym.Embedding(X * 9, input_dim=7, output_dim=3, name="table"), [(2, 5)]
        ),
        "take wrapped": Case(sym.take(X, Y * 9 - 2, axis=1, mode="wrap"), [A, (2, 3)]),
        "take clipped": Case(sym.take(X, Y * 9 - 2, axis=1), [A, (2, 3)]),
        "pick": Case(sym.pick(X, Y * 2), [(3, 4), (3,)]),
        "pick axis": Case(sym.pick(X, Y * 2, axis=1, keepdims=True), [(3, 4, 2), (3, 2)]),
        "gather_nd": Case(sym.gather_nd(X, Y * 2), [(3, 4, 2), (2, 3)], dynamic=False),
        "one_hot": Case(sym.one_hot(X * 9 - 3, depth=5), [(2, 3)]),
        "constants": Case(
            X + sym.zeros((2, 3)) + sym.ones((2, 3)) * 2 + sym.full((2, 3), 3.0), [(2, 3)],
            dynamic=False,
        ),
        "arange": Case(
            X + sym.arange(0, 6, repeat=2, name="a").reshape((4, 3)), [(4, 3)], dynamic=False
        ),
        "arange_like": Case(sym.contrib.arange_like(X, axis=1), [(4, 3)]),
        "SequenceMask": Case(
            sym.SequenceMask(X, Y * 3 + 1, use_sequence_length=True, value=-1),
            [(4, 2, 3), (2,)], dynamic=False,
        ),
        "SequenceMask axis": Case(
            sym.SequenceMask(X, Y * 3 + 1, use_sequence_length=True, axis=1), [(2, 4, 3), (2,)]
        ),
        "SequenceReverse": Case(
            sym.SequenceReverse(X, sym.Cast(Y * 3 + 1, dtype="int32"), use_sequence_length=True),
            [(4, 2, 3), (2,)], dynamic=False,
        ),
        "SequenceReverse whole": Case(sym.SequenceReverse(X), [(4, 2, 3)]),
        "dot": Case(sym.dot(X, Y), [(2, 3), (3, 4)], dynamic=False),
        "dot transposed": Case(
            sym.dot(X, Y, transpose_a=True, transpose_b=True), [(3, 2), (4, 3)], dynamic=False
        ),
        "dot of stacks": Case(sym.dot(X, Y), [(2, 5, 3), (3, 4, 2)], dynamic=False),
        "dot of vectors": Case(sym.dot(X, Y), [(3,), (3,)]),
        "batch_dot": Case(sym.batch_dot(X, Y, transpose_b=True), [(2, 3, 4), (2, 5, 4)]),
        "gemm2": Case(
            sym.linalg.gemm2(X, Y, alpha=0.5, transpose_a=True), [(2, 4, 3), (2, 4, 5)]
        ),
        "gemm": Case(sym.linalg.gemm(X, Y, Z, beta=2.0), [(2, 3, 4), (2, 4, 5), (2, 3, 5)]),
        "self-attention scores": Case(
            sym.contrib.interleaved_matmul_selfatt_qk(X, heads=2), [(4, 3, 24)], dynamic=False
        ),
        "self-attention values": Case(
            sym.contrib.interleaved_matmul_selfatt_valatt(X, Y, heads=2),
            [(4, 3, 24), (6, 4, 4)], dynamic=False,
        ),
    }  # fmt: skip


def _layers() -> dict[str, Case]:
    images, small = (2, 3, 7, 8), (2, 4, 5, 6)
    cases = {
        f"Activation {kind}": Case(sym.Activation(X - 0.5, act_type=kind), [A])
        for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign")
    }
    for kind in ("leaky", "elu", "selu", "gelu", "prelu"):
        cases[f"LeakyReLU {kind}"] = Case(sym.LeakyReLU(X - 0.5, act_type=kind, name="leaky"), [A])
    for kind in ("max", "avg", "sum", "lp"):
        window = {"pool_type": kind} | ({"p_value": 2} if kind == "lp" else {})
        around = {"kernel": (3, 2), "pad": (1, 1), **window}
        nets = [
            sym.Pooling(X, stride=(2, 2), **around),
            sym.Pooling(X, kernel=(1, 1), global_pool=True, **window),
        ]
        if kind != "lp":
            nets.append(sym.Pooling(X, stride=(2, 3), pooling_convention="full", **around))
        for how, net in zip(("valid", "global", "full"), nets, strict=False):
            cases[f"Pooling {kind} {how}"] = Case(net, [(2, 3, 6, 6)])
    around = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "avg"}
    data = {"fix_gamma": False, "eps": 1e-3}
    return cases | {
        "Pooling without pads": Case(sym.Pooling(X, count_include_pad=False, **around), [images]),
        "Pooling full without pads": Case(
            sym.Pooling(X, count_include_pad=False, pooling_convention="full", **around),
            [(2, 3, 6, 8)],
        ),
        "Pooling full in padding": Case(
            sym.Group([
                sym.Pooling(X, kernel=(2, 2), stride=(2, 2), pad=(1, 1), pool_type=kind,
                            pooling_convention="full")
                for kind in ("max", "avg", "sum")
            ]),
            [(1, 2, 5, 5)], dynamic=False,
        ),
        "Pooling 1-D": Case(sym.Pooling(X, kernel=(3,), pool_type="avg"), [(2, 3, 7)]),
        "Pooling NHWC": Case(sym.Pooling(X, kernel=(3, 3), layout="NHWC"), [(2, 7, 6, 3)]),
        "FullyConnected": Case(sym.FullyConnected(X, num_hidden=4, name="fc"), [A]),
        "FullyConnected no bias": Case(
            sym.FullyConnected(X, num_hidden=4, no_bias=True, name="fc"), [(2, 3)]
        ),
        "FullyConnected last axis": Case(
            sym.FullyConnected(X, num_hidden=4, flatten=False, name="fc"), [A]
        ),
        "Convolution": Case(
            sym.Convolution(X, kernel=(3, 2), stride=(2, 1), pad=(1, 0), dilate=(1, 2),
                            num_filter=4, name="conv"),
            [(2, 4, 9, 8)],
        ),
        "Convolution groups": Case(
            sym.Convolution(X, kernel=(3, 3), num_filter=4, num_group=2, no_bias=True, name="c"),
            [(2, 4, 9, 8)],
        ),
        "Convolution 1-D": Case(
            sym.Convolution(X, kernel=(3,), num_filter=4, name="conv"), [(2, 4, 9)]
        ),
        "Convolution 3-D": Case(
            sym.Convolution(X, kernel=(3, 2, 2), num_filter=4, name="conv"), [(2, 4, 5, 5, 5)]
        ),
        "Convolution NHWC": Case(
            sym.Convolution(X, kernel=(3, 3), num_filter=4, layout="NHWC", name="c"),
            [(2, 9, 8, 4)],
        ),
        "Deconvolution": Case(
            sym.Deconvolution(X, kernel=(3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 0),
                              num_filter=4, no_bias=False, name="up"),
            [small],
        ),
        "Deconvolution groups": Case(
            sym.Deconvolution(X, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=4,
                              num_group=2, name="up"),
            [small],
        ),
        "Deconvolution target": Case(
            sym.Deconvolution(X, kernel=(3, 3), stride=(2, 2), target_shape=(10, 12),
                              num_filter=4, name="up"),
            [small],
        ),
        "BatchNorm": Case(sym.BatchNorm(X, name="bn"), [A]),
        "BatchNorm last axis": Case(sym.BatchNorm(X, axis=-1, name="bn", **data), [A]),
        "BatchNormWithReLU": Case(sym.contrib.BatchNormWithReLU(X, name="bn", **data), [A]),
        "InstanceNorm": Case(sym.InstanceNorm(X, name="norm"), [A]),
        "LayerNorm": Case(sym.LayerNorm(X, name="norm"), [A]),
        "LayerNorm axis": Case(sym.LayerNorm(X, axis=1, name="norm"), [A]),
        "GroupNorm": Case(sym.GroupNorm(X, num_groups=2, name="norm"), [(2, 4, 3, 5)]),
        "LRN": Case(sym.LRN(X, nsize=3), [A]),
        "Dropout": Case(sym.Dropout(X), [A]),
        "UpSampling": Case(sym.UpSampling(X, scale=2, sample_type="nearest"), [A]),
        "UpSampling two": Case(
            sym.UpSampling(X, Y, scale=2, sample_type="nearest", num_args=2),
            [(1, 2, 4, 4), (1, 3, 2, 2)],
        ),
        "UpSampling bilinear": Case(
            sym.UpSampling(X, sym.var("kernel"), scale=2, sample_type="bilinear", num_filter=3,
                           num_args=2),
            [A],
        ),
        "BilinearResize2D": Case(sym.contrib.BilinearResize2D(X, height=7, width=9), [A]),
        "BilinearResize2D pixels": Case(
            sym.contrib.BilinearResize2D(X, height=7, width=9, align_corners=False), [A]
        ),
        "AdaptiveAvgPooling2D": Case(
            sym.contrib.AdaptiveAvgPooling2D(X, output_size=(3, 2)), [images]
        ),
        "AdaptiveAvgPooling2D all": Case(sym.contrib.AdaptiveAvgPooling2D(X), [images]),
        "ROIPooling": Case(
            sym.ROIPooling(X, _boxes(), pooled_size=(2, 2), spatial_scale=1.0),
            [(1, 3, 8, 8), (2, 5)],
        ),
        "ROIAlign": Case(
            sym.contrib.ROIAlign(X, _boxes(), pooled_size=(2, 2), spatial_scale=1.0,
                                 sample_ratio=2),
            [(1, 3, 8, 8), (2, 5)],
        ),
    }  # fmt: skip


def _detection() -> dict[str, Case]:
    columns = [sym.slice_axis(X, axis=-1, begin=i, end=i + 1) for i in range(6)]
    ends = [columns[i + 2] + columns[i] * 0.6 for i in (2, 3)]
    rows = sym.concat(sym.floor(columns[0] * 4 - 1), *columns[1:4], *ends, dim=-1)
    nms = {
        "": {},
        " of classes": {"id_index": 0, "background_id": 1, "topk": 7},
        " of all classes": {"id_index": 0, "force_suppress": True, "valid_thresh": 0.5},
        " of centers": {"in_format": "center", "out_format": "center"},
    }
    cases = {
        f"box_nms{name}": Case(
            sym.contrib.box_nms(rows, coord_start=2, score_index=1, overlap_thresh=0.3, **kwargs),
            [(2, 9, 6)], read=False,
        )
        for name, kwargs in nms.items()
    }  # fmt: skip
    for name, given in (("", {}), (" of corners", {"format": "corner", "clip": 0.1})):
        decoded = sym.contrib.box_decode(X * 2 - 1, Y, 0.1, 0.2, 0.3, 0.4, **given)
        cases[f"box_decode{name}"] = Case(decoded, [(2, 5, 4), (1, 5, 4)], dynamic=False)
    return cases


def _boxes() -> Symbol:
    """Boxes in the first image, from numbers between 0 and 1."""
    corners = [sym.slice_axis(Y, axis=1, begin=i, end=i + 1) for i in range(5)]
    scaled = [corners[0] * 0, corners[1] * 3, corners[2] * 3, *(c * 3 + 4 for c in corners[3:])]
    return sym.Concat(*scaled, dim=1)


def _recurrent() -> dict[str, Case]:
    cases = {}
    for mode in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        for both in (False, True):
            states = [sym.zeros((4 if both else 2, 2, 3)) for _ in range(1 + (mode == "lstm"))]
            net = sym.RNN(
                X, sym.var("parameters"), *states, state_size=3, num_layers=2, mode=mode,
                bidirectional=both, state_outputs=True, name="rnn",
            )  # fmt: skip
            name = f"RNN {mode} {'both ways' if both else 'one way'}"
            cases[name] = Case(sym.Group(list(net)), [(4, 2, 5)])
    return cases


CASES = _elementwise() | _reductions() | _arrays() | _layers() | _recurrent() | _detection()
