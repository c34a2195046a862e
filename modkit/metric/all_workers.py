"""Metrics over the data of all workers."""

from __future__ import annotations

import copy
from typing import Any

from modkit.metric.base import EvalMetric


def reduce_over(metric: EvalMetric, kv: Any) -> EvalMetric:
    """A copy of a metric, with the totals of all workers of a distributed store.

    Every worker makes this call. ``fit`` makes it after each epoch and after each validation.

    Args:
        metric: the metric of this worker, which is not changed.
        kv: the store; with one worker the copy has the same totals.

    Raises:
        NotSupportedError: the metric has totals of its own, and no `EvalMetric.merge` for them.

    >>> metric = mx.metric.Accuracy()
    >>> metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0.3, 0.7], [0.4, 0.6]])])
    >>> mx.metric.reduce_over(metric, mx.kv.create("local")).get()
    ('accuracy', 0.5)
    """
    workers = getattr(kv, "workers", kv)
    own = metric.state_dict()
    whole = copy.deepcopy(metric)
    gather = getattr(workers, "gather", None)
    if gather is None:
        return whole
    states = gather(own)
    whole.load_state_dict(states[0])  # all add in the same order, and have the same bits
    for state in states[1:]:
        whole.merge(state)
    return whole
