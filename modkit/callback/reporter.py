"""The base of callbacks that write metrics."""

from __future__ import annotations

from modkit.callback.base import Callback
from modkit.callback.run import Metrics, Run
from modkit.constructors import check_at_least


def _numbers(run: Run, metrics: Metrics) -> dict[str, float]:
    """The learning rate, where there is one, and metrics."""
    rate = {} if run.learning_rate is None else {"learning_rate": run.learning_rate}
    return {n: float(v) for n, v in {**rate, **metrics}.items()}


class Reporter(Callback):
    """The base of callbacks that write metrics at the end of each epoch, and after batches."""

    every_worker = False

    def __init__(self, every_n_batches: int | None = None):
        if every_n_batches is not None:
            check_at_least(type(self).__name__, "every_n_batches", every_n_batches, 1)
        self.every_n_batches = every_n_batches

    def on_batch_end(self, run: Run) -> None:
        """Write the training metrics, if it is due."""
        if self.every_n_batches and run.step % self.every_n_batches == 0:
            train = {n: v for n, v in run.metrics.items() if n.startswith("train-")}
            self._report(run, _numbers(run, train), ended=False)

    def on_epoch_end(self, run: Run) -> None:
        self._report(run, _numbers(run, run.metrics), ended=True)

    def _report(self, run: Run, values: dict[str, float], *, ended: bool) -> None:
        """Write the learning rate and metrics, at the end of an epoch or after a batch."""
        raise NotImplementedError
