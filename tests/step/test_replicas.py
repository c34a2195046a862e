"""Several contexts: the same parameters by ``pmap``, by ``vmap`` and alone; uneven slices too."""

import threading

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotSupportedError
from modkit.step.placement import Spec
from modkit.step.replicas import DistinctDevices
from tests.module.networks import assert_same, batches, convnet, mlp, ready, values
from tests.threads import run_all, wait_until_calling

SEVERAL = {
    "vmap": [mx.cpu(0), mx.cpu(4)],
    "pmap": [mx.cpu(0), mx.cpu(1)],
    "four": [mx.cpu(i) for i in range(4)],
}


def train(symbol, data, **options):
    module = ready(symbol, data[0], momentum=0.9, wd=1e-4, **options)
    metric = mx.metric.create("acc")
    for batch in data:
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)
    return module, metric


@pytest.mark.parametrize("where", SEVERAL)
@pytest.mark.parametrize("on_kvstore", ["0", "1"])
def test_twenty_steps_agree_with_one_device(where, on_kvstore, monkeypatch):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", on_kvstore)
    data = batches(20)
    alone, metric = train(mlp(), data)
    several, metric_several = train(mlp(), data, context=SEVERAL[where], kvstore="device")
    assert_same(values(several), values(alone), rtol=1e-4, atol=1e-6)
    assert metric_several.get() == metric.get()


@pytest.mark.parametrize("where", ["vmap", "pmap"])
def test_each_replica_has_its_own_statistics(where):
    data = batches(1, shape=(2, 6, 6))
    module, _ = train(convnet(), data, context=SEVERAL[where])
    states = module._exec_group.aux_arrays[0]
    first, second = (s.asnumpy() for s in states)
    assert not np.allclose(first, second)
    averaged = module.get_params()[1]["bn_moving_mean"].asnumpy()
    np.testing.assert_allclose(averaged, (first + second) / 2, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("where", ["vmap", "pmap"])
def test_synchronised_statistics_are_those_of_the_whole_batch(where):
    def statistics(context, ndev):
        net = mx.sym.contrib.SyncBatchNorm(mx.sym.Variable("data"), key="k", ndev=ndev, name="bn")
        module = mx.mod.Module(net, label_names=None, context=context)
        module.bind([("data", (4, 3))])
        module.init_params()
        rows = mx.nd.array(np.arange(12).reshape(4, 3) ** 2)
        module.forward(mx.io.DataBatch([rows]), is_train=True)
        module.get_outputs()[0].asnumpy()
        return [s.asnumpy() for s in module._exec_group.aux_arrays[0]]

    (whole,) = statistics(mx.cpu(0), 1)
    for each in statistics(SEVERAL[where], 2):
        np.testing.assert_allclose(each, whole, rtol=1e-5)


@pytest.mark.parametrize("where", ["vmap", "pmap"])
def test_replicas_drop_different_units(where):
    net = mx.sym.Dropout(mx.sym.Variable("data"), p=0.5, name="drop")
    module = mx.mod.Module(net, label_names=None, context=SEVERAL[where])
    module.bind([("data", (2, 400))])
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.ones((2, 400))]), is_train=True)
    first, second = module.get_outputs()[0].asnumpy()
    assert set(np.unique(first)) == {0, 2}
    assert (first != second).any()


@pytest.mark.parametrize(
    ("loads", "sizes"), [([3, 1], [6, 2]), ([1, 1, 1], [3, 3, 2]), ([1, 3], [2, 6])]
)
def test_uneven_work_loads_agree_with_one_device(loads, sizes):
    data = batches(10)
    alone, _ = train(mlp(), data)
    module = mx.mod.Module(
        mlp(), context=[mx.cpu(i) for i in range(len(loads))], work_load_list=loads
    )
    module.bind([("data", (8, 10))], [("softmax_label", (8,))])
    mx.random.seed(11)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "wd": 1e-4})
    group = module._exec_group
    assert [s.stop - s.start for s in group.slices] == sizes
    for batch in data:
        module.forward_backward(batch)
        module.update()
    assert_same(values(module), values(alone), rtol=1e-4, atol=1e-6)
    assert module.get_outputs()[0].shape == (8, 4)
    assert [o.shape[0] for o in module.get_outputs(merge_multi_context=False)[0]] == sizes


