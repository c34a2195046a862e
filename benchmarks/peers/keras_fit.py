"""The peer Keras 3 on JAX: a functional model and its ``fit``."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from keras import Input, Model, layers, losses, ops, optimizers

from benchmarks.networks import BN, HIDDEN, LAYERS, MOMENTUM, RATE, RESNETS
from benchmarks.worker import Case, Loop, serve


def _convolution(x: Any, filters: int, size: int, stride: int, name: str, bias: bool) -> Any:
    if size > 1 and not bias:
        x = layers.ZeroPadding2D(size // 2)(x)
    return layers.Conv2D(filters, size, stride, use_bias=bias, name=name)(x)


def _norm(x: Any, name: str, scale: bool = True) -> Any:
    return layers.BatchNormalization(
        momentum=BN["momentum"], epsilon=BN["eps"], scale=scale, name=name
    )(x)


def _norm_relu(x: Any, name: str) -> Any:
    return layers.ReLU()(_norm(x, name))


def mlp(x: Any, classes: int) -> Any:
    """Logits of the MLP."""
    for name, width in (("fc1", 128), ("fc2", 64)):
        x = layers.Dense(width, activation="relu", name=name)(x)
    return layers.Dense(classes, name="fc3")(x)


def lenet(x: Any, classes: int) -> Any:
    """Logits of LeNet."""
    for name, filters in (("conv1", 20), ("conv2", 50)):
        x = _convolution(x, filters, 5, 1, name, bias=True)
        x = layers.MaxPooling2D(2)(layers.Activation("tanh")(x))
    x = layers.Flatten()(layers.Permute((3, 1, 2))(x))
    x = layers.Dense(500, activation="tanh", name="fc1")(x)
    return layers.Dense(classes, name="fc2")(x)


def resnet(x: Any, classes: int, kind: str) -> Any:
    """Logits of a pre-activation residual network."""
    units, channels = RESNETS[kind]
    bottleneck = kind == "resnet50"
    x = _norm(x, "bn_data", scale=False)
    if bottleneck:
        x = _norm_relu(_convolution(x, channels[0], 7, 2, "conv0", bias=False), "bn0")
        x = layers.MaxPooling2D(3, 2)(layers.ZeroPadding2D(1)(x))
    else:
        x = _convolution(x, channels[0], 3, 1, "conv0", bias=False)
    for stage, width in enumerate(channels[1:], 1):
        for number in range(1, units[stage - 1] + 1):
            stride = 2 if number == 1 and stage > 1 else 1
            name = f"stage{stage}_unit{number}"
            x = _unit(x, width, name, stride, number > 1, bottleneck)
    x = layers.GlobalAveragePooling2D()(_norm_relu(x, "bn1"))
    return layers.Dense(classes, name="fc1")(x)


def _unit(x: Any, width: int, name: str, stride: int, same: bool, bottleneck: bool) -> Any:
    first = y = _norm_relu(x, f"{name}_bn1")
    inner = width // 4 if bottleneck else width
    sizes = ((3, stride, inner), (3, 1, width))
    if bottleneck:
        sizes = ((1, 1, inner), (3, stride, inner), (1, 1, width))
    for number, (size, step, filters) in enumerate(sizes, 1):
        if number > 1:
            y = _norm_relu(y, f"{name}_bn{number}")
        y = _convolution(y, filters, size, step, f"{name}_conv{number}", bias=False)
    shortcut = x if same else _convolution(first, width, 1, stride, f"{name}_sc", bias=False)
    return layers.Add()([y, shortcut])


def lstm(x: Any, classes: int) -> Any:
    """Logits of the language model."""
    x = layers.Embedding(classes, HIDDEN, name="embedding")(x)
    for number in range(LAYERS):
        x = layers.LSTM(HIDDEN, return_sequences=True, name=f"lstm{number}")(x)
    return layers.Dense(classes, name="decoder")(x)


NETWORKS = {
    "mlp": mlp,
    "lenet": lenet,
    "resnet20": functools.partial(resnet, kind="resnet20"),
    "resnet50": functools.partial(resnet, kind="resnet50"),
    "lstm": lstm,
}


def _give(model: Any, values: dict[str, np.ndarray]) -> None:
    """Copy parameters with the symbol's names into the model's layers."""
    roles = {"kernel": "weight", "embeddings": "weight", "moving_variance": "moving_var"}
    for variable in model.weights:
        layer, role = variable.path.rsplit("/", 1)
        value = values[f"{layer}_{roles.get(role, role)}"]
        if role == "kernel":
            value = value.transpose(2, 3, 1, 0) if value.ndim == 4 else value.T
        variable.assign(value)


def load(case: Case) -> Loop:
    """A compiled model with the case's parameters."""
    network = case.network
    batches = case.batches("NHWC")
    x = Input(batches[0][0].shape[1:], network.data[0], dtype=batches[0][0].dtype)
    model = Model(x, NETWORKS[network.kind](x, network.classes))
    values = case.load("arguments")
    if network.is_text:
        for number, (wi, wh, bi, bh) in enumerate(case.lstm_layers(values)):
            values[f"lstm{number}/lstm_cell_weight"] = wi
            values[f"lstm{number}/lstm_cell_recurrent_kernel"] = wh.T
            values[f"lstm{number}/lstm_cell_bias"] = bi + bh
    _give(model, values | case.load("auxiliary"))
    return _training(case, model, batches) if network.train else _prediction(model, batches)


def _training(case: Case, model: Any, batches: Any) -> Loop:
    words = math.prod(case.network.label[1:])

    def loss(y: Any, z: Any) -> Any:
        return words * losses.sparse_categorical_crossentropy(y, z, from_logits=True)

    model.compile(optimizers.SGD(RATE, MOMENTUM), loss, metrics=["sparse_categorical_accuracy"])

    def feed() -> Iterator[Any]:
        yield from itertools.cycle(batches)

    def run(steps: int) -> float:
        history = model.fit(feed(), steps_per_epoch=steps, verbose=0)
        return history.history["sparse_categorical_accuracy"][-1]

    def watch() -> dict[str, np.ndarray]:
        found = {}
        for name in case.network.watched:
            layer, role = name.rsplit("_", 1)
            value = np.asarray(model.get_layer(layer).get_weights()[role == "bias"])
            if value.ndim == 4:
                value = value.transpose(3, 2, 0, 1)
            elif value.ndim == 2 and layer != "embedding":
                value = value.T
            found[name] = value
        return found

    return Loop(run, watch)


def _prediction(model: Any, batches: Any) -> Loop:
    def predict(x: np.ndarray) -> np.ndarray:
        return np.asarray(ops.softmax(model.predict_on_batch(x)))

    def run(steps: int) -> float:
        hits = 0.0
        for number in range(steps):
            x, y = batches[number % len(batches)]
            hits += (predict(x).argmax(-1) == y).mean()
        return hits / steps

    return Loop(run, lambda: {"output": predict(batches[0][0])})


if __name__ == "__main__":
    serve(load)
