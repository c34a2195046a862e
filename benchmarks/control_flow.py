"""`foreach` over 100 steps beside the same network unrolled: modkit, and MXNet if available.

    MODKIT_REFERENCE=/path/to/mxnet's/python python -m benchmarks.control_flow

Each figure is of processes of their own, which take turns, without a disk cache; medians over
rounds. The gradients of all of them are compared.
"""

from __future__ import annotations

import os
import statistics
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.control_flow_work import FORMS
from benchmarks.measure import save
from benchmarks.turns import command, pythons

WORK = Path(__file__).with_name("control_flow_work.py")
PASSES = 30


class Figures(NamedTuple):
    """Times of one process.

    Attributes:
        first_s: seconds from binding to the end of the first pass.
        step_ms: median milliseconds of a later pass.
        gradient: sum of the absolute values of a gradient, equal for all.
    """

    first_s: float
    step_ms: float
    gradient: float


def process(python: str, package: str, form: str) -> Figures:
    """Run one form by one library."""
    own = {"PYTHONPATH": str(WORK.parent.parent), "MODKIT_CACHE": "off", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [python, str(WORK), package, form, str(PASSES)],
        env=os.environ | own, check=True, text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    return Figures(*map(float, done.stdout.split()))


def main() -> None:
    """Measure, print and save."""
    parser = command("control_flow", __doc__)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    kinds = [(package, form) for package in pythons() for form in FORMS]
    found: dict[tuple[str, str], list[Figures]] = {kind: [] for kind in kinds}
    for _ in range(args.rounds):
        for (package, form), figures in found.items():
            figures.append(process(pythons()[package], package, form))
    sums = [each.gradient for figures in found.values() for each in figures]
    if max(sums) - min(sums) > 1e-3 * max(sums):
        raise SystemExit(f"gradients differ between libraries or forms: {sums}")
    rows: list[dict[str, Any]] = []
    for (package, form), figures in found.items():
        first_s = statistics.median(each.first_s for each in figures)
        step_ms = statistics.median(each.step_ms for each in figures)
        rows.append({"library": package, "form": form, "first_s": first_s, "step_ms": step_ms})
        print(f"{package}  {form}  first pass {first_s:.2f} s  a step {step_ms:.1f} ms", flush=True)
    save("control_flow", rows)


if __name__ == "__main__":
    main()
