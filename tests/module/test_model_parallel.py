"""Module with group2ctxs: layers on several devices train as they do on one."""

import jax
import numpy as np
import optax
import pytest

import modkit as mx
from modkit.step import segments

ONE_TWO = {"one": mx.cpu(1), "two": mx.cpu(2)}
THREE_ZERO = {"one": mx.cpu(3), "two": mx.cpu(0)}
PLACES = {"a_weight": 1, "a_bias": 1, "b_weight": 2, "b_bias": 2}


def layers(*, statistics=False):
    with mx.AttrScope(ctx_group="one"):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="a")
        if statistics:
            net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
        net = mx.sym.Dropout(mx.sym.Activation(net, act_type="tanh"), p=0.2, name="drop")
    with mx.AttrScope(ctx_group="two"):
        net = mx.sym.FullyConnected(net, num_hidden=3, name="b")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def recurrent():
    """MXNet's model-parallel LSTM: each layer on a device of its own."""
    outputs = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=6, output_dim=5, name="e")
    for i, name in enumerate(ONE_TWO):
        with mx.AttrScope(ctx_group=name):
            cell = mx.rnn.LSTMCell(6, prefix=f"l{i}_")
            outputs, _ = cell.unroll(4, outputs, layout="NTC", merge_outputs=True)
    with mx.AttrScope(ctx_group="two"):
        flat = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 6)), num_hidden=6, name="f")
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(flat, label, name="softmax")


def batches(count=5, size=8):
    random = np.random.RandomState(4)
    rows = random.uniform(-1, 1, (count * size, 5)).astype(np.float32)
    return mx.io.NDArrayIter(rows, random.randint(0, 3, count * size), size)


def sentences():
    random = np.random.RandomState(4)
    words = random.randint(0, 6, (40, 5))
    return mx.io.NDArrayIter(words[:, :4].astype(np.float32), words[:, 1:].astype(np.float32), 8)


def trained(net, groups, data, context=None, steps=20, metric=None, kvstore="local", **optimizer):
    """A module after some steps."""
    mx.random.seed(11)
    module = mx.mod.Module(net, context=context or mx.cpu(0), group2ctxs=groups)
    module.bind(data.provide_data, data.provide_label)
    module.init_params(Steady())
    module.init_optimizer(kvstore, **(optimizer or {"optimizer_params": {"learning_rate": 0.2}}))
    for step in range(steps):
        if step % 5 == 0:
            data.reset()
        batch = data.next()
        module.forward_backward(batch)
        module.update()
        if metric is not None:
            module.update_metric(metric, batch.label)
    return module


@mx.init.register
class Steady(mx.init.Initializer):
    """Weights that depend on their names only."""

    def _init_weight(self, name, array):
        random = np.random.RandomState(sum(map(ord, name)))
        array[:] = random.uniform(-0.5, 0.5, array.shape)


def assert_same_parameters(module, other):
    for mine, theirs in zip(module.get_params(), other.get_params(), strict=True):
        assert mine.keys() == theirs.keys()
        for name, value in theirs.items():
            np.testing.assert_allclose(
                mine[name].asnumpy(), value.asnumpy(), rtol=1e-5, atol=2e-6, err_msg=name
            )


def assert_on(array, number):
    assert array.context == mx.cpu(number)
    assert array.to_jax().devices() == {mx.cpu(number).jax_device}


OPTIMIZERS = [
    {"optimizer": "sgd", "optimizer_params": {"learning_rate": 0.2, "momentum": 0.9}},
    {"optimizer": "adam", "optimizer_params": {"learning_rate": 0.05}},
    {"optimizer": "lamb", "optimizer_params": {"learning_rate": 0.05}},
    {"optimizer": optax.chain(optax.clip_by_global_norm(0.01), optax.sgd(0.5))},
]


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=["sgd", "adam", "lamb", "optax"])
def test_steps_are_those_of_one_device(optimizer):
    net = layers()
    metrics = [mx.metric.create("ce"), mx.metric.create("ce")]
    alone = trained(net, None, batches(), metric=metrics[0], **optimizer)
    spread = trained(net, ONE_TWO, batches(), metric=metrics[1], **optimizer)
    assert_same_parameters(spread, alone)
    np.testing.assert_allclose(metrics[1].get()[1], metrics[0].get()[1], rtol=1e-5)
    np.testing.assert_allclose(
        spread.get_outputs()[0].asnumpy(), alone.get_outputs()[0].asnumpy(), rtol=1e-4, atol=1e-6
    )


