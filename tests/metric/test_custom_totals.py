"""Totals of custom metrics."""

import threading

import pytest

import modkit as mx
from modkit.metric import base


class Sums(mx.metric.EvalMetric):
    """As programs of MXNet write one: it adds NumPy's float32."""

    def update(self, labels, preds):
        self.sum_metric += preds[0].asnumpy().sum()
        self.num_inst += 1


def test_float32_numbers_add_up_in_float64():
    """MXNet 1.9.1 gives 25000000.525 with NumPy 1; float32 ends at 25000000."""
    made = (
        mx.metric.CustomMetric(lambda label, pred: pred.mean()),
        mx.metric.CustomMetric(lambda label, pred: (pred.sum(), len(label))),
        Sums("sums"),
    )
    for metric in made:
        for value in (1e8, 1.0, 1.0, 0.1):
            metric.update([mx.nd.zeros(1)], [mx.nd.array([value])])
        assert metric.get()[1] == 25000000.525
        assert type(metric.get()[1]) is float


@pytest.mark.parametrize("name", ["get", "get_global", "reset", "reset_local"])
def test_totals_are_of_one_moment(name, monkeypatch):
    """A thread that reads or clears them waits for one that is adding."""
    metric, entered = mx.metric.CustomMetric(lambda label, pred: 1.0), []

    class Lock:
        def __init__(self):
            self.inner = threading.RLock()

        def __enter__(self):
            entered.append(1)
            self.inner.acquire()

        def __exit__(self, *error):
            self.inner.release()

    monkeypatch.setattr(base, "totals_lock", Lock())
    getattr(metric, name)()
    assert entered
