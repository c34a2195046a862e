"""Timer: seconds and samples a second of each epoch."""

from __future__ import annotations

import logging
import time

from modkit.callback.base import Callback
from modkit.callback.run import Run

_log = logging.getLogger(__name__)


class Timer(Callback):
    """Logs and keeps the seconds of each epoch's training and validation, and its throughput.

    Attributes:
        rows: a dictionary for each epoch: ``epoch``, ``train_s``, ``eval_s``, ``samples_per_s``.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self._epoch_s = self._eval_s = self._eval_began_s = self._speed = 0.0

    def on_fit_begin(self, run: Run) -> None:
        """Start the clock, also for an epoch that is resumed."""
        self.on_epoch_begin(run)

    def on_epoch_begin(self, run: Run) -> None:
        self._epoch_s, self._eval_s = time.perf_counter(), 0.0

    def on_batch_end(self, run: Run) -> None:
        """Read the throughput after the last batch."""
        if run.last_batch:
            self._speed = run.samples_per_s

    def on_eval_begin(self, run: Run) -> None:
        """Start the clock of the validation."""
        self._eval_began_s = time.perf_counter()

    def on_eval_end(self, run: Run) -> None:
        self._eval_s = time.perf_counter() - self._eval_began_s

    def on_epoch_end(self, run: Run) -> None:
        train_s = time.perf_counter() - self._epoch_s - self._eval_s
        self.rows.append({"epoch": run.epoch, "train_s": train_s, "eval_s": self._eval_s,
                          "samples_per_s": self._speed})  # fmt: skip
        _log.info("Epoch[%d] train %.3f s, eval %.3f s, %.1f samples/s",
                  run.epoch, train_s, self._eval_s, self._speed)  # fmt: skip
