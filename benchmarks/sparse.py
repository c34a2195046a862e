"""A factorization machine with 1,000,000 features: modkit, and MXNet if available.

    MODKIT_REFERENCE=/path/to/mxnet's/python python -m benchmarks.sparse

16 factors, batches of 1,000 csr samples with 39 features each, ``forward``, ``backward`` and
``update``. Two processes that stay take turns; a step's time is a median over rounds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.measure import save
from benchmarks.sparse_work import OPTIMIZERS
from benchmarks.turns import command, pythons

WORK = Path(__file__).with_name("sparse_work.py")
STEPS = 16


class Worker:
    """A process that trains."""

    def __init__(self, python: str, package: str, optimizer: str):
        root = str(WORK.parent.parent)
        environment = {**os.environ, "PYTHONPATH": root, "PYTHONWARNINGS": "ignore"}
        self._process = subprocess.Popen(
            [python, str(WORK), package, optimizer],
            env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ms(self) -> float:
        """Milliseconds of a step."""
        sent, answers = self._process.stdin, self._process.stdout
        if sent is None or answers is None:
            raise RuntimeError("the worker has no pipes")
        sent.write(f"{STEPS}\n")
        sent.flush()
        line = answers.readline()
        if not line:
            raise RuntimeError("the worker process ended; see its error output above")
        return float(line) / STEPS * 1e3

    def peak_mib(self) -> float:
        """End the process: the peak of its memory."""
        said, _ = self._process.communicate()
        return float(said)


def row(optimizer: str, pythons: dict[str, str], rounds: int) -> dict[str, Any]:
    """Time of a step and peak of memory, for each library."""
    workers = {package: Worker(python, package, optimizer) for package, python in pythons.items()}
    found: dict[str, list[float]] = {package: [] for package in workers}
    for _ in range(rounds):
        for package, worker in workers.items():
            found[package].append(worker.ms())
    made: dict[str, Any] = {"what": optimizer}
    made |= {f"{package}_ms": statistics.median(times) for package, times in found.items()}
    made |= {f"{package}_mib": worker.peak_mib() for package, worker in workers.items()}
    if len(found) == 2:
        ours, peer = found.values()
        made["ratio"] = statistics.median(b / a for a, b in zip(ours, peer, strict=True))
    print(made, flush=True)
    return made


def main() -> None:
    """Measure, print and save."""
    parser = command("sparse", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    save("sparse", [row(name, pythons(), args.rounds) for name in OPTIMIZERS])


if __name__ == "__main__":
    main()
