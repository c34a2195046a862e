"""Record what MXNet 1.9.1 computes with sparse arrays, for `tests/ndarray/test_sparse_values.py`.

It runs under the reference's python, never under this project's::

    MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0 REFERENCE_PYTHON tools/record_sparse.py

and writes `tests/reference/sparse.json`: the result of each expression of
`tests/ndarray/sparse_cases.py`, or ``null`` where it is refused, and the arrays of its programs.
"""

import importlib
import json
import platform
import sys
import tempfile
from pathlib import Path

import mxnet as mx
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

cases = importlib.import_module("tests.ndarray.sparse_cases")


def recorded(find, *given):
    try:
        return find(*given)
    except Exception:
        mx.autograd.set_recording(False)
        return None


def main():
    document = {
        "made by": "tools/record_sparse.py",
        "mxnet": mx.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "programs": {
            name: recorded(
                lambda run: [cases.described(x) for x in run(mx, cases.arrays(mx))], program
            )
            for name, program in cases.PROGRAMS.items()
        },
        "trained": {
            f"{name} {model}": [x.asnumpy().astype(float).round(6).tolist() for x in made]
            for name, model in cases.TRAINED
            for made in [cases.trained(mx, name, model)]
        },
        "half": {name: cases.half_trained(mx, name, tempfile.mkdtemp()) for name in cases.HALF},
        "several": {
            str(row): [x.asnumpy().astype(float).round(6).tolist() for x in made]
            for row in cases.SEVERAL
            for made in [cases.trained_on_two(mx, [mx.cpu(0), mx.cpu(1)], row)]
        },
        "expressions": {each: recorded(cases.found, mx, each) for each in cases.EXPRESSIONS},
    }
    path = ROOT / "tests" / "reference" / "sparse.json"
    path.write_text(json.dumps(document, indent=0) + "\n")


if __name__ == "__main__":
    main()