def test_recurrent_layers_on_devices_of_their_own():
    alone, spread = (trained(recurrent(), g, sentences()) for g in (None, ONE_TWO))
    assert_same_parameters(spread, alone)
    weights = spread._exec_group.execs[0].arg_dict
    for name, place in {"e_weight": 0, "l0_h2h_weight": 1, "l1_i2h_bias": 2, "f_bias": 2}.items():
        assert_on(weights[name], place)


def test_arrays_and_optimizer_states_are_where_their_group_is():
    module = trained(layers(statistics=True), ONE_TWO, batches(), **OPTIMIZERS[0])
    executor = module._exec_group.execs[0]
    for name, place in {**PLACES, "data": 1, "softmax_label": 0}.items():
        assert_on(executor.arg_dict[name], place)
    for i, name in enumerate(module._param_names):
        place = PLACES.get(name, 1)
        assert_on(executor.grad_dict[name], place)
        assert_on(module._updater.states[i], place)
    for array in executor.aux_dict.values():
        assert_on(array, 1)
    assert_on(executor.outputs[0], 2)
    assert_on(module.get_outputs()[0], 2)
    assert_on(module.get_params()[0]["b_weight"], 0)


def test_nothing_is_compiled_after_the_first_steps(compilations):
    data = batches()
    module = trained(layers(statistics=True), ONE_TWO, data, steps=2)

    def more():
        data.reset()
        for batch in data:
            module.forward_backward(batch)
            module.update()
        module.get_outputs()[0].asnumpy()

    assert compilations.during(more) == []


REPLICAS = [
    [ONE_TWO, THREE_ZERO],
    {"one": [mx.cpu(1), mx.cpu(3)], "two": mx.cpu(2)},
]


@pytest.mark.filterwarnings("ignore:init_optimizer. kvstore=None")
@pytest.mark.parametrize("kvstore", ["local", "device", None])
@pytest.mark.parametrize("groups", REPLICAS, ids=["dictionaries", "lists"])
def test_replicas_each_over_devices_of_its_own(groups, kvstore):
    """Layers and batch are both cut; each replica has its own statistics."""
    contexts = [mx.cpu(0), mx.cpu(4)]  # one device: what trains beside it is two replicas by vmap
    net = layers(statistics=True).get_internals()["b_output"]
    net = mx.sym.SoftmaxOutput(without_dropout(net), name="softmax")
    alone = trained(net, None, batches(), contexts, kvstore=kvstore)
    spread = trained(net, groups, batches(), contexts, kvstore=kvstore)
    assert_same_parameters(spread, alone)
    first, second = spread._exec_group.execs
    assert_on(first.arg_dict["a_weight"], 1)
    assert_on(second.arg_dict["a_weight"], 3)
    assert_on(second.aux_dict["bn_moving_mean"], 3)
    assert_on(first.outputs[0], 2)
    means = [e.aux_dict["bn_moving_mean"].asnumpy() for e in (first, second)]
    assert np.abs(means[0] - means[1]).max() > 1e-4
    assert spread.get_outputs()[0].shape == (8, 3)


def test_mixed_precision(monkeypatch):
    """Values that move between devices have the compute type, as between two layers of one."""
    moved, move = set(), segments.placed_on
    monkeypatch.setattr(
        segments,
        "placed_on",
        lambda value, device: moved.add(str(value.dtype)) or move(value, device),
    )
    found = []
    for groups in (None, ONE_TWO):
        mx.random.seed(11)
        module = mx.mod.Module(layers(), group2ctxs=groups, compute_dtype="bfloat16")
        module.fit(batches(), num_epoch=2, initializer=Steady(), optimizer_params={
            "learning_rate": 0.2})  # fmt: skip
        found.append({n: a.asnumpy() for n, a in module.get_params()[0].items()})
    assert moved == {"float32", "bfloat16"}
    for name, value in found[0].items():
        np.testing.assert_allclose(found[1][name], value, rtol=0.02, atol=0.005, err_msg=name)


