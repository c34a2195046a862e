"""Uses of a Module: bind, initialise, train, predict, save, load, reshape."""

import logging

import jax
import numpy as np
import optax
import pytest

import modkit as mx
from modkit.errors import ShapeError
from tests.module.networks import assert_same, batches, convnet, mlp, ready, values


def iterator(count=40, batch_size=8, shape=(10,), classes=4, **options):
    stream = np.random.RandomState(1)
    data = stream.normal(size=(count, *shape)).astype(np.float32)
    label = (data.reshape(count, -1)[:, :classes]).argmax(1).astype(np.float32)
    return mx.io.NDArrayIter(data, label, batch_size, **options)


def test_fit_learns_and_calls_back(caplog):
    caplog.set_level(logging.INFO)
    calls = []
    module = mx.mod.Module(mlp())
    module.fit(
        iterator(shuffle=True),
        eval_data=iterator(),
        num_epoch=30,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.02},
        initializer=mx.init.Xavier(),
        batch_end_callback=lambda p: calls.append(("batch", p.epoch, p.nbatch)),
        epoch_end_callback=lambda epoch, symbol, args, auxs: calls.append(("epoch", epoch)),
        eval_end_callback=lambda p: calls.append(("eval", p.epoch)),
    )
    assert module.score(iterator(), "acc")[0][1] > 0.9
    assert [c for c in calls if c[0] == "batch"][:6] == [
        ("batch", 0, n) for n in range(5)
    ] + [("batch", 1, 0)]  # fmt: skip
    assert [c[1] for c in calls if c[0] == "epoch"] == list(range(30))
    assert [c[1] for c in calls if c[0] == "eval"] == list(range(30))
    text = caplog.text
    assert "Epoch[0] Train-accuracy=" in text
    assert "Epoch[29] Validation-accuracy=" in text


def test_fit_compiles_one_step_for_all_epochs(compilations):
    module = mx.mod.Module(mlp(hidden=9, name="once"))
    schedule = mx.lr_scheduler.FactorScheduler(step=3, factor=0.5, base_lr=0.1)
    work = {
        "num_epoch": 4,
        "optimizer_params": {"learning_rate": 0.1, "momentum": 0.9, "lr_scheduler": schedule},
    }
    names = compilations.during(lambda: module.fit(iterator(), **work))
    assert names.count("step") == 1
    assert set(names) - {"step"} <= {"_uniform", "_threefry_split", "uniform", "_make", "run"}


def test_a_run_repeats_with_its_seed():
    reached = []
    for _ in range(2):
        mx.random.seed(5)
        np.random.seed(5)  # noqa: NPY002 - what NDArrayIter shuffles with
        net = mx.sym.Dropout(mx.sym.Variable("data"), p=0.5, name="drop")
        net = mx.sym.SoftmaxOutput(
            mx.sym.FullyConnected(net, num_hidden=4, name="fc"), name="softmax"
        )
        module = mx.mod.Module(net)
        module.fit(iterator(shuffle=True), num_epoch=3, initializer=mx.init.Xavier())
        reached.append(values(module))
    assert_same(*reached, rtol=0, atol=0)


def test_checkpoint_and_states_continue_exactly(tmp_path):
    prefix = str(tmp_path / "net")
    data = batches(8, shape=(2, 6, 6))
    whole = ready(convnet(), data[0], optimizer="adam", learning_rate=0.01)
    for batch in data[:4]:
        whole.forward_backward(batch)
        whole.update()
    whole.save_checkpoint(prefix, 4, save_optimizer_states=True)
    resumed = mx.mod.Module.load(prefix, 4, load_optimizer_states=True)
    resumed.bind([("data", (8, 2, 6, 6))], [("softmax_label", (8,))])
    resumed.init_optimizer(
        optimizer="adam", optimizer_params={"learning_rate": 0.01, "begin_num_update": 4}
    )
    for batch in data[4:]:
        for module in (whole, resumed):
            module.forward_backward(batch)
            module.update()
    assert_same(values(resumed), values(whole), rtol=1e-6)


def test_params_file_round_trips(tmp_path):
    data = batches(1, shape=(2, 6, 6))
    first = ready(convnet(), data[0], seed=1)
    second = ready(convnet(), data[0], seed=2)
    first.save_params(str(tmp_path / "p.params"))
    second.load_params(str(tmp_path / "p.params"))
    assert_same(values(first), values(second), rtol=0, atol=0)


