"""Record a checkpoint of MXNet's own, its predictions, and a file of sparse arrays.

Run with the reference's Python, as ``command`` in the manifest says.
"""

import json
import platform
from pathlib import Path

import mxnet as mx
import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "reference" / "predictor"
COMMAND = (
    "MXNET_SUBGRAPH_BACKEND=NONE MXNET_MKLDNN_ENABLED=0 MXNET_ENGINE_TYPE=NaiveEngine "
    "OMP_NUM_THREADS=1 REFERENCE_PYTHON tools/record_predictor.py"
)


def convnet():
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.BatchNorm(net, fix_gamma=False, name="bn")
    net = mx.sym.Activation(net, act_type="relu", name="relu")
    net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flat"), num_hidden=5, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def record():
    FOLDER.mkdir(parents=True, exist_ok=True)
    mx.random.seed(3)
    stream = np.random.RandomState(3)
    x = stream.normal(size=(11, 2, 8, 8)).astype(np.float32)
    y = stream.randint(0, 5, 11).astype(np.float32)
    module = mx.mod.Module(convnet())
    module.bind([("data", (4, 2, 8, 8))], [("softmax_label", (4,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer("local", "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    for i in (0, 4):
        batch = mx.io.DataBatch([mx.nd.array(x[i : i + 4])], [mx.nd.array(y[i : i + 4])])
        module.forward_backward(batch)
        module.update()
    module.save_checkpoint(str(FOLDER / "convnet"), 2, save_optimizer_states=True)
    data = mx.io.NDArrayIter(x, batch_size=4)
    np.savez(FOLDER / "convnet.npz", x=x, y=module.predict(data).asnumpy())
    dense = mx.nd.array([[0, 0, 0], [1, 2, 3], [0, 0, 0], [4, 5, 6]])
    sparse = {"rows": dense.tostype("row_sparse"), "csr": dense.tostype("csr"), "dense": dense}
    mx.nd.save(str(FOLDER / "sparse.params"), sparse)
    manifest = {
        "made_by": "tools/record_predictor.py",
        "command": COMMAND,
        "versions": {
            "python": platform.python_version(),
            "mxnet": mx.__version__,
            "numpy": np.__version__,
        },
    }
    (FOLDER / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    record()
