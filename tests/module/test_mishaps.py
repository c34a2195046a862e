"""Failures in the middle of a step lose nothing."""

import itertools
import logging
import threading
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import modkit as mx
from modkit.module.steps import while_all_have
from tests.module.networks import assert_same, batches, convnet, mlp, ready, values


def test_a_metric_that_fails_leaves_the_step():
    data = batches(2)
    module, other = ready(mlp(), data[0], momentum=0.9), ready(mlp(), data[0], momentum=0.9)
    for batch in data:
        module.forward_backward(batch)
        module.update()
        with pytest.raises(ValueError, match="refused"):
            module._joined.run(_refuse, ("softmax_label",))
        other.forward_backward(batch)
        other.update()
    assert_same(values(module), values(other))


def _refuse(labels, outputs):
    raise ValueError("refused")


class Failing(mx.operator.CustomOp):
    """Hands its data on, unless that is negative."""

    def forward(self, is_train, req, in_data, out_data, aux):
        if (in_data[0].asnumpy() < 0).any():
            raise ValueError("negative data")
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])


@mx.operator.register("fails_on_negative_data")
class FailingProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Failing()


def test_64_bit_types_end_with_a_step_whose_metric_fails():
    net = mx.sym.FullyConnected(mx.sym.Variable("data", dtype="float64"), num_hidden=2, name="fc")
    arrays = (mx.nd.ones((4, 3), dtype="float64"), mx.nd.ones(4, dtype="float64"))
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    with pytest.raises(ValueError, match="axis 7"):
        module.fit(mx.io.NDArrayIter(*arrays, 4), eval_metric=mx.metric.create("acc", axis=7),
                   num_epoch=1)  # fmt: skip
    assert not jax.config.jax_enable_x64


def test_an_error_of_a_step_that_has_begun_is_shown_and_says_what_is_lost():
    (batch,) = batches(1)
    module, metric = ready(mlp(), batch), mx.metric.create("acc")
    for _ in range(2):
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)
    bound = module._exec_group.bounds[0]
    program = bound.latest_step.program

    def failing(*args):
        program(*args)
        raise MemoryError("no room")

    bound.latest_step.program = failing
    module.forward_backward(batch)
    module.update()
    with pytest.raises(MemoryError, match="no room") as caught:
        module.update_metric(metric, batch.label)
    assert "lost" in caught.value.__notes__[0]


@pytest.mark.parametrize("sizes", [(8, 8), (8, 4, 4), (4, 8)])
def test_a_batch_without_labels_is_not_trained_on_whatever_its_size(sizes):
    (batch,) = batches(1)
    module = ready(mlp(), batch)
    for size in sizes:
        module.forward(mx.io.DataBatch([batch.data[0][:size]], None), is_train=True)
        with pytest.raises(mx.MXNetError, match="needs labels"):
            module.backward()


def test_a_batch_that_fails_does_not_spoil_the_next():
    net = mx.sym.Custom(mx.sym.Variable("data"), op_type="fails_on_negative_data", name="custom")
    net = mx.sym.BatchNorm(net, name="bn", momentum=0.5)
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (4, 2))])
    module.init_params()
    good, bad = (mx.io.DataBatch([mx.nd.ones((4, 2)) * sign]) for sign in (1, -1))
    module.forward(bad, is_train=True)
    with pytest.raises(Exception, match="negative data"):
        module.get_outputs()[0].asnumpy()
    module.forward(good, is_train=True)
    assert module.get_outputs()[0].shape == (4, 2)
    np.testing.assert_allclose(module.get_params()[1]["bn_moving_mean"].asnumpy(), 0.5)


class Faulty(mx.io.DataIter):
    """Three batches, of which the second is what it is given."""

    def __init__(self, second):
        super().__init__(8)
        first = batches(1)[0]
        self.batches, self.count = [first, second, first], 0
        self.provide_data, self.provide_label = [("data", (8, 10))], [("softmax_label", (8,))]

    def reset(self):
        self.count = 0

    def next(self):
        if self.count == len(self.batches):
            raise StopIteration
        self.count += 1
        return self.batches[self.count - 1]


def made(data, label):
    return mx.io.DataBatch([data], [label])


