"""Record what MXNet 1.9.1 computes with sparse arrays, for `tests/ndarray/test_sparse_values.py`.

It runs under the reference's python, never under this project's::

    MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0 REFERENCE_PYTHON -m tools.record_sparse

and writes `tests/reference/sparse.json`: the result of each expression of
`tests/ndarray/sparse_cases.py`, or ``null`` where it is refused, and the arrays of its programs.
"""

import json
import tempfile

import mxnet as mx

from tests.ndarray import sparse_cases as cases
from tools.reference import FOLDER, versions


def recorded(find, *given):
    try:
        return find(*given)
    except Exception:
        mx.autograd.set_recording(False)
        return None


def main():
    document = {
        "made by": "tools/record_sparse.py",
        **versions(mx),
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
    path = FOLDER / "sparse.json"
    path.write_text(json.dumps(document, indent=0) + "\n")


if __name__ == "__main__":
    main()
