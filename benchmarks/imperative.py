"""Imperative calls and whole programs: modkit, and MXNet and PyTorch if available.

    MODKIT_REFERENCE=/path/to/mxnet's/python python -m benchmarks.imperative
    MODKIT_TORCH=/path/to/pytorch's/python python -m benchmarks.imperative --rounds 9 --quick

Calls are medians of rounds in turn, in a process of each library; programs are processes from
start to end, imports included, in turn. Memory is the growth by 1,000 new shapes. PyTorch has no
Module and none of the metrics: their rows are blank for it.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.imperative_protocol import NEW
from benchmarks.imperative_work import PROGRAMS
from benchmarks.imperative_work import calls as table
from benchmarks.measure import save
from benchmarks.turns import command, pythons

HERE = Path(__file__).parent
_BY_NAME = "imperative_work.py"  # modkit and MXNet run the same lines
WORK = {"modkit": _BY_NAME, "mxnet": _BY_NAME, "torch": "imperative_torch.py"}
MANY, FEW = 200, 10
NONE = float("nan")  # a library has no such call or program


def _command(python: str, package: str, *what: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent), "PYTHONWARNINGS": "ignore"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have bytecode
    args = [python, str(HERE / WORK[package]), package, *what]
    return {"args": args, "env": environment, "text": True}


class Worker:
    """A process that runs calls."""

    def __init__(self, python: str, package: str):
        self._process = subprocess.Popen(
            **_command(python, package, "calls"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def us(self, title: str, count: int) -> float:
        """Microseconds of a call, NaN if the library has none of this title."""
        sent, answers = self._process.stdin, self._process.stdout
        if sent is None or answers is None:
            raise RuntimeError("the worker has no pipes")
        sent.write(f"{title}\t{count}\n")
        sent.flush()
        line = answers.readline()
        if not line:
            raise RuntimeError("the worker process ended; see its error output above")
        return NONE if line == "none\n" else float(line) / count * 1e6

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def calls(pythons: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    """Microseconds of each call for each library."""
    workers = {package: Worker(python, package) for package, python in pythons.items()}
    rows = []
    for title in table():
        count = FEW if title == NEW else MANY
        found: dict[str, list[float]] = {package: [] for package in workers}
        for _ in range(rounds + 1):  # the first compiles
            for package, worker in workers.items():
                found[package].append(worker.us(title, count))
        rows.append(_row(title, "us", found))
    for worker in workers.values():
        worker.close()
    return rows


def programs(pythons: dict[str, str], rounds: int) -> list[dict[str, Any]]:
    """Seconds of whole programs, from process start to end."""
    rows = []
    for name in PROGRAMS:
        found: dict[str, list[float]] = {package: [] for package in pythons}
        for _ in range(rounds + 1):  # the first reads files into memory
            for package, python in pythons.items():
                started = time.perf_counter()
                command = _command(python, package, "program", name)
                done = subprocess.run(**command, check=True, capture_output=True)
                elapsed_s = time.perf_counter() - started
                found[package].append(NONE if done.stdout == "none\n" else elapsed_s)
        rows.append(_row(name, "s", found))
    return rows


def memory(pythons: dict[str, str]) -> list[dict[str, Any]]:
    """MB by which new shapes grow a process, for each thousand of them."""
    found = {}
    for package, python in pythons.items():
        command = _command(python, package, "memory", "5000")
        done = subprocess.run(**command, check=True, stdout=subprocess.PIPE)
        found[package] = [0.0, float(done.stdout) / 5]
    return [_row("memory of 1,000 new shapes", "MB", found)]


def _row(what: str, unit: str, found: dict[str, list[float]]) -> dict[str, Any]:
    """A row: the median of each library, and medians of each peer's values over modkit's."""
    times = {package: values[1:] for package, values in found.items()}
    row: dict[str, Any] = {"what": what, "unit": unit}
    row |= {package: _median(values) for package, values in times.items()}
    ours = times.pop("modkit")
    for package, theirs in times.items():
        ratios = [b / a for a, b in zip(ours, theirs, strict=True) if a]
        row[f"{package} / modkit"] = _median(ratios)
    words = (f"{v:.3g}" if isinstance(v, float) else str(v or "-") for v in row.values())
    print("  ".join(words), flush=True)
    return row


def _median(values: list[float]) -> float | None:
    """The median, None of a library that has no such call or program."""
    middle = statistics.median(values)
    return None if math.isnan(middle) else middle


def main() -> None:
    """Measure, print and save."""
    parser = command("imperative", __doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="calls only; nothing is saved")
    args = parser.parse_args()
    libraries = pythons("torch")
    ratios = [f"{package} / modkit" for package in libraries if package != "modkit"]
    print(", ".join(["what", "unit", *libraries, *ratios]))
    rows = calls(libraries, args.rounds)
    if not args.quick:
        rows += programs(libraries, max(1, args.rounds // 3)) + memory(libraries)
        save("imperative", rows)


if __name__ == "__main__":
    main()
