"""Callbacks: what they log, word for word as MXNet, and what they save."""

import io
import logging
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from modkit import callback
from modkit import metric as metrics
from modkit import ndarray as nd
from modkit import symbol as sym
from modkit.checkpoint import load_checkpoint

TIMES = r"\d+\.\d\d|inf"


def at(epoch, nbatch, metric):
    return SimpleNamespace(epoch=epoch, nbatch=nbatch, eval_metric=metric, locals=None)


def feed(metric, right=1, wrong=1):
    label = np.zeros(right + wrong, np.float32)
    pred = np.eye(2, dtype=np.float32)[[0] * right + [1] * wrong]
    metric.update([label], [pred])


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO)
    return caplog


def speeds(log):
    """Logged lines with the speed, which differs from run to run, as ``?``."""
    return [re.sub(rf"Speed: ({TIMES}) ", "Speed: ? ", line) for line in log.messages]


def drive(speedometer, metric, batches=8, epochs=2):
    for epoch in range(epochs):
        for nbatch in range(batches):
            if metric is not None:
                feed(metric, right=nbatch % 2)
            speedometer(at(epoch, nbatch, metric))


def test_speedometer_resets(log):
    metric = metrics.create(["acc", "loss"])
    drive(callback.Speedometer(10, frequent=3), metric)
    assert speeds(log) == [
        "Epoch[0] Batch [0-3]\tSpeed: ? samples/sec\taccuracy=0.333333\tloss=0.500000",
        "Epoch[0] Batch [3-6]\tSpeed: ? samples/sec\taccuracy=0.250000\tloss=0.500000",
        "Epoch[1] Batch [0-3]\tSpeed: ? samples/sec\taccuracy=0.375000\tloss=0.500000",
        "Epoch[1] Batch [3-6]\tSpeed: ? samples/sec\taccuracy=0.250000\tloss=0.500000",
    ]
    assert metric.get_global()[1][0] == 1 / 3


def test_speedometer_goes_on(log):
    drive(callback.Speedometer(10, frequent=3, auto_reset=False), metrics.Accuracy(), epochs=1)
    assert speeds(log) == [
        "Epoch[0] Batch [0-3]\tSpeed: ? samples/sec\taccuracy=0.333333",
        "Epoch[0] Batch [0-6]\tSpeed: ? samples/sec\taccuracy=0.300000",
    ]


def test_speedometer_without_a_metric(log):
    drive(callback.Speedometer(10, frequent=2), None, batches=6, epochs=1)
    assert speeds(log) == [
        "Iter[0] Batch [2]\tSpeed: ? samples/sec",
        "Iter[0] Batch [4]\tSpeed: ? samples/sec",
    ]


def test_speed_is_samples_over_time(log, monkeypatch):
    clock = iter(np.arange(0, 100, 0.25))
    monkeypatch.setattr(callback.functions.time, "perf_counter", lambda: float(next(clock)))
    drive(callback.Speedometer(32, frequent=4), None, batches=5, epochs=1)
    assert log.messages == [f"Iter[0] Batch [4]\tSpeed: {4 * 32 / 0.25:.2f} samples/sec"]
    monkeypatch.setattr(callback.functions.time, "perf_counter", lambda: 1.0)
    drive(callback.Speedometer(32, frequent=4), None, batches=5, epochs=1)
    assert "Speed: inf samples/sec" in log.messages[-1]


def test_the_root_logger_is_used(log):
    drive(callback.Speedometer(1, 1), metrics.Accuracy(), batches=2, epochs=1)
    assert {r.name for r in log.records} == {"root"}


def test_log_train_metric(log):
    metric = metrics.create(["acc", "loss"])
    feed(metric)
    call = callback.log_train_metric(2)
    for nbatch in range(3):
        call(at(1, nbatch, metric))
    call(at(1, 4, None))
    assert log.messages == [
        "Iter[1] Batch[0] Train-accuracy=0.500000",
        "Iter[1] Batch[0] Train-loss=0.500000",
        "Iter[1] Batch[2] Train-accuracy=0.500000",
        "Iter[1] Batch[2] Train-loss=0.500000",
    ]
    callback.log_train_metric(2, auto_reset=True)(at(1, 2, metric))
    assert np.isnan(metric.get()[1][0])
    assert metric.get_global()[1][0] == 0.5


def test_progress_bar(log):
    bar = callback.ProgressBar(7, 20)
    for nbatch in (0, 1, 3, 7):
        bar(at(0, nbatch, None))
    assert log.messages == [
        "[===-----------------] 15%\r",
        "[======--------------] 29%\r",
        "[===========---------] 58%\r",
        "[====================] 100%\r",
    ]
    callback.ProgressBar(2)(at(0, 0, None))
    assert log.messages[-1] == f"[{'=' * 40}{'-' * 40}] 50%\r"


def test_progress_on_a_terminal_is_one_line(monkeypatch):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Screen())
    bar = callback.ProgressBar(2, 4)
    for nbatch in (0, 1):
        bar(at(0, nbatch, None))
    assert sys.stderr.getvalue() == "\r[==--] 50%\r[====] 100%\n"


def test_validation_metrics(log):
    metric = metrics.create(["acc", "loss"])
    feed(metric)
    call = callback.LogValidationMetricsCallback()
    call(at(3, 0, metric))
    call(at(3, 0, None))
    assert log.messages == [
        "Epoch[3] Validation-accuracy=0.500000",
        "Epoch[3] Validation-loss=0.500000",
    ]


def test_arguments_of_a_program_need_only_the_fields_that_are_read(log):
    callback.ProgressBar(2, 4)(SimpleNamespace(nbatch=0))
    callback.log_train_metric(2)(SimpleNamespace(nbatch=1))
    callback.LogValidationMetricsCallback()(SimpleNamespace(eval_metric=None))
    assert log.messages == ["[==--] 50%\r"]


@pytest.mark.parametrize(("period", "saved"), [(1, [1, 2, 3, 4]), (2, [2, 4]), (0, [1, 2, 3, 4])])
def test_do_checkpoint(tmp_path, period, saved):
    net = sym.FullyConnected(sym.Variable("data"), num_hidden=2, name="fc")
    call = callback.do_checkpoint(str(tmp_path / "a"), period)
    for epoch in range(4):
        call(epoch, net, {"fc_bias": nd.full((2,), epoch)}, {})
    names = sorted(p.name for p in tmp_path.glob("*.params"))
    assert names == [f"a-{epoch:04d}.params" for epoch in saved]
    loaded, args, _ = load_checkpoint(str(tmp_path / "a"), saved[-1])
    assert loaded.tojson() == net.tojson()
    assert args["fc_bias"].asnumpy().tolist() == [saved[-1] - 1] * 2


def test_module_checkpoint():
    calls = []
    mod = SimpleNamespace(save_checkpoint=lambda *args: calls.append(args))
    call = callback.module_checkpoint(mod, "p", 2, True)
    for epoch in range(4):
        call(epoch, None, None, None)
    callback.module_checkpoint(mod, "q")(0)
    assert calls == [("p", 2, True), ("p", 4, True), ("q", 1, False)]
