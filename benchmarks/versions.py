"""Training steps of this version in turns with those of another checkout and of hand-written JAX.

    git worktree add ../before v0.1.0
    python -m benchmarks.versions ../before --only mlp,lenet --rounds 7

Each network's line has the time of the others, this version's ``fit`` among them, divided by that
of this version's three calls for each batch, as the median over rounds, and the highest resident
memory.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.networks import NETWORKS
from benchmarks.symbols import write
from benchmarks.turns import ROOT, LeftOut, Process, environment, take_turns

TRAINED = "mlp,lenet,resnet20,lstm"


def _start(
    name: str, root: Path, peer: str, file: str, variant: str, folder: Path, title: str
) -> Process:
    command = [sys.executable, "-m", f"benchmarks.peers.{file}", str(folder), name, peer, variant]
    own = {"PYTHONPATH": str(root), "MODKIT_CACHE": "off"}
    worker = Process(
        command, folder / f"{title}.err", environment(NETWORKS[name].device) | own, root
    )
    worker.steps = NETWORKS[name].steps
    for steps in (1, 3):
        worker.ask({"run": steps})
    worker.ask({"watch": str(folder / f"{title}.npz")})
    return worker


def measure(name: str, before: Path, rounds: int) -> str:
    """The line of one network."""
    with tempfile.TemporaryDirectory() as made, ExitStack() as running:
        folder = Path(made)
        write(name, folder)
        workers = {}
        for title, root, peer, file, variant in (
            ("now", ROOT, "modkit", "module_api", ""),
            ("fit", ROOT, "modkit", "module_api", "fit"),
            ("before", before, "modkit", "module_api", ""),
            ("jax", ROOT, "jax", "hand_jax", ""),
        ):
            workers[title] = _start(name, root, peer, file, variant, folder, title)
            running.callback(workers[title].close)
        take_turns(list(workers.values()), rounds)
        cells = []
        now = workers["now"].rounds
        for title, worker in workers.items():
            ratios = [r["ms"] / n["ms"] for r, n in zip(worker.rounds, now, strict=True)]
            peak = max(r["peak_mib"] for r in worker.rounds)
            median_ms = statistics.median(r["ms"] for r in worker.rounds)
            cells.append(
                f"{title} {statistics.median(ratios):.3f} ({median_ms:.4g} ms, {peak:.0f} MiB)"
            )
        return f"{name}: " + ", ".join(cells)


def main(arguments: list[str] | None = None) -> None:
    """Measure each network, and print its line."""
    parser = argparse.ArgumentParser(description="This version in turns with another checkout.")
    parser.add_argument("before", type=Path, help="the root of the other checkout")
    parser.add_argument("--only", default=TRAINED, help="networks, with commas between")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args(arguments)
    for name in args.only.split(","):
        try:
            print(measure(name, args.before.resolve(), args.rounds), flush=True)
        except LeftOut as reason:
            print(f"{name}: left out: {reason}", flush=True)


if __name__ == "__main__":
    main()
