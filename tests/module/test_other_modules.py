"""Bucketing, sequential and Python modules."""

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotReadyError, NotSupportedError, ParameterError
from tests.module.networks import assert_same, batches, mlp, values


def sym_gen(length):
    """A sum over steps that share one weight."""
    data = mx.sym.Variable("data")
    weight, bias = mx.sym.Variable("step_weight"), mx.sym.Variable("step_bias")
    steps = mx.sym.SliceChannel(data, num_outputs=length, axis=1, squeeze_axis=True, name="cut")
    total = None
    for i in range(length):
        step = mx.sym.FullyConnected(
            steps[i], weight=weight, bias=bias, num_hidden=4, name=f"step{i}"
        )
        total = step if total is None else total + step
    return mx.sym.SoftmaxOutput(total, name="softmax"), ("data",), ("softmax_label",)


def bucket_batch(length, seed):
    stream = np.random.RandomState(seed)
    shape = (6, length, 5)
    return mx.io.DataBatch(
        [mx.nd.array(stream.normal(size=shape))],
        [mx.nd.array(stream.randint(0, 4, 6))],
        bucket_key=length,
        provide_data=[mx.io.DataDesc("data", shape)],
        provide_label=[mx.io.DataDesc("softmax_label", (6,))],
    )


def bucketing(optimizer="sgd", **params):
    module = mx.mod.BucketingModule(sym_gen, default_bucket_key=4)
    first = bucket_batch(4, 0)
    module.bind(first.provide_data, first.provide_label)
    mx.random.seed(3)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer=optimizer, optimizer_params={"learning_rate": 0.1, **params})
    return module


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_buckets_train_one_set_of_parameters(optimizer):
    order = [4, 2, 3, 4, 2, 2, 3, 4]
    module = bucketing(optimizer)
    alone = {n: bucketing(optimizer) for n in (0,)}[0]
    metric = mx.metric.create("acc")
    for seed, length in enumerate(order):
        batch = bucket_batch(length, seed)
        module.prepare(batch)
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)
        alone.forward(batch, is_train=True)
        alone.get_outputs()[0].asnumpy()
        alone.backward()
        alone.update()
    assert sorted(module._buckets) == [2, 3, 4]
    assert_same(values(module), values(alone))
    assert metric.num_inst == 6 * len(order)
    shared = [m.get_params()[0]["step_weight"].asnumpy() for m in module._buckets.values()]
    np.testing.assert_array_equal(shared[0], shared[1])


def test_dirty_parameters_are_those_of_all_buckets():
    module = bucketing()
    for dirty in (True, False):
        module._params_dirty = dirty  # as programs written for MXNet do
        assert module._params_dirty is dirty


def test_buckets_compile_once_each(compilations):
    module = bucketing()
    for seed, length in enumerate([4, 2, 4, 2]):
        batch = bucket_batch(length, seed)
        module.forward_backward(batch)
        module.update()
    batch = bucket_batch(2, 9)
    assert compilations.during(lambda: (module.forward_backward(batch), module.update())) == []


def test_buckets_are_saved_and_loaded(tmp_path, caplog):
    module = bucketing()
    for length in (4, 2):
        module.forward_backward(bucket_batch(length, 1))
        module.update()
    prefix = str(tmp_path / "b")
    with caplog.at_level("INFO"):
        module.save_checkpoint(prefix, 3)
    assert caplog.messages == []
    (keys,) = mx.nd.load(f"{prefix}.buckets")  # MXNet's own load() looks for them
    assert (keys.asnumpy().tolist(), keys.dtype) == ([4, 2], np.int32)
    loaded = mx.mod.BucketingModule.load(prefix, 3, sym_gen=sym_gen, default_bucket_key=4)
    assert sorted(loaded.get_params()[0]) == sorted(module.get_params()[0])
    first = bucket_batch(4, 0)
    loaded.bind(first.provide_data, first.provide_label)
    assert_same(values(loaded), values(module), rtol=0, atol=0)


