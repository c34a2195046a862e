"""The KVStore of a module, and FeedForward, the estimator from before modules."""

import logging
import warnings

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotReadyError, ParameterError, ShapeError
from modkit.model import (
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    create_kvstore,
)

pytestmark = pytest.mark.filterwarnings("ignore:FeedForward:DeprecationWarning")


class Sized:
    """A parameter of which only the size is asked."""

    def __init__(self, *shape):
        self.shape = shape


SMALL, EDGE, BIG = {"w": Sized(2)}, {"w": Sized(4096, 4096)}, {"w": Sized(4097, 4096)}


@pytest.mark.parametrize(
    ("kvstore", "devices", "params", "kind", "on_kvstore"),
    [
        (None, 2, SMALL, None, False),
        ("local", 1, SMALL, None, False),
        ("device", 1, SMALL, None, False),
        ("local", 2, SMALL, "local", True),
        ("local", 2, EDGE, "local", True),
        ("local", 2, BIG, "local", False),
        ("local", 2, {}, "local", True),
        ("device", 2, BIG, "device", True),
        ("local_allreduce_device", 2, BIG, "local_allreduce_device", True),
        ("teststore", 2, SMALL, "teststore", False),
    ],
)
def test_store_by_name(kvstore, devices, params, kind, on_kvstore):
    store, runs_optimizer = create_kvstore(kvstore, devices, params)
    assert (store and store.type, runs_optimizer) == (kind, on_kvstore)
    assert _create_kvstore is create_kvstore


def test_a_store_is_used_as_it_is():
    store = mx.kv.create("local")
    assert create_kvstore(store, 1, BIG) == (store, True)


def test_the_environment_keeps_the_optimizer_out_of_the_store(monkeypatch):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
    assert create_kvstore("device", 2, SMALL)[1] is False
    assert create_kvstore(mx.kv.create("local"), 1, SMALL)[1] is False


def test_what_is_no_store():
    with pytest.raises(TypeError, match="expected a KVStore, a name or None"):
        create_kvstore(3, 1, SMALL)
    with pytest.raises(ParameterError, match="Did you mean 'dist'"):
        create_kvstore("distr", 1, SMALL)
    with pytest.raises(NotReadyError, match="no launcher"):
        create_kvstore("dist_sync", 1, SMALL)