FAULTY = {
    "none": (None, r"next\(\): got None"),
    "number": (5, "got int, expected a DataBatch"),
    "tuple": ((np.ones((8, 10)), np.ones(8)), "expected a DataBatch"),
    "text": (made("text", mx.nd.ones(8)), "got str in the batch"),
    "list": (made([1, 2], mx.nd.ones(8)), "got list in the batch"),
    "nothing": (made(None, None), "got NoneType in the batch"),
    "scalar": (made(np.float32(1), np.ones(8)), r"data: got shape \(\), .* batch on axis 0"),
    "few labels": (made(mx.nd.ones((8, 10)), mx.nd.ones(5)), "batch sizes"),
    "few rows": (made(mx.nd.ones((5, 10)), mx.nd.ones(8)), "batch sizes"),
}
"""The second batch of an epoch, and the error."""


@pytest.mark.parametrize("way", ["one by one", "several", "prefetched"])
@pytest.mark.parametrize("kind", FAULTY)
def test_a_batch_that_is_none_is_named_and_ends_no_epoch(kind, way):
    second, says = FAULTY[kind]
    data = Faulty(second)
    if way == "prefetched":  # whose batches have the iterator's descriptions
        data = mx.io.PrefetchingIter(data)
    module = ready(mlp(), batches(1)[0])
    with pytest.raises(mx.MXNetError, match=says):
        module.fit(data, num_epoch=1, steps_per_call=3 if way == "several" else 1)
    module.fit(batches(2), num_epoch=1)  # goes on
    assert all(np.isfinite(value).all() for value in values(module).values())


def test_a_batch_that_is_none_ends_no_epoch_of_several_workers():
    run = SimpleNamespace(workers="several", all_have=lambda has: has)
    assert list(while_all_have([1, None, 2], run)) == [1, None, 2]  # `Chunks` refuses the None


def test_a_batch_has_the_shapes_of_its_arrays_not_those_of_its_descriptions():
    rows = np.random.RandomState(0).normal(size=(3, 10))
    batch, label = made(mx.nd.array(rows), mx.nd.array([0, 1, 2])), [("softmax_label", (8,))]
    module, other = (ready(mlp(), batches(1)[0]) for _ in range(2))
    other.forward_backward(batch)
    other.update()
    batch.provide_data, batch.provide_label = [("data", (8, 10))], label
    module.forward_backward(batch)
    module.update()
    assert module.data_shapes[0].shape == (3, 10)
    assert_same(values(module), values(other))


def test_refused_parameters_change_nothing():
    data = batches(1, shape=(2, 6, 6))
    module = ready(convnet(), data[0])
    before = values(module)
    zeros = {n: mx.nd.zeros(v.shape) for n, v in module.get_params()[0].items()}
    with pytest.raises(mx.MXNetError, match="bn_moving"):
        module.set_params(zeros, {})
    with pytest.raises(mx.MXNetError, match="nothing_of_the_kind"):
        module.set_params({**zeros, "nothing_of_the_kind": mx.nd.ones(1)}, {}, allow_missing=True)
    assert_same(values(module), before, rtol=0, atol=0)


def test_inputs_keep_their_order_when_the_batch_size_changes():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    module = mx.mod.Module(a - 2 * b, data_names=("a", "b"), label_names=None)
    module.bind([("b", (8, 3)), ("a", (8, 3))], for_training=False)
    module.init_params()
    batch = mx.io.DataBatch([mx.nd.zeros((4, 3)), mx.nd.ones((4, 3))])  # b, then a
    for _ in range(2):
        module.forward(batch, is_train=False)
        np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), 1)


@pytest.mark.parametrize("loads", [[1, 1], [1, 3]])
def test_each_context_has_its_own_statistics_also_with_unequal_loads(loads):
    net = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn", momentum=0.5)
    module = mx.mod.Module(
        net, label_names=None, context=[mx.cpu(0), mx.cpu(1)], work_load_list=loads
    )
    module.bind([("data", (8, 2))])
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((8, 2))]), is_train=True)
    assert module.get_outputs()[0].shape == (8, 2)
    np.testing.assert_allclose(module.get_params()[1]["bn_moving_mean"].asnumpy(), 0.5)


def test_a_monitor_stays_through_other_batch_sizes():
    data = [*batches(1), *batches(1, size=4), *batches(1)]
    module = ready(mlp(), data[0])
    monitor = mx.mon.Monitor(1, pattern=".*")
    module.install_monitor(monitor)
    counts = []
    for batch in data:
        monitor.tic()
        module.forward_backward(batch)
        module.update()
        counts.append(len(monitor.toc()))
    assert counts[0] == counts[1] == counts[2] > 10


