"""Initial parameters and states take the memory of one copy."""

import tracemalloc

import numpy as np
import pytest

import modkit as mx
from modkit.ndarray.sparse_views import dense_view

SHAPE = 60_000, 5  # 1.2 MB


def _bound(stype="default"):
    data, normal = mx.sym.Variable("data", stype="csr"), mx.init.Normal()
    weight = mx.sym.Variable("weight", shape=SHAPE, stype=stype, init=normal)
    net = mx.sym.LinearRegressionOutput(mx.sym.dot(data, weight), mx.sym.Variable("label"))
    module = mx.mod.Module(net, label_names=["label"])
    module.bind([("data", (2, SHAPE[0]))], [("label", (2, SHAPE[1]))])
    module.init_params()
    return module


def test_a_first_step_may_donate_initial_parameters_and_no_given_ones():
    module = _bound()
    store = module._exec_group.store
    assert not store.aliased
    given = mx.nd.ones(SHAPE)
    module.set_params({"weight": given}, {})
    assert store.aliased == {store.params["weight"]}


def test_an_array_that_an_initializer_keeps_stays_as_it_is():
    kept = {}

    def initializer(name, array):
        array[:] = 0.25
        kept[name] = array, array[:1]

    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc"), name="softmax"
    )
    module = mx.mod.Module(net)
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params(initializer)
    module.init_optimizer()
    for _ in range(2):
        module.forward_backward(mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.zeros(2)]))
        module.update()
    assert module.get_params()[0]["fc_weight"].asnumpy()[0, 0] != 0.25
    for arrays in kept.values():
        assert all((array.asnumpy() == 0.25).all() for array in arrays)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_states_begin_without_copies_of_zeros_or_of_the_weight(stype):
    module = _bound(stype)
    module.init_optimizer("local", "sgd", {"momentum": 0.9})
    (index,) = module._present_updater.optimizer.idx2name
    (weight,) = module._exec_group.weights_of(["weight"])
    tracemalloc.start()
    state = module._present_updater.ensure_state(index, weight)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 100_000
    assert state.shape == SHAPE and not state.asnumpy().any()


def test_a_dense_array_seen_by_rows_is_read_as_it_is():
    array = mx.nd.array([[0, 0], [1, 2]])
    rows = dense_view(array._cell, mx.cpu())
    assert rows._cell is array._cell and rows.indices.asnumpy().tolist() == [1]
    copy = rows.asnumpy()
    copy[:] = 7
    np.testing.assert_array_equal(array.asnumpy(), [[0, 0], [1, 2]])
