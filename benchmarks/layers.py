"""Single layers, forward and backward: modkit, and MXNet 1.9.1 if available.

    MODKIT_REFERENCE=/path/to/mxnet's/python python -m benchmarks.layers
    MODKIT_REFERENCE=/path/to/mxnet's/python python -m benchmarks.layers relu lstm --rounds 5

Each library runs a layer in its own process, with equal inputs and equal cotangents. The results
are compared; then the libraries take turns. New figures replace those of the same layer in
results/layers.json, from which the table in README.md is generated.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.layers_work import ROWS
from benchmarks.measure import RESULTS, machine, save
from benchmarks.report import Result, machines, put, table_row
from benchmarks.rounds import interpreter
from benchmarks.turns import LeftOut, Process, command, environment, take_turns

LIBRARIES = {"modkit": "modkit", "mxnet": "MXNet"}
SETUP_S = 60.0
TURN_MS = 150.0
MOST_STEPS = 1000
TOLERANCE = 0.01


class Worker(Process):
    """A process that runs one layer of one library."""

    def __init__(self, library: str, python: str, name: str, folder: Path):
        self._kept = folder / f"{library}.npz"
        super().__init__(
            [python, "-m", "benchmarks.layers_work", library, name],
            folder / f"{library}.err",
            environment("cpu"),
        )

    def set_up(self, limit_s: float) -> None:
        """Run the first steps and choose the number of steps of a turn.

        Raises:
            LeftOut: the library cannot compute the layer, or not within the limit.
        """
        self.ask({"keep": str(self._kept)}, limit_s)
        ms = self.ask({"run": 1}, limit_s)["ms"]
        self.steps = min(MOST_STEPS, max(1, round(TURN_MS / ms)))

    def computed(self) -> dict[str, np.ndarray]:
        """Outputs and gradients."""
        with np.load(self._kept) as arrays:
            return dict(arrays)


def distance(
    ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray], drawn: bool = False
) -> float | None:
    """The largest relative distance between arrays of equal name; infinite if shapes differ.

    ``None`` for random values (``drawn``), of which only the shapes are compared.
    """
    if {n: a.shape for n, a in ours.items()} != {n: a.shape for n, a in theirs.items()}:
        return math.inf
    if drawn:
        return None
    tiny = np.finfo(np.float32).tiny
    apart = [
        np.linalg.norm(ours[name] - theirs[name]) / max(np.linalg.norm(theirs[name]), tiny)
        for name in ours
    ]
    return float(np.max(apart))  # NaN if a distance is NaN


def measure(
    name: str, pythons: dict[str, str], rounds: int, limit_s: float = SETUP_S
) -> dict[str, Any]:
    """The results of one layer.

    Args:
        name: the layer, a key of ROWS.
        pythons: the interpreter of each library.
        rounds: number of turns of each library.
        limit_s: time limit of a library for its first steps.

    Returns:
        The entry of results/layers.json.
    """
    failed: dict[str, str] = {}
    workers: dict[str, Worker] = {}
    apart = None
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        for library, python in pythons.items():
            worker = Worker(library, python, name, Path(folder))
            running.callback(worker.close)
            try:
                worker.set_up(limit_s)
            except LeftOut as reason:
                failed[library] = str(reason)
            else:
                workers[library] = worker
        if len(workers) == len(LIBRARIES):
            ours, theirs = (workers[library].computed() for library in LIBRARIES)
            apart = distance(ours, theirs, ROWS[name].random)
        try:
            take_turns(list(workers.values()), rounds)
        except LeftOut as reason:
            failed |= dict.fromkeys(workers, f"a worker ended: {reason}")
            workers = {}
    return {
        "machine": machine(),
        "ms": {library: [one["ms"] for one in each.rounds] for library, each in workers.items()},
        "others": {k: [one["others"] for one in each.rounds] for k, each in workers.items()},
        "steps": {library: each.steps for library, each in workers.items()},
        "disagreement": apart,
        "failed": failed,
    }


def ratio(row: Result) -> float | None:
    """Time of MXNet over time of modkit: the median over rounds."""
    if len(row["ms"]) < len(LIBRARIES):
        return None
    pairs = zip(row["ms"]["mxnet"], row["ms"]["modkit"], strict=True)
    return statistics.median(theirs / ours for theirs, ours in pairs)


def figures(row: Result) -> list[str]:
    """Milliseconds of each library, and their ratio."""
    times = (row["ms"].get(library) for library in LIBRARIES)
    ms = [f"{statistics.median(each):.3g}" if each else "–" for each in times]
    found = ratio(row)
    return [*ms, f"{found:.2f}" if found else "–"]


def remarks(row: Result) -> str:
    """Reasons for a missing or unreliable figure."""
    said = [f"{LIBRARIES[library]}: {reason}" for library, reason in row["failed"].items()]
    apart = row["disagreement"]
    if apart is not None and not apart < TOLERANCE:
        said.append(f"results are {apart:.2g} apart")
    return "; ".join(said)


def page(rows: dict[str, Result]) -> str:
    """The generated part of README.md, sorted by ratio: modkit's slowest layers first."""

    def place(name: str) -> float:
        return ratio(rows[name]) or math.inf

    columns = ["layer", "data", *(f"{each} ms" for each in LIBRARIES.values())]
    columns += ["MXNet ÷ modkit", "date", "remarks"]
    lines = [machines(rows), "", table_row(*columns), table_row(*["---"] * len(columns))]
    for name in sorted(rows, key=place):
        data = "x".join(map(str, next(iter(ROWS[name].shapes.values()))))
        date, said = rows[name]["machine"]["date"], remarks(rows[name]).replace("|", "\\|")
        lines.append(table_row(ROWS[name].title, data, *figures(rows[name]), date, said))
    return "\n".join(lines)


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = command("layers", __doc__)
    parser.add_argument("names", nargs="*", help="all layers, or some of " + ", ".join(ROWS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for what is kept")
    parser.add_argument("--readme", type=Path, default=Path(__file__).with_name("README.md"))
    args = parser.parse_args(arguments)
    if unknown := set(args.names) - set(ROWS):
        parser.error(f"not known: {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    return args


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and save the figures, and render all saved ones."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # workers end too
    args = _arguments(arguments)
    pythons = {"modkit": sys.executable}
    try:
        pythons["mxnet"] = interpreter("mxnet")[0]
    except LeftOut as reason:
        print(f"only modkit's times: {reason}")
    kept = args.results / "layers.json"
    rows = json.loads(kept.read_text())["rows"] if kept.exists() else {}
    print(f"{'layer':<20}{'modkit ms':>10}{'MXNet ms':>10}{'ratio':>8}")
    for name in args.names or ROWS:
        rows[name] = row = measure(name, pythons, args.rounds)
        save("layers", rows, args.results)
        ours, theirs, found = figures(row)
        print(f"{name:<20}{ours:>10}{theirs:>10}{found:>8}  {remarks(row)}".rstrip(), flush=True)
    put(args.readme, "layers", page({name: rows[name] for name in ROWS if name in rows}))


if __name__ == "__main__":
    main()