def test_predict_drops_padding_and_score_counts_it():
    module = mx.mod.Module(mlp())
    module.bind([("data", (8, 10))], [("softmax_label", (8,))], for_training=False)
    module.init_params(mx.init.Xavier())
    source = iterator(count=21)
    merged = module.predict(source)
    assert merged.shape == (21, 4)
    parts = module.predict(source, merge_batches=False)
    assert [p[0].shape[0] for p in parts] == [8, 8, 5]
    np.testing.assert_array_equal(np.concatenate([p[0].asnumpy() for p in parts]), merged.asnumpy())
    assert isinstance(module.predict(source, always_output_list=True), list)
    assert module.predict(source, num_batch=2).shape == (16, 4)
    assert source.cursor == 16  # MXNet 1.9.1: the batch beyond them has been read
    assert module.predict(source, num_batch=0) == [] and source.cursor == 0
    assert module.predict(source, num_batch=-1).shape == (21, 4)
    assert [(n, len(o), b.pad) for o, n, b in module.iter_predict(source)] == [
        (0, 1, 0), (1, 1, 0), (2, 1, 3)
    ]  # fmt: skip
    assert module.predict(mx.nd.ones((8, 10))).shape == (8, 4)


def test_predict_compiles_nothing_to_drop_padding(compilations):
    module = mx.mod.Module(mlp(hidden=11))
    module.bind([("data", (8, 10))], [("softmax_label", (8,))], for_training=False)
    module.init_params(mx.init.Xavier())
    made = compilations.during(lambda: module.predict(iterator(count=21)), primitives=True)
    assert set(made) <= {"forward"}, "small networks are run by NumPy, and a part of an output read"
    assert module.predict(iterator(count=21)).shape == (21, 4)


def test_input_gradients():
    data = batches(1)[0]
    module = mx.mod.Module(mlp())
    module.bind([("data", (8, 10))], [("softmax_label", (8,))], inputs_need_grad=True)
    module.init_params(mx.init.Xavier())
    module.forward_backward(data)
    (grad,) = module.get_input_grads()
    assert grad.shape == (8, 10)
    assert np.abs(grad.asnumpy()).max() > 0


def test_input_gradients_that_nothing_writes_are_none():
    module = mx.mod.Module(mlp())
    shapes = [("data", (8, 10))], [("softmax_label", (8,))]
    module.bind(*shapes, inputs_need_grad=True, grad_req="null")
    module.init_params(mx.init.Xavier())
    module.forward_backward(batches(1)[0])
    assert module.get_input_grads() == [None]
    assert module.get_input_grads(merge_multi_context=False) == [[None]]


def test_fixed_parameters_stay():
    data = batches(3)
    module = mx.mod.Module(mlp(), fixed_param_names=["fc1_weight"])
    module.bind([("data", (8, 10))], [("softmax_label", (8,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.5, "wd": 0.1})
    before = values(module)
    for batch in data:
        module.forward_backward(batch)
        module.update()
    after = values(module)
    np.testing.assert_array_equal(before["fc1_weight"], after["fc1_weight"])
    assert np.abs(before["fc2_weight"] - after["fc2_weight"]).max() > 0


def test_multipliers_of_variables_are_used():
    weight = mx.sym.Variable("w", lr_mult=0.0)
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), weight=weight, num_hidden=4, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    data = batches(1)[0]
    module.bind([("data", (8, 10))], [("softmax_label", (8,))])
    module.init_params(mx.init.Xavier(), arg_params={"w": mx.nd.ones((4, 10))}, allow_missing=True)
    module.init_optimizer()
    module.forward_backward(data)
    module.update()
    np.testing.assert_array_equal(values(module)["w"], 1)


def test_heads_that_are_no_losses_take_gradients():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (2, 5))], inputs_need_grad=True)
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 1.0, "rescale_grad": 1.0})
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 5))]), is_train=True)
    module.backward([mx.nd.ones((2, 3)) * 2])
    np.testing.assert_allclose(module.get_input_grads()[0].asnumpy(), 6)
    module.update()
    np.testing.assert_allclose(values(module)["fc_weight"], 1 - 4)


