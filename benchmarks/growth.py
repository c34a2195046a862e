"""Memory growth: resident memory over 10,000 training steps and over 1,000 predictions."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.measure import machine
from benchmarks.networks import NETWORKS
from benchmarks.rounds import Say, start
from benchmarks.symbols import write

TURNS = 10
STEPS = {"mlp": 1000, "lenet-b1": 100}


def measure(peers: list[str], rounds: int, say: Say) -> dict[str, Any]:
    """Resident MiB of each worker after the warm-up and after each of TURNS turns."""
    del rounds  # the number of steps is fixed
    held: dict[str, dict[str, list[float]]] = {}
    for name, steps in STEPS.items():
        say(f"  {NETWORKS[name].title}, {TURNS} x {steps}")
        with tempfile.TemporaryDirectory() as temporary, ExitStack() as running:
            write(name, Path(temporary))
            workers, _ = start(name, peers, Path(temporary), running, say)
            held[name] = {
                worker.title: [worker.ask({"run": steps})["rss_mib"] for _ in range(TURNS + 1)]
                for worker in workers
            }
    return {"machine": machine(), "rss_mib": held}
