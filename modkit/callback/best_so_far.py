"""BestSoFar: the base of callbacks that act when a metric improves, or no longer does."""

from __future__ import annotations

import math
from collections.abc import Collection

from modkit.callback.base import Callback
from modkit.callback.run import Run
from modkit.errors import NameNotFoundError, expect, unknown
from modkit.ndarray import NDArray

_FALLING = ("loss", "error", "mae", "mse", "entropy", "likelihood", "perplexity")


class BestSoFar(Callback):
    """Compares a metric at the end of each epoch with its best value so far.

    Args:
        monitor: a name of ``Run.metrics``, such as ``"validation-accuracy"``.
        mode: ``"min"``, ``"max"``, or ``"auto"``: ``"min"`` for names of losses and errors.
        min_delta: a value is better from this difference on.

    Raises:
        ParameterError: another mode, or a negative ``min_delta``.
    """

    _kept = ("best", "best_epoch")

    def __init__(self, monitor: str, mode: str, min_delta: float):
        name = type(self).__name__
        expect(mode in ("auto", "min", "max"), f"{name}: mode", mode, "'auto', 'min' or 'max'")
        expect(min_delta >= 0, f"{name}: min_delta", min_delta, "0 or more")
        falling = any(each in monitor.lower() for each in _FALLING)
        self.monitor, self.min_delta = monitor, min_delta
        self.mode = mode if mode != "auto" else "min" if falling else "max"
        self._forget()

    def on_fit_begin(self, run: Run) -> None:
        """Forget the best value of an earlier training; check that there will be the metric."""
        if not run.resumed:
            self._forget()
        names = run._metric_names()
        if names is not None and type(self).value is BestSoFar.value:
            self._check(names, "There will be")

    def _forget(self) -> None:
        self.best: float | None = None
        self.best_epoch: int | None = None
        self.waited = 0

    def value(self, run: Run) -> float:
        """The monitored value.

        Raises:
            NameNotFoundError: there is no such metric.
        """
        metrics = run.metrics
        self._check(metrics, "There are")
        return float(metrics[self.monitor])

    def _check(self, names: Collection[str], there: str) -> None:
        if self.monitor not in names:
            message = unknown(
                f"{type(self).__name__}: monitor: no metric", self.monitor, names, there
            )
            raise NameNotFoundError(f"{message}; those of validation need eval_data")

    def params(self, run: Run) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Parameters and auxiliary states that the value is of: of validation, its averages."""
        own, aux = run.module.get_params()
        averaged = run.averaged if self.monitor.startswith("validation-") else None
        return (own if averaged is None else averaged), aux

    def improves(self, run: Run) -> bool:
        """True if this epoch is the best one so far, which is noted; NaN never is.

        ``waited`` becomes the number of epochs since then.
        """
        value = self.value(run)
        self.waited += 1
        if self.best is not None:
            gain = self.best - value if self.mode == "min" else value - self.best
            better = gain > 0 and gain >= self.min_delta
        else:
            better = not math.isnan(value)
        if better:
            self.best, self.best_epoch, self.waited = value, run.epoch, 0
        return better