class Slow(mx.optimizer.Optimizer):
    """An optimizer as users write them: eager arithmetic on the arrays that it is given."""

    def create_state(self, index, weight):
        return mx.nd.zeros(weight.shape, weight.context)

    def update(self, index, weight, grad, state):
        self._update_count(index)
        state[:] = 0.5 * state + grad * self.rescale_grad
        weight[:] = weight - 0.2 * state


def test_an_optimizer_of_the_users_own():
    alone, spread = (
        trained(layers(), g, batches(), optimizer=Slow(rescale_grad=1 / 8)) for g in (None, ONE_TWO)
    )
    assert_same_parameters(spread, alone)


COMPRESSION = {"type": "2bit", "threshold": 0.05}


def test_a_store_that_compresses():
    """`set_gradient_compression` of a store that is given is what ``compression_params`` is."""
    net = without_dropout(layers().get_internals()["b_output"])
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    found = []
    for params in (None, COMPRESSION):
        module = mx.mod.Module(net, context=[mx.cpu(0), mx.cpu(4)], compression_params=params)
        store = mx.kv.create("device")
        if params is None:
            store.set_gradient_compression(COMPRESSION)
        data = batches()
        module.bind(data.provide_data, data.provide_label)
        module.init_params(Steady())
        module.init_optimizer(store, optimizer_params={"learning_rate": 0.3})
        for batch in data:
            module.forward_backward(batch)
            module.update()
        found.append(module)
    assert_same_parameters(found[1], found[0])


def test_compressed_gradients():
    net = layers().get_internals()["b_output"]
    net = mx.sym.SoftmaxOutput(without_dropout(net), name="softmax")
    found = []
    for groups in (None, REPLICAS[0]):
        module = mx.mod.Module(
            net, context=[mx.cpu(0), mx.cpu(4)], group2ctxs=groups, compression_params=COMPRESSION
        )
        data = batches()
        module.bind(data.provide_data, data.provide_label)
        module.init_params(Steady())
        module.init_optimizer("device", optimizer_params={"learning_rate": 0.3})
        for batch in data:
            module.forward_backward(batch)
            module.update()
        found.append(module)
    assert_same_parameters(found[1], found[0])


def without_dropout(net):
    """The same layers: replicas on one device and on several draw different numbers."""
    text = net.tojson().replace('"p": "0.2"', '"p": "0"')
    return mx.sym.load_json(text)


def test_fit_score_predict_checkpoint(tmp_path):
    found = []
    for groups in (None, ONE_TWO):
        mx.random.seed(2)
        module = mx.mod.Module(layers(statistics=True), group2ctxs=groups)
        data = batches()
        module.fit(
            data, data, "ce", num_epoch=3, initializer=Steady(),
            optimizer_params={"learning_rate": 0.2, "momentum": 0.5},
        )  # fmt: skip
        found.append((module, module.score(data, "ce")[0][1], module.predict(data).asnumpy()))
    (alone, *figures), (spread, *others) = found
    assert_same_parameters(spread, alone)
    for mine, theirs in zip(others, figures, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)

    spread.save_checkpoint(str(tmp_path / "net"), 3, save_optimizer_states=True)
    again = mx.mod.Module.load(str(tmp_path / "net"), 3, True, group2ctxs=ONE_TWO)
    data = batches()
    again.bind(data.provide_data, data.provide_label)
    again.init_optimizer(optimizer_params={"learning_rate": 0.2, "momentum": 0.5})
    mx.random.seed(3)
    again.forward_backward(next(iter(data)))
    again.update()
    assert_on(again._exec_group.execs[0].arg_dict["b_weight"], 2)
    assert_on(again._updater.states[again._param_names.index("b_weight")], 2)
    mx.random.seed(3)
    data.reset()
    spread.forward_backward(next(iter(data)))
    spread.update()
    assert_same_parameters(again, spread)


