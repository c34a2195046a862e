"""A training step of ``Module`` against the same network in hand-written JAX.

    python -m benchmarks.step

``mod.forward_backward + update + update_metric`` stands beside a ``jax.jit`` step with donated
state, optax's SGD with momentum, and the number of hits as metric.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import modkit as mx
from benchmarks.measure import machine, pairs, save

BATCH = 64
RATE, MOMENTUM = 0.05, 0.9
Loop = Callable[[int], None]


def mlp_symbol() -> Any:
    """784-128-64-10."""
    net = mx.sym.Variable("data")
    for number, width in enumerate((128, 64), 1):
        net = mx.sym.FullyConnected(net, num_hidden=width, name=f"fc{number}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{number}")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc3")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def mlp_jax(params: Any, x: jax.Array) -> jax.Array:
    """The same."""
    for name in ("fc1", "fc2"):
        x = jax.nn.relu(x @ params[name]["w"].T + params[name]["b"])
    return x @ params["fc3"]["w"].T + params["fc3"]["b"]


def lenet_symbol() -> Any:
    """Convolutions of 20 and 50 filters, dense layers of 500 and 10, for 28x28 images."""
    net = mx.sym.Variable("data")
    for number, filters in enumerate((20, 50), 1):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, name=f"conv{number}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"tanh{number}")
        net = mx.sym.Pooling(
            net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{number}"
        )
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=500, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh3")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def lenet_jax(params: Any, x: jax.Array) -> jax.Array:
    """The same, in the layout that it has."""
    for name in ("conv1", "conv2"):
        x = jax.lax.conv_general_dilated(
            x, params[name]["w"], (1, 1), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW")
        )
        x = jnp.tanh(x + params[name]["b"][:, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = jnp.tanh(x.reshape(len(x), -1) @ params["fc1"]["w"].T + params["fc1"]["b"])
    return x @ params["fc2"]["w"].T + params["fc2"]["b"]


NETWORKS: dict[str, tuple[Any, Any, tuple[int, ...], int]] = {
    "MLP 784-128-64-10": (mlp_symbol, mlp_jax, (784,), 1000),
    "LeNet 28x28": (lenet_symbol, lenet_jax, (1, 28, 28), 30),
}


def module_loop(symbol: Any, images: np.ndarray, labels: np.ndarray) -> tuple[Loop, Any]:
    """Steps of a Module, and the module."""
    module = mx.mod.Module(symbol)
    module.bind([("data", images.shape)], [("softmax_label", labels.shape)])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(
        optimizer="sgd", optimizer_params={"learning_rate": RATE, "momentum": MOMENTUM}
    )
    batch = mx.io.DataBatch([mx.nd.array(images)], [mx.nd.array(labels)])
    metric = mx.metric.create("acc")

    def run(steps: int) -> None:
        for _ in range(steps):
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        metric.get()
        module.get_outputs()[0].wait_to_read()

    return run, module


def jax_loop(network: Any, params: Any, images: np.ndarray, labels: np.ndarray) -> Loop:
    """Steps of the hand-written loop."""
    transform = optax.sgd(RATE, momentum=MOMENTUM)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss(params: Any) -> Any:
            logits = network(params, x)
            each = optax.softmax_cross_entropy_with_integer_labels(logits, y)
            return each.mean(), logits

        (_, logits), grads = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = transform.update(grads, state, params)
        return optax.apply_updates(params, updates), state, (logits.argmax(-1) == y).sum()

    kept = {"params": params, "state": transform.init(params)}
    x, y = jnp.asarray(images), jnp.asarray(labels, jnp.int32)

    def run(steps: int) -> None:
        hits = []
        for _ in range(steps):
            kept["params"], kept["state"], hit = step(kept["params"], kept["state"], x, y)
            hits.append(hit)
        sum(int(h) for h in jax.device_get(hits))
        jax.block_until_ready(kept["params"])

    return run


def same_params(module: Any) -> Any:
    """The module's parameters as the hand-written network takes them."""
    params: dict[str, dict[str, jax.Array]] = {}
    for name, value in module.get_params()[0].items():
        layer, _, kind = name.rpartition("_")
        params.setdefault(layer, {})[kind[0]] = jnp.array(value.asnumpy())
    return params


def main(arguments: list[str] | None = None) -> None:
    """Measure, print a table, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args(arguments)
    rows = []
    print(f"{'network, batch 64':<22}{'modkit ms':>11}{'JAX ms':>9}{'ratio':>8}   (range)")
    for name, (symbol, network, shape, steps) in NETWORKS.items():
        stream = np.random.RandomState(0)
        images = stream.rand(BATCH, *shape).astype(np.float32)
        labels = stream.randint(0, 10, BATCH).astype(np.float32)
        ours, module = module_loop(symbol(), images, labels)
        peer = jax_loop(network, same_params(module), images, labels)
        row = {"network": name, "batch": BATCH, **pairs(ours, peer, steps, args.rounds)}
        rows.append(row)
        low, high = row["ratio_range"]
        print(
            f"{name:<22}{row['ours_ms']:>11.3f}{row['peer_ms']:>9.3f}{row['ratio']:>8.2f}"
            f"   ({low:.2f} to {high:.2f})"
        )
    print(machine())
    save("step", rows)


if __name__ == "__main__":
    main()
