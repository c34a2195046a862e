"""Record ``mx.image`` of Apache MXNet 1.9.1 for `tests/image/test_image.py`.

It runs under the reference's python, never under this project's::

    REFERENCE_PYTHON tools/record_image.py

and writes `tests/reference/image.npz`: the arrays of each case in `tests/image/cases.py`.
"""

import importlib
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "image"))
cases = importlib.import_module("cases")
mx = importlib.import_module("mxnet")


def main():
    """Record all cases."""
    arrays = {}
    for name in cases.CASES:
        for at, array in enumerate(cases.run(mx, name)):
            arrays[f"{name}/{at}"] = array
    path = ROOT / "tests" / "reference" / "image.npz"
    np.savez_compressed(str(path), **arrays)
    print(f"{path.name}: {len(cases.CASES)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
