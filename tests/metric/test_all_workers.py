"""Totals of several workers, added up: the metric of all their data."""

import pickle

import numpy as np
import pytest

import modkit as mx
from modkit.errors import NotSupportedError

STREAM = np.random.RandomState(5)
BATCHES = [
    (STREAM.randint(0, 2, 6).astype("float32"), STREAM.dirichlet([1, 1], 6).astype("float32"))
    for _ in range(6)
]
PAIRS = [(x, x + STREAM.rand(6).astype("float32")) for x, _ in BATCHES]
MULTI = [
    (np.arange(6, dtype="float32") % (3 + (i > 2)), STREAM.dirichlet([1] * 5, 6).astype("float32"))
    for i in range(6)
]


class Rank:
    """Worker 1 of two: the other one has ``theirs``."""

    def __init__(self, theirs):
        self.theirs = theirs

    def gather(self, own):
        return pickle.loads(pickle.dumps([self.theirs.state_dict(), own]))


def updated(metric, batches):
    for label, pred in batches:
        metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
    return metric


@pytest.mark.parametrize(
    ("make", "batches"),
    [
        (mx.metric.Accuracy, BATCHES),
        (lambda: mx.metric.TopKAccuracy(2), MULTI),
        (mx.metric.F1, BATCHES),
        (lambda: mx.metric.F1(average="micro"), BATCHES),
        (lambda: mx.metric.MCC(average="micro"), BATCHES),
        (mx.metric.PCC, MULTI),
        (lambda: mx.metric.Perplexity(None), BATCHES),
        (mx.metric.CrossEntropy, BATCHES),
        (mx.metric.RMSE, PAIRS),
        (mx.metric.PearsonCorrelation, PAIRS),
        (lambda: mx.metric.PearsonCorrelation(average="micro"), PAIRS),
        (lambda: mx.metric.CustomMetric(lambda y, p: float(p.max())), BATCHES),
        (lambda: mx.metric.create(["acc", "ce"]), BATCHES),
    ],
)
def test_the_whole_of_two_workers(make, batches):
    theirs, own = updated(make(), batches[:2]), updated(make(), batches[2:])
    before = own.get_name_value()
    found = mx.metric.reduce_over(own, Rank(theirs)).get_name_value()
    wanted = updated(make(), batches).get_name_value()
    for (name, value), (same, expected) in zip(found, wanted, strict=True):
        assert name == same
        np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert own.get_name_value() == before


def test_totals_of_its_own():
    class Own(mx.metric.EvalMetric):
        def get(self):
            return self.name, 0.0

    with pytest.raises(NotSupportedError, match=r"override merge\(state\)"):
        mx.metric.reduce_over(Own("own"), Rank(Own("own")))
