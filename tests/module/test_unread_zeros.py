"""Zeros that a bind makes are written only when somebody reads them."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import ShapeError


def _bound(dtype="float32", grad_req="write"):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([mx.io.DataDesc("data", (2, 3), dtype)], grad_req=grad_req)
    return module


def _unread(slots):
    """Names of the values that no device has read."""
    return [n for n, slot in slots.items() if isinstance(slot._present(), np.ndarray)]


def test_a_bind_and_a_first_step_write_no_zeros():
    module = _bound()
    store = module._exec_group.store
    assert set(_unread(store.params)) == set(_unread(store.grads)) == {"fc_weight", "fc_bias"}
    module.init_params()
    assert not _unread(store.params)
    assert len(_unread(store.grads)) == 2
    batch = mx.io.DataBatch([mx.nd.ones((2, 3))])
    module.forward(batch, is_train=True)
    module.backward([mx.nd.ones((2, 4))])
    assert (module._exec_group.grad_arrays[1][0].asnumpy() == 2).all()


def test_gradients_that_nobody_has_read_are_added_to():
    module = _bound(grad_req="add")
    module.init_params()
    for _ in range(2):
        module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))]), is_train=True)
        module.backward([mx.nd.ones((2, 4))])
    assert (module._exec_group.grad_arrays[1][0].asnumpy() == 4).all()


def test_parameters_that_are_missing_are_zeros_of_their_type():
    module = _bound("float64")
    given = {"fc_weight": mx.nd.ones((4, 3), dtype="float64")}
    module.set_params(given, {}, allow_missing=True)
    parameters, _ = module.get_params()
    assert {str(np.dtype(each.dtype)) for each in parameters.values()} == {"float64"}
    assert not parameters["fc_bias"].asnumpy().any()


def test_an_initializer_that_writes_a_part_leaves_zeros():
    class Corner(mx.init.Initializer):
        def _init_weight(self, _, arr):
            arr[0] = 1

        _init_bias = _init_weight

    module = _bound()
    module.init_params(Corner())
    parameters, _ = module.get_params()
    np.testing.assert_array_equal(parameters["fc_bias"].asnumpy(), [1, 0, 0, 0])
    np.testing.assert_array_equal(parameters["fc_weight"].asnumpy(), np.eye(4)[:, :1] * np.ones(3))


@pytest.mark.parametrize("make", [np.ones, mx.nd.ones])
def test_a_write_of_another_shape_is_refused(make):
    """For each of their sources."""
    array = mx.nd.zeros((3,))
    with pytest.raises(ShapeError):
        array[:] = make((2, 3))
