"""Reading and writing parameter and record files: modkit, and MXNet if available.

    MODKIT_REFERENCE=/path/to/mxnet's/python python -m benchmarks.files --mib 1024
    MODKIT_REFERENCE=/path/to/mxnet's/python python -m benchmarks.files --mib 2560 --memory

Each library runs in its own process on its own files, in turn. By default the files are in
memory if it is large enough (``--folder`` selects another place), so that the disk is not
measured. modkit's ``save`` flushes to disk, MXNet's does not.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import machine, pairs, save

WORK = Path(__file__).with_name("files_work.py")
MEMORY = Path("/dev/shm")
TASKS = {
    "save": "save all arrays",
    "load": "load all arrays, again",
    "load_one": "get one array of 64",
    "write_records": "write records, indexed",
    "read_records": "read records in order",
    "read_indexed": "read records by key",
}


FIRST = "load all arrays, first"
MEMORY_ROWS = ("memory to load", "memory to save")


class Worker:
    """A process that runs tasks."""

    def __init__(self, python: str, package: str, folder: Path, mib: int):
        folder.mkdir()
        self._command = [python, str(WORK), package, str(folder)]
        self._process = self._start(str(mib))
        self.records = int(self._answer().split()[1])

    def _start(self, what: str) -> subprocess.Popen[str]:
        root = WORK.parent.parent
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONWARNINGS": "ignore"}
        return subprocess.Popen(
            [*self._command, what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def once(self, what: str) -> list[float]:
        """The numbers printed by a new process for a single task."""
        with self._start(what) as process:
            return list(map(float, process.communicate()[0].split()))

    def run(self, task: str, times: int) -> None:
        """Run a task ``times`` times."""
        if self._process.stdin is None:
            raise RuntimeError("the worker has no input")
        self._process.stdin.write(f"{task} {times}\n")
        self._process.stdin.flush()
        self._answer()

    def _answer(self) -> str:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise RuntimeError("the worker process ended; see its error output above")
        return line

    def close(self) -> None:
        """End the process; its files stay."""
        if self._process.poll() is None:
            self._process.communicate()


@contextlib.contextmanager
def workers(reference: str | None, folder: Path | None, mib: int) -> Iterator[list[Worker]]:
    """A worker for modkit, and one for MXNet if its Python is given."""
    where = folder or (MEMORY if MEMORY.is_dir() and free_mib() > 6 * mib else None)
    with tempfile.TemporaryDirectory(dir=where) as place, contextlib.ExitStack() as started:
        made = []
        for python, package in ((sys.executable, "modkit"), (reference, "mxnet")):
            if python:
                made.append(Worker(python, package, Path(place) / package, mib))
                started.callback(made[-1].close)
        yield made


def free_mib() -> float:
    """Available memory in MiB; 0 if the system does not report it."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return int(next(n for n in lines if n.startswith("MemAvailable")).split()[1]) / 1024
    return 0


def alone(worker: Worker, task: str, rounds: int) -> dict[str, Any]:
    """Milliseconds of a task, as the median over rounds."""
    times = []
    for _ in range(rounds + 1):
        started = time.perf_counter()
        worker.run(task, 1)
        times.append((time.perf_counter() - started) * 1e3)
    return {"ours_ms": statistics.median(times[1:]), "rounds": rounds, "steps": 1}


def measure(made: list[Worker], task: str, rounds: int) -> dict[str, Any]:
    """The figures of one task."""
    if len(made) == 1:
        return alone(made[0], task, rounds)
    ours, peer = made
    return pairs(lambda n: ours.run(task, n), lambda n: peer.run(task, n), 1, rounds)


def first_loads(made: list[Worker], rounds: int) -> dict[str, Any]:
    """The figures of the first load in a process, which includes page faults."""
    times = [[1e3 * each.once("first")[0] for each in made] for _ in range(rounds)]
    row: dict[str, Any] = {"rounds": rounds, "steps": 1}
    row |= zip(
        ("ours_ms", "peer_ms"), map(statistics.median, zip(*times, strict=True)), strict=False
    )
    if len(made) > 1:
        ratios = [ours / peer for ours, peer in times]
        row |= {"ratio": statistics.median(ratios), "ratio_range": [min(ratios), max(ratios)]}
    return row


def memory(made: list[Worker]) -> Iterator[tuple[str, dict[str, float]]]:
    """Peak memory growth of a new process, per byte of the arrays."""
    for each in made:
        each.close()  # frees its memory
    printed = [each.once("memory") for each in made]
    for words, figures in zip(MEMORY_ROWS, zip(*printed, strict=True), strict=True):
        yield words, dict(zip(("ours_per_byte", "peer_per_byte"), figures, strict=False))


def all_figures(made: list[Worker], rounds: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Descriptions of the tasks, with their figures."""
    yield FIRST, first_loads(made, rounds)
    for task, words in TASKS.items():
        yield words, measure(made, task, rounds)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print a table, and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = 1024 if free_mib() > 8 * 1024 else 128
    parser.add_argument("--mib", type=int, default=default, help="size of the .params file")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--memory", action="store_true", help="measure memory only")
    parser.add_argument("--folder", type=Path, help="where the files are")
    args = parser.parse_args(arguments)
    rows = []
    columns = "modkit      MXNet" if args.memory else "modkit ms  MXNet ms   ratio   (range)"
    print(f"{f'{args.mib} MiB':<28}{columns}")
    with workers(os.environ.get("MODKIT_REFERENCE"), args.folder, args.mib) as made:
        for words, figures in () if args.memory else all_figures(made, args.rounds):
            rows.append({"task": words, "mib": args.mib, "records": made[0].records, **figures})
            print(f"{words:<26}{figures['ours_ms']:>11.1f}{compared(figures)}", flush=True)
        for words, per_byte in memory(made):
            rows.append({"task": words, "mib": args.mib, **per_byte})
            figures = "".join(f"{each:>11.2f}" for each in per_byte.values())
            print(f"{words:<26}{figures}   times the arrays", flush=True)
    print(machine())
    save("memory" if args.memory else "files", rows)


def compared(row: dict[str, Any]) -> str:
    """The reference's part of a line."""
    if "peer_ms" not in row:
        return f"{'-':>10}"
    low, high = row["ratio_range"]
    return f"{row['peer_ms']:>10.1f}{row['ratio']:>8.2f}   ({low:.2f} to {high:.2f})"


if __name__ == "__main__":
    main()
