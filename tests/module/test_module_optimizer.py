"""A module's optimizer: who shares it, and its fields as attributes of the module."""

import numpy as np
import pytest

import modkit as mx
from modkit.compile.executables import cache_info
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


@pytest.mark.slow  # programs of two modules are compiled
@pytest.mark.parametrize("bound", [True, False], ids=["bound", "bound later"])
def test_modules_of_different_parameters_share_the_states_of_a_borrowed_optimizer(bound):
    (batch,) = batches(1)
    owner, other = ready(mlp(), batch, momentum=0.9), mx.mod.Module(mlp())
    start = owner.get_params()
    if not bound:
        other.borrow_optimizer(owner)
    other.bind(owner.data_shapes, owner.label_shapes)
    other.init_params(None, *start)
    if bound:
        other.borrow_optimizer(owner)
    alone = mx.optimizer.get_updater(mx.optimizer.SGD(0.9, learning_rate=0.1, rescale_grad=1 / 8))
    weights = {m: {n: v.copy() for n, v in m.get_params()[0].items()} for m in (owner, other)}
    probe = ready(mlp(), batch)  # whose gradients are read; that of a module takes another path
    for module in (owner, owner, other, owner, other):
        probe.set_params(*module.get_params())
        for each in (probe, module):
            each.forward_backward(batch)
        module.update()
        grads = [g[0] for g in probe._exec_group.grad_arrays]
        for at, (name, weight) in enumerate(weights[module].items()):
            alone(at, grads[at], weight)
            np.testing.assert_allclose(values(module)[name], weight.asnumpy(), 1e-4, 1e-6)
    states = owner._updater.states
    np.testing.assert_allclose(states[0].asnumpy(), alone.states[0].asnumpy(), 1e-4, 1e-6)


def test_its_fields_can_be_set_as_in_mxnet():
    class Early(mx.mod.Module):
        def __init__(self, symbol):
            self._optimizer = self._kvstore = self._data_shapes = "early"
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


class Own:
    """An updater of a program's own, which has an optimizer as MXNet's has."""

    def __init__(self, optimizer):
        self.optimizer, self.states = optimizer, {}

    def __call__(self, index, grad, weight):
        self.optimizer.keys = (*vars(self.optimizer).get("keys", ()), index)


class Derived(mx.optimizer.Updater):
    """A subclass that calls itself."""

    __call__ = Own.__call__


@pytest.mark.parametrize("kind", [Own, Derived, mx.optimizer.Updater])
def test_an_updater_of_a_programs_own_is_called(kind, monkeypatch):
    monkeypatch.setattr(mx.optimizer.Updater, "__call__", Own.__call__)
    (batch,) = batches(1)
    module, store = mx.mod.Module(mlp()), mx.kv.create("local")
    module.bind([("data", batch.data[0].shape)], [("softmax_label", batch.label[0].shape)])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(store, mx.optimizer.SGD(rescale_grad=1 / 8))
    store._set_updater(kind(module._optimizer))
    before = values(module)
    module.forward_backward(batch)
    module.update()
    assert module._optimizer.keys == tuple(name.encode() for name in module._param_names)
    for name, value in values(module).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_a_refused_optimizer_leaves_the_one_of_before():
    (batch,) = batches(1)
    module = mx.mod.Module(mlp())
    module.bind([("data", batch.data[0].shape)], [("softmax_label", batch.label[0].shape)])
    module.init_params()
    module.init_optimizer(optimizer="adam")
    with pytest.raises(mx.errors.NameNotFoundError):
        module.init_optimizer(optimizer="bogus", force_init=True)
    module.forward_backward(batch)
    module.update()
    assert type(module._optimizer) is mx.optimizer.Adam


def test_a_gradient_that_a_program_writes_goes_to_the_update_from_the_host():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(mx.sym.tanh(net), label_names=None)
    module.bind([("data", (2, 4))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 1.0})
    batch = mx.io.DataBatch([mx.nd.ones((2, 4))], None)
    executables = []
    for change in (1.0, 0.0, 2.0):
        module.forward(batch, is_train=True)
        module.backward([mx.nd.zeros((2, 3))])
        weight, grads = module.get_params()[0]["fc_weight"], module._exec_group.grad_arrays
        for (grad,) in grads:
            if change:
                grad += change
                assert isinstance(grad._cell.unmoved(), np.ndarray)
            np.testing.assert_array_equal(grad.asnumpy(), np.full(grad.shape, change))
        module.update()
        for (grad,) in grads:
            assert isinstance(grad._cell.unmoved(), np.ndarray) == (change != 0), "it was placed"
        new = module.get_params()[0]["fc_weight"].asnumpy()
        np.testing.assert_array_equal(new, weight.asnumpy() - np.float32(change * 0.5))
        executables.append(cache_info()["graphs"].executables)
    assert len(set(executables)) == 1, "gradients on the host and on the device have one program"