def test_a_shared_module_has_all_parameters():
    """MXNet refuses others too, without a name; they would begin at 0."""
    data = batches(1)[0]
    small = ready(mlp(), data)
    head = mx.sym.FullyConnected(mlp().get_internals()["fc1_output"], num_hidden=4, name="head")
    large = mx.mod.Module(mx.sym.SoftmaxOutput(head, name="softmax"))
    with pytest.raises(mx.errors.ParameterError, match="bind: shared_module lacks 'head_weight'"):
        large.bind([("data", (8, 10))], [("softmax_label", (8,))], shared_module=small)
    assert not large.binded
    body = mx.mod.Module(mlp().get_internals()["fc1_output"], label_names=None)
    body.bind([("data", (8, 10))], for_training=False, shared_module=small)
    assert set(values(body)) == {"fc1_weight", "fc1_bias"}
    assert set(values(small)) == {"fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"}


def test_a_bucket_has_parameters_of_the_default_one_alone():
    """The error names the bucket; MXNet refuses the bucket too."""

    def net_of(key):
        layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name=f"fc{key}")
        return mx.sym.SoftmaxOutput(layer, name="softmax"), ["data"], ["softmax_label"]

    module = mx.mod.BucketingModule(net_of, default_bucket_key=3)
    shapes = [("data", (2, 3))], [("softmax_label", (2,))]
    module.bind(*shapes)
    module.init_params()
    found = "switch_bucket: the default bucket, for 5, lacks 'fc5_weight'"
    with pytest.raises(mx.errors.ParameterError, match=found):
        module.switch_bucket(5, *shapes)


def test_a_store_holds_the_parameters_themselves():
    data = batches(2)
    module = ready(mlp(), data[0], context=[mx.cpu(0), mx.cpu(1)])
    for batch in data:
        module.forward_backward(batch)
        module.update()
    out = mx.nd.zeros((16,))
    module._kvstore.pull("fc1_bias", out=out)
    np.testing.assert_array_equal(out.asnumpy(), values(module)["fc1_bias"])


class Doubling(mx.kv.KVStoreBase):
    """A user's store, whose sum is twice what it is given."""

    type, rank, num_workers = "doubling", 0, 2

    def init(self, key, value):
        pass

    def broadcast(self, key, value, out, priority=0):
        pass

    def pushpull(self, key, value, out=None, priority=0):
        total = sum(v.asnumpy() for v in value)
        for each in out:
            each[:] = 2 * total

    @staticmethod
    def is_capable(capability):
        return False


def test_a_store_of_the_users_own_sums_the_gradients():
    data = batches(2)
    own = ready(mlp(), data[0], kvstore=Doubling())
    plain = ready(mlp(), data[0], learning_rate=0.2)
    for batch in data:
        for module in (own, plain):
            module.forward_backward(batch)
            module.update()
    assert_same(values(own), values(plain))


def test_a_store_of_the_users_own_sums_while_other_threads_read():
    class Waiting(Doubling):
        def pushpull(self, key, value, out=None, priority=0):
            reader = threading.Thread(target=lambda: found.append(values(module)))
            reader.start()
            reader.join(timeout=5)
            super().pushpull(key, value, out, priority)

    data, found = batches(1)[0], []
    module = ready(mlp(), data, kvstore=Waiting())
    names = module._exec_group.trained
    module.forward_backward(data)
    module.update()
    assert len(found) == len(names)


@pytest.mark.parametrize("of_group", [False, True])
def test_no_thread_feeds_or_binds_between_the_arrays_of_a_batch_and_its_pass(monkeypatch, of_group):
    data, taken = batches(1)[0], []
    module = ready(mlp(), data)
    group = module._exec_group
    begin, lock = group.begin, group.store.lock

    def take():
        taken.append(lock.acquire(blocking=False))
        if taken[-1]:
            lock.release()

    def watched(*args):
        other = threading.Thread(target=take)
        other.start()
        other.join(timeout=60)
        begin(*args)

    monkeypatch.setattr(group, "begin", watched)
    (group if of_group else module).forward(data, is_train=True)
    assert taken == [False]


def test_waitall_runs_what_is_under_way():
    data = batches(1)[0]
    module = ready(mlp(), data)
    module.forward_backward(data)
    module.update()
    mx.nd.waitall()
    assert module._joined.settled


