"""Record what Apache MXNet 1.9.1 says of some nets, for `tests/visualization/`.

It runs under the reference's python, never under this project's::

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
        OMP_NUM_THREADS=1 REFERENCE_PYTHON -m tools.record_visualization

and writes `tests/reference/visualization.json`: the text of `print_summary`, and the nodes and
edges of `plot_network`, for the rows of `tests/visualization/cases.py`.
"""

import json

import mxnet as mx

from tests.visualization.cases import PLOTS, SUMMARIES, plot, summary
from tools.reference import FOLDER, need_environment, versions


def main():
    need_environment()
    document = {
        "made by": "tools/record_visualization.py",
        **versions(mx),
        "summaries": [summary(mx.viz, mx.sym, row).splitlines() for row in SUMMARIES],
        "plots": [plot(mx.viz, mx.sym, row) for row in PLOTS],
    }
    path = FOLDER / "visualization.json"
    path.write_text(json.dumps(document) + "\n")
    print(f"{path.stat().st_size} bytes: {path}")


if __name__ == "__main__":
    main()
