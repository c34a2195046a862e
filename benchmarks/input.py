"""An epoch of ``fit`` over arrays in memory against a hand-written loop that slices them.

    python -m benchmarks.input

``Module.fit`` reads 60,000 rows through ``NDArrayIter``, with an accuracy metric; the peer slices
the same NumPy arrays and calls a ``jax.jit`` step of its own. Both in order and
shuffled, the peer by indexing with a permutation.
"""

from __future__ import annotations

import argparse
import functools
import logging
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import modkit as mx
from benchmarks.measure import machine, pairs, save
from benchmarks.networks import MOMENTUM, NETWORKS, RATE
from benchmarks.peers.hand_jax import Layers, mlp
from benchmarks.symbols import SYMBOLS

NETWORK = NETWORKS["mlp"]
BATCH = NETWORK.data[0]
Loop = Callable[[int], None]
ROWS = 60_000
STEPS = ROWS // BATCH


def fit_loop(images: np.ndarray, labels: np.ndarray, shuffle: bool) -> tuple[Loop, Any]:
    """One epoch of ``fit``, and the module."""
    quiet = logging.getLogger("benchmarks.input")
    quiet.setLevel(logging.ERROR)
    module = mx.mod.Module(SYMBOLS["mlp"](NETWORK), logger=quiet)
    train = mx.io.NDArrayIter(images, labels, BATCH, shuffle, last_batch_handle="discard")
    module.bind(train.provide_data, train.provide_label)
    module.init_params(mx.init.Xavier())

    def run(steps: int) -> None:
        del steps
        module.fit(
            train, num_epoch=1, eval_metric="acc", optimizer="sgd",
            optimizer_params={"learning_rate": RATE, "momentum": MOMENTUM},
        )  # fmt: skip
        module.get_outputs()[0].wait_to_read()

    return run, module


def jax_loop(params: Any, images: np.ndarray, labels: np.ndarray, shuffle: bool) -> Loop:
    """One epoch of the hand-written loop."""
    transform = optax.sgd(RATE, momentum=MOMENTUM)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def step(params: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss(params: Any) -> Any:
            logits = mlp(Layers(params, {}, "NCHW", train=True), x)
            each = optax.softmax_cross_entropy_with_integer_labels(logits, y.astype(jnp.int32))
            return each.mean(), logits

        (_, logits), grads = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = transform.update(grads, state, params)
        return optax.apply_updates(params, updates), state, (logits.argmax(-1) == y).sum()

    kept = {"params": params, "state": transform.init(params)}
    generator = np.random.default_rng(0)

    def run(steps: int) -> None:
        order = generator.permutation(ROWS) if shuffle else None
        hits = []
        for at in range(0, steps * BATCH, BATCH):
            rows = slice(at, at + BATCH) if order is None else order[at : at + BATCH]
            kept["params"], kept["state"], hit = step(
                kept["params"], kept["state"], images[rows], labels[rows]
            )
            hits.append(hit)
        sum(int(h) for h in jax.device_get(hits))
        jax.block_until_ready(kept["params"])

    return run


def main(arguments: list[str] | None = None) -> None:
    """Measure, print a table, and save the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args(arguments)
    stream = np.random.RandomState(0)
    images = stream.rand(ROWS, 784).astype(np.float32)
    labels = stream.randint(0, 10, ROWS).astype(np.float32)
    rows = []
    print(f"{'MLP, batch 64':<16}{'fit ms':>9}{'JAX ms':>9}{'ratio':>8}   (range)")
    for name, shuffle in (("in order", False), ("shuffled", True)):
        ours, module = fit_loop(images, labels, shuffle)
        params = {
            name: jnp.array(value.asnumpy()) for name, value in module.get_params()[0].items()
        }
        peer = jax_loop(params, images, labels, shuffle)
        row = {"input": name, "batch": BATCH, **pairs(ours, peer, STEPS, args.rounds)}
        rows.append(row)
        low, high = row["ratio_range"]
        print(
            f"{name:<16}{row['ours_ms']:>9.3f}{row['peer_ms']:>9.3f}{row['ratio']:>8.2f}"
            f"   ({low:.2f} to {high:.2f})"
        )
    print(machine())
    save("input", rows)


if __name__ == "__main__":
    main()
