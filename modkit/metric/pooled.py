"""PooledMetric: a metric of all samples together, whose value is no mean over batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from modkit.errors import expect
from modkit.metric.base import Names, rebuilt, totals_lock
from modkit.metric.statistics import Statistic
from modkit.metric.traced import TracedMetric

Average = Literal["macro", "micro"]


class PooledMetric(TracedMetric):
    """The base of metrics with a value of counts or moments, which are pooled over batches.

    A subclass has ``_empty`` and ``score``, and ``_joined`` if its pools cannot be added by ``+``.

    Args:
        **options: ``average``: ``"macro"``, the mean of the scores of the updates, or ``"micro"``,
            the score of all samples together; absent for a metric that has the latter only.
    """

    def __init__(
        self,
        name: str,
        output_names: Names,
        label_names: Names,
        statistic: Statistic,
        **options: Any,
    ):
        self.average = average = options.get("average", "micro")
        expect(average in ("macro", "micro"), "average", average, "'macro' or 'micro'")
        kept = options if average == "micro" else {}
        super().__init__(name, output_names, label_names, statistic, **kept)

    def _empty(self) -> Any:
        """The pool of no samples."""
        raise NotImplementedError

    def _joined(self, pool: Any, other: Any) -> Any:
        """The pool of the samples of both."""
        return pool + other

    def score(self, pool: Any) -> float:
        """The value of a pool."""
        raise NotImplementedError

    def reset(self) -> None:
        with totals_lock:
            self._pools = [self._empty(), self._empty()]
            super().reset()

    def _begin_local(self) -> None:
        super()._begin_local()
        self._pools[0] = self._empty()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(_read(state))

    def merge(self, state: Mapping[str, Any]) -> None:
        super().merge(state)
        if self.average == "micro":
            with totals_lock:
                self._pool(*rebuilt(_read(state)["_pools"], self._pools), count=0)

    def _present_pools(self) -> list[Any]:
        """The pools since the last reset, and since the first, of all updates."""
        self._folded()
        return self._pools

    def _add_pool(self, pool: Any, count: int) -> None:
        """Add the samples of an update, which are ``count`` instances in the pools."""
        if self.average == "macro":
            self._add_totals(self.score(pool), 1)
        else:
            self._pool(pool, pool, count=count)

    def _pool(self, local: Any, whole: Any, *, count: int) -> None:
        self._pools = list(map(self._joined, self._pools, (local, whole)))
        for totals, pool in zip((self._local, self._global), self._pools, strict=True):
            totals.count += count
            totals.total = self.score(pool) * totals.count


def _read(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state; checkpoints may have its pools under the names of a metric's kind of pool."""
    names: Mapping[str, str] = dict.fromkeys(("_counts", "_matrices", "_pooled"), "_pools")
    read = {names.get(name, name): value for name, value in state.items()}
    return {**read, "_pools": list(read["_pools"])} if "_pools" in read else read