def test_modules_in_a_row_equal_one_module():
    first = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=16, name="fc1")
    first = mx.sym.Activation(first, act_type="tanh", name="tanh")
    second = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc2")
    second = mx.sym.SoftmaxOutput(second, name="softmax")
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(first, label_names=None))
    chain.add(mx.mod.Module(second), take_labels=True, auto_wiring=True)
    whole = mx.mod.Module(mlp())
    data = batches(4)
    reached = []
    for module in (chain, whole):
        module.bind([("data", (8, 10))], [("softmax_label", (8,))])
        stream = np.random.RandomState(0)
        shapes = {
            "fc1_weight": (16, 10),
            "fc1_bias": (16,),
            "fc2_weight": (4, 16),
            "fc2_bias": (4,),
        }
        given = {n: mx.nd.array(stream.normal(size=s)) for n, s in shapes.items()}
        for part in getattr(module, "_modules", [module]):
            own = {n: given[n] for n in part._param_names}
            part.init_params(arg_params=own, aux_params={})
        module.params_initialized = True
        module.init_optimizer(optimizer_params={"learning_rate": 0.1})
        metric = mx.metric.create("acc")
        for batch in data:
            module.forward_backward(batch)
            module.update()
            module.update_metric(metric, batch.label)
        reached.append({**values(module), "accuracy": np.array(metric.get()[1])})
    assert_same(*reached, rtol=1e-4)


def test_modules_in_a_row_show_both_ends():
    chain = mx.mod.SequentialModule()
    assert chain.output_names == []
    with pytest.raises(NotReadyError, match="add"):
        chain.bind([("data", (2, 3))])
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, no_bias=True, name="fc")
    loss = mx.sym.LinearRegressionOutput(mx.sym.Variable("data"), mx.sym.Variable("label"))
    chain.add(mx.mod.Module(net, label_names=None))
    chain.add(mx.mod.Module(loss, label_names=["label"]), take_labels=True, auto_wiring=True)
    for name in ("data_shapes", "label_shapes", "output_shapes"):
        with pytest.raises(NotReadyError, match="bind"):
            getattr(chain, name)
    chain.bind([("data", (2, 3))], [("label", (2, 2))], inputs_need_grad=True)
    assert [tuple(desc) for desc in chain.data_shapes] == [("data", (2, 3))]
    assert chain.label_shapes == [("label", (2, 2))]
    assert chain.output_names == chain._modules[1].output_names
    assert [shape for _, shape in chain.output_shapes] == [(2, 2)]
    chain.init_params(mx.init.One())
    monitor = mx.mon.Monitor(1)
    chain.install_monitor(monitor)
    monitor.tic()
    chain.forward_backward(mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.ones((2, 2))]))
    assert "fc_output" in {name for _, name, _ in monitor.toc()}
    (grad,) = chain.get_input_grads()  # of 3 - 1 for each of two outputs, halved by their number
    np.testing.assert_array_equal(grad.asnumpy(), np.full((2, 3), 2, np.float32))


def test_a_list_of_batches_is_one_batch():
    module = mx.mod.Module(mlp())
    module.bind([("data", (8, 10))], [("softmax_label", (8,))])
    module.init_params(mx.init.Xavier())
    (batch,) = batches(1)
    found = []
    parts = [
        mx.io.DataBatch([batch.data[0][part]], [batch.label[0][part]])
        for part in (slice(0, 3), slice(3, 8))
    ]
    for given in (batch, parts):
        module.forward_backward(given)
        found += [module._exec_group.grad_arrays[0][0].asnumpy()]
    np.testing.assert_array_equal(*found)
    with pytest.raises(ParameterError, match="got an empty list"):
        module.forward([])


class ByKeyword(mx.mod.Module):
    """A user's module whose overridden methods take keywords only, as MXNet 1.9.1 gives them."""

    def init_params(self, **params):
        super().init_params(**params)

    def init_optimizer(self, **params):
        super().init_optimizer(**params)


def test_modules_in_a_row_get_their_arguments_by_keyword():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    chain = mx.mod.SequentialModule().add(ByKeyword(net, label_names=None))
    chain.bind([("data", (4, 3))])
    chain.init_params(mx.init.One())
    chain.init_optimizer(optimizer="adam")
    assert chain.get_params()[0]["fc_weight"].asnumpy().sum() == 3


