"""The peer JAX: a hand-written loop with one jitted step, donated state and optax."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.networks import BN, HIDDEN, LAYERS, MOMENTUM, RATE, RESNETS
from benchmarks.worker import Case, Loop, serve

Tree = dict[str, jax.Array]


@dataclass(frozen=True)
class Layers:
    """Layers with parameters under the symbol's names; images in one layout.

    Attributes:
        parameters: what is trained.
        moving: the statistics of BatchNorm before the step.
        moved: and after it.
    """

    parameters: Tree
    moving: Tree
    layout: str
    train: bool
    moved: Tree = field(default_factory=dict)

    def weight(self, name: str, like: jax.Array) -> jax.Array:
        """A parameter, cast to the dtype of computation."""
        return self.parameters[name].astype(like.dtype)

    def dense(self, x: jax.Array, name: str) -> jax.Array:
        """An affine map; images are flattened in the symbol's order."""
        if x.ndim == 4 and self.layout == "NHWC":
            x = x.transpose(0, 3, 1, 2)
        x = x.reshape(-1, x.shape[-1]) if x.ndim == 3 else x.reshape(len(x), -1)
        return x @ self.weight(f"{name}_weight", x).T + self.weight(f"{name}_bias", x)

    def convolution(self, x: jax.Array, name: str, stride: int = 1, pad: int = 0) -> jax.Array:
        """A convolution, with a bias if the parameter exists."""
        filters = "OIHW" if self.layout == "NCHW" else "HWIO"
        y = jax.lax.conv_general_dilated(
            x,
            self.weight(f"{name}_weight", x),
            (stride, stride),
            ((pad, pad), (pad, pad)),
            dimension_numbers=(self.layout, filters, self.layout),
        )
        if f"{name}_bias" not in self.parameters:
            return y
        return y + self.channels(self.weight(f"{name}_bias", x))

    def channels(self, x: jax.Array) -> jax.Array:
        """A vector over channels, reshaped to broadcast with images."""
        return x[:, None, None] if self.layout == "NCHW" else x

    def max_pool(self, x: jax.Array, size: int, stride: int, pad: int = 0) -> jax.Array:
        """Max pooling."""
        around = [(0, 0) if axis in "NC" else (pad, pad) for axis in self.layout]
        window = [1 if axis in "NC" else size for axis in self.layout]
        strides = [1 if axis in "NC" else stride for axis in self.layout]
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, strides, around)

    def norm(self, x: jax.Array, name: str, scale: bool = True) -> jax.Array:
        """BatchNorm with statistics in float32, one pass over the images."""
        axes = tuple(i for i, axis in enumerate(self.layout) if axis != "C")
        mean, var = self.moving[f"{name}_moving_mean"], self.moving[f"{name}_moving_var"]
        if self.train:
            wide = x.astype(jnp.float32)
            now = {"mean": wide.mean(axes)}
            now["var"] = jnp.maximum(0, jnp.square(wide).mean(axes) - jnp.square(now["mean"]))
            for kind, old in (("mean", mean), ("var", var)):
                self.moved[f"{name}_moving_{kind}"] = jax.lax.stop_gradient(
                    BN["momentum"] * old + (1 - BN["momentum"]) * now[kind]
                )
            mean, var = now["mean"], now["var"]
        factor = jax.lax.rsqrt(var + BN["eps"])
        if scale:
            factor = factor * self.parameters[f"{name}_gamma"]
        shift = self.parameters[f"{name}_beta"] - mean * factor
        return x * self.channels(factor).astype(x.dtype) + self.channels(shift).astype(x.dtype)


def mlp(layers: Layers, x: jax.Array) -> jax.Array:
    """Logits of the MLP."""
    for name in ("fc1", "fc2"):
        x = jax.nn.relu(layers.dense(x, name))
    return layers.dense(x, "fc3")


def lenet(layers: Layers, x: jax.Array) -> jax.Array:
    """Logits of LeNet."""
    for name in ("conv1", "conv2"):
        x = layers.max_pool(jnp.tanh(layers.convolution(x, name)), 2, 2)
    return layers.dense(jnp.tanh(layers.dense(x, "fc1")), "fc2")


def resnet(layers: Layers, x: jax.Array, kind: str) -> jax.Array:
    """Logits of a pre-activation residual network."""
    units, channels = RESNETS[kind]
    bottleneck = kind == "resnet50"
    x = layers.norm(x, "bn_data", scale=False)
    if bottleneck:
        x = layers.convolution(x, "conv0", 2, 3)
        x = layers.max_pool(jax.nn.relu(layers.norm(x, "bn0")), 3, 2, 1)
    else:
        x = layers.convolution(x, "conv0", 1, 1)
    for stage in range(1, len(channels)):
        for number in range(1, units[stage - 1] + 1):
            stride = 2 if number == 1 and stage > 1 else 1
            x = _unit(layers, x, f"stage{stage}_unit{number}", stride, number > 1, bottleneck)
    x = jax.nn.relu(layers.norm(x, "bn1"))
    x = x.mean([i for i, axis in enumerate(layers.layout) if axis in "HW"])
    return layers.dense(x, "fc1")


