"""Start-up time of modkit in fresh processes, with peers in turn.

    python -m benchmarks.start [--rounds N] [--quick]

Imports relative to ``import jax``; and the time from process start to the first finished step of
ResNet-50 (batch 16, 224x224; with ``--quick`` ResNet-20, 32x32), with a warm and a cold
compilation cache.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from benchmarks.measure import save

IMPORTS = {
    "import modkit": "import modkit",
    "from modkit.io import recordio": "from modkit.io import recordio",
    "import modkit, and mx.nd, mx.sym, mx.io, mx.mod used": (
        "import modkit as mx; mx.nd.array; mx.sym.var; mx.io.NDArrayIter; mx.mod.Module"
    ),
}

START = "import time; started = time.perf_counter()\n"
END = "\nprint(time.perf_counter() - started)"


def run(program: str, env: Mapping[str, str] | None = None) -> list[float]:
    """The numbers printed by a program in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True, capture_output=True, text=True, env={**os.environ, **(env or {})},
    )  # fmt: skip
    return [float(word) for word in done.stdout.split()]


def seconds(work: str) -> float:
    """Seconds of some lines in a fresh process, without the start of Python itself."""
    return run(f"{START}{work}{END}")[-1]


def imports(rounds: int) -> list[dict[str, Any]]:
    """Each import relative to ``import jax``."""
    rows = []
    for title, work in IMPORTS.items():
        pairs = [(seconds(work), seconds("import jax")) for _ in range(rounds + 1)][1:]
        rows.append(
            {
                "what": title,
                "ours_s": statistics.median(a for a, _ in pairs),
                "peer": "import jax",
                "peer_s": statistics.median(b for _, b in pairs),
                "ratio": statistics.median(a / b for a, b in pairs),
                "rounds": rounds,
            }
        )
    return rows


FIRST_STEP = """
import sys
import numpy as np
import modkit as mx
from recipes.symbols.resnet import resnet
depth, batch, size = {depth}, {batch}, {size}
module = mx.mod.Module(resnet(depth, 1000, small=depth == 20))
module.bind([("data", (batch, 3, size, size))], [("softmax_label", (batch,))])
module.init_params()
module.init_optimizer(optimizer_params=dict(learning_rate=0.01, momentum=0.9))
images = np.random.default_rng(0).normal(size=(batch, 3, size, size)).astype("float32")
images = mx.io.DataBatch([mx.nd.array(images)], [mx.nd.zeros(batch)])
accuracy = mx.metric.create("acc")
def step():
    module.forward_backward(images)
    module.update()
    module.update_metric(accuracy, images.label)
    accuracy.get()
step()
first = time.perf_counter()
step()
print(first - started, time.perf_counter() - first)
"""


def first_steps(rounds: int, depth: int, batch: int, size: int) -> dict[str, Any]:
    """Seconds to the first finished step with cold and warm cache, and seconds of a step."""
    work = START + FIRST_STEP.format(depth=depth, batch=batch, size=size)
    pairs = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            env = {"MODKIT_CACHE": f"{folder}/programs"}
            pairs.append((run(work, env)[0], run(work, env)))
    return {
        "what": f"ResNet-{depth}, batch {batch}, {size}x{size}: to the first finished step",
        "ours_s": statistics.median(warm for _, (warm, _) in pairs),
        "of_that_a_step_s": statistics.median(step for _, (_, step) in pairs),
        "peer": "compiling",
        "peer_s": statistics.median(cold for cold, _ in pairs),
        "ratio": statistics.median(warm / cold for cold, (warm, _) in pairs),
        "rounds": rounds,
    }


def main() -> int:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="pairs of processes a row")
    parser.add_argument("--quick", action="store_true", help="a small network")
    arguments = parser.parse_args()
    network = (20, 64, 32) if arguments.quick else (50, 16, 224)
    rows = [*imports(arguments.rounds), first_steps(min(arguments.rounds, 3), *network)]
    for row in rows:
        print(
            f"{row['what']:<60} {row['ours_s'] * 1e3:7.0f} ms   {row['peer']} "
            f"{row['peer_s'] * 1e3:6.0f} ms   ratio {row['ratio']:.2f}"
            + (f"   (a step: {row['of_that_a_step_s']:.1f} s)" if "of_that_a_step_s" in row else "")
        )
    print(f"wrote {save('start', rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