def test_executors_of_contexts_have_parameters_of_their_own():
    module = mx.mod.Module(net(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    for place, executor in enumerate(module._exec_group.execs):
        executor.arg_dict["fc_weight"] *= 2 + place
    weight = module.get_params()[0]["fc_weight"].asnumpy()
    np.testing.assert_array_equal(weight, np.full((3, 4), 2.5))
    module.init_optimizer("device")
    first, second = module._exec_group.param_arrays[0]
    first[:] = 7
    assert (second.asnumpy() == 7).all()  # one value, which the optimizer trains


def test_arrays_of_contexts_that_a_program_writes_are_those_of_its_executors():
    module = mx.mod.Module(net(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params(mx.init.Normal(1))
    group = module._exec_group
    for part, array in group.data_arrays[0]:
        array[:] = X[part]
    for executor in group.execs:
        executor.forward(is_train=False)
    found = np.concatenate([executor.outputs[0].asnumpy() for executor in group.execs])
    module.forward(mx.io.DataBatch([mx.nd.array(X[:4])]), is_train=False)
    np.testing.assert_allclose(found, module.get_outputs()[0].asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("is_train", [False, True])
def test_reading_arrays_of_contexts_leaves_the_latest_pass_alone(is_train):
    module = mx.mod.Module(net(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params(mx.init.Normal(1))
    batch = mx.io.DataBatch([mx.nd.array(X[:4])], [mx.nd.array([0, 1, 2, 0])])
    module.forward(batch, is_train=is_train)
    held = module.get_outputs()[0]
    assert len(module._exec_group.param_arrays[0]) == 2
    for found in (held, module.get_outputs()[0]):
        np.testing.assert_allclose(found.asnumpy().sum(1), np.ones(4), rtol=1e-6)
    if is_train:
        module.backward()
        assert module._exec_group.grad_arrays[0][0].asnumpy().any()


def test_a_monitor_moves_to_executors_of_parameters_apart():
    module = mx.mod.Module(net(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    monitor = mx.mon.Monitor(1, pattern="fc_output")
    module.install_monitor(monitor)
    first, second = module._exec_group.param_arrays[0]
    first[:] = 2
    assert (second == 1).asnumpy().all()
    monitor.tic()
    module.forward(mx.io.DataBatch([mx.nd.array(X[:4])], [mx.nd.array([0, 1, 2, 0])]))
    assert [name for _, name, _ in monitor.toc()] == ["fc_output"] * 2


@pytest.mark.parametrize("kind", [None, "device"])
def test_contexts_have_parameters_of_their_own_where_a_program_updates_them(kind):
    """As in programs that train a module's arrays without its optimizer."""
    module = mx.mod.Module(net(), context=[mx.cpu(0), mx.cpu(1)])
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params(mx.init.Constant(0.5))
    names, group = ["fc_weight", "fc_bias"], module._exec_group
    store = None if kind is None else mx.kv.create(kind)
    if store is not None:
        _initialize_kvstore(store, group.param_arrays, module.get_params()[0], names, False)
    module.forward_backward(mx.io.DataBatch([mx.nd.array(X[:4])], [mx.nd.array([0, 1, 2, 0])]))
    grads = [grad.asnumpy() for grad in group.grad_arrays[0]]
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1))
    _update_params(group.param_arrays, group.grad_arrays, updater, 2, store, names)
    steps = [0.1 * grad for grad in ([sum(grads)] * 2 if store else grads)]
    for array, step in zip(group.param_arrays[0], steps, strict=True):
        np.testing.assert_allclose(array.asnumpy(), 0.5 - step, rtol=1e-5)
    weight = module.get_params()[0]["fc_weight"].asnumpy()
    np.testing.assert_allclose(weight, 0.5 - sum(steps) / 2, rtol=1e-5)


# ── FeedForward ─────────────────────────────────────────────────────────────────────────────

RS = np.random.RandomState(0)
X = RS.randn(20, 4).astype(np.float32)
Y = (RS.rand(20) * 3).astype(int)
WEIGHT = RS.randn(3, 4) * 0.1

# What MXNet 1.9.1 made of these in three epochs, from np.random.seed(3).
TRAINED = {
    "fc_weight": [
        [0.07514985650777817, -0.011688768863677979, -0.0037429314106702805, 0.12217125296592712],
        [-0.08099488168954849, 0.12679697573184967, 0.158993199467659, -0.11476986110210419],
        [-0.07287563383579254, 0.0926877111196518, -0.08319753408432007, 0.23077185451984406],
    ],
    "fc_bias": [-0.0507269948720932, -0.017747484147548676, 0.06847447901964188],
}


def net():
    data = mx.sym.Variable("data")
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(data, num_hidden=3, name="fc"), name="softmax"
    )


def made(**kwargs):
    params = {"fc_weight": mx.nd.array(WEIGHT), "fc_bias": mx.nd.zeros(3)}
    options = {"num_epoch": 3, "learning_rate": 0.1, "numpy_batch_size": 8, "arg_params": params}
    return mx.model.FeedForward(net(), **{**options, **kwargs})


def expected(weight, bias):
    scores = X @ np.asarray(weight).T + np.asarray(bias)
    exp = np.exp(scores - scores.max(1, keepdims=True))
    return exp / exp.sum(1, keepdims=True)


def test_fit_gives_the_numbers_of_the_reference(caplog):
    caplog.set_level(logging.INFO)
    np.random.seed(3)  # noqa: NPY002 - what iterators shuffle with
    model = made(initializer=mx.init.Zero())
    model.fit(X, Y, eval_data=(X, Y), logger=logging.getLogger("own"))
    # Values are logged by the callback that MXNet adds, which knows no other logger.
    lines = [(r.name, r.getMessage().partition("=")[0]) for r in caplog.records]
    assert [each for each in lines if each[1].startswith("Epoch[2]")] == [
        ("own", "Epoch[2] Resetting Data Iterator"),
        ("own", "Epoch[2] Time cost"),
        ("root", "Epoch[2] Validation-accuracy"),
    ]
    assert set(model.arg_params) == set(TRAINED)
    for name, value in TRAINED.items():
        np.testing.assert_allclose(model.arg_params[name].asnumpy(), value, rtol=1e-5)


def test_predict_uses_the_present_parameters():
    model = made()
    np.testing.assert_allclose(model.predict(X), expected(WEIGHT, np.zeros(3)), rtol=1e-4)
    model.fit(X, Y)
    weight, bias = (model.arg_params[n].asnumpy() for n in ("fc_weight", "fc_bias"))
    assert not np.allclose(weight, WEIGHT)
    np.testing.assert_allclose(model.predict(X), expected(weight, bias), rtol=1e-4)


def test_predict_with_data():
    model = made()
    out, data, label = model.predict(mx.io.NDArrayIter(X, Y, 8), return_data=True)
    np.testing.assert_array_equal(data, X)
    np.testing.assert_array_equal(label, Y)
    assert out.shape == (20, 3)
    assert model.predict(X, num_batch=1).shape == (8, 3)
    it = mx.io.NDArrayIter(X, Y, 8)
    it.next()
    np.testing.assert_allclose(model.predict(it, reset=False), out[8:])


def test_several_outputs_are_a_list():
    scores = net()
    both = mx.sym.Group([scores, mx.sym.BlockGrad(scores.get_internals()["data"])])
    model = mx.model.FeedForward(both, arg_params=made().arg_params, numpy_batch_size=6)
    out = model.predict(X)
    assert [o.shape for o in out] == [(20, 3), (20, 4)]


def test_score():
    model = made()
    right = float(np.mean(expected(WEIGHT, np.zeros(3)).argmax(1) == Y))
    it = mx.io.NDArrayIter(X, Y, 5)
    seen = []
    assert model.score(it, batch_end_callback=lambda p: seen.append(p.nbatch)) == right
    assert seen == [0, 1, 2, 3]
    assert model.score(it, mx.metric.create("acc"), num_batch=4) == right


def test_saved_and_loaded(tmp_path):
    model, prefix = made(), str(tmp_path / "ff")
    model.save(prefix)
    again = mx.model.FeedForward.load(prefix, 3, num_epoch=4, learning_rate=0.3)
    assert (again.begin_epoch, again.num_epoch, again.kwargs) == (3, 4, {"learning_rate": 0.3})
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-6)
    epochs = []
    again.fit(X, Y, epoch_end_callback=lambda epoch, *_: epochs.append(epoch))
    assert epochs == [3]
    assert (tmp_path / "ff-symbol.json").exists()


def test_created_on_several_devices():
    model = mx.model.FeedForward.create(
        net(), X, Y, ctx=[mx.cpu(0), mx.cpu(1)], num_epoch=2, learning_rate=0.1
    )
    assert sorted(model.arg_params) == ["fc_bias", "fc_weight"]


@pytest.mark.filterwarnings("ignore:.*each context trains:UserWarning")
def test_devices_that_train_apart_keep_their_parameters_from_epoch_to_epoch():
    normed = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn")
    out = mx.sym.FullyConnected(normed, num_hidden=3, name="fc")
    np.random.seed(3)  # noqa: NPY002 - what NDArrayIter shuffles by
    model = mx.model.FeedForward(
        mx.sym.SoftmaxOutput(out, name="softmax"), [mx.cpu(0), mx.cpu(1)], num_epoch=3,
        numpy_batch_size=4, learning_rate=2.0, arg_params={"fc_weight": mx.nd.array(WEIGHT)},
        initializer=lambda name, array: array.__setitem__(slice(None), name.endswith("gamma")),
    )  # fmt: skip
    values = []
    model.fit(
        X, Y, eval_data=mx.io.NDArrayIter(X, Y, 4), eval_metric="ce", kvstore=None,
        eval_end_callback=lambda param: values.append(param.eval_metric.get()[1]),
    )  # fmt: skip
    # What MXNet 1.9.1 made of these.
    assert values == pytest.approx([2.454533, 2.867626, 3.628246], rel=1e-4)
    assert model.arg_params["fc_weight"].asnumpy()[0].tolist() == pytest.approx(
        [-0.409043, 0.720869, -0.598305, 0.109036], rel=1e-3
    )


def test_batches_are_counted_from_one_and_epochs_may_be_short():
    counted = []
    model = made(num_epoch=2, epoch_size=2)
    model.fit(
        mx.io.NDArrayIter(X, Y, 5),
        batch_end_callback=lambda p: counted.append(
            (p.epoch, p.nbatch, p.locals["data_batch"].label[0].asnumpy()[0])
        ),
    )
    assert counted == [(0, 1, Y[0]), (0, 2, Y[5]), (1, 1, Y[10]), (1, 2, Y[15])]


def test_a_network_for_each_bucket_trains_one_set_of_parameters():
    """MXNet 1.9.1 refuses other sizes than those of the default bucket."""

    class Buckets(mx.io.NDArrayIter):
        default_bucket_key = "all"

        def next(self):
            batch = super().next()
            batch.bucket_key = ("all", "rest")[self.cursor >= 10]
            batch.provide_data, batch.provide_label = self.provide_data, self.provide_label
            return batch

    keys = []
    whole = made()
    parts = mx.model.FeedForward(
        lambda key: keys.append(key) or net(), num_epoch=3, learning_rate=0.1,
        numpy_batch_size=8, arg_params=made().arg_params,
    )  # fmt: skip
    for model, data in ((whole, mx.io.NDArrayIter(X, Y, 5)), (parts, Buckets(X, Y, 5))):
        model.fit(data)
    assert set(keys) == {"all", "rest"}
    for name, value in whole.arg_params.items():
        np.testing.assert_array_equal(parts.arg_params[name].asnumpy(), value.asnumpy())


def test_extra_parameters():
    extra = {**made().arg_params, "other": mx.nd.ones(1)}
    out = made(arg_params=extra, allow_extra_params=True).predict(X)
    np.testing.assert_array_equal(out, made().predict(X))


def test_labels_of_one_column():
    weights = []
    for x, y in [(X, Y), (X, Y.reshape(-1, 1)), (mx.nd.array(X), mx.nd.array(Y))]:
        np.random.seed(3)  # noqa: NPY002 - what iterators shuffle with
        model, accuracy = made(num_epoch=1), mx.metric.create("acc")
        model.fit(x, y, eval_data=[X.tolist(), Y.tolist()], eval_metric=accuracy)
        assert accuracy.num_inst == 16  # two whole batches
        weights.append(model.arg_params["fc_weight"].asnumpy())
    np.testing.assert_array_equal(weights[1:], [weights[0]] * 2)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: made().fit(X), ParameterError, "y is missing"),
        (lambda: made().fit(X, Y[:3]), ValueError, "3 labels for 20 samples"),
        (lambda: made().fit(X, np.zeros((20, 2))), ValueError, r"\(20, 2\)"),
        (lambda: made().fit("x", Y), TypeError, "got str, expected a DataIter"),
        (lambda: made().fit(X, Y, eval_data=X), TypeError, "pair of arrays"),
        (lambda: made(num_epoch=None).fit(X, Y), NotReadyError, "num_epoch"),
        (lambda: made(arg_params=None).predict(X), NotReadyError, "fit"),
        (lambda: made(num_epoch=None).save("x"), AssertionError, "epoch number"),
    ],
)
def test_refusals(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_the_initializer_fills_parameters_in_the_order_of_arguments():
    seen = []

    def fill(name, array):
        seen.append((type(name), name, array.shape))
        array[:] = 0.25

    model = mx.model.FeedForward(net(), num_epoch=1, learning_rate=0.0, initializer=fill)
    model.fit(X, Y)
    assert seen == [(str, "fc_weight", (3, 4)), (str, "fc_bias", (3,))]
    assert (model.arg_params["fc_weight"].asnumpy() == 0.25).all()
    for wrong, says in ((None, "not callable"), ("ones", "got 'ones', expected an Initializer")):
        with pytest.raises(TypeError, match=says):
            mx.model.FeedForward(net(), num_epoch=1, initializer=wrong).fit(X, Y)


@pytest.mark.parametrize("shape", [(1, 4), (3, 1), (4,), (1, 3, 4)])
def test_parameters_of_another_shape_are_not_broadcast(shape):
    model = made(arg_params={"fc_weight": mx.nd.ones(shape)})
    with pytest.raises(ShapeError, match=r"'fc_weight': got shape \(.*\), expected \(3, 4\)"):
        model.fit(X, Y)


def test_arrays_of_64_bits_train_parameters_of_32():
    model = mx.model.FeedForward(net(), num_epoch=1)
    model.fit(mx.nd.array(X, dtype="float64"), Y)
    assert model.arg_params["fc_weight"].dtype == np.float32


def test_declared_types_of_inputs_decide_those_of_parameters():
    model = mx.model.FeedForward(net(), initializer=mx.init.One())
    inputs = [mx.io.DataDesc("data", (5, 4), np.float64), mx.io.DataDesc("softmax_label", (5,))]
    names = (["data", "fc_weight", "fc_bias", "softmax_label"], ["fc_weight", "fc_bias"], [])
    assert model._init_params(inputs) == names
    assert model.arg_params["fc_bias"].dtype == np.float64
    model._init_params([("data", (5, 4)), ("softmax_label", (5,))], overwrite=True)
    assert model.arg_params["fc_weight"].dtype == np.float32
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="do not decide"):
        model._init_params([("softmax_label", (5,))])


def test_a_subclass_may_replace_the_steps_of_fit():
    steps = []

    class Halved(mx.model.FeedForward):
        def _init_iter(self, X, y, is_train):
            steps.append(is_train)
            return super()._init_iter(X[::2], y if y is None else y[::2], is_train)

        def _init_params(self, inputs, overwrite=False):
            steps.append([desc.shape for desc in inputs])
            return super()._init_params(inputs, overwrite)

    model = Halved(net(), num_epoch=1)
    model.fit(X, Y, eval_data=(X, Y))
    assert steps == [True, True, [(10, 4), (10,)]]
    assert model.predict(X).shape == (10, 3)
    assert steps[-1] is False


def test_it_says_that_it_is_old():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made()
    assert [w.category for w in caught] == [DeprecationWarning]
    assert caught[0].filename == __file__
