"""A module's optimizer: who shares it, and its fields as attributes of the module."""

import numpy as np
import pytest

import modkit as mx
from tests.module.networks import batches, mlp, ready, values


def compressing(batch, params):
    module = mx.mod.Module(mlp(), context=[mx.cpu(0), mx.cpu(0)], compression_params=params)
    module.bind([("data", batch.data[0].shape)], [("softmax_label", batch.label[0].shape)])
    mx.random.seed(3)
    module.init_params(mx.init.Xavier())
    module.init_optimizer("device", "sgd", {"learning_rate": 0.1})
    return module


@pytest.mark.parametrize("own", [None, {"type": "2bit", "threshold": 0.5}], ids=["none", "other"])
def test_a_module_that_borrows_an_optimizer_compresses_as_its_owner_does(own):
    (batch,) = batches(1)
    params = {"type": "2bit", "threshold": 0.01}
    alone, owner = (compressing(batch, params) for _ in range(2))
    other = mx.mod.Module(mlp(), context=[mx.cpu(0), mx.cpu(0)], compression_params=own)
    other.bind(owner.data_shapes, owner.label_shapes, shared_module=owner)
    for module in (alone, other):
        module.forward_backward(batch)
        module.update()
    for name, value in values(alone).items():
        np.testing.assert_array_equal(values(owner)[name], value, err_msg=name)
    with pytest.raises(mx.errors.NotSupportedError, match="compression_params"):
        other.state_dict()


def test_its_fields_can_be_set_as_in_mxnet():
    class Early(mx.mod.Module):
        def __init__(self, symbol):
            self._optimizer = self._kvstore = "early"
            assert self._optimizer == "early"
            super().__init__(symbol)

    assert Early(mlp())._optimizer is None
    (batch,) = batches(1)
    owner = ready(mlp(), batch)
    borrower = mx.mod.Module(mlp())
    borrower.bind(owner.data_shapes, owner.label_shapes, shared_module=owner)
    kept, counted = owner._updater, mx.optimizer.SGD(learning_rate=0.5)
    borrower._updater = mx.optimizer.get_updater(counted)
    for module in (borrower, owner, borrower):
        module.forward_backward(batch)
        module.update()
    assert (counted.num_update, kept.optimizer.num_update) == (2, 1)
    assert owner._updater is kept
    assert borrower._present_optimizer is counted


def test_a_refused_optimizer_leaves_the_one_of_before():
    (batch,) = batches(1)
    module = mx.mod.Module(mlp())
    module.bind([("data", batch.data[0].shape)], [("softmax_label", batch.label[0].shape)])
    module.init_params()
    module.init_optimizer(optimizer="adam")
    with pytest.raises(mx.errors.ParameterError):
        module.init_optimizer("bogus", force_init=True)
    module.forward_backward(batch)
    module.update()
    assert type(module._optimizer) is mx.optimizer.Adam
