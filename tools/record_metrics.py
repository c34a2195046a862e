"""Record what Apache MXNet 1.9.1's metrics show, for `tests/metric/test_metric.py`.

It runs under the reference's python, never under this project's::

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
        OMP_NUM_THREADS=1 REFERENCE_PYTHON tools/record_metrics.py

and writes `tests/reference/metrics.json`: for each case of `tests/metric/cases.py` what `get`,
`get_global` and `num_inst` were after every update, after `reset_local` and after `reset`.
"""

import json
import platform
import sys
import warnings
from pathlib import Path

import mxnet as mx
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.metric.cases import CASES, run  # noqa: E402 - after the path is set


def wrap(value):
    return mx.nd.array(value, dtype=value.dtype)


def main():
    warnings.simplefilter("ignore")
    shown = {}
    for case in CASES:
        if case.name in shown:
            raise SystemExit(f"two cases are called {case.name!r}")
        shown[case.name] = run(mx.metric.create(case.metric, **case.kwargs), case, wrap)
    document = {
        "made by": "tools/record_metrics.py",
        "mxnet": mx.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    path = ROOT / "tests" / "reference" / "metrics.json"
    rows = ",\n".join(json.dumps(n) + ": " + json.dumps(v) for n, v in shown.items())
    text = json.dumps({**document, "shown": 0}).replace("0}", "{\n" + rows + "\n}}")
    path.write_text(text + "\n")
    print(f"{len(shown)} cases, {len(text)} bytes: {path}")


if __name__ == "__main__":
    main()