def test_other_shapes_keep_the_parameters():
    module = trained(layers(), ONE_TWO, batches())
    before = module.get_params()[0]["a_weight"].asnumpy()
    module.forward(mx.io.DataBatch([mx.nd.ones((3, 5))], [mx.nd.zeros((3,))]), is_train=False)
    assert module.get_outputs()[0].shape == (3, 3)
    assert_on(module._exec_group.execs[0].arg_dict["data"], 1)
    np.testing.assert_array_equal(module.get_params()[0]["a_weight"].asnumpy(), before)


def test_input_gradients_and_set_params():
    data = batches()
    found = []
    for groups in (None, ONE_TWO):
        mx.random.seed(5)
        module = mx.mod.Module(layers(), group2ctxs=groups)
        module.bind(data.provide_data, data.provide_label, inputs_need_grad=True)
        module.init_params(Steady())
        args, auxs = module.get_params()
        module.set_params({n: a * 2 for n, a in args.items()}, auxs)
        data.reset()
        module.forward_backward(next(iter(data)))
        found.append(module.get_input_grads()[0])
    assert_on(found[1], 1)
    np.testing.assert_allclose(found[1].asnumpy(), found[0].asnumpy(), rtol=1e-5, atol=1e-7)


def test_buckets():
    def generate(length):
        with mx.AttrScope(ctx_group="one"):
            net = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=6, output_dim=4, name="e")
            net = mx.sym.mean(net, axis=1)
        with mx.AttrScope(ctx_group="two"):
            net = mx.sym.FullyConnected(net, num_hidden=3, name="b")
        return mx.sym.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]

    found = []
    for groups in (None, ONE_TWO):
        module = mx.mod.BucketingModule(generate, 5, group2ctxs=groups)
        module.bind([("data", (4, 5))], [("softmax_label", (4,))])
        module.init_params(Steady())
        module.init_optimizer(optimizer_params={"learning_rate": 0.3})
        for length in (5, 3, 5, 3):
            words = mx.nd.array(np.arange(4 * length).reshape(4, length) % 6)
            batch = mx.io.DataBatch(
                [words], [mx.nd.array([0, 1, 2, 0])], bucket_key=length,
                provide_data=[("data", (4, length))], provide_label=[("softmax_label", (4,))],
            )  # fmt: skip
            module.forward_backward(batch)
            module.update()
        found.append(module)
    assert_same_parameters(found[1], found[0])
    assert_on(found[1]._buckets[3]._exec_group.execs[0].arg_dict["e_weight"], 1)


BAD = {
    "a number": (3, "expected a dictionary"),
    "too few dictionaries": ([ONE_TWO], "a list of 2 of them"),
    "too many contexts": ({"one": [mx.cpu(0)] * 3, "two": mx.cpu(0)}, "got 3 contexts"),
    "no context": ({"one": mx.cpu(0), "two": 5}, "group 'two': got 5"),
    "no accelerator": ({"one": mx.gpu(99), "two": mx.cpu(0)}, "gpu"),
}


@pytest.mark.parametrize("groups", BAD)
def test_bad_groups_are_refused(groups):
    given, message = BAD[groups]
    with pytest.raises(mx.MXNetError, match=message):
        mx.mod.Module(layers(), context=[mx.cpu(0), mx.cpu(1)], group2ctxs=given)


def test_a_group_that_is_missing_is_named():
    module = mx.mod.Module(layers(), group2ctxs={"one": mx.cpu(1)})
    with pytest.raises(mx.MXNetError, match="of group 'two', which it has not"):
        module.bind([("data", (4, 5))], [("softmax_label", (4,))])


def test_groups_on_one_device_are_one_program(compilations):
    count = len(jax.devices())
    found = []
    groups = {"one": mx.cpu(count), "two": mx.cpu(2 * count)}
    data = batches()
    work = compilations.during(lambda: found.append(trained(layers(), groups, data, steps=2)))
    assert "step" in work
    assert found[0].get_outputs()[0].context == groups["two"]