def test_a_loss_in_python():
    chain = mx.mod.SequentialModule()
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, no_bias=True, name="fc")
    chain.add(mx.mod.Module(net, label_names=None))
    chain.add(
        mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - labels.reshape((-1, 1))),
        take_labels=True,
        auto_wiring=True,
    )
    chain.bind([("data", (4, 3))], [("softmax_label", (4,))])
    chain.init_params(mx.init.Zero())
    chain.init_optimizer(optimizer_params={"learning_rate": 0.5})
    data = np.eye(4, 3, dtype=np.float32)
    for _ in range(60):
        chain.forward(
            mx.io.DataBatch([mx.nd.array(data)], [mx.nd.array([1, 2, 3, 0])]), is_train=True
        )
        chain.backward()
        chain.update()
    got = chain.get_params()[0]["fc_weight"].asnumpy()
    np.testing.assert_allclose(got, [[1, 2, 3]], atol=0.05)


def test_a_bucket_is_generated_once_and_the_default_one_twice():
    """As in MXNet 1.9.1: ``sym_gen`` may count its calls, or name cells by them."""
    calls = []

    def sym_gen(length):
        calls.append(length)
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, flatten=False, name="fc")
        net = mx.sym.SoftmaxOutput(mx.sym.mean(net, axis=1), name="softmax")
        return net, ("data",), ("softmax_label",)

    batches = [
        mx.io.DataBatch(
            [mx.nd.ones((2, n, 5))], [mx.nd.zeros(2)], 0, bucket_key=n,
            provide_data=[("data", (2, n, 5))], provide_label=[("softmax_label", (2,))],
        )
        for n in (4, 3, 4)
    ]  # fmt: skip

    class Batches(mx.io.DataIter):
        provide_data, provide_label = batches[0].provide_data, batches[0].provide_label
        batch_size = 2

        def reset(self):
            self.left = iter(batches)

        def next(self):
            return next(self.left)

    source = Batches()
    source.reset()
    module = mx.mod.BucketingModule(sym_gen, 4)
    module.fit(source, num_epoch=2)
    module.score(source, "acc")
    assert (calls, module.data_names, module.output_names) == (
        [4, 4, 3],
        ["data"],
        ["softmax_output"],
    )


def test_a_bucket_has_no_parameters_of_its_own():
    """MXNet refuses it too, without a name; its zeros would be trained, and lost."""

    def sym_gen(key):
        fc = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name=f"fc{key}")
        return mx.sym.SoftmaxOutput(fc, name="softmax"), ["data"], ["softmax_label"]

    module = mx.mod.BucketingModule(sym_gen, 4)
    shapes = [("data", (2, 3))], [("softmax_label", (2,))]
    module.bind(*shapes)
    module.init_params()
    with pytest.raises(ValueError, match=r"for 5, lacks 'fc5_weight'.* mean 'fc4_weight'"):
        module.switch_bucket(5, *shapes)
    assert module._curr_bucket_key == 4 and sorted(module.get_params()[0]) == [
        "fc4_bias",
        "fc4_weight",
    ]


def test_buckets_are_bound_again():
    module = bucketing("adam")
    for seed in range(2):
        module.forward_backward(bucket_batch(4, seed))
        module.update()
    before, optimizer = values(module), module._curr_module._optimizer
    with pytest.raises(mx.base.MXNetError, match="data"):
        module.bind([("data", (6,))], [("softmax_label", (6,))], False, force_rebind=True)
    assert module.for_training
    assert_same(values(module), before)
    wide = [mx.io.DataDesc("data", (3, 4, 5))]
    module.bind(wide, [mx.io.DataDesc("softmax_label", (3,))], force_rebind=True)
    assert_same(values(module), before)
    module.forward_backward(bucket_batch(3, 2))
    module.update()
    assert module._curr_module._optimizer is optimizer
    assert optimizer.num_update == 3


def test_a_batch_without_a_key_belongs_to_the_present_bucket():
    module = bucketing()
    data = mx.io.NDArrayIter(np.ones((12, 4, 5), "float32"), np.zeros(12), 6)
    module.fit(data, num_epoch=1, force_init=True)
    assert module._curr_bucket_key == 4


