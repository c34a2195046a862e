"""Networks to quantize, built by either library; it runs under the reference's Python 3.8 too."""

import numpy as np

COUNT, BATCH = 32, 8


def plain(mx):
    """Affine maps alone, which the reference runs in 8 bits on CPUs."""
    x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1")
    x = mx.sym.Activation(x, act_type="relu", name="r1")
    x = mx.sym.FullyConnected(x, num_hidden=5, no_bias=True, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def deep(mx):
    """Convolution, batch normalization, a branch that is added, pooling, and affine maps."""
    data = mx.sym.Variable("data")
    x = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, name="c1")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name="bn1")
    x = mx.sym.Activation(x, act_type="relu", name="r1")
    side = mx.sym.Convolution(x, kernel=(1, 1), num_filter=4, no_bias=True, name="c2")
    x = mx.sym.elemwise_add(x, side, name="sum")
    x = mx.sym.concat(x, side, dim=1, name="both")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="p1")
    x = mx.sym.FullyConnected(mx.sym.Flatten(x, name="fl"), num_hidden=6, name="fc1")
    x = mx.sym.Activation(x, act_type="tanh", name="t1")
    x = mx.sym.FullyConnected(x, num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


NETWORKS = {"plain": (plain, (10,)), "deep": (deep, (2, 6, 6))}

CALLS = [
    ("plain", {"calib_mode": "none"}),
    ("plain", {"calib_mode": "naive"}),
    ("plain", {"calib_mode": "naive", "quantized_dtype": "auto"}),
    ("plain", {"calib_mode": "entropy"}),
    ("plain", {"calib_mode": "entropy", "quantized_dtype": "auto", "num_calib_examples": 16}),
    ("plain", {"calib_mode": "naive", "excluded_sym_names": ["fc2"], "quantize_mode": "full"}),
    ("deep", {"calib_mode": "none", "quantize_mode": "full"}),
    ("deep", {"calib_mode": "naive", "num_calib_examples": 16}),
    ("deep", {"calib_mode": "naive", "quantized_dtype": "auto", "excluded_sym_names": ["c1"]}),
    ("deep", {"calib_mode": "naive", "quantized_dtype": "uint8", "quantize_mode": "full"}),
    ("deep", {"calib_mode": "entropy"}),
    ("deep", {"calib_mode": "naive", "excluded_op_names": ["FullyConnected"]}),
]
"""Networks, and arguments of ``quantize_model``."""


def images(name):
    """Data of a network, with labels."""
    data = np.random.RandomState(0).uniform(0, 1, (COUNT, *NETWORKS[name][1]))
    return data.astype("float32"), np.zeros(COUNT, "float32")


def iterator(mx, name):
    """Batches of a network's data."""
    return mx.io.NDArrayIter(*images(name), BATCH, label_name="softmax_label")


def parameters(mx, symbol, name):
    """Arguments and auxiliary states from fixed seeds."""
    shape = (BATCH, *NETWORKS[name][1])
    args, _, states = symbol.infer_shape(data=shape)
    stream = np.random.RandomState(1)
    found = {}
    for names, shapes in (
        (symbol.list_arguments(), args),
        (symbol.list_auxiliary_states(), states),
    ):
        for each, size in zip(names, shapes):  # noqa: B905 - Python 3.8
            low, high = (0.5, 1.5) if each.endswith(("gamma", "var")) else (-0.7, 0.8)
            values = stream.uniform(low, high, size).astype("float32")
            if each not in ("data", "softmax_label"):
                found[each] = mx.nd.array(values)
    arguments = {n: v for n, v in found.items() if n in symbol.list_arguments()}
    return arguments, {n: v for n, v in found.items() if n not in arguments}
