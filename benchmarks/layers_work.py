"""The rows of `benchmarks.layers`, and the worker process of a row; compatible with Python 3.8.

    python -m benchmarks.layers_work modkit relu

The worker answers each line of JSON with one: ``{"run": 100}`` with the time of 100 steps,
``{"keep": "file.npz"}`` after saving outputs and gradients. A step is a forward and a backward
pass, including the wait for all results.
"""

from __future__ import annotations

import functools
import importlib
import operator
import sys
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.worker import answer_lines, timed

WARM_UP = 2
IMAGES = (16, 64, 56, 56)
WORDS = (35, 32, 200)  # of a text: length, batch, width
SCORES = (1120, 10_000)  # of each word, for each word of a vocabulary


class Row(NamedTuple):
    """A layer, or a stack of equal layers.

    Attributes:
        title: the name in the table.
        build: creates the symbol from the module ``sym`` and a variable for each shape.
        shapes: shapes of the inputs, in order; those of parameters are inferred.
        whole: integer inputs, without a gradient: lower bound and exclusive upper bound.
        spread: standard deviation of all other inputs.
        random: outputs are random, so that only their shapes can be compared.
        trained: a step has a backward pass.
    """

    title: str
    build: Callable[..., Any]
    shapes: dict[str, tuple[int, ...]]
    whole: dict[str, tuple[Any, Any]] = {}  # noqa: RUF012 - never modified
    spread: float = 0.1
    random: bool = False
    trained: bool = True

    def symbol(self, sym: Any) -> Any:
        """The symbol, of either library."""
        return self.build(sym, *map(sym.Variable, self.shapes))

    def draw(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """The values of an argument, equal in all processes."""
        random = generator(name)
        if name in self.whole:
            return random.randint(*self.whole[name], size=shape).astype(np.float32)
        return self.spread * random.standard_normal(shape).astype(np.float32)


def generator(name: str) -> np.random.RandomState:
    """A random generator seeded by a name, available in old and new NumPy."""
    return np.random.RandomState(zlib.crc32(name.encode()))


def layer(op: str, **attributes: Any) -> Callable[..., Any]:
    """One operator on all inputs."""

    def build(sym, *inputs):
        return operator.attrgetter(op)(sym)(*inputs, name="layer", **attributes)

    return build


def stack(op: str, times: int = 4, **attributes: Any) -> Callable[..., Any]:
    """``times`` layers in sequence, each followed by a ReLU."""

    def build(sym, data):
        for number in range(times):
            data = getattr(sym, op)(data, name=f"layer{number}", **attributes)
            data = sym.Activation(data, act_type="relu")
        return data

    return build


convolutions = functools.partial(stack, "Convolution")
deconvolution = functools.partial(layer, "Deconvolution", kernel=(4, 4), stride=(2, 2), pad=(1, 1))
pooling = functools.partial(layer, "Pooling")


def rnn(mode: str, **attributes: Any) -> Callable[..., Any]:
    """Two recurrent layers; the parameters are the second input."""

    def build(sym, data, *states):
        held = {"mode": mode, "state_size": WORDS[-1], "num_layers": 2, "name": "layer"}
        return sym.RNN(data, sym.Variable("parameters"), *states, **held, **attributes)

    return build


def depthwise(size: int, channels: int, **attributes: Any) -> Callable[..., Any]:
    """Depthwise convolutions with square kernels."""
    return convolutions(
        kernel=(size, size),
        pad=(size // 2, size // 2),
        num_filter=channels,
        num_group=channels,
        no_bias=True,
        **attributes,
    )


def units(sym: Any, data: Any) -> Any:
    """Two units of MobileNet."""
    for number in range(2):
        for kernel, groups in ((3, 128), (1, 1)):
            name = f"unit{number}_{kernel}x{kernel}"
            held = {"kernel": (kernel, kernel), "pad": (kernel // 2, kernel // 2), "name": name}
            data = sym.Convolution(data, num_filter=128, num_group=groups, no_bias=True, **held)
            data = sym.BatchNorm(data, fix_gamma=False, name=f"{name}_norm")
            data = sym.Activation(data, act_type="relu")
    return data


def scored(sym: Any, data: Any, label: Any) -> Any:
    """The logarithm of the probability of the right class."""
    return sym.pick(sym.log_softmax(data), label)


def split(sym: Any, data: Any) -> Any:
    """A product of quarters of the channels, as with the gates of a recurrent cell."""
    parts = sym.SliceChannel(data, num_outputs=4)
    return parts[0] * parts[1] + parts[2] * parts[3]


def state(directions: int = 1) -> tuple[int, ...]:
    """The shape of a state of two recurrent layers."""
    return (2 * directions, *WORDS[1:])


CLASSES = {"label": (0, SCORES[1])}
# Index of the image, and two opposite corners, in images of 800 by 608.
BOXES = {"rois": ((0, 0, 0, 300, 300), (2, 300, 300, 600, 600))}

ROWS = {
    "depthwise_3x3_56": Row(
        "4 depthwise convolutions 3x3", depthwise(3, 144), {"data": (16, 144, 56, 56)}
    ),
    "depthwise_3x3_14": Row(
        "4 depthwise convolutions 3x3", depthwise(3, 512), {"data": (16, 512, 14, 14)}
    ),
    "depthwise_3x3_down": Row(
        "depthwise convolution 3x3, stride 2",
        depthwise(3, 144, times=1, stride=(2, 2)),
        {"data": (16, 144, 56, 56)},
    ),
    "depthwise_5x5": Row(
        "4 depthwise convolutions 5x5", depthwise(5, 240), {"data": (16, 240, 14, 14)}
    ),
    "mobilenet": Row("2 units of MobileNet", units, {"data": (16, 128, 56, 56)}),
    "groups_32": Row(
        "4 convolutions 3x3 in 32 groups (ResNeXt)",
        convolutions(kernel=(3, 3), pad=(1, 1), num_filter=256, num_group=32, no_bias=True),
        {"data": (16, 256, 28, 28)},
    ),
    "groups_2": Row(
        "convolution 5x5 in 2 groups (AlexNet)",
        convolutions(times=1, kernel=(5, 5), pad=(2, 2), num_filter=256, num_group=2),
        {"data": (16, 96, 27, 27)},
    ),
    "groups_4_1x1": Row(
        "4 convolutions 1x1 in 4 groups (ShuffleNet)",
        convolutions(kernel=(1, 1), num_filter=240, num_group=4, no_bias=True),
        {"data": (16, 240, 28, 28)},
    ),
    "dilated": Row(
        "4 convolutions 3x3, dilated by 2",
        convolutions(kernel=(3, 3), pad=(2, 2), dilate=(2, 2), num_filter=64),
        {"data": (16, 64, 28, 28)},
    ),
    "conv_1x7": Row(
        "4 convolutions 1x7",
        convolutions(kernel=(1, 7), pad=(0, 3), num_filter=128, no_bias=True),
        {"data": (16, 128, 17, 17)},
    ),
    "conv_7x1": Row(
        "4 convolutions 7x1",
        convolutions(kernel=(7, 1), pad=(3, 0), num_filter=128, no_bias=True),
        {"data": (16, 128, 17, 17)},
    ),
    "conv_3x3": Row(
        "4 convolutions 3x3",
        convolutions(kernel=(3, 3), pad=(1, 1), num_filter=64),
        {"data": IMAGES},
    ),
    "conv_3x3_256": Row(
        "4 convolutions 3x3 over 256 channels",
        convolutions(kernel=(3, 3), pad=(1, 1), num_filter=256),
        {"data": (16, 256, 14, 14)},
    ),
    "conv_11x11": Row(
        "convolution 11x11, stride 4 (AlexNet)",
        convolutions(times=1, kernel=(11, 11), stride=(4, 4), num_filter=96),
        {"data": (16, 3, 224, 224)},
    ),
    "conv_1d": Row(
        "4 convolutions along a line, 3",
        convolutions(kernel=(3,), pad=(1,), num_filter=128),
        {"data": (32, 128, 200)},
    ),
    "conv_3d": Row(
        "2 convolutions in space, 3x3x3",
        convolutions(times=2, kernel=(3, 3, 3), pad=(1, 1, 1), num_filter=32),
        {"data": (4, 32, 8, 28, 28)},
    ),
    "conv_text": Row(
        "convolution of 5 whole words",
        convolutions(times=1, kernel=(5, 300), num_filter=100),
        {"data": (64, 1, 60, 300)},
    ),
    "deconv": Row(
        "transposed convolution 4x4, stride 2",
        deconvolution(num_filter=64),
        {"data": (16, 64, 28, 28)},
    ),
    "deconv_groups": Row(
        "transposed convolution 4x4, stride 2, in 21 groups",
        deconvolution(num_filter=21, num_group=21, no_bias=True),
        {"data": (4, 21, 56, 56)},
    ),
    "max_pool_3x3": Row(
        "max pooling 3x3, stride 2",
        pooling(kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max"),
        {"data": (16, 64, 112, 112)},
    ),
    "max_pool_2x2": Row(
        "max pooling 2x2, stride 2",
        pooling(kernel=(2, 2), stride=(2, 2), pool_type="max"),
        {"data": (16, 64, 112, 112)},
    ),
    "avg_pool_3x3": Row(
        "average pooling 3x3, stride 1",
        pooling(kernel=(3, 3), stride=(1, 1), pad=(1, 1), pool_type="avg"),
        {"data": (16, 192, 28, 28)},
    ),
    "global_pool": Row(
        "average pooling of whole images",
        pooling(kernel=(7, 7), global_pool=True, pool_type="avg"),
        {"data": (16, 2048, 7, 7)},
    ),
    "batch_norm": Row(
        "2 BatchNorm", stack("BatchNorm", times=2, fix_gamma=False), {"data": IMAGES}
    ),
    "lrn": Row("LRN", layer("LRN", nsize=5), {"data": (16, 96, 27, 27)}),
    "instance_norm": Row("InstanceNorm", layer("InstanceNorm"), {"data": IMAGES}),
    "layer_norm": Row("LayerNorm", layer("LayerNorm"), {"data": (2048, 512)}),
    "l2_norm": Row(
        "L2Normalization over channels",
        layer("L2Normalization", mode="channel"),
        {"data": (16, 512, 28, 28)},
    ),
    "relu": Row("ReLU", layer("Activation", act_type="relu"), {"data": IMAGES}),
    "sigmoid": Row("sigmoid", layer("Activation", act_type="sigmoid"), {"data": IMAGES}),
    "tanh": Row("tanh", layer("Activation", act_type="tanh"), {"data": IMAGES}),
    "softrelu": Row("softrelu", layer("Activation", act_type="softrelu"), {"data": IMAGES}),
    "prelu": Row("PReLU", layer("LeakyReLU", act_type="prelu"), {"data": IMAGES}),
    "dropout": Row("Dropout", layer("Dropout", p=0.5), {"data": (64, 9216)}, random=True),
    "dropout_images": Row("Dropout", layer("Dropout", p=0.5), {"data": IMAGES}, random=True),
    "fully_connected": Row(
        "FullyConnected, 4096 units",
        layer("FullyConnected", num_hidden=4096),
        {"data": (64, 4096)},
    ),
    "embedding": Row(
        "Embedding, 10,000 words by 200",
        layer("Embedding", input_dim=10_000, output_dim=200),
        {"data": WORDS[:2]},
        {"data": (0, 10_000)},
    ),
    "softmax_output": Row(
        "SoftmaxOutput", layer("SoftmaxOutput"), {"data": SCORES, "label": SCORES[:1]}, CLASSES
    ),
    "softmax": Row("softmax", layer("softmax"), {"data": SCORES}),
    "log_softmax": Row(
        "log_softmax and pick", scored, {"data": SCORES, "label": SCORES[:1]}, CLASSES
    ),
    "lstm": Row("2 LSTM", rnn("lstm"), {"data": WORDS, "state": state(), "state_cell": state()}),
    "gru": Row("2 GRU", rnn("gru"), {"data": WORDS, "state": state()}),
    "rnn_tanh": Row("2 tanh RNN", rnn("rnn_tanh"), {"data": WORDS, "state": state()}),
    "lstm_both_ways": Row(
        "2 LSTM, both ways",
        rnn("lstm", bidirectional=True),
        {"data": WORDS, "state": state(2), "state_cell": state(2)},
    ),
    "concat": Row("Concat of three", layer("Concat", dim=1), dict.fromkeys("abc", IMAGES)),
    "slice_channel": Row("SliceChannel, and products", split, {"data": IMAGES}),
    "transpose": Row(
        "transpose to channels last", layer("transpose", axes=(0, 2, 3, 1)), {"data": IMAGES}
    ),
    "broadcast_mul": Row(
        "broadcast_mul by a number a channel",
        layer("broadcast_mul"),
        {"lhs": IMAGES, "rhs": (16, 64, 1, 1)},
    ),
    "mean": Row("mean of whole images", layer("mean", axis=(2, 3)), {"data": IMAGES}),
    "batch_dot": Row("batch_dot", layer("batch_dot"), {"lhs": (64, 128, 64), "rhs": (64, 64, 128)}),
    "dot": Row("dot", layer("dot"), {"lhs": (512, 512), "rhs": (512, 512)}),
    "take": Row(
        "take, of 10,000 rows",
        layer("take"),
        {"a": (10_000, 64), "indices": (4096,)},
        {"indices": (0, 10_000)},
    ),
    "topk": Row("topk, 10 values", layer("topk", k=10, ret_typ="value"), {"data": (256, 10_000)}),
    "upsampling": Row(
        "UpSampling by 2, nearest",
        layer("UpSampling", scale=2, sample_type="nearest"),
        {"data": (16, 64, 28, 28)},
    ),
    "bilinear_resize": Row(
        "BilinearResize2D to 112x112",
        layer("contrib.BilinearResize2D", height=112, width=112),
        {"data": (4, 64, 56, 56)},
    ),
    "roi_pooling": Row(
        "ROIPooling of 128 boxes",
        layer("ROIPooling", pooled_size=(7, 7), spatial_scale=1 / 16),
        {"data": (2, 512, 38, 50), "rois": (128, 5)},
        BOXES,
    ),
    "bilinear_sampler": Row(
        "BilinearSampler",
        layer("BilinearSampler"),
        {"data": (16, 32, 56, 56), "grid": (16, 2, 56, 56)},
        spread=0.5,
    ),
    "ctc": Row(
        "CTCLoss", layer("CTCLoss"), {"data": (80, 32, 60), "label": (32, 10)}, {"label": (1, 60)}
    ),
    "sequence_mask": Row(
        "SequenceMask",
        layer("SequenceMask", use_sequence_length=True),
        {"data": WORDS, "lengths": WORDS[1:2]},
        {"lengths": (1, WORDS[0])},
    ),
    "pad": Row(
        "Pad by 3, reflected",
        layer("Pad", mode="reflect", pad_width=(0, 0, 0, 0, 3, 3, 3, 3)),
        {"data": IMAGES},
    ),
    "correlation": Row(
        "Correlation, within 4",
        layer("Correlation", kernel_size=1, max_displacement=4, stride1=1, stride2=1, pad_size=4),
        {"data1": (4, 64, 28, 28), "data2": (4, 64, 28, 28)},
    ),
}


class Held:
    """A row, bound and warmed up."""

    def __init__(self, mx: Any, row: Row):
        symbol = row.symbol(mx.sym)
        still = row.whole if row.trained else symbol.list_arguments()
        requests = {n: "null" if n in still else "write" for n in symbol.list_arguments()}
        self._trained = row.trained
        self._executor = symbol.simple_bind(mx.cpu(), grad_req=requests, **row.shapes)
        for name, array in self._executor.arg_dict.items():
            array[:] = row.draw(name, array.shape)
        self._cotangents = [
            mx.nd.array(generator(f"head{number}").standard_normal(shape).astype(np.float32))
            for number, shape in enumerate(symbol.infer_shape(**row.shapes)[1])
        ]
        self.run(WARM_UP)

    def run(self, steps: int) -> None:
        """Run ``steps`` steps and wait for the results of each."""
        for _ in range(steps):
            self._executor.forward(is_train=self._trained)
            if self._trained:
                self._executor.backward(self._cotangents)
            for array in self._results().values():
                array.wait_to_read()

    def _results(self) -> dict[str, Any]:
        outputs = {f"output {number}": each for number, each in enumerate(self._executor.outputs)}
        gradients = self._executor.grad_dict.items()
        return {**outputs, **{f"gradient of {n}": a for n, a in gradients if a is not None}}

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to a line."""
        if "keep" in message:
            np.savez(message["keep"], **{n: a.asnumpy() for n, a in self._results().items()})
            return {}
        return timed(self.run, message["run"])[0]


def main() -> None:
    library, name = sys.argv[1:]
    answer_lines(lambda: Held(importlib.import_module(library), ROWS[name]).answer)


if __name__ == "__main__":
    main()
