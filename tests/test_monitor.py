"""Monitor: what is collected, when, and in which words."""

import logging

import numpy as np
import pytest

from modkit import ndarray as nd
from modkit import symbol as sym
from modkit.context import cpu
from modkit.monitor import Monitor
from tests import fresh


def executor():
    """The net and values of which MXNet's monitor said what the tests expect."""
    net = sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc1")
    net = sym.Activation(net, act_type="relu", name="relu1")
    net = sym.SoftmaxOutput(net, name="softmax")
    exe = net.simple_bind(cpu(), data=(3, 4), softmax_label=(3,))
    for array in exe.arg_dict.values():
        array[:] = np.arange(array.size).reshape(array.shape) / 10
    return exe


PARAMETERS = {
    "data": 0.64935863, "fc1_weight": 0.41833, "fc1_bias": 0.07071068, "softmax_label": 0.12909946,
}  # fmt: skip
FC1_OUTPUT = 1.1288638


def batch(monitor, exe):
    monitor.tic()
    exe.forward(is_train=True)
    exe.backward()
    return monitor.toc()


def read(result):
    return {name: float(text.rstrip("\t")) for _, name, text in result}


def test_outputs_then_parameters():
    monitor, exe = Monitor(1), executor()
    monitor.install(exe)
    result = batch(monitor, exe)
    names = [name for _, name, _ in result]
    assert names[:3] == ["fc1_output", "relu1_output", "softmax_output"]
    assert names[-4:] == list(PARAMETERS)
    values = read(result)
    assert values["fc1_output"] == pytest.approx(FC1_OUTPUT, rel=1e-5)
    for name, value in PARAMETERS.items():
        assert values[name] == pytest.approx(value, rel=1e-5)
    assert all(step == 1 and text.endswith("\t") for step, _, text in result)


def test_reading_an_output_hides_nothing():
    seen = []
    for reads in (False, True):
        monitor, exe = Monitor(1, monitor_all=True), executor()
        monitor.install(exe)
        monitor.tic()
        exe.forward(is_train=True)
        if reads:
            exe.outputs[0].asnumpy()
        exe.backward()
        seen.append(monitor.toc())
    assert "fc1_backward_output0" in read(seen[1])
    assert read(seen[1]) == read(seen[0])


def test_auxiliary_states_come_last():
    net = sym.BatchNorm(sym.Variable("data"), name="bn")
    exe = net.simple_bind(cpu(), data=(3, 4))
    exe.aux_dict["bn_moving_var"][:] = 1
    monitor = Monitor(1)
    monitor.install(exe)
    monitor.tic()
    exe.forward(is_train=False)
    result = read(monitor.toc())
    assert list(result)[-2:] == ["bn_moving_mean", "bn_moving_var"]
    assert (result["bn_moving_mean"], result["bn_moving_var"]) == (0, 1)


def test_every_second_batch():
    monitor, exe = Monitor(2, pattern=".*weight"), executor()
    monitor.install(exe)
    steps = [[step for step, _, _ in batch(monitor, exe)] for _ in range(5)]
    assert steps == [[1], [], [3], [], [5]]


def test_pattern_and_order():
    monitor, exe = Monitor(1, pattern="fc1_[ob].*|softmax_l", sort=True), executor()
    monitor.install(exe)
    names = [name for _, name, _ in batch(monitor, exe) if "backward" not in name]
    assert names == ["fc1_bias", "fc1_output", "softmax_label"]


def test_inputs_too():
    plain, every, exe = Monitor(1), Monitor(1, monitor_all=True), executor()
    plain.install(exe)
    few = len(batch(plain, exe))
    every.install(exe)
    assert len(batch(every, exe)) > few


@pytest.mark.parametrize(
    ("stat", "text"),
    [
        (lambda x: nd.array([x.asnumpy().max()]), "0.7\t"),
        (lambda x: [nd.array([x.asnumpy().max()]), nd.array([0])], "0.7\t0.0\t"),
        (lambda x: (nd.array([1.5]),), "1.5\t"),
        (lambda x: x[0], "[0.  0.1 0.2 0.3]\t"),
    ],
)
def test_statistics_of_ones_own(stat, text):
    monitor, exe = Monitor(1, stat, pattern="fc1_weight"), executor()
    monitor.install(exe)
    assert batch(monitor, exe) == [(1, "fc1_weight", text)]


def test_a_statistic_that_is_no_array():
    monitor, exe = Monitor(1, lambda x: 3.0, pattern="fc1_weight"), executor()
    monitor.install(exe)
    with pytest.raises(TypeError, match="stat_func returned a float for 'fc1_weight'"):
        batch(monitor, exe)


def test_toc_print(caplog):
    caplog.set_level(logging.INFO)
    monitor, exe = Monitor(1, pattern="fc1_weight"), executor()
    monitor.install(exe)
    monitor.tic()
    exe.forward()
    monitor.toc_print()
    assert caplog.messages == ["Batch:       1 fc1_weight                     0.41833\t"]


def test_several_executors():
    monitor, one, two = Monitor(1, pattern="fc1_weight"), executor(), executor()
    monitor.install(one)
    monitor.install(two)
    monitor.tic()
    one.forward()
    two.forward()
    assert len(monitor.toc()) == 2


def test_it_asks_for_nothing_between_batches():
    monitor, exe, calls = Monitor(2), executor(), []
    monitor.install(exe)
    exe.set_monitor_callback = lambda *args: calls.append(args[0])
    for _ in range(3):
        monitor.tic()
        monitor.toc()
    assert calls == [monitor.stat_helper, None, monitor.stat_helper, None]


def test_the_default_statistic():
    stat = Monitor(1).stat_func
    assert stat(nd.array([3, 4])).asnumpy().tolist() == [np.float32(5 / np.sqrt(2))]
    assert stat(nd.array([3, 4], dtype="int32")).asscalar() == np.float32(5 / np.sqrt(2))
    assert stat(nd.array([[3, 4], [1, 2]], dtype="float64")).dtype is np.float64


WATCHED = """
import json
import jax
import modkit as mx
from modkit.compile import program

program.KEEP_FROM_S = 0.0
compiled = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, duration, fun_name="", **_: compiled.append(fun_name)
    if event == "/jax/core/compile/backend_compile_duration" else None)
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc1")
net = mx.sym.BatchNorm(net, name="bn")
exe = mx.sym.SoftmaxOutput(net, name="softmax").simple_bind(mx.cpu(), data=(3, 4))
seen = []
for inputs_too in (False, True):
    exe.set_monitor_callback(
        lambda name, value: seen.append((name.decode(), value.asnumpy().tolist())),
        monitor_all=inputs_too)
    exe.forward(is_train=True)
    exe.backward()
print(json.dumps([seen, sum("watched" in each for each in compiled)]))
"""


def test_a_process_that_finds_its_programs_on_disk_sees_the_same(tmp_path):
    """A program from the disk cache is not traced, so no name may follow from tracing."""
    folder = str(tmp_path / "programs")
    (first, compiled), (second, again) = (
        fresh.answer(WATCHED, MODKIT_CACHE=folder) for _ in range(2)
    )
    assert (compiled, again) == (2, 0)
    assert second == first
    names = [name for name, _ in first]
    assert names[:2] == ["fc1_output", "bn_output"] and "softmax_data" in names
    assert "fc1_backward_output1" in names