def test_waitall_waits_for_what_is_computed():
    value = mx.nd.array(np.eye(1500))
    for _ in range(6):  # half a second
        value = mx.nd.dot(value, value)
    assert not value.to_jax().is_ready()
    mx.nd.waitall()
    assert value.to_jax().is_ready()


def test_waitall_raises_what_a_computation_raised(monkeypatch):
    class Failed:
        def __init__(self, deleted):
            self.is_deleted = lambda: deleted

        def block_until_ready(self):
            raise jax.errors.JaxRuntimeError("no room")

    gone = jax.numpy.ones(3)
    gone.delete()
    monkeypatch.setattr(jax, "live_arrays", lambda: [Failed(deleted=True), gone])
    mx.nd.waitall()  # a step of another thread has taken them meanwhile
    monkeypatch.setattr(jax, "live_arrays", lambda: [Failed(deleted=False)])
    with pytest.raises(jax.errors.JaxRuntimeError, match="no room"):
        mx.nd.waitall()


def test_the_fused_metric_follows_what_changes():
    data = batches(2)
    module = ready(mlp(), data[0])
    metric = mx.metric.CompositeEvalMetric()
    metric.add("acc")
    module.forward_backward(data[0])
    module.update()
    module.update_metric(metric, data[0].label)
    metric.add("ce")
    module.forward_backward(data[1])
    module.update()
    data[1].label[0][:] = 9
    accuracy = mx.metric.Accuracy()
    module.update_metric(accuracy, data[1].label)
    assert accuracy.get()[1] == 0
    module.forward_backward(data[0])
    module.update()
    module.update_metric(metric, data[0].label)
    assert len(metric.get_name_value()) == 2


def test_labels_of_a_network_without_labels_are_not_read() -> None:
    """They may be anything, as in MXNet 1.9.1: programs give ``[0]`` there."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, no_bias=True, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (2, 3))])
    module.init_params(mx.init.One())
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 3))], [0]), is_train=True)
    assert module.get_outputs()[0].asnumpy().tolist() == [[3], [3]]


def test_a_batch_that_is_written_in_place_after_forward_leaves_the_pass():
    module = mx.mod.Module(mx.sym.var("data") * 2, label_names=[])
    module.bind([("data", (2, 1))])
    module.init_params()
    batch = mx.io.DataBatch([mx.nd.array([[1], [1]])])
    batch.data[0][1] = 1
    module.forward(batch, is_train=False)
    batch.data[0][0, 0] = 5
    batch.data[0][1] = 7
    assert module.get_outputs()[0].asnumpy().ravel().tolist() == [2, 2]


def test_a_clock_that_is_set_back_makes_no_negative_time(caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("time.time", itertools.count(1000, -100).__next__)
    module, (x, y) = mx.mod.Module(mlp()), (np.zeros((4, 10)), np.zeros(4))
    module.fit(mx.io.NDArrayIter(x, y, 4), num_epoch=1)
    (cost,) = [r.args[1] for r in caplog.records if "Time cost" in r.message]
    assert cost >= 0


SUBCLASSES = {
    mx.mod.Module: "_metric _names _parameters _score _values _init_params _init_optimizer",
    mx.metric.Accuracy: "_sums _value _add",
    mx.optimizer.SGD: "_rate _frozen _counts",
    mx.io.NDArrayIter: "_data _label _order _count",
}


@pytest.mark.parametrize("base", SUBCLASSES, ids=lambda base: base.__name__)
def test_common_names_are_a_subclass_s_own(base):
    """MXNet's classes have none of these names, so that programs use them for their own values."""

    class Own(base):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            vars(self).update(dict.fromkeys(SUBCLASSES[base].split(), "own"))

    def made(kind, *args, **kwargs):
        return (Own if kind is base else kind)(*args, **kwargs)

    module = made(mx.mod.Module, mlp())
    x, y = np.eye(4, 10, dtype=np.float32), np.arange(4) % 2
    rows = made(mx.io.NDArrayIter, x, y, 2)
    optimizer = made(mx.optimizer.SGD, learning_rate=0.1, rescale_grad=0.5)
    metric = made(mx.metric.Accuracy)
    module.fit(rows, rows, metric, optimizer=optimizer, initializer=mx.init.One(), num_epoch=2)
    assert 0 <= dict(metric.get_name_value())["accuracy"] <= 1
    assert module.get_params()[0]
