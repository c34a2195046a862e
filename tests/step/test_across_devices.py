"""Replicas by a mesh have the results of those by ``pmap``."""

import numpy as np
import pytest

import modkit as mx
from modkit.step.across_devices import by_mesh, by_pmap
from modkit.step.replicas import DistinctDevices
from tests.module.networks import assert_same, batches, convnet, mlp, ready, values


def by(how, monkeypatch):
    monkeypatch.setattr(DistinctDevices, "by", how)


def dropout():
    net = mx.sym.Dropout(convnet().get_internals()["bn_output"], p=0.4, name="drop")
    net = mx.sym.FullyConnected(net, num_hidden=4, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def trained(symbol, data, count):
    mx.random.seed(3)
    module = ready(symbol, data[0], momentum=0.9, context=[mx.cpu(i) for i in range(count)])
    metric = mx.metric.create("acc")
    for batch in data:
        module.forward_backward(batch)
        module.update()
        module.update_metric(metric, batch.label)
    args, auxs = module.get_params()
    return {n: v.asnumpy() for n, v in {**args, **auxs}.items()}, metric.get()


@pytest.mark.parametrize("count", [2, 4])
def test_statistics_dropout_and_metric_agree(count, monkeypatch):
    data = batches(4, shape=(2, 6, 6))
    found, used = [], []

    def counted(*args):
        used.append(args[0].count)
        return by_mesh(*args)

    for how in (by_pmap, counted):
        by(how, monkeypatch)
        found.append(trained(dropout(), data, count))
    assert set(used) == {count}
    assert found[0][1] == found[1][1]
    assert found[0][0].keys() == found[1][0].keys()
    for name, value in found[0][0].items():
        np.testing.assert_allclose(found[1][0][name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_batch_that_the_devices_do_not_divide(monkeypatch):
    data = batches(2) + batches(1, size=7, seed=5) + batches(2, seed=6)
    found = []
    for how in (by_pmap, by_mesh):
        by(how, monkeypatch)
        found.append(trained(mlp(), data, 2)[0])
    assert_same(found[1], found[0], rtol=1e-5, atol=1e-6)


def test_a_monitor_sees_the_same(monkeypatch):
    seen = []
    for how in (by_pmap, by_mesh):
        by(how, monkeypatch)
        (batch,) = batches(1)
        module = ready(mlp(), batch, context=[mx.cpu(0), mx.cpu(1)])
        monitor = mx.mon.Monitor(1)
        module.install_monitor(monitor)
        monitor.tic()
        module.forward_backward(batch)
        seen.append([each[1:] for each in monitor.toc()])
    assert len(seen[0]) > 4
    assert [name for name, _ in seen[0]] == [name for name, _ in seen[1]]
    for (name, first), (_, second) in zip(*seen, strict=True):
        np.testing.assert_allclose(
            np.array(second.split(), "f"), np.array(first.split(), "f"), 1e-4, 1e-6, err_msg=name
        )


def test_a_training_goes_on_by_the_other(monkeypatch):
    """A state of a training by ``pmap`` is gone on with by a mesh."""
    data = batches(6)

    def run(first, second):
        by(first, monkeypatch)
        context = [mx.cpu(0), mx.cpu(1)]
        module = ready(mlp(), data[0], momentum=0.9, context=context)
        for batch in data[:3]:
            module.forward_backward(batch)
            module.update()
        state = module.state_dict()
        by(second, monkeypatch)
        other = ready(mlp(), data[0], momentum=0.9, context=context)
        other.load_state_dict(state)
        for batch in data[3:]:
            other.forward_backward(batch)
            other.update()
        return values(other)

    assert_same(run(by_pmap, by_mesh), run(by_pmap, by_pmap), rtol=1e-5, atol=1e-6)
