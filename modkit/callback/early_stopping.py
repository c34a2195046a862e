"""EarlyStopping: ends a training whose metric no longer improves."""

from __future__ import annotations

import logging
from typing import Any

from modkit.callback.best_so_far import BestSoFar
from modkit.callback.run import Run
from modkit.constructors import check_at_least
from modkit.ndarray import NDArray, array

_log = logging.getLogger(__name__)


class EarlyStopping(BestSoFar):
    """Ends the training when a metric has not improved for some epochs.

    Args:
        monitor: a name of ``Run.metrics``: ``"validation-accuracy"``, ``"train-cross-entropy"``,
            ... (``"validation-"`` or ``"train-"``, and the metric's name).
        mode: ``"min"``, ``"max"``, or ``"auto"``, by the name.
        patience: number of epochs without improvement before the training ends.
        min_delta: smallest difference that is an improvement.
        restore_best: give the module the parameters of the best epoch at the end of the training:
            beside `EMA` or `SWA` the averages that its validation used.
    """

    alike = True
    _kept = (*BestSoFar._kept, "waited", "_params")

    def __init__(
        self,
        monitor: str = "validation-accuracy",
        mode: str = "auto",
        patience: int = 5,
        min_delta: float = 0.0,
        restore_best: bool = False,
    ):
        super().__init__(monitor, mode, min_delta)
        self.patience = check_at_least("EarlyStopping", "patience", patience, 1)
        self.restore_best = restore_best

    def _forget(self) -> None:
        super()._forget()
        self._params: list[dict[str, NDArray]] | None = None

    def on_epoch_end(self, run: Run) -> None:
        if self.improves(run):
            self._params = list(self.params(run)) if self.restore_best else None
        elif self.waited >= self.patience:
            _log.info("%s has not improved on %s of epoch %s: the training ends", self.monitor,
                      self.best, self.best_epoch)  # fmt: skip
            run.stop_training()

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        if error is None and self._params is not None:
            run.module.set_params(*self._params)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._params = self._params and [
            {n: array(v, dtype=v.dtype) for n, v in part.items()} for part in self._params
        ]
