"""Memory: what grows over many steps and predictions, and the peak beside hand-written JAX.

    python -m benchmarks.memory [--steps N] [--predicts N]

Each row is a process of its own. Growth is that of the resident memory over the second half of a
run, when whatever is made once has been made; live arrays are counted beside it. The hand-written
loop runs under the same setting of the allocator.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

import modkit as mx
from benchmarks.measure import save
from benchmarks.step import BATCH, NETWORKS, jax_loop, module_loop, same_params

MLP, LENET = NETWORKS
MEASUREMENTS = 20


def resident_bytes() -> int:
    """What the process has in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def growth(work: Callable[[int], None], count: int) -> dict[str, Any]:
    """How memory grows over the second half of ``count`` pieces of work."""
    each = max(1, count // (2 * MEASUREMENTS))
    work(count - each * MEASUREMENTS)
    sizes, arrays = [], []
    for _ in range(MEASUREMENTS):
        work(each)
        gc.collect()
        sizes.append(resident_bytes())
        arrays.append(len(jax.live_arrays()))
    slope = np.polyfit(np.arange(MEASUREMENTS) * each, sizes, 1)[0]
    return {
        "count": count,
        "bytes_each": float(slope),
        "live_arrays": [arrays[0], arrays[-1]],
        "resident_mb": sizes[-1] / 2**20,
    }


def made(network: str) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """A network's symbol, its hand-written form, images and labels."""
    symbol, by_hand, shape, _ = NETWORKS[network]
    stream = np.random.RandomState(0)
    images = stream.rand(BATCH, *shape).astype(np.float32)
    return symbol(), by_hand, images, stream.randint(0, 10, BATCH).astype(np.float32)


def steps(count: int) -> dict[str, Any]:
    """Training steps."""
    symbol, _, images, labels = made(MLP)
    run, _ = module_loop(symbol, images, labels)
    return growth(run, count)


def predicts(count: int) -> dict[str, Any]:
    """Predictions of several batches."""
    symbol, _, images, labels = made(MLP)
    _, module = module_loop(symbol, images, labels)
    batches = mx.io.NDArrayIter(images, labels, BATCH // 4)

    def run(times: int) -> None:
        for _ in range(times):
            module.predict(batches).asnumpy()

    module.bind([("data", (BATCH // 4, *images.shape[1:]))], for_training=False, force_rebind=True)
    return growth(run, count)


def peak(count: int, hand_written: bool) -> dict[str, Any]:
    """The most that some steps of LeNet had in memory."""
    symbol, by_hand, images, labels = made(LENET)
    run, module = module_loop(symbol, images, labels)
    if hand_written:
        run = jax_loop(by_hand, same_params(module), images, labels)
        del module
    run(count)
    return {"count": count, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10}


WORK: dict[str, Callable[[int], dict[str, Any]]] = {
    "training steps": steps,
    "predictions": predicts,
    "LeNet, modkit": lambda count: peak(count, False),
    "LeNet, hand-written JAX": lambda count: peak(count, True),
}


def in_a_process(title: str, count: int) -> dict[str, Any]:
    """One row, measured in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.memory", "--work", title, "--count", str(count)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return {"what": title, **json.loads(done.stdout)}


def main() -> int:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--predicts", type=int, default=1_000)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        print(json.dumps(WORK[arguments.work](arguments.count)))
        return 0
    counts = dict.fromkeys(WORK, 30) | {
        "training steps": arguments.steps,
        "predictions": arguments.predicts,
    }
    rows = [in_a_process(title, counts[title]) for title in WORK]
    for row in rows:
        print("   ".join(f"{name} {value}" for name, value in row.items()))
    print(f"wrote {save('memory', rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
