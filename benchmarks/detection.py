"""Operators of detection beside MXNet 1.9.1, up to 20,000 anchors or regions.

    MODKIT_REFERENCE=/path/to/mxnet's/python python -m benchmarks.detection
    MODKIT_REFERENCE=/path/to/mxnet's/python python -m benchmarks.detection --only 0,1 --rounds 9

The libraries take turns, by executors. Times are processor time on one core, as in
`benchmarks.sweep`. The table in README.md is generated.
"""

from __future__ import annotations

import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.detection_work import ROWS
from benchmarks.measure import machine
from benchmarks.report import put, table_row
from benchmarks.sweep import Figures, Workers, described, ratio, say
from benchmarks.turns import command, pythons


def page(found: list[Figures]) -> str:
    """The generated part of README.md."""
    here = machine()
    lines = [
        f"{here['processor']}, JAX {here['jax']}, {here['date']}.",
        "",
        table_row("operator", "data", "modkit ms", "MXNet ms", "MXNet ÷ modkit"),
        table_row(*["---"] * 5),
    ]
    for each in found:
        ours, theirs = (statistics.median(each["ms"][name]) for name in ("modkit", "mxnet"))
        row = ROWS[each["number"]]
        lines.append(
            table_row(*described(row), f"{ours:.3g}", f"{theirs:.3g}", f"{1 / ratio(each):.2f}")
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and render the table."""
    parser = command("detection", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="numbers of rows; the table stays as it is")
    args = parser.parse_args()
    numbers = [int(n) for n in args.only.split(",")] if args.only else range(len(ROWS))
    found = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        workers = Workers(pythons(), "benchmarks.detection_work", Path(folder))
        running.callback(workers.close)
        for number in numbers:
            found.append(workers.measure(number, args.rounds))
            say(ROWS[number], found[-1])
    if not args.only and all(len(each["ms"]) == 2 for each in found):
        put(Path(__file__).with_name("README.md"), "detection", page(found))


if __name__ == "__main__":
    main()