def test_states_are_kept_from_batch_to_batch():
    state = mx.sym.Variable("state")
    out = mx.sym.Variable("data") + state
    module = mx.mod.Module(
        mx.sym.Group([out, out * 2]), label_names=None, state_names=["state"],
        context=[mx.cpu(0), mx.cpu(1)],
    )  # fmt: skip
    module.bind([("data", (4, 2))], for_training=False)
    module.init_params()
    module.set_states(value=1)
    batch = mx.io.DataBatch([mx.nd.ones((4, 2))])
    module.forward(batch)
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), 2)
    module.set_states(states=[module.get_outputs(merge_multi_context=False)[0]])
    module.forward(batch)
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), 3)
    assert module.get_states()[0].shape == (4, 2)
    for dtype in ("int32", "float16"):  # MXNet 1.9.1 casts them
        module.set_states(states=[mx.nd.full((4, 2), 3, dtype=dtype)])
        module.forward(batch)
        np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), 4)


@pytest.mark.parametrize("count", [1, 2])
def test_states_are_those_of_every_length_and_of_modules_that_share_parameters(count):
    contexts = [mx.cpu(i) for i in range(count)]
    out = mx.sym.sum(mx.sym.Variable("data"), axis=1) + mx.sym.Variable("state")

    def made():
        return mx.mod.Module(out, label_names=None, state_names=["state"], context=contexts)

    def states(module):
        return np.concatenate([s.asnumpy() for s in module.get_states(False)[0]]).tolist()

    module = made()
    module.bind([("data", (2, 5))], for_training=False)
    module.init_params()
    module.set_states(value=7)
    module.reshape([("data", (2, 3))])
    assert states(module) == [7, 7]
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 4))]))
    assert states(module) == [7, 7]
    assert module.get_outputs()[0].asnumpy().tolist() == [11, 11]
    other = made()
    other.bind([("data", (2, 2))], for_training=False, shared_module=module)
    assert states(other) == [7, 7]
    other.set_states(value=3)
    assert states(module) == [3, 3]
    module.bind([("data", (2, 3))], for_training=False, force_rebind=True)
    assert states(module) == [0, 0]  # new arrays, as those of the parameters


@pytest.mark.parametrize("numbers", [(0, 1), (0, 0)])  # of devices
def test_states_of_several_contexts_stay_where_a_batch_is_not_cut_evenly(numbers):
    state = mx.sym.Variable("state", shape=(1,))
    module = mx.mod.Module(
        mx.sym.broadcast_add(mx.sym.Variable("data"), state), label_names=None,
        state_names=["state"], context=[mx.cpu(number) for number in numbers],
    )  # fmt: skip
    module.bind([("data", (4,))], for_training=False)
    module.init_params()

    def run(size):
        module.forward(mx.io.DataBatch([mx.nd.zeros((size,))]))
        return module.get_outputs()[0].asnumpy().tolist()

    module.set_states(states=[[mx.nd.array([3]), mx.nd.array([5])]])
    assert run(4) == [3, 3, 5, 5]
    assert run(5) == [3, 3, 5, 5, 5]
    module.set_states(states=[[mx.nd.array([2]), mx.nd.array([7])]])
    assert run(5) == [2, 2, 7, 7, 7]
    assert run(4) == [2, 2, 7, 7]
    assert [s.asscalar() for s in module.get_states(False)[0]] == [2, 7]


def test_reshape_keeps_parameters_and_optimizer():
    data = batches(1)[0], batches(1, size=4)[0]
    module = ready(mlp(), data[0], momentum=0.9)
    module.forward_backward(data[0])
    module.update()
    before = values(module)
    module.reshape([("data", (4, 10))], [("softmax_label", (4,))])
    assert_same(values(module), before, rtol=0, atol=0)
    module.forward_backward(data[1])
    module.update()
    assert module.output_shapes == [("softmax_output", (4, 4))]
    assert module.get_outputs()[0].shape == (4, 4)


def test_force_rebind_keeps_parameters():
    data = batches(1)[0]
    module = ready(mlp(), data)
    before = values(module)
    module.bind([("data", (2, 10))], [("softmax_label", (2,))], force_rebind=True)
    assert_same(values(module), before, rtol=0, atol=0)


def test_modules_that_share_parameters():
    data = batches(2)
    trained = ready(mlp(), data[0])
    other = mx.mod.Module(mlp())
    other.bind([("data", (3, 10))], for_training=False, label_shapes=[("softmax_label", (3,))],
               shared_module=trained)  # fmt: skip
    for batch in data:
        trained.forward_backward(batch)
        trained.update()
    assert_same(values(other), values(trained), rtol=0, atol=0)