def _unit(
    layers: Layers, x: jax.Array, name: str, stride: int, same: bool, bottleneck: bool
) -> jax.Array:
    first = y = jax.nn.relu(layers.norm(x, f"{name}_bn1"))
    sizes = ((1, 1), (3, stride), (1, 1)) if bottleneck else ((3, stride), (3, 1))
    for number, (size, step) in enumerate(sizes, 1):
        if number > 1:
            y = jax.nn.relu(layers.norm(y, f"{name}_bn{number}"))
        y = layers.convolution(y, f"{name}_conv{number}", step, size // 2)
    return y + (x if same else layers.convolution(first, f"{name}_sc", stride))


def lstm(layers: Layers, x: jax.Array) -> jax.Array:
    """Logits of the language model, one row for each word; one input matmul for all words."""
    x = layers.parameters["embedding_weight"][x].transpose(1, 0, 2)
    for number in range(LAYERS):
        p = {kind: layers.parameters[f"lstm{number}_{kind}"] for kind in ("wi", "wh", "b")}
        ahead = x @ p["wi"].T + p["b"]
        zero = jnp.zeros((*ahead.shape[1:2], HIDDEN))

        def step(state: Any, ahead: jax.Array, wh: jax.Array = p["wh"]) -> Any:
            h, c = state
            i, f, g, o = jnp.split(ahead + h @ wh.T, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        _, x = jax.lax.scan(step, (zero, zero), ahead)
    return layers.dense(x.transpose(1, 0, 2), "decoder")


NETWORKS = {
    "mlp": mlp,
    "lenet": lenet,
    "resnet20": functools.partial(resnet, kind="resnet20"),
    "resnet50": functools.partial(resnet, kind="resnet50"),
    "lstm": lstm,
}


def _first(case: Case) -> tuple[Tree, Tree]:
    """Parameters and moving statistics in the layout of this file."""
    arguments = case.load("arguments")
    if case.variant == "NHWC":
        for name, value in arguments.items():
            if value.ndim == 4:
                arguments[name] = value.transpose(2, 3, 1, 0)
    if case.network.is_text:
        for number, (wi, wh, bi, bh) in enumerate(case.lstm_layers(arguments)):
            for kind, value in (("wi", wi), ("wh", wh), ("b", bi + bh)):
                arguments[f"lstm{number}_{kind}"] = value
        del arguments["lstm_parameters"]
    # Copies: an array that shares NumPy's memory could not be donated.
    return jax.tree.map(jnp.array, (arguments, case.load("auxiliary")))


def load(case: Case) -> Loop:
    """The case's network in the layout of the variant."""
    network = NETWORKS[case.network.kind]
    layout = case.variant or "NCHW"
    dtype = jnp.dtype(case.network.dtype)

    def logits(parameters: Tree, moving: Tree, x: jax.Array) -> tuple[jax.Array, Tree]:
        layers = Layers(parameters, moving, layout, case.network.train)
        if not case.network.is_text:
            x = x.astype(dtype)
        return network(layers, x).astype(jnp.float32), layers.moved

    batches = [(jnp.asarray(x), jnp.asarray(y)) for x, y in case.batches(layout)]
    return (_training if case.network.train else _prediction)(case, logits, batches)


def _training(case: Case, logits: Any, batches: Any) -> Loop:
    transform = optax.sgd(RATE, momentum=MOMENTUM)

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state: Any, x: jax.Array, y: jax.Array) -> Any:
        parameters, moving, momentum = state
        y = y.reshape(-1)

        def loss(parameters: Tree) -> Any:
            z, moved = logits(parameters, moving, x)
            each = optax.softmax_cross_entropy_with_integer_labels(z, y)
            return each.sum() / len(x), (z, moved)

        (_, (z, moved)), grads = jax.value_and_grad(loss, has_aux=True)(parameters)
        updates, momentum = transform.update(grads, momentum, parameters)
        parameters = optax.apply_updates(parameters, updates)
        return (parameters, moved, momentum), (z.argmax(-1) == y).mean()

    parameters, moving = _first(case)
    kept = {"state": (parameters, moving, transform.init(parameters))}

    def run(steps: int) -> float:
        hits = []
        for number in range(steps):
            kept["state"], hit = step(kept["state"], *batches[number % len(batches)])
            hits.append(hit)
        jax.block_until_ready(kept["state"])
        return float(np.mean(jax.device_get(hits)))

    def watch() -> dict[str, np.ndarray]:
        watched = {name: np.asarray(kept["state"][0][name]) for name in case.network.watched}
        back = case.variant == "NHWC"
        return {
            name: value.transpose(3, 2, 0, 1) if back and value.ndim == 4 else value
            for name, value in watched.items()
        }

    return Loop(run, watch)


def _prediction(case: Case, logits: Any, batches: Any) -> Loop:
    parameters, moving = _first(case)
    forward = jax.jit(lambda *values: jax.nn.softmax(logits(*values)[0]))

    def run(steps: int) -> float:
        hits = 0.0
        for number in range(steps):
            x, y = batches[number % len(batches)]
            hits += (np.asarray(forward(parameters, moving, x)).argmax(-1) == y).mean()
        return hits / steps

    return Loop(run, lambda: {"output": np.asarray(forward(parameters, moving, batches[0][0]))})


if __name__ == "__main__":
    serve(load)
