"""Layers drawn at random as published networks have them, and their worker; runs on Python 3.8 too.

    python -m benchmarks.sweep_work modkit 0 300

The worker holds one layer at a time: ``{"hold": 17}`` binds layer 17 and warms it up,
``{"run": 100}`` answers with the time of 100 steps. It keeps to one core.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.layers_work import Held, Row, layer
from benchmarks.worker import answer_lines, timed

WARM_S = 1.0  # of processor time: beyond it modkit's programs are compiled
MOST_PRODUCTS = 4e8  # of the forward pass: about 10 ms
MOST_VALUES = 4e6  # of an input
SIDES = (7, 14, 28, 56, 112)
WIDTHS = (3, 16, 32, 64, 128, 256, 512)


class Stream:
    """A random stream that is equal in old and new NumPy."""

    def __init__(self, seed: int):
        self._state = np.random.RandomState(seed)

    def one(self, *values: Any) -> Any:
        """One of the values."""
        return values[self._state.randint(len(values))]


def _fit(batch: int, channels: int, *sides: int) -> tuple[int, ...]:
    """A shape of data; the batch is as large as the limit of values permits."""
    one = channels * math.prod(sides)
    return (max(1, min(batch, int(MOST_VALUES // one))), channels, *sides)


def _spaces(stream: Stream) -> tuple[int, tuple[int, ...]]:
    """Number of spatial axes, mostly two, and their sizes."""
    axes = stream.one(1, 2, 2, 2, 2, 3)
    side = stream.one(*SIDES)
    return axes, {1: (side * 4,), 2: (side, side), 3: (min(side, 16),) * 3}[axes]


def _convolution(stream: Stream) -> Row:
    axes, sides = _spaces(stream)
    size = stream.one(1, 1, 3, 3, 3, 5, 7, 9, 11)
    kernel = (size,) * axes
    if axes == 2 and stream.one(True, False, False, False):
        kernel = stream.one((1, size), (size, 1))
    stride, dilate = stream.one(1, 1, 1, 2, 2, 4), stream.one(1, 1, 1, 1, 2, 4)
    stride = 1 if dilate > 1 else stride
    channels, filters = stream.one(*WIDTHS), stream.one(*WIDTHS[1:])
    groups = stream.one(1, 1, 1, 1, 2, 8, 32, channels)
    if channels % groups or filters % groups:
        groups = 1
    pad = tuple(dilate * (k - 1) // 2 for k in kernel)
    taps = math.prod(kernel) * channels // groups * filters
    places = math.prod(sides) / stride**axes
    batch = max(1, min(16, int(MOST_PRODUCTS / taps / places)))
    build = layer(
        "Convolution", kernel=kernel, stride=(stride,) * axes, dilate=(dilate,) * axes, pad=pad,
        num_filter=filters, num_group=groups, no_bias=stream.one(True, False),
    )  # fmt: skip
    title = f"convolution {_x(kernel)} stride {stride} dilate {dilate} groups {groups} to {filters}"
    return Row(title, build, {"data": _fit(batch, channels, *sides)})


def _transposed(stream: Stream) -> Row:
    axes, sides = _spaces(stream)
    stride = stream.one(1, 2, 2, 2, 4, 8)
    size = stride * stream.one(1, 2) + stream.one(0, 1)
    channels, filters = stream.one(*WIDTHS[1:]), stream.one(*WIDTHS)
    groups = stream.one(1, 1, 1, channels)
    groups = groups if filters % groups == 0 else 1
    taps = size**axes * channels // groups * filters
    batch = max(1, min(16, int(MOST_PRODUCTS / taps / math.prod(sides))))
    values = MOST_VALUES / (filters * math.prod(sides) * stride**axes)
    batch = max(1, min(batch, int(values)))
    build = layer(
        "Deconvolution", kernel=(size,) * axes, stride=(stride,) * axes,
        pad=((size - stride) // 2,) * axes, num_filter=filters, num_group=groups,
    )  # fmt: skip
    title = f"transposed convolution {_x((size,) * axes)} stride {stride} groups {groups}"
    return Row(f"{title} to {filters}", build, {"data": _fit(batch, channels, *sides)})


def _pooling(stream: Stream) -> Row:
    axes, sides = _spaces(stream)
    size, stride = stream.one(2, 3, 3, 5, 7), stream.one(1, 2, 2, 3)
    kind = stream.one("max", "max", "avg", "avg", "sum", "lp")
    held: dict[str, Any] = {"pool_type": kind, "kernel": (size,) * axes}
    if stream.one(True, False, False):
        held["global_pool"] = True
        title = f"{kind} pooling of all"
    else:
        held["stride"], held["pad"] = (stride,) * axes, (size // 2,) * axes
        held["pooling_convention"] = stream.one("valid", "full")
        title = f"{kind} pooling {_x(held['kernel'])} stride {stride}"
    if kind == "lp":
        held["p_value"] = 2
    return Row(title, layer("Pooling", **held), {"data": _fit(16, stream.one(*WIDTHS[1:]), *sides)})


def _normalization(stream: Stream) -> Row:
    _, sides = _spaces(stream)
    shape = _fit(16, stream.one(*WIDTHS[1:]), *sides)
    op = stream.one("BatchNorm", "InstanceNorm", "LayerNorm", "L2Normalization", "LRN", "GroupNorm")
    held: dict[str, Any] = {}
    if op == "LRN":
        shape, held = _fit(16, stream.one(64, 96, 192), 28, 28), {"nsize": stream.one(3, 5)}
    if op == "L2Normalization":
        held = {"mode": stream.one("instance", "channel", "spatial")}
    if op == "GroupNorm":
        held = {"num_groups": stream.one(2, 8)}
    if op == "LayerNorm":
        shape, held = stream.one((4096, 256), (1024, 1024), (64, 128, 512)), {"axis": -1}
    title = op + "".join(f" {value}" for value in held.values())
    return Row(title, layer(op, **held), {"data": shape})


def _activation(stream: Stream) -> Row:
    shape = stream.one((16, 64, 56, 56), (64, 4096), (32, 100, 200), (128, 1000))
    op, held = stream.one(
        ("Activation", {"act_type": stream.one("relu", "sigmoid", "tanh", "softrelu", "softsign")}),
        ("LeakyReLU", {"act_type": stream.one("leaky", "prelu", "elu", "selu", "gelu")}),
        ("softmax", {"axis": stream.one(-1, 1)}),
        ("log_softmax", {"axis": -1}),
        ("Dropout", {"p": 0.5}),
        ("hard_sigmoid", {}), ("erf", {}), ("exp", {}), ("sqrt", {}), ("gammaln", {}),
    )  # fmt: skip
    build = layer(op, **held)
    if op in ("sqrt", "gammaln"):

        def build(sym: Any, data: Any) -> Any:
            return getattr(sym, op)(sym.abs(data) + 1)

    title = op + "".join(f" {value}" for value in held.values())
    return Row(title, build, {"data": shape})


def _recurrent(stream: Stream) -> Row:
    mode, layers = stream.one("lstm", "lstm", "gru", "rnn_tanh", "rnn_relu"), stream.one(1, 2, 3)
    width, both = stream.one(50, 128, 200, 256, 512), stream.one(False, False, True)
    directions = 2 if both else 1
    length, batch = stream.one(5, 20, 35, 100, 300), stream.one(1, 16, 32, 64)
    limit = MOST_PRODUCTS / (layers * directions * 8 * width * width * batch)
    length = max(2, min(length, int(limit)))
    states = {"state": (layers * directions, batch, width)}
    if mode == "lstm":
        states["state_cell"] = states["state"]

    def build(sym: Any, data: Any, *states: Any) -> Any:
        return sym.RNN(
            data, sym.Variable("parameters"), *states, mode=mode, state_size=width,
            num_layers=layers, bidirectional=both, name="layer",
        )  # fmt: skip

    title = f"{layers} {mode} of {width}" + (" both ways" if both else "")
    return Row(title, build, {"data": (length, batch, width), **states})


def _loss(stream: Stream) -> Row:
    batch, classes = stream.one(32, 128, 1024), stream.one(10, 1000, 10_000)
    op = stream.one(
        "SoftmaxOutput", "SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput",
        "SVMOutput", "CTCLoss", "softmax_cross_entropy", "smooth_l1", "images",
    )  # fmt: skip
    shape = (batch, classes)
    if op == "CTCLoss":
        length, letters = stream.one(20, 80, 200), stream.one(30, 60, 1000)
        shapes = {"data": (length, 32, letters), "label": (32, 10)}
        return Row(f"{op} of {letters}", layer(op), shapes, {"label": (1, 29)})
    if op == "smooth_l1":
        return Row(op, layer(op, scalar=1.0), {"data": shape})
    if op == "images":
        held = {"multi_output": True, "use_ignore": True, "ignore_label": 0}
        shapes = {"data": (4, 21, 112, 112), "label": (4, 112, 112)}
        return Row("SoftmaxOutput of images", layer("SoftmaxOutput", **held), shapes,
                   {"label": (0, 21)})  # fmt: skip
    if op.endswith("RegressionOutput"):
        return Row(op, layer(op), {"data": shape, "label": shape})
    return Row(op, layer(op), {"data": shape, "label": (batch,)}, {"label": (0, classes)})


def _embedding(stream: Stream) -> Row:
    words, width = stream.one(1000, 10_000, 100_000, 1_000_000), stream.one(16, 64, 300)
    words = min(words, int(3e7 // width))
    count = stream.one((32,), (64, 35), (128, 100))
    if stream.one(True, False):
        build = layer("Embedding", input_dim=words, output_dim=width)
        return Row(f"Embedding {words} x {width}", build, {"data": count}, {"data": (0, words)})
    shapes = {"a": (words, width), "indices": count}
    return Row(f"take of {words} x {width}", layer("take"), shapes, {"indices": (0, words)})


def _order(stream: Stream) -> Row:
    shape = stream.one((256, 1000), (32, 20_000), (8, 200_000), (64, 100, 100))
    op, held = stream.one(
        ("sort", {}), ("topk", {"k": 10, "ret_typ": "value"}),
        ("topk", {"k": 100, "ret_typ": "value"}), ("topk", {"k": 1, "ret_typ": "value"}),
        ("max", {"axis": -1}), ("pick", {}), ("cumsum", {"axis": -1}), ("sort", {"axis": 0}),
    )  # fmt: skip
    if op == "pick":
        shapes = {"data": shape, "index": shape[:-1]}
        return Row(op, layer(op), shapes, {"index": (0, shape[-1])})
    title = op + "".join(f" {value}" for value in held.values())
    return Row(title, layer(op, **held), {"data": shape})


def _detection(stream: Stream) -> Row:
    anchors = stream.one(2000, 8732, 20_000)
    op = stream.one("nms", "roi", "align", "iou", "psroi", "upsampling", "resize", "sampler",
                    "correlation", "deformable")  # fmt: skip
    boxes = {"rois": ((0, 0, 0, 300, 300), (2, 300, 300, 600, 600))}
    if op == "nms":
        build = layer("contrib.box_nms", overlap_thresh=0.5, topk=400, coord_start=2, id_index=0,
                      score_index=1)  # fmt: skip
        return Row("box_nms", build, {"data": (2, anchors, 6)}, spread=1.0)
    if op == "iou":
        shapes = {"lhs": (anchors, 4), "rhs": (50, 4)}
        return Row("box_iou", layer("contrib.box_iou"), shapes, spread=1.0)
    if op in ("roi", "align"):
        count = stream.one(64, 300)
        name, held = ("ROIPooling", {}) if op == "roi" else ("contrib.ROIAlign",
                                                             {"sample_ratio": 2})  # fmt: skip
        build = layer(name, pooled_size=(7, 7), spatial_scale=1 / 16, **held)
        return Row(f"{name} of {count}", build, {"data": (2, 256, 38, 50), "rois": (count, 5)},
                   boxes)  # fmt: skip
    if op == "psroi":
        build = layer("contrib.PSROIPooling", spatial_scale=1 / 16, output_dim=21, pooled_size=7)
        return Row("PSROIPooling", build, {"data": (2, 1029, 38, 50), "rois": (300, 5)}, boxes)
    shape = stream.one((16, 64, 28, 28), (4, 256, 28, 28), (4, 32, 112, 112))
    if op == "upsampling":
        return Row("UpSampling", layer("UpSampling", scale=2, sample_type="nearest"),
                   {"data": shape})  # fmt: skip
    if op == "resize":
        build = layer("contrib.BilinearResize2D", scale_height=2.0, scale_width=2.0)
        return Row("BilinearResize2D by 2", build, {"data": shape})
    if op == "sampler":
        shapes = {"data": shape, "grid": (shape[0], 2, *shape[2:])}
        return Row("BilinearSampler", layer("BilinearSampler"), shapes, spread=0.5)
    if op == "deformable":
        shapes = {"data": (2, 64, 28, 28), "offset": (2, 18, 28, 28)}
        held = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 64, "no_bias": True}
        return Row("DeformableConvolution", layer("contrib.DeformableConvolution", **held), shapes)
    reach = stream.one(2, 4, 8)
    build = layer("Correlation", kernel_size=1, max_displacement=reach, pad_size=reach)
    return Row(f"Correlation within {reach}", build, dict.fromkeys(("data1", "data2"),
                                                                   (4, 64, 28, 28)))  # fmt: skip


def _array(stream: Stream) -> Row:
    shape = stream.one((16, 64, 56, 56), (32, 100, 200), (64, 128, 14, 14), (4, 3, 224, 224))
    last = len(shape) - 1
    names, op, held = stream.one(
        ("a", "transpose", {}), ("a", "transpose", {"axes": (0, *range(2, last + 1), 1)}),
        ("a", "sum", {"axis": 1}), ("a", "mean", {"axis": (0, last)}), ("a", "prod", {"axis": -1}),
        ("a", "norm", {"axis": -1}), ("a", "tile", {"reps": (2,)}),
        ("a", "repeat", {"repeats": 2, "axis": 1}), ("a", "reverse", {"axis": 1}),
        ("a", "slice_axis", {"axis": 1, "begin": 1, "end": 3}), ("a", "clip",
                                                                {"a_min": -0.1, "a_max": 0.1}),
        ("ab", "broadcast_add", {}), ("ab", "elemwise_mul", {}), ("ab", "Concat", {"dim": 1}),
        ("ab", "broadcast_maximum", {}), ("ab", "stack", {"axis": 1}),
        ("abc", "where", {}), ("abc", "add_n", {}), ("a", "SwapAxis", {"dim1": 1, "dim2": 2}),
        ("a", "Flatten", {}), ("a", "SliceChannel", {"num_outputs": 1}),
    )  # fmt: skip
    whole = {"a": (0, 2)} if op == "where" else {}
    title = op + "".join(f" {value}" for value in held.values())
    return Row(title, layer(op, **held), dict.fromkeys(names, shape), whole)


def _linear(stream: Stream) -> Row:
    batch, wide, high = stream.one(1, 64, 256), stream.one(100, 784, 4096), stream.one(10, 1000)
    kind = stream.one("dense", "dense", "batch_dot", "dot", "gemm2", "potrf", "syrk")
    if kind == "dense":
        return Row(f"FullyConnected to {high}", layer("FullyConnected", num_hidden=high),
                   {"data": (batch, wide)})  # fmt: skip
    if kind == "dot":
        return Row("dot", layer("dot"), {"lhs": (batch, wide), "rhs": (wide, high)})
    if kind == "potrf":

        def build(sym: Any, data: Any) -> Any:
            made = sym.linalg.gemm2(data, data, transpose_b=True)
            return sym.linalg.potrf(made + sym.eye(64).reshape((1, 64, 64)).broadcast_to(
                (16, 64, 64)))  # fmt: skip

        return Row("potrf of 64x64", build, {"data": (16, 64, 64)})
    size = stream.one(16, 64, 128)
    shape = (stream.one(8, 64), size, size)
    if kind == "syrk":
        return Row("syrk", layer("linalg.syrk"), {"A": shape})
    op = {"batch_dot": "batch_dot", "gemm2": "linalg.gemm2"}[kind]
    return Row(op, layer(op), dict.fromkeys(("lhs", "rhs"), shape))


FAMILIES: dict[str, Callable[[Stream], Row]] = {
    "convolution": _convolution, "transposed": _transposed, "pooling": _pooling,
    "normalization": _normalization, "activation": _activation, "recurrent": _recurrent,
    "loss": _loss, "embedding": _embedding, "order": _order, "detection": _detection,
    "array": _array, "linear": _linear,
}  # fmt: skip
# Convolutions differ most among themselves.
TURNS = ("convolution", "transposed", "convolution", "pooling", *FAMILIES)


def _x(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))


def rows(seed: int, count: int) -> list[Row]:
    """So many layers, each another one, family by family in turn."""
    stream, found = Stream(seed), {}
    for number in range(100 * count):
        row = FAMILIES[TURNS[number % len(TURNS)]](stream)
        found.setdefault((row.title, tuple(row.shapes.items())), row)
        if len(found) == count:
            break
    return list(found.values())


class Holder:
    """The worker's layer of the moment."""

    def __init__(self, library: str, rows: Sequence[Row]):
        self._library, self._rows = importlib.import_module(library), rows
        self._held: Any = None

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to a line."""
        if "hold" not in message:
            return timed(self._held.run, message["run"])[0]
        self._held = None
        try:
            took, self._held = timed(lambda _: Held(self._library, self._rows[message["hold"]]), 1)
            begun = time.process_time()
            while time.process_time() < begun + WARM_S:
                self._held.run(1)
        except Exception as error:
            return {"failed": str(error).strip().splitlines()[0][:200]}
        return took


def serve(library: str, rows: Sequence[Row]) -> None:
    """Answer lines about the rows, on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    answer_lines(lambda: Holder(library, rows).answer)


def main() -> None:
    library, seed, count = sys.argv[1:]
    serve(library, rows(int(seed), int(count)))


if __name__ == "__main__":
    main()
