"""Record what Apache MXNet 1.9.1's initializers write, for `tests/initializer/test_initializer.py`.

It runs under the reference's python, never under this project's::

    MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine \
        OMP_NUM_THREADS=1 REFERENCE_PYTHON -m tools.record_initializers

and writes `tests/reference/initializers.json`: bilinear kernels, the parts of fused RNN parameter
vectors with their values, and the text of `dumps`, for the rows of `tests/initializer/cases.py`.
"""

import json

import mxnet as mx
import numpy as np

from tests.initializer.cases import BILINEAR, DUMPS, FUSED, fused_size, numbered
from tools.reference import FOLDER, need_environment, versions


def bilinear(shape):
    array = mx.nd.zeros(shape)
    mx.init.Bilinear()(mx.init.InitDesc("a_weight"), array)
    return array.asnumpy().ravel().tolist()


def fused(row):
    mode, layers, bidirectional, _, hidden = row
    inner = numbered(mx.init)
    array = mx.nd.zeros((fused_size(*row),))
    init = mx.init.FusedRNN(inner, hidden, layers, mode, bidirectional, forget_bias=2.5)
    init(mx.init.InitDesc("rnn_weight"), array)
    return {"seen": inner.seen, "values": array.asnumpy().tolist()}


def main():
    need_environment()
    names = {**vars(mx.init), "np": np}
    document = {
        "made by": "tools/record_initializers.py",
        **versions(mx),
        "bilinear": [bilinear(shape) for shape in BILINEAR],
        "fused": [fused(row) for row in FUSED],
        "dumps": [eval(text, names).dumps() for text in DUMPS],
    }
    path = FOLDER / "initializers.json"
    path.write_text(json.dumps(document) + "\n")
    print(f"{path.stat().st_size} bytes: {path}")


if __name__ == "__main__":
    main()
