"""LRFinder: the loss at learning rates from small to large, to choose one (Smith, 2015)."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from modkit.callback.base import Callback
from modkit.callback.checkpoint import Checkpoint
from modkit.callback.curves import figure, save_figure
from modkit.callback.run import Run
from modkit.constructors import check_at_least
from modkit.errors import NotSupportedError, ParameterError
from modkit.metric import F1, MCC, PCC, Accuracy, PearsonCorrelation, TopKAccuracy
from modkit.metric.composite import leaves

_GROWING = (Accuracy, TopKAccuracy, F1, MCC, PCC, PearsonCorrelation)


class LRFinder(Callback):
    """Trains ``batches`` batches at rates from ``lowest`` to ``highest``, and notes their losses.

    The rates grow geometrically. Under ``fit(accumulate=K)`` the batches of an update count as one.

    The metric of ``fit``, of a composite its first one, has to be a loss: ``eval_metric="ce"``. The
    finder ends the training, and gives the module the parameters, optimizer states and rate that it
    had before.

    Args:
        path: of a picture of the curve, or ``None``.
        diverges_at: ends when the smoothed loss is so many times the least one.

    Attributes:
        losses: the loss of each batch, smoothed (exponentially, by 0.9, without bias).

    Raises:
        ParameterError: rates that do not grow, or a metric that is no loss.
        NotSupportedError: beside an ``lr_scheduler``, a `Checkpoint` or ``resume``.
    """

    alike = True

    def __init__(
        self,
        lowest: float = 1e-6,
        highest: float = 1.0,
        batches: int = 100,
        path: str | os.PathLike[str] | None = None,
        diverges_at: float = 4.0,
    ):
        if not 0 < lowest < highest:
            raise ParameterError(f"LRFinder: got rates {lowest} to {highest}, expected 0 < a < b")
        self.lowest, self.highest = lowest, highest
        self.batches = check_at_least("LRFinder", "batches", batches, 2)
        self.diverges_at, self.path = diverges_at, None if path is None else Path(path)
        self.rates: list[float] = []
        self.losses: list[float] = []
        self._smooth = 0.0
        self._state: Any = None

    @property
    def suggestion(self) -> float:
        """The rate at which the smoothed loss falls fastest; NaN with fewer than three batches."""
        slopes = [b - a for a, b in zip(self.losses, self.losses[1:], strict=False)]
        return self.rates[slopes.index(min(slopes))] if len(slopes) > 1 else math.nan

    def on_fit_begin(self, run: Run) -> None:
        """Keep the state, and set the first rate.

        Raises:
            NotSupportedError: a schedule decides the rate, or checkpoints would keep the sweep.
            ParameterError: the metric is no loss.
        """
        optimizer = run.optimizer
        if getattr(optimizer, "lr_scheduler", None) is not None:
            raise NotSupportedError("LRFinder: the optimizer has an lr_scheduler; leave it out")
        if run.resume_folder is not None or any(isinstance(c, Checkpoint) for c in run.callbacks):
            raise NotSupportedError(
                "LRFinder: the sweep is undone at its end, so that no checkpoint of it can be "
                "resumed; leave out Checkpoint and resume"
            )
        metrics = leaves(run.eval_metric)
        if not metrics or isinstance(metrics[0], _GROWING):
            got = (
                f"{metrics[0].name!r}, which grows as the training succeeds" if metrics else "none"
            )
            raise ParameterError(
                f'LRFinder: eval_metric: got {got}; expected a loss: eval_metric="ce"'
            )
        self._state, self._rate = run.module.state_dict(), optimizer.lr
        self.rates, self.losses, self._smooth = [], [], 0.0
        optimizer.lr = self.lowest

    def on_batch_end(self, run: Run) -> None:
        """Note the loss, and set the next rate."""
        if not run.updated:
            return
        if not run.chunk_end:
            raise NotSupportedError("LRFinder: use steps_per_call=1: each batch has its own rate")
        _, value = run.eval_metric.get_name_value()[0]
        run.eval_metric.reset()
        count = len(self.losses) + 1
        self._smooth = 0.9 * self._smooth + 0.1 * float(value)
        loss = self._smooth / (1 - 0.9**count)
        self.rates.append(run.optimizer.lr)
        self.losses.append(loss)
        diverged = not math.isfinite(loss) or loss > self.diverges_at * min(self.losses)
        if diverged or count == self.batches:
            run.stop_training()
            return
        run.optimizer.lr = self.lowest * (self.highest / self.lowest) ** (
            count / (self.batches - 1)
        )

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        """Restore the state, and draw the curve."""
        state, self._state = self._state, None
        if state is None:  # the training has not begun
            return
        run.module.load_state_dict(state)
        run.optimizer.lr = self._rate
        if error is None and self.path is not None:
            self._draw(self.path)

    def _draw(self, path: Path) -> None:
        drawn = figure()
        axis = drawn.subplots()
        axis.plot(self.rates, self.losses)
        axis.axvline(self.suggestion, color="gray", linestyle=":")
        axis.set(xscale="log", xlabel="learning rate", ylabel="loss")
        save_figure(drawn, path)
