"""Train the network that `recipes/fine_tuning.py` begins with, by Apache MXNet 1.9.1.

It runs under the reference's python, given scikit-learn's file of digits, and writes
`recipes/pretrained/digits-symbol.json` and `digits-0012.params`::

    MXNET_SUBGRAPH_BACKEND=NONE OMP_NUM_THREADS=1 \
        REFERENCE_PYTHON tools/record_pretrained.py .../sklearn/datasets/data/digits.csv.gz

The network learns the ten digits from the first 700 of the 1,797 images.
"""

import logging
import sys
from pathlib import Path

import mxnet as mx
import numpy as np

PREFIX = Path(__file__).parents[1] / "recipes" / "pretrained" / "digits"
EPOCHS, TRAINED = 12, 700


def images(path):
    """Images (N, 1, 8, 8) and their labels, in the order of `recipes/digits.py`."""
    table = np.loadtxt(path, delimiter=",")
    table = table[np.random.RandomState(0).permutation(len(table))][:TRAINED]
    return (table[:, :-1] / 16).reshape(-1, 1, 8, 8), table[:, -1]


def network():
    """Two convolutions and two dense layers."""
    net = mx.sym.Variable("data")
    for number, filters in enumerate((16, 32), 1):
        net = mx.sym.Convolution(
            net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{number}"
        )
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{number}")
        net = mx.sym.Pooling(
            net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{number}"
        )
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flatten"), num_hidden=64, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu3")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def main(path):
    """Train and save."""
    logging.basicConfig(level=logging.INFO)
    mx.random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - what NDArrayIter shuffles with
    PREFIX.parent.mkdir(exist_ok=True)
    module = mx.mod.Module(network())
    module.fit(
        mx.io.NDArrayIter(*images(path), batch_size=32, shuffle=True, last_batch_handle="discard"),
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
        initializer=mx.init.Xavier(),
        num_epoch=EPOCHS,
        epoch_end_callback=mx.callback.do_checkpoint(str(PREFIX), EPOCHS),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
