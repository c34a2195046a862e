"""Timing two loops in turn, so that a machine whose speed drifts treats both alike."""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

RESULTS = Path(__file__).parent / "results"


def pairs(
    ours: Callable[[int], None], peer: Callable[[int], None], steps: int, rounds: int
) -> dict[str, Any]:
    """Milliseconds a step of each, and the ratio ``ours / peer``, as medians over rounds.

    Args:
        ours: runs so many steps and waits for the last.
        peer: the same for the other.
        steps: how many in a round.
        rounds: how many; the order changes from round to round.
    """
    ours(steps), peer(steps)  # warm-up: compiles
    times: dict[str, list[float]] = {"ours": [], "peer": []}
    for number in range(rounds):
        order = [("ours", ours), ("peer", peer)]
        for name, run in order if number % 2 else reversed(order):
            started = time.perf_counter()
            run(steps)
            times[name].append((time.perf_counter() - started) / steps * 1e3)
    ratios = [a / b for a, b in zip(times["ours"], times["peer"], strict=True)]
    return {
        "ours_ms": statistics.median(times["ours"]),
        "peer_ms": statistics.median(times["peer"]),
        "ratio": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
        "rounds": rounds,
        "steps": steps,
    }


def machine() -> dict[str, Any]:
    """What ran the benchmark."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [n for n in cpuinfo.read_text().splitlines() if n.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "jax": jax.__version__,
        "gpu": gpu(),
        "date": time.strftime("%Y-%m-%d"),
    }


def gpu() -> str | None:
    """The name of the first GPU, where there is one."""
    if not shutil.which("nvidia-smi"):
        return None
    asked = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    said = subprocess.run(asked, capture_output=True, text=True)
    return said.stdout.partition("\n")[0].strip() or None if said.returncode == 0 else None


def save(name: str, rows: Any, folder: Path = RESULTS) -> Path:
    """Write rows with the machine's description to ``<name>.json``, among the results."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return path
