"""Record figures of recurrent cells with MXNet 1.9.1 for tests/rnn.

Run with MXNET_SUBGRAPH_BACKEND=NONE MXNET_ENGINE_TYPE=NaiveEngine OMP_NUM_THREADS=1; oneDNN stays
on, which the fused operator needs.
"""

import json
import sys
from pathlib import Path

import mxnet as mx
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "rnn"))
import cases  # noqa: E402


def main():
    facts, figures = {}, {}
    for name in cases.CASES:
        facts[name], arrays = cases.run(mx, name)
        figures.update((f"{name}/{key}", value) for key, value in arrays.items())
    iterators = {name: cases.batches(mx, name) for name in cases.ITERATORS}
    folder = ROOT / "tests" / "reference"
    made_by = f"tools/record_rnn.py, MXNet {mx.__version__}"
    text = json.dumps(
        {"made_by": made_by, "cells": facts, "iterators": iterators}, separators=(",", ":")
    )
    (folder / "rnn.json").write_text(text + "\n")
    np.savez_compressed(str(folder / "rnn.npz"), **figures)


if __name__ == "__main__":
    main()
