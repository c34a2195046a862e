"""Record what MXNet 1.9.1's optimizers do to three small weights, for tests/optimizer.

Run it with a Python that has MXNet:

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
    OMP_NUM_THREADS=1 python tools/record_optimizers.py
"""

import sys
from pathlib import Path

import mxnet as mx
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "optimizer"))

import runs  # noqa: E402 - found through the line above


def main() -> None:
    """Write tests/reference/optimizers.npz."""
    figures = {}
    for run in runs.RUNS:
        name = runs.run_id(run)
        path, states = runs.play(mx, run)
        figures[name + "/path"] = path
        for i, arrays in enumerate(states):
            for j, array in enumerate(arrays):
                figures["{}/state{}.{}".format(name, i, j)] = array
    out = ROOT / "tests" / "reference" / "optimizers.npz"
    np.savez_compressed(str(out), **figures)
    sys.stderr.write("{}: {} arrays, {} bytes\n".format(out, len(figures), out.stat().st_size))


if __name__ == "__main__":
    main()
