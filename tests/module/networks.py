"""Small networks and batches for the module's tests."""

import functools

import numpy as np

import modkit as mx


def mlp(hidden=16, classes=4, name="fc"):
    """Two dense layers and a softmax loss."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=hidden, name=f"{name}1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh")
    net = mx.sym.FullyConnected(net, num_hidden=classes, name=f"{name}2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def convnet(classes=4):
    """A convolution with batch normalisation, and a softmax loss."""
    net = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.Activation(
        mx.sym.BatchNorm(net, fix_gamma=False, name="bn"), act_type="relu", name="relu"
    )
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=classes, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


@functools.cache
def _drawn(count, size, shape, classes, seed):
    stream = np.random.RandomState(seed)
    return [(stream.normal(size=(size, *shape)), stream.randint(0, classes, size))
            for _ in range(count)]  # fmt: skip


def batches(count=5, size=8, shape=(10,), classes=4, seed=3):
    """A list of batches, the same for the same seed."""
    drawn = _drawn(count, size, shape, classes, seed)
    return [mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array(label)]) for data, label in drawn]


def ready(symbol, batch, *, context=None, optimizer="sgd", seed=11, kvstore="local", **params):
    """A module bound for such batches, with the same parameters for the same seed."""
    module = mx.mod.Module(symbol, context=context or mx.cpu())
    module.bind([("data", batch.data[0].shape)], [("softmax_label", batch.label[0].shape)])
    mx.random.seed(seed)
    module.init_params(mx.init.Xavier())
    if isinstance(optimizer, str):
        params = {"learning_rate": 0.1, **params}
    module.init_optimizer(kvstore, optimizer, params)
    return module


def values(module):
    """Parameters and auxiliary states as NumPy arrays."""
    args, auxs = module.get_params()
    return {n: v.asnumpy() for n, v in (args | auxs).items()}


def assert_same(first, second, rtol=1e-5, atol=1e-6):
    """Compare two dictionaries of arrays."""
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_allclose(first[name], second[name], rtol, atol, err_msg=name)