def test_an_optax_transformation_is_an_optimizer():
    data = batches(5)
    reached = []
    for optimizer in (optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1)), None):
        module = mx.mod.Module(mlp())
        module.bind([("data", (8, 10))], [("softmax_label", (8,))])
        mx.random.seed(1)
        module.init_params(mx.init.Xavier())
        if optimizer is not None:
            module.init_optimizer(optimizer=optimizer)
            for batch in data:
                module.forward_backward(batch)
                module.update()
        else:
            _by_hand(module, data)
        reached.append(values(module))
    assert_same(*reached, rtol=1e-4, atol=1e-6)


def _by_hand(module, data):
    transform = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1))
    params = dict(values(module))
    state = transform.init(params)

    @jax.jit
    def updated(grads, state, params):
        updates, state = transform.update({n: g / 8 for n, g in grads.items()}, state, params)
        return optax.apply_updates(params, updates), state

    for batch in data:
        module.set_params({n: mx.nd.array(np.asarray(p)) for n, p in params.items()}, {})
        module.forward_backward(batch)
        grads = {
            n: g[0].asnumpy()
            for n, g in zip(
                module._exec_group.param_names, module._exec_group.grad_arrays, strict=True
            )
        }
        params, state = updated(grads, state, params)
    module.set_params({n: mx.nd.array(np.asarray(p)) for n, p in params.items()}, {})


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_with_master_weights(dtype):
    net = mx.sym.Cast(mx.sym.Variable("data"), dtype=dtype)
    net = mx.sym.FullyConnected(net, num_hidden=4, name="fc")
    net = mx.sym.SoftmaxOutput(mx.sym.Cast(net, dtype="float32"), name="softmax")
    module = mx.mod.Module(net)
    module.bind([("data", (8, 10))], [("softmax_label", (8,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "multi_precision": True}
    )
    for batch in batches(3):
        module.forward_backward(batch)
        module.update()
    _, master = module._updater.states[0]
    assert str(module.get_params()[0]["fc_weight"].to_jax().dtype) == dtype
    assert master.dtype == np.float32
    np.testing.assert_allclose(
        values(module)["fc_weight"].astype(np.float32), master.asnumpy(), rtol=1e-2
    )


def test_a_monitor_sees_every_operator():
    data = batches(1)[0]
    for context in (mx.cpu(), [mx.cpu(0), mx.cpu(1)]):
        module = ready(mlp(), data, context=context)
        monitor = mx.mon.Monitor(1, pattern=".*", sort=True)
        module.install_monitor(monitor)
        monitor.tic()
        module.forward_backward(data)
        names = {n for _, n, _ in monitor.toc()}
        assert {
            "fc1_output", "tanh_output", "softmax_output", "fc1_weight", "data",
            "fc1_backward_output0", "softmax_backward_output1",
        } <= names  # fmt: skip
        module.update()


@pytest.mark.parametrize("error", [ShapeError, RuntimeError, KeyboardInterrupt])
def test_a_bind_that_fails_half_way_changes_nothing(error, monkeypatch):
    """Any class of error leaves the module and a shared store as they were."""
    data = batches(1)[0]
    module = ready(mlp(), data)
    group, before = module._exec_group, values(module)
    binding, slots = group.binding, set(group.store.params)
    other = mx.mod.Module(mlp())

    def refused(*args, **kwargs):
        raise error("refused")

    with monkeypatch.context() as patch:
        patch.setattr("modkit.module.binding.Bound", refused)
        with pytest.raises(error, match="refused"):
            other.bind([("data", (8, 10))], [("softmax_label", (8,))], shared_module=module)
        with pytest.raises(error, match="refused"):
            module.reshape([("data", (4, 10))], [("softmax_label", (4,))])
    assert not other.binded
    assert group.binding is binding
    assert set(group.store.params) == slots
    assert_same(values(module), before, rtol=0, atol=0)
    module.forward_backward(data)
    module.update()
    assert module.get_outputs()[0].shape == (8, 4)


@pytest.mark.parametrize("begin", ["fit", "init_optimizer"])
def test_a_warning_of_the_scale_names_the_line_of_its_caller(begin):
    module, data = mx.mod.Module(mlp()), mx.io.NDArrayIter(np.zeros((8, 10)), np.zeros(8), 4)
    module.bind(data.provide_data, data.provide_label)
    module.init_params()
    with pytest.warns(UserWarning, match="rescale_grad is 1.0.* by its name gets") as seen:
        if begin == "fit":
            module.fit(data, num_epoch=1, optimizer=mx.optimizer.SGD())
        else:
            module.init_optimizer(optimizer=mx.optimizer.SGD())
    assert seen[0].filename == __file__
