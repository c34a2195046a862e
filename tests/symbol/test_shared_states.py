"""Moving statistics that several layers share change in the order of MXNet's backward pass.

Figures: moving means of MXNet 1.9.1, without oneDNN, after a forward and a backward pass.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import modkit as mx

SAMPLES, UNITS = 4, 2
STATES = ("gamma", "beta", "moving_mean", "moving_var")
SHARED = {n: mx.sym.Variable(n) for n in STATES}
WEIGHTS = {n: mx.sym.Variable(n) for n in ("w", "w1", "w2")}


def dense(x, name, weight="w"):
    return mx.sym.FullyConnected(x, WEIGHTS[weight], no_bias=True, num_hidden=UNITS, name=name)


def norm(x, name):
    return mx.sym.BatchNorm(x, **SHARED, fix_gamma=False, momentum=0.5, name=name)


def branch(number, weight="w"):
    return norm(dense(mx.sym.Variable(f"data{number}"), f"fc{number}", weight), f"bn{number}")


def loss(x):
    return mx.sym.MakeLoss(mx.sym.sum(mx.sym.square(x)))


def chain():
    x = mx.sym.Variable("data1")
    for step in range(3):
        x = mx.sym.tanh(norm(dense(x, f"fc{step}"), f"bn{step}"))
    return loss(x)


NETWORKS = {
    "siamese": lambda: loss(branch(1) - 2 * branch(2)),
    "turned": lambda: loss(2 * branch(2) - branch(1)),
    "untied": lambda: loss(branch(1, "w1") - 2 * branch(2, "w2")),
    "blocked": lambda: loss(branch(1) - 2 * mx.sym.BlockGrad(branch(2))),
    "triplet": lambda: loss(mx.sym.Concat(branch(1), branch(2), branch(3))),
    "bare branch": lambda: loss(branch(1) - 2 * norm(mx.sym.Variable("data2"), "bn2")),
    "chain": chain,
}

DIFFERENTIATED = {
    "weights": ("w", "w1", "w2"),
    "first": ("data1", "w", "w1", "w2", "gamma"),
    "all": ("data1", "data2", "data3", *WEIGHTS, "gamma", "beta"),
}
MOVING_MEANS = {
    "siamese": ([2.5403, -2.1257], [2.6299, -2.0598], [2.6299, -2.0598]),
    "turned": ([2.6299, -2.0598], [2.6299, -2.0598], [2.5403, -2.1257]),
    "untied": ([4.4058, 4.1883], [4.4058, 4.1883], [4.4058, 4.1883]),
    "blocked": ([2.5403, -2.1257], [2.6299, -2.0598], [2.6299, -2.0598]),
    "triplet": ([3.0349, -2.6078], [3.2106, -2.6587], [3.2106, -2.6587]),
    "bare branch": ([1.6338, -1.4611], [1.9087, 0.7365], [1.9087, 0.7365]),
    "chain": ([2.0454, -1.7888], [2.0454, -1.7888], [2.0454, -1.7888]),
}
"""By network, in the order of `DIFFERENTIATED`."""


def value(name, shape):
    draws = np.random.RandomState(zlib.crc32(name.encode()))
    return draws.normal(len(name) * 0.5, 1, shape).astype("float32")


def moving_mean(network, differentiated):
    arguments = network.list_arguments()
    executor = network.simple_bind(
        mx.cpu(), {n: "write" if n in differentiated else "null" for n in arguments},
        **{n: (SAMPLES, UNITS) for n in arguments if n.startswith("data")},
    )  # fmt: skip
    for name, array in executor.arg_dict.items():
        array[:] = value(name, array.shape)
    executor.forward(is_train=True)
    executor.backward()
    return executor.aux_dict["moving_mean"].asnumpy()


@pytest.mark.parametrize("kind", DIFFERENTIATED)
@pytest.mark.parametrize("name", NETWORKS)
def test_the_order_of_writing_is_that_of_the_backward_pass(name, kind):
    found = moving_mean(NETWORKS[name](), DIFFERENTIATED[kind])
    expected = MOVING_MEANS[name][list(DIFFERENTIATED).index(kind)]
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_a_module_writes_them_in_this_order_too():
    module = mx.mod.Module(NETWORKS["siamese"](), data_names=("data1", "data2"), label_names=None)
    module.bind([(n, (SAMPLES, UNITS)) for n in ("data1", "data2")])
    arguments = {
        n: mx.nd.array(value(n, s))
        for n, s in (("w", (UNITS, UNITS)), ("gamma", (UNITS,)), ("beta", (UNITS,)))
    }
    states = {"moving_mean": mx.nd.zeros(UNITS), "moving_var": mx.nd.ones(UNITS)}
    module.init_params(arg_params=arguments, aux_params=states)
    module.init_optimizer()
    batch = mx.io.DataBatch([mx.nd.array(value(n, (SAMPLES, UNITS))) for n in ("data1", "data2")])
    module.forward_backward(batch)
    module.update()
    found = module.get_params()[1]["moving_mean"].asnumpy()
    np.testing.assert_allclose(found, MOVING_MEANS["siamese"][0], atol=2e-4)
