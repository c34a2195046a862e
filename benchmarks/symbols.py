"""The networks as symbols, and their files for the workers."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

import modkit as mx
from benchmarks.networks import HIDDEN, LAYERS, NETWORKS, Network
from recipes.symbols.resnet import resnet

Symbol = mx.sym.Symbol


def mlp(network: Network) -> Symbol:
    """Dense layers of 128 and 64 units and of one unit for each class."""
    net = mx.sym.Variable("data")
    for number, width in enumerate((128, 64), 1):
        net = mx.sym.FullyConnected(net, num_hidden=width, name=f"fc{number}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{number}")
    net = mx.sym.FullyConnected(net, num_hidden=network.classes, name="fc3")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def lenet(network: Network) -> Symbol:
    """Convolutions of 20 and 50 filters, dense layers of 500 units and one for each class."""
    net = mx.sym.Variable("data")
    for number, filters in enumerate((20, 50), 1):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, name=f"conv{number}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"tanh{number}")
        net = mx.sym.Pooling(
            net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{number}"
        )
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh3")
    net = mx.sym.FullyConnected(net, num_hidden=network.classes, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def lstm(network: Network) -> Symbol:
    """A language model: an embedding, two LSTM layers, a dense layer over the words.

    The cell uses the layout TNC, so that the integer words are transposed, not their embedding.
    """
    data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
    words = mx.sym.Embedding(
        mx.sym.transpose(data), input_dim=network.classes, output_dim=HIDDEN, name="embedding"
    )
    cell = mx.rnn.FusedRNNCell(HIDDEN, num_layers=LAYERS, mode="lstm", prefix="lstm_")
    states, _ = cell.unroll(network.data[1], words, layout="TNC", merge_outputs=True)
    net = mx.sym.FullyConnected(
        mx.sym.Reshape(states, shape=(-1, HIDDEN)), num_hidden=network.classes, name="decoder"
    )
    label = mx.sym.Reshape(mx.sym.transpose(label), shape=(-1,))
    return mx.sym.SoftmaxOutput(net, label, name="softmax")


SYMBOLS: dict[str, Callable[[Network], Symbol]] = {
    "mlp": mlp,
    "lenet": lenet,
    "resnet20": lambda network: resnet(20, network.classes, small=True),
    "resnet50": lambda network: resnet(50, network.classes),
    "lstm": lstm,
}


def _first_value(name: str, shape: tuple[int, ...], stream: np.random.Generator) -> np.ndarray:
    """An initial value by the suffix of the name; weights after He et al."""
    if name.endswith(("_bias", "_beta", "_moving_mean")):
        return np.zeros(shape, np.float32)
    if name.endswith(("_gamma", "_moving_var")):
        return np.ones(shape, np.float32)
    if len(shape) == 1 or name.startswith("embedding"):
        return stream.uniform(-0.1, 0.1, shape).astype(np.float32)
    spread = math.sqrt(2 / math.prod(shape[1:]))
    return (spread * stream.standard_normal(shape)).astype(np.float32)


def write(name: str, folder: Path) -> None:
    """Save a network's symbol and initial parameters in a folder."""
    network = NETWORKS[name]
    symbol = SYMBOLS[network.kind](network)
    symbol.save(str(folder / "symbol.json"))
    arguments, _, auxiliary = symbol.infer_shape(data=network.data, softmax_label=network.label)
    stream = np.random.default_rng(0)
    for file, names, shapes in (
        ("arguments", symbol.list_arguments(), arguments),
        ("auxiliary", symbol.list_auxiliary_states(), auxiliary),
    ):
        values = {
            each: _first_value(each, shape, stream)
            for each, shape in zip(names, shapes, strict=True)
            if each not in ("data", "softmax_label")
        }
        np.savez(folder / f"{file}.npz", **values)