def test_a_batch_that_cannot_be_cut_evenly_is_cut_unevenly():
    data = batches(3) + batches(1, size=7, seed=5) + batches(2, seed=6)
    alone, _ = train(mlp(), data)
    several, _ = train(mlp(), data, context=SEVERAL["pmap"])
    assert_same(values(several), values(alone), rtol=1e-4, atol=1e-6)


def test_the_group_as_users_inspect_it():
    module, _ = train(mlp(), batches(1), context=SEVERAL["pmap"])
    group = module._exec_group
    assert [(s.start, s.stop) for s in group.slices] == [(0, 4), (4, 8)]
    assert [e.outputs[0].shape for e in group.execs] == [(4, 4), (4, 4)]
    assert [a.shape for a in group.param_arrays[0]] == [(16, 10), (16, 10)]
    assert [a.shape for a in group.grad_arrays[0]] == [(16, 10), (16, 10)]
    assert group.aux_arrays == []
    assert (group.data_names, group.label_names) == (["data"], ["softmax_label"])
    assert group.param_names == ["fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"]
    assert group.execs[1].arg_dict["data"].shape == (4, 10)
    parts = [each[0].asnumpy() for each in group.grad_arrays]
    assert not np.allclose(parts[0], group.grad_arrays[0][1].asnumpy())


def test_writing_one_replicas_parameter_writes_the_parameter():
    for where in ("vmap", "pmap"):
        module, _ = train(mlp(), batches(1), context=SEVERAL[where])
        own = module._exec_group.param_arrays[1][1]
        own[:] = 3
        np.testing.assert_array_equal(module.get_params()[0]["fc1_bias"].asnumpy(), 3)
        own[mx.nd.array([1, 4])] = own[1:3] + 1  # computed on its device
        np.testing.assert_array_equal(own.asnumpy()[:5], [3, 4, 3, 3, 4])


@pytest.mark.parametrize("where", ["vmap", "pmap"])
def test_as_many_arrays_as_arguments(where):
    """Three parameters, data, labels and the key are six arrays, and a program has six arguments.

    Gradients that are read before an update are those of such a program.
    """
    data = mx.sym.FullyConnected(mx.sym.Variable("data"), no_bias=True, num_hidden=3, name="fc1")
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(data, num_hidden=4, name="fc2"), name="softmax"
    )
    found = []
    for context in (mx.cpu(0), SEVERAL[where]):
        module = mx.mod.Module(net, context=context)
        module.bind([("data", (8, 10))], [("softmax_label", (8,))])
        module.init_params(mx.init.One())
        module.forward_backward(batches(1)[0])
        found.append(sum(g.asnumpy() for g in module._exec_group.grad_arrays[1]))
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-5)


def test_more_devices_than_samples_is_an_error():
    module = mx.mod.Module(mlp(), context=[mx.cpu(i) for i in range(4)])
    with pytest.raises(mx.MXNetError, match="3 samples cannot be cut for 4 devices"):
        module.bind([("data", (3, 10))], [("softmax_label", (3,))])


def test_a_monitor_sees_uneven_slices_too():
    """Their statistics cannot wait to be read, so each pass has run when the monitor looks."""
    seen, net = [], convnet()
    (batch,) = batches(1, shape=(2, 6, 6))
    for loads in ([1, 1], [3, 1]):
        module = mx.mod.Module(net, context=SEVERAL["pmap"], work_load_list=loads)
        module.bind([("data", (8, 2, 6, 6))], [("softmax_label", (8,))])
        module.init_params()
        monitor = mx.mon.Monitor(1)
        module.install_monitor(monitor)
        monitor.tic()
        module.forward_backward(batch)
        seen.append([name for _, name, _ in monitor.toc()])
    assert "bn_output" in seen[0]
    assert "bn_backward_output0" in seen[0]
    assert seen[1] == seen[0]


