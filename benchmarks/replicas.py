"""A training step of two replicas on CPU devices beside one of a single device on the same cores.

    python -m benchmarks.replicas [--batch 64] [--steps 100] [--rounds 15]

The kinds take turns in one process. The ratio is a median over rounds; times are the least of a
round's means, since other processes only add to them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

FLAG = "--xla_force_host_platform_device_count=2"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAG}"

import numpy as np  # noqa: E402 - JAX reads the flag at its import

import modkit as mx  # noqa: E402 - imports JAX
from modkit.step.across_devices import by_mesh, by_pmap  # noqa: E402 - imports JAX
from modkit.step.replicas import DistinctDevices  # noqa: E402 - imports JAX

KINDS = {
    "one device": ([0], by_pmap, {}),
    "vmap": ([0, 0], by_pmap, {}),
    "pmap": ([0, 1], by_pmap, {}),
    "mesh": ([0, 1], by_mesh, {}),
    "pmap, states in parts": ([0, 1], by_pmap, {"shard_optimizer_states": True}),
}
CLOCKS = (time.perf_counter, time.process_time, time.thread_time)


def network() -> mx.sym.Symbol:
    """An MLP 784-128-64-10."""
    net = mx.sym.Variable("data")
    for i, hidden in enumerate((128, 64)):
        net = mx.sym.FullyConnected(net, num_hidden=hidden, name=f"fc{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


class Loop:
    """A module that trains on one batch again and again."""

    def __init__(self, kind: str, size: int):
        devices, DistinctDevices.by, options = KINDS[kind]
        self.module = mx.mod.Module(network(), context=[mx.cpu(i) for i in devices])
        self.module.bind([("data", (size, 784))], [("softmax_label", (size,))])
        self.module.init_params(mx.init.Xavier())
        self.module.init_optimizer(
            "local", "sgd", {"learning_rate": 0.01, "momentum": 0.9}, **options
        )
        stream = np.random.RandomState(0)
        x, y = stream.rand(size, 784).astype("f"), stream.randint(0, 10, size).astype("f")
        self.batch = next(iter(mx.io.NDArrayIter(x, y, size)))
        self.metric = mx.metric.create("acc")
        self.run(5)

    def run(self, steps: int) -> None:
        """Some steps, and a wait for the last."""
        for _ in range(steps):
            self.module.forward_backward(self.batch)
            self.module.update()
            self.module.update_metric(self.metric, self.batch.label)
        self.metric.get()


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    loops = {kind: Loop(kind, given.batch) for kind in KINDS}
    seen: dict[str, list[list[float]]] = {kind: [] for kind in KINDS}
    for _ in range(given.rounds):
        for kind, loop in loops.items():
            before = [clock() for clock in CLOCKS]
            loop.run(given.steps)
            after = [clock() for clock in CLOCKS]
            seen[kind].append([(b - a) / given.steps for a, b in zip(before, after, strict=True)])
    base = seen["one device"]
    print("kind | of one device | ms a step | processor ms | of these the calling thread's")
    for kind, rows in seen.items():
        ratio = statistics.median(r[0] / b[0] for r, b in zip(rows, base, strict=True))
        least = (f"{1000 * min(each):.2f}" for each in zip(*rows, strict=True))
        print(f"{kind} | {ratio:.2f} |", " | ".join(least))


if __name__ == "__main__":
    main()
