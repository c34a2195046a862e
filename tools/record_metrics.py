"""Record what Apache MXNet 1.9.1's metrics show, for `tests/metric/test_metric.py`.

It runs under the reference's python, never under this project's::

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
        OMP_NUM_THREADS=1 REFERENCE_PYTHON -m tools.record_metrics

and writes `tests/reference/metrics.json`: for each case of `tests/metric/cases.py` what `get`,
`get_global` and `num_inst` were after every update, after `reset_local` and after `reset`.
"""

import json
import warnings

import mxnet as mx

from tests.metric.cases import CASES, run
from tools.reference import FOLDER, need_environment, versions


def wrap(value):
    return mx.nd.array(value, dtype=value.dtype)


def main():
    need_environment()
    warnings.simplefilter("ignore")
    shown = {}
    for case in CASES:
        if case.name in shown:
            raise SystemExit(f"two cases are called {case.name!r}")
        shown[case.name] = run(mx.metric.create(case.metric, **case.kwargs), case, wrap)
    document = {"made by": "tools/record_metrics.py", **versions(mx)}
    path = FOLDER / "metrics.json"
    rows = ",\n".join(json.dumps(n) + ": " + json.dumps(v) for n, v in shown.items())
    text = json.dumps({**document, "shown": 0}).replace("0}", "{\n" + rows + "\n}}")
    path.write_text(text + "\n")
    print(f"{len(shown)} cases, {len(text)} bytes: {path}")


if __name__ == "__main__":
    main()
