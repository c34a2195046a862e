"""A sweep over layers drawn at random, as published networks have them, beside MXNet 1.9.1.

    MODKIT_REFERENCE=/path/to/mxnet's/python python -m benchmarks.sweep
    MODKIT_REFERENCE=/path/to/mxnet's/python python -m benchmarks.sweep --only 17,40 --rounds 7

Each layer runs forward and backward by an executor, the libraries in turn. It looks for cliffs:
layers that take more than CLIFF times MXNet's time. They are measured a second time at the end, by
workers that start anew. Times are processor time on one core, which a busy machine changes little.
The figures are in results/sweep.json, the slowest ones in README.md.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.layers_work import Row
from benchmarks.measure import RESULTS, save
from benchmarks.report import put, table_row
from benchmarks.sweep_work import rows
from benchmarks.turns import LeftOut, Process, command, environment, pythons

CLIFF = 3.0
SHOWN = 25
LIMIT_S = 120.0
TURN_MS = 60.0
RENEWED = 50  # layers of a worker, whose memory grows by its programs
Figures = dict[str, Any]

_SETTINGS = {"OMP_NUM_THREADS": "1", "MODKIT_ALLOCATOR": "large"}
"""A worker binds small layers before large ones, whose first bind would set up the allocator."""


class Workers:
    """A worker process of each library, started anew after a while and after a failure."""

    def __init__(self, pythons: dict[str, str], module: str, folder: Path, *last: object):
        self._pythons, self._module, self._folder = pythons, module, folder
        self._last = [str(each) for each in last]
        self._open: dict[str, Process] = {}
        self._held = 0

    def close(self) -> None:
        """End the processes."""
        while self._open:
            self._open.popitem()[1].close()

    def _worker(self, library: str) -> Process:
        if library not in self._open:
            command = [self._pythons[library], "-m", self._module, library, *self._last]
            self._open[library] = Process(
                command,
                self._folder / f"{library}.err",
                environment("cpu") | _SETTINGS,
            )
        return self._open[library]

    def _ask(self, library: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._worker(library).ask(message, LIMIT_S)
        except LeftOut as reason:
            self._open.pop(library).close()
            return {"failed": str(reason)}

    def measure(self, number: int, rounds: int) -> Figures:
        """Processor milliseconds of the first steps and of a step, of each library."""
        if self._held == RENEWED:
            self.close()
            self._held = 0
        self._held += 1
        found: Figures = {"number": number, "first_ms": {}, "ms": {}, "failed": {}}
        for library in self._pythons:
            answer = self._ask(library, {"hold": number})
            if "failed" in answer:
                found["failed"][library] = answer["failed"]
            else:
                found["first_ms"][library] = answer["used_s"] * 1e3
        steps: dict[str, int] = {}
        for turn in range(rounds + 1):
            for library in [each for each in self._pythons if each not in found["failed"]]:
                answer = self._ask(library, {"run": steps.get(library, 1)})
                if "failed" in answer:
                    found["failed"][library] = answer["failed"]
                    continue
                ms = answer["used_s"] * 1e3 / steps.get(library, 1)
                if turn:
                    found["ms"].setdefault(library, []).append(ms)
                else:
                    steps[library] = max(1, min(1000, round(TURN_MS / ms)))
        return found


def ratio(figures: Figures) -> float | None:
    """Time of modkit over time of MXNet, as a median over rounds."""
    if len(figures["ms"]) < 2:
        return None
    pairs = zip(figures["ms"]["modkit"], figures["ms"]["mxnet"], strict=True)
    return statistics.median(ours / theirs for ours, theirs in pairs)


def described(row: Row) -> tuple[str, str]:
    """A layer's title, and its shapes."""
    return row.title, " ".join("x".join(map(str, shape)) for shape in row.shapes.values())


def page(found: list[Figures], seed: int, count: int) -> str:
    """The generated part of README.md: a summary, and the slowest layers."""
    layers = rows(seed, count)
    measured = [(each, ratio(each)) for each in found]
    slow = sorted(((r, f) for f, r in measured if r is not None), key=lambda one: -one[0])
    ratios = [r for r, _ in slow]
    lines = [
        f"{len(found)} layers, of which {len(ratios)} run in both libraries. Time of modkit ÷ time "
        f"of MXNet: median {statistics.median(ratios):.2f}, above 1.5 "
        f"{sum(r > 1.5 for r in ratios)} layers, above {CLIFF:g} {sum(r > CLIFF for r in ratios)}.",
        "",
        table_row("number", "layer", "data", "modkit ms", "MXNet ms", "modkit ÷ MXNet"),
        table_row(*["---"] * 6),
    ]
    for r, each in slow[:SHOWN]:
        ms = (f"{statistics.median(each['ms'][library]):.3g}" for library in ("modkit", "mxnet"))
        lines.append(
            table_row(str(each["number"]), *described(layers[each["number"]]), *ms, f"{r:.2f}")
        )
    for each in found:
        for library, reason in each["failed"].items():
            title = described(layers[each["number"]])[0]
            lines += ["", f"{library} does not run {each['number']}, {title}: {reason}"]
    return "\n".join(lines)


def say(row: Row, figures: Figures) -> None:
    """Print a layer's figures."""
    ms = (figures["ms"].get(library) for library in ("modkit", "mxnet"))
    told = (f"{statistics.median(each):9.3g}" if each else f"{'–':>9}" for each in ms)
    found = ratio(figures)
    title, shapes = described(row)
    print(figures["number"], *told, f"{found:7.2f}" if found else f"{'–':>7}", title, shapes,
          *figures["failed"].values(), flush=True)  # fmt: skip


def main() -> None:
    """Measure, print, save, and render the table."""
    parser = command("sweep", __doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="numbers of layers; the other rows stay")
    args = parser.parse_args()
    layers = rows(args.seed, args.count)
    numbers = [int(n) for n in args.only.split(",")] if args.only else range(len(layers))
    found: dict[int, Figures] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        workers = Workers(pythons(), "benchmarks.sweep_work", Path(folder), args.seed, args.count)
        running.callback(workers.close)
        for number in numbers:
            found[number] = workers.measure(number, args.rounds)
            say(layers[number], found[number])
        workers.close()
        again = [number for number, each in found.items() if (ratio(each) or 0) > CLIFF]
        for number in again:
            found[number] = workers.measure(number, 2 * args.rounds)
            say(layers[number], found[number])
    if len(pythons()) < 2:
        return
    if args.only:
        kept = json.loads((RESULTS / "sweep.json").read_text())["rows"]
        found = {each["number"]: each for each in kept} | found
    save("sweep", list(found.values()))
    put(Path(__file__).with_name("README.md"), "sweep",
        page(list(found.values()), args.seed, args.count))  # fmt: skip


if __name__ == "__main__":
    main()
