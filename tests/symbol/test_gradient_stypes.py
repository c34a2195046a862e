"""Storage types of gradients that `simple_bind` makes: those of MXNet 1.9.1."""

import numpy as np
import pytest

import modkit as mx
from modkit.symbol.stypes import storage_of_gradients

S = mx.sym
OTHER = S.Variable("other", stype="row_sparse")

GRAPHS = {  # of a row-sparse array, and of a csr array
    "-square": (lambda x: S.negative(S.square(x)), "row_sparse", "csr"),
    "abs * 2": (lambda x: S.abs(x) * 2, "row_sparse", "csr"),
    "relu / 2": (lambda x: S.relu(x) / 2, "row_sparse", "csr"),
    "sign": (S.sign, "row_sparse", "csr"),
    "gradientmultiplier": (S.contrib.gradientmultiplier, "row_sparse", "csr"),
    "sum of ceil": (lambda x: S.sum(S.ceil(x)), "row_sparse", "csr"),
    "sin of BlockGrad": (lambda x: S.sin(S.BlockGrad(x)), "row_sparse", "csr"),
    "ones_like * 2": (lambda x: S.ones_like(x) * 2, "row_sparse", "csr"),
    "x + x": (lambda x: S.elemwise_add(x, x), "row_sparse", "default"),
    "x - other": (lambda x: S.elemwise_sub(x, OTHER), "row_sparse", "default"),
    "add_n": (lambda x: S.add_n(x, OTHER, x), "row_sparse", "default"),
    "two outputs": (lambda x: S.Group([S.negative(x), S.square(x)]), "row_sparse", "default"),
    "one of them by sin": (lambda x: S.Group([S.negative(x), S.sin(x)]), "default", "default"),
    "sin": (S.sin, "default", "default"),
    "sin of -x": (lambda x: S.sin(S.negative(x)), "default", "default"),
    "sum of square": (lambda x: S.sum(S.square(x)), "default", "default"),
    "x + 1": (lambda x: x + 1, "default", "default"),
    "x * x": (lambda x: S.elemwise_mul(x, x), "default", "default"),
    "make_loss": (lambda x: S.make_loss(S.square(x)), "default", "default"),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_gradients_of_sparse_variables(name):
    make, *expected = GRAPHS[name]
    for stype, wanted in zip(("row_sparse", "csr"), expected, strict=True):
        graph = make(S.Variable("x")).graph
        given = {"x": stype, "other": "row_sparse"}
        assert storage_of_gradients(graph, given)["x"] == wanted, stype


def test_such_gradients_have_all_values():
    executor = S.square(S.Variable("x", stype="row_sparse")).simple_bind(mx.cpu(), x=(3, 2))
    gradient = executor.grad_dict["x"]
    assert gradient.stype == "row_sparse"
    executor.arg_dict["x"][:] = mx.nd.array([[0, 0], [1, 2], [0, 3]]).tostype("row_sparse")
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3, 2)))
    np.testing.assert_array_equal(gradient.asnumpy(), [[0, 0], [2, 4], [0, 6]])
