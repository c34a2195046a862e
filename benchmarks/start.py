"""How long modkit takes to start, in fresh processes that take turns.

    python -m benchmarks.start [--rounds N]

Imports beside ``import jax``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.measure import save

IMPORTS = {
    "import modkit": "import modkit",
    "from modkit.io import recordio": "from modkit.io import recordio",
    "import modkit, and mx.nd, mx.sym, mx.io, mx.mod used": (
        "import modkit as mx; mx.nd.array; mx.sym.var; mx.io.NDArrayIter; mx.mod.Module"
    ),
}

TIMED = """
import time
started = time.perf_counter()
{work}
print(time.perf_counter() - started)
"""


def seconds(work: str, env: Mapping[str, str] | None = None) -> float:
    """What a fresh process takes for some lines, without the start of Python itself."""
    done = subprocess.run(
        [sys.executable, "-c", TIMED.format(work=work)],
        check=True, capture_output=True, text=True, env={**os.environ, **(env or {})},
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def imports(rounds: int) -> list[dict[str, Any]]:
    """Each import beside ``import jax``."""
    rows = []
    for title, work in IMPORTS.items():
        pairs = [(seconds(work), seconds("import jax")) for _ in range(rounds + 1)][1:]
        rows.append(
            {
                "what": title,
                "ours_s": statistics.median(a for a, _ in pairs),
                "peer": "import jax",
                "peer_s": statistics.median(b for _, b in pairs),
                "ratio": statistics.median(a / b for a, b in pairs),
                "rounds": rounds,
            }
        )
    return rows


def main() -> int:
    """Measure, print, save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7, help="pairs of processes a row")
    rows = imports(parser.parse_args().rounds)
    for row in rows:
        print(
            f"{row['what']:<55} {row['ours_s'] * 1e3:7.0f} ms   {row['peer']} "
            f"{row['peer_s'] * 1e3:5.0f} ms   ratio {row['ratio']:.2f}"
        )
    print(f"wrote {save('start', rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
