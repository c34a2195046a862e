"""Long runs: the growth of one process over many steps, shapes and buckets.

    python tools/attack_long.py                                    # 20,000 steps, 2,000 shapes ...
    python tools/attack_long.py --only shapes --shapes 10000
    python tools/attack_long.py --steps 500 --shapes 200 --buckets 20

Three runs, each after a short one that loads what is loaded once:

- steps: a module with two layers trains, with a metric, for this many steps;
- shapes: eager calls of two operators and their gradients on arrays of this many shapes;
- buckets: a BucketingModule trains on this many bucket keys, a graph and a program each.

Each reports the growth of the resident memory in MB, after free pages have gone back to the system,
and what `modkit.cache_clear` frees of it. A growth over the limit is a finding: 20 MB for steps,
300 MB for shapes, 4 MB a bucket.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import modkit as mx


def resident_mb() -> float:
    """Resident memory of this process, without free pages."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def _net(length: int) -> mx.sym.Symbol:
    data = mx.sym.Variable("data")
    summed = mx.sym.sum(mx.sym.reshape(data, shape=(0, length, -1)), axis=1)
    hidden = mx.sym.Activation(
        mx.sym.FullyConnected(summed, num_hidden=16, name="fc1"), act_type="relu"
    )
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(hidden, num_hidden=4, name="fc2"), name="softmax"
    )


class Steps:
    """Training steps of one module."""

    def __init__(self) -> None:
        self.module = mx.mod.Module(_net(1))
        self.module.bind([("data", (8, 32))], [("softmax_label", (8,))])
        self.module.init_params()
        self.module.init_optimizer(optimizer="adam")
        self.metric = mx.metric.Accuracy()
        data, label = np.ones((8, 32), np.float32), np.arange(8) % 4
        self.batches = mx.io.NDArrayIter(data, label, 8)

    def run(self, number: int) -> None:
        """One step."""
        del number
        self.batches.reset()
        batch = self.batches.next()
        self.module.forward_backward(batch)
        self.module.update()
        self.module.update_metric(self.metric, batch.label)


class Shapes:
    """Eager calls and gradients; no shape comes twice."""

    def run(self, number: int) -> None:
        """The calls of one shape."""
        x = mx.nd.array(np.ones(number + 3, np.float32))
        if number % 10:
            mx.nd.relu(x).wait_to_read()
            return
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.tanh(x)
        y.backward()
        x.grad.wait_to_read()


class Buckets:
    """Training steps of a BucketingModule, each on a bucket of its own."""

    def __init__(self) -> None:
        self.module = mx.mod.BucketingModule(
            lambda length: (_net(length), ("data",), ("softmax_label",)), default_bucket_key=400
        )
        self.module.bind([("data", (4, 400, 8))], [("softmax_label", (4,))])
        self.module.init_params()
        self.module.init_optimizer()

    def run(self, number: int) -> None:
        """One step on a new bucket."""
        length = 1 + number
        batch = mx.io.DataBatch(
            [mx.nd.ones((4, length, 8))],
            [mx.nd.zeros((4,))],
            bucket_key=length,
            provide_data=[("data", (4, length, 8))],
            provide_label=[("softmax_label", (4,))],
        )
        self.module.forward_backward(batch)
        self.module.update()
        self.module.get_outputs()[0].wait_to_read()


def growth_mb(name: str, run: Callable[[int], None], count: int, limit_mb: float) -> bool:
    """Run, report, and return whether the growth is within the limit."""
    first = max(3, count // 20)
    for number in range(first):
        run(number)
    mx.cache_clear()
    before, began, most = resident_mb(), time.monotonic(), 0.0
    for number in range(first, first + count):
        run(number)
        if number % 200 == 199:
            most = max(most, resident_mb() - before)
    grown = max(most, resident_mb() - before)
    seconds, info = time.monotonic() - began, mx.cache_info()
    mx.cache_clear()
    print(
        f"{name}: {count} in {seconds:.0f} s, growth {grown:.0f} MB (limit {limit_mb:.0f}), "
        f"{resident_mb() - before:.0f} MB after cache_clear; {info}",
        flush=True,
    )
    return grown <= limit_mb


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the number of findings."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--shapes", type=int, default=2_000)
    parser.add_argument("--buckets", type=int, default=300)
    parser.add_argument("--only", choices=("steps", "shapes", "buckets"))
    options = parser.parse_args(arguments)
    runs = {
        "steps": (Steps, options.steps, 20.0),
        "shapes": (Shapes, options.shapes, 300.0),
        "buckets": (Buckets, options.buckets, 4.0 * options.buckets),
    }
    chosen = [options.only] if options.only else list(runs)
    return sum(not growth_mb(n, runs[n][0]().run, *runs[n][1:]) for n in chosen)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