def test_threads_take_turns_with_collective_programs(monkeypatch):
    """Devices that get two of them in different orders wait for each other for ever."""
    running, together = [], []

    def program(number):
        running.append(number)
        wait_until_calling(call, *threads)
        together.append(list(running))
        running.remove(number)
        return np.float32(number)

    monkeypatch.setattr(DistinctDevices, "by", lambda _, spec: spec.fn)
    homes = [DistinctDevices([mx.cpu(i), mx.cpu(i + 1)]) for i in range(3)]
    programs = [home.compile(Spec(program, ("plain",), "local")) for home in homes]

    def call(number):
        programs[number](number)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(3)]
    run_all(threads)
    assert sorted(together) == [[0], [1], [2]]


def test_threads_train_over_the_same_devices():
    data = batches(5)
    context = SEVERAL["pmap"]
    modules = [ready(mlp(), data[0], momentum=0.9, wd=1e-4, context=context) for _ in range(3)]

    def work(module):
        for batch in data:
            module.forward_backward(batch)
            module.update()

    threads = [threading.Thread(target=work, args=(m,)) for m in modules]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = values(train(mlp(), data)[0])
    for module in modules:
        assert_same(values(module), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("made", [np.asarray, mx.nd.array], ids=["NumPy", "NDArray"])
def test_programs_over_two_devices_cut_a_batch_themselves(made):
    x, y = np.arange(80, dtype=np.float32).reshape(8, 10), np.zeros(8, np.float32)
    batch = mx.io.DataBatch([made(x)], [made(y)])
    module = ready(mlp(), batch, context=[mx.cpu(0), mx.cpu(1)])
    module.forward_backward(batch)
    cell = module._exec_group.bounds[0].arrays.local["data"]
    np.testing.assert_array_equal(cell.rows, x.reshape(2, 4, 10))
    module.update()
    assert np.isfinite(module.get_outputs()[0].asnumpy()).all()
    assert cell.rows is not None
    first, second = (e.arg_dict["data"].asnumpy() for e in module._exec_group.execs)
    np.testing.assert_array_equal(np.concatenate([first, second]), x)
    assert len(cell.peek().sharding.device_set) == 2
    module._exec_group.execs[1].arg_dict["data"][:] = 0
    assert not module._exec_group.execs[1].arg_dict["data"].asnumpy().any()


def test_replicas_of_one_device_read_a_batch_where_it_lies():
    x, y = np.arange(80, dtype=np.float32).reshape(8, 10), np.zeros(8, np.float32)
    batch = next(iter(mx.io.NDArrayIter(x, y, 8)))
    module = ready(mlp(), batch, context=[mx.cpu(0), mx.cpu(0)])
    module.forward_backward(batch)
    rows = module._exec_group.bounds[0].arrays.local["data"].rows
    np.testing.assert_array_equal(rows, x.reshape(2, 4, 10))
    assert np.shares_memory(rows, batch.data[0]._cell.rows)
    module.update()
    assert np.isfinite(module.get_outputs()[0].asnumpy()).all()


@pytest.mark.filterwarnings("ignore:init_optimizer. kvstore=None")
def test_contexts_that_train_apart_refuse_what_needs_one_copy():
    module, _ = train(mlp(), batches(2), context=SEVERAL["pmap"], kvstore=None)
    first, second = (each.asnumpy() for each in module._exec_group.param_arrays[0])
    assert not np.allclose(first, second)
    with pytest.raises(NotSupportedError, match="kvstore=None trains the parameters"):
        module.init_optimizer(kvstore=None, shard_optimizer_states=True, force_init=True)
