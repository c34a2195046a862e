"""Paired timing of two loops, robust against drift of the machine's speed."""

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
        ours: runs a number of steps and waits for the last.
        peer: likewise, of the peer.
        steps: number of steps of a round.
        rounds: number of rounds; the order alternates.

    Returns:
        The figures by name.
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
    """A description of the machine."""
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
    """The name of the first GPU, or ``None``."""
    if not shutil.which("nvidia-smi"):
        return None
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    result = subprocess.run(query, capture_output=True, text=True)
    return result.stdout.partition("\n")[0].strip() or None if result.returncode == 0 else None


def save(name: str, rows: Any, folder: Path = RESULTS) -> Path:
    """Write rows with the machine's description to ``<name>.json``, among the results."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    return path
