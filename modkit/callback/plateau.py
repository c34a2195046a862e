"""ReduceLROnPlateau: a smaller learning rate when a metric no longer improves."""

from __future__ import annotations

import logging

from modkit.callback.best_so_far import BestSoFar
from modkit.callback.run import Run
from modkit.constructors import check_at_least
from modkit.errors import NotSupportedError, expect

_log = logging.getLogger(__name__)


class ReduceLROnPlateau(BestSoFar):
    """Multiplies the learning rate by ``factor`` after epochs without improvement.

    With a schedule it is the schedule's base rate that is multiplied.

    Args:
        monitor, mode, min_delta: see `EarlyStopping`.
        factor: between 0 and 1.
        patience: number of epochs without improvement before a reduction.
        cooldown: number of epochs after a reduction that are not counted.
        min_lr: lower bound of the rate.

    Raises:
        ParameterError: a factor that does not reduce.
    """

    alike = True
    _kept = (*BestSoFar._kept, "waited", "cooling")

    def __init__(
        self,
        monitor: str = "validation-accuracy",
        mode: str = "auto",
        factor: float = 0.1,
        patience: int = 3,
        min_delta: float = 0.0,
        cooldown: int = 0,
        min_lr: float = 0.0,
    ):
        super().__init__(monitor, mode, min_delta)
        expect(0 < factor < 1, "ReduceLROnPlateau: factor", factor, "between 0 and 1")
        self.factor, self.min_lr = factor, min_lr
        self.patience = check_at_least("ReduceLROnPlateau", "patience", patience, 1)
        self.cooldown = check_at_least("ReduceLROnPlateau", "cooldown", cooldown, 0)

    def _forget(self) -> None:
        super()._forget()
        self.cooling = 0

    def on_epoch_end(self, run: Run) -> None:
        """Count epochs without improvement, and reduce the rate."""
        self.improves(run)
        if self.cooling:
            self.waited, self.cooling = 0, self.cooling - 1
        if self.waited >= self.patience:
            self._reduce(run)
            self.waited, self.cooling = 0, self.cooldown

    def _reduce(self, run: Run) -> None:
        optimizer = run.optimizer
        holder = getattr(optimizer, "lr_scheduler", None) or optimizer
        name = "lr" if holder is optimizer else "base_lr"
        before = getattr(holder, name, None)
        if before is None:
            raise NotSupportedError(
                f"ReduceLROnPlateau: {type(holder).__name__} has no {name}, which it multiplies"
            )
        setattr(holder, name, max(before * self.factor, self.min_lr))
        _log.info("%s has not improved: learning rate %g", self.monitor, getattr(holder, name))