def test_all_monitors_see_new_buckets():
    module = bucketing()
    watches = [mx.mon.Monitor(1, pattern="softmax_output") for _ in range(2)]
    for watch in watches:
        module.install_monitor(watch)
    for number, watch in enumerate(watches):
        watch.tic()
        module.forward(bucket_batch(2 + number, 0), is_train=False)
        assert [name for _, name, _ in watch.toc()] == ["softmax_output"]


def test_own_methods_with_other_arguments():
    class Loss(mx.mod.PythonLossModule):
        def get_outputs(self):
            return super().get_outputs()

    class First(mx.mod.Module):
        def init_params(self, arg_params=None, aux_params=None, **options):
            super().init_params(arg_params=arg_params, aux_params=aux_params, **options)

    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    first = First(net, label_names=None)
    chain = mx.mod.SequentialModule()
    chain.add(first).add(
        Loss(grad_func=lambda scores, labels: 0 * scores), take_labels=True, auto_wiring=True
    )
    chain.fit(mx.io.NDArrayIter(np.ones((4, 3)), np.zeros(4), 2), num_epoch=1)
    first.set_params(*first.get_params())


def test_a_loss_in_python_needs_labels_in_training():
    loss = mx.mod.PythonLossModule()
    loss.bind([("data", (2, 3))], [("softmax_label", (2,))])
    loss.init_params()
    batch = mx.io.DataBatch([mx.nd.ones((2, 3))])
    with pytest.raises(mx.errors.ParameterError, match="a batch without labels"):
        loss.forward(batch)
    loss.forward(batch, is_train=False)


def test_predict_takes_an_array_without_training():
    """In a module that is bound for training, too: dropout is off, and statistics stay."""
    net = mx.sym.Dropout(mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn"), p=0.5)
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (4, 3))])
    module.init_params()
    assert module.predict(mx.nd.ones((4, 3))).asnumpy() == pytest.approx(1, rel=1e-3)
    assert module.get_params()[1]["bn_moving_mean"].asnumpy().tolist() == [0, 0, 0]


def test_a_module_in_python_has_no_states_and_no_monitor():
    module = mx.mod.PythonLossModule()
    with pytest.raises(ParameterError, match="grad_req: got 'add', expected 'write'"):
        module.bind([("data", (2, 4))], [("softmax_label", (2,))], grad_req="add")
    module.bind([("data", (2, 4))], [("softmax_label", (2,))])
    assert (module.output_names, module.output_shapes) == (
        ["pyloss_output"],
        [("pyloss_output", (2, 4))],
    )
    assert [tuple(d) for d in module.data_shapes] == [("data", (2, 4))]
    assert [tuple(d) for d in module.label_shapes] == [("softmax_label", (2,))]
    module.init_params()
    assert module.get_states() == []
    for refused, work in (
        (ParameterError, lambda: module.set_states([1])),
        (NotSupportedError, lambda: module.install_monitor(mx.mon.Monitor(1))),
        (ParameterError, lambda: mx.mod.PythonLossModule(grad_func=3)),
        (ParameterError, lambda: mx.mod.PythonLossModule(data_names=["a", "b"])),
    ):
        with pytest.raises(refused):
            work()


def test_a_bucket_steps_past_loaded_states_of_parameters_that_it_lacks(tmp_path):
    def sym_gen(key):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
        if key == 2:
            net = mx.sym.FullyConnected(net, num_hidden=4, name="more")
        return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(sym_gen, default_bucket_key=2)
    (batch,) = batches(1)
    module.bind([("data", (8, 10))], [("softmax_label", (8,))])
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="adam")
    path, seen = str(tmp_path / "states"), []
    for key in (2, 1, 2, 1):
        batch.bucket_key, batch.provide_data = key, [("data", (8, 10))]
        batch.provide_label = [("softmax_label", (8,))]
        module.prepare(batch)
        module.forward_backward(batch)
        module.update()
        module._curr_module.save_optimizer_states(path)
        module._curr_module.load_optimizer_states(path)
        seen.append(values(module))
    for before, after, moves in zip(seen[:-1], seen[1:], (False, True, False), strict=True):
        assert (before["more_weight"] != after["more_weight"]).any() == moves
        assert (before["fc_weight"] != after["fc_weight"]).all()
