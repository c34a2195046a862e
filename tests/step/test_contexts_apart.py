"""``kvstore=None``: contexts that train apart, from any state of a module and those beside it."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotReadyError
from tests.module.networks import assert_same, batches, mlp, values

pytestmark = [
    pytest.mark.filterwarnings("ignore:init_optimizer. kvstore=None"),
    pytest.mark.parametrize("where", [[mx.cpu(0)] * 2, [mx.cpu(0), mx.cpu(1)]], ids=["one", "two"]),
]
BATCH = batches(1, size=4, shape=(5,))[0]
SHAPES = [("data", (4, 5))], [("softmax_label", (4,))]


def bound(where, **options):
    module = mx.mod.Module(mlp(hidden=3), context=where)
    module.bind(*SHAPES, **options)
    mx.random.seed(5)
    module.init_params(mx.init.Xavier())
    return module


def choose(module, kvstore):
    module.init_optimizer(kvstore, "sgd", {"learning_rate": 1.0}, force_init=True)


def step(module):
    module.forward_backward(BATCH)
    module.update()


def outputs(module):
    module.forward(BATCH, is_train=False)
    return module.get_outputs()[0].asnumpy()


def test_modules_that_share_parameters_follow_a_change_to_and_fro(where):
    module = bound(where)
    beside = mx.mod.Module(mlp(hidden=3), context=where)
    beside.bind(*SHAPES, for_training=False, shared_module=module)
    outputs(beside)
    for kvstore in (None, "device", None):
        choose(module, kvstore)
        step(module)
        np.testing.assert_array_equal(outputs(beside), outputs(module))
        assert_same(values(beside), values(module))


@pytest.mark.parametrize("kvstore", ["device", None])
def test_a_change_that_fails_leaves_all_parameters(where, kvstore, monkeypatch):
    module = bound(where)
    choose(module, kvstore)
    step(module)
    before = values(module)
    home, calls = type(module._exec_group.store.home), []

    def failing(make):
        def call(*args):
            calls.append(args)
            if len(calls) == 2:
                raise MemoryError
            return make(*args)

        return call

    with monkeypatch.context() as patch:
        for name in ("share", "split"):
            patch.setattr(home, name, failing(getattr(home, name)))
        with pytest.raises(MemoryError):
            choose(module, "device" if kvstore is None else None)
    assert_same(values(module), before)
    choose(module, kvstore)
    assert_same(values(module), before)
    step(module)


@pytest.mark.parametrize("stores", [("device", None), (None, "device")], ids=str)
def test_modules_that_share_parameters_have_both_a_store_or_neither(where, stores):
    module = bound(where)
    beside = mx.mod.Module(mlp(hidden=3), context=where)
    beside.bind(*SHAPES, shared_module=module)
    for each, kvstore in zip((module, beside), stores, strict=True):
        choose(each, kvstore)
    step(beside)
    before = values(module)
    module.forward_backward(BATCH)
    with pytest.raises(NotReadyError, match=r"contexts (apart|as one), but they are kept"):
        module.update()
    assert_same(values(module), before)
    choose(module, stores[1])
    step(module)


def test_a_store_that_sums_again_has_the_parameters(where):
    module = bound(where)
    choose(module, None)
    step(module)
    choose(module, "device")
    for _ in range(2):
        step(module)
        for name, value in values(module).items():
            pulled = mx.nd.zeros(value.shape)
            module._kvstore.pull(name, out=pulled)
            np.testing.assert_allclose(pulled.asnumpy(), value, rtol=1e-6)


def test_arrays_of_executors_held_from_before_are_those_of_their_context(where):
    module = bound(where)
    held = module._exec_group.param_arrays
    choose(module, None)
    step(module)
    for own, now in zip(held, module._exec_group.param_arrays, strict=True):
        assert not np.allclose(own[0].asnumpy(), own[1].asnumpy())
        for before, after in zip(own, now, strict=True):
            np.testing.assert_array_equal(before.asnumpy(), after.asnumpy())
    held[0][1][:] = 3
    first, second = (each.asnumpy() for each in module._exec_group.param_arrays[0])
    assert (second == 3).all() and not (first == 3).any()


def test_gradients_held_from_before_are_those_of_the_present(where):
    module = bound(where, inputs_need_grad=True)
    module.forward_backward(BATCH)
    held = module._exec_group.grad_arrays[0], module.get_input_grads(merge_multi_context=False)[0]
    for kvstore in (None, "device"):
        choose(module, kvstore)
        step(module)
        group = module._exec_group
        now = group.grad_arrays[0], module.get_input_grads(merge_multi_context=False)[0]
        for before, after in zip(held, now, strict=True):
            assert not np.allclose(after[0].asnumpy(), after[1].asnumpy())
            for own, other in zip(before, after, strict=True):
                np.testing.assert_array_equal(own.asnumpy(), other.asnumpy())
    held[0][1][:] = 3
    assert (module._exec_group.grad_arrays[0][1].asnumpy() == 3).all()


def test_executors_run_alone_as_soon_as_contexts_train_apart(where):
    module = bound(where)
    choose(module, None)
    first, _ = module._exec_group.execs
    data, label = BATCH.data[0][:2], BATCH.label[0][:2]
    (out,) = first.forward(is_train=True, data=data, softmax_label=label)
    first.backward()
    module.forward(BATCH, is_train=False)
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy()[:2], out.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize("kvstore", [None, "device"])
def test_gradients_from_before_are_updated_with(where, kvstore):
    """A backward pass, its sum with a second one, and outputs that were not read."""
    found = []
    for first in (True, False):
        module = bound(where, grad_req="add")
        choose(module, "device" if kvstore is None else None)
        if first:
            choose(module, kvstore)
        module.forward_backward(BATCH)
        if not first:
            choose(module, kvstore)
            assert module.get_outputs()[0].shape == (4, 4)
        module.update()
        step(module)
        found.append(values(module))
    assert_same(*found)


def test_a_second_backward_after_the_change_needs_a_forward(where):
    module = bound(where)
    module.forward_backward(BATCH)
    choose(module, None)
    with pytest.raises(NotReadyError, match="call forward"):
        module.backward()
    module.update()
    step(module)


def test_kept_states_stay(where):
    state = mx.sym.Variable("h", shape=(2, 3))
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc") + state
    module = mx.mod.Module(mx.sym.MakeLoss(net), ("data",), None, state_names=["h"], context=where)
    module.bind([("data", (4, 5))])
    module.init_params(mx.init.Zero())
    module.set_states(value=3)
    for kvstore in (None, "device"):
        choose(module, kvstore)
        module.forward(mx.io.DataBatch([mx.nd.ones((4, 5))]), is_train=False)
        assert (module.get_outputs()[0].asnumpy() == 3).all()
        assert (module.get_states()[0].asnumpy() == 3).all()


def test_an_update_that_raises_leaves_the_parameters_of_all_contexts(where):
    class Interrupted(mx.optimizer.Optimizer):
        left = 7  # of eight: in the middle of the second context's

        def create_state(self, index, weight):
            return mx.nd.zeros(weight.shape, weight.ctx)

        def update(self, index, weight, grad, state):
            Interrupted.left -= 1
            if not Interrupted.left:
                raise KeyboardInterrupt
            state += 1
            weight -= grad

    module = bound(where)
    module.init_optimizer(None, Interrupted(rescale_grad=0.25))
    before = [[own.asnumpy() for own in each] for each in module._exec_group.param_arrays]
    with pytest.raises(KeyboardInterrupt):
        step(module)
    for own, values_before in zip(module._exec_group.param_arrays, before, strict=True):
        for array, value in zip(own, values_before, strict=True):
            np.testing.assert_array_equal(array.asnumpy(), value)
    states = module._updater.states.values()
    assert len(states) == 8 and not any(state.asnumpy().any() for state in states)
    step(module)
    assert all((state.asnumpy() == 1).all() for state in states)
