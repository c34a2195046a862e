"""The module ``misc`` of MXNet: schedulers of learning rates as they were before `lr_scheduler`."""

from __future__ import annotations

import logging

from modkit.errors import expect

_log = logging.getLogger(__name__)


class LearningRateScheduler:
    """Base of schedulers: a function of the number of updates.

    Attributes:
        base_lr: the rate at the start; an optimizer sets its ``learning_rate``.
    """

    def __init__(self):
        self.base_lr = 0.01

    def __call__(self, iteration: int) -> float:
        raise NotImplementedError(
            f"{type(self).__name__}: __call__(iteration) is missing: it returns the learning rate"
        )


class FactorScheduler(LearningRateScheduler):
    """``base_lr * factor ** (iteration // step)``.

    Differs from `modkit.lr_scheduler.FactorScheduler`, whose rate changes an update later.

    Args:
        step: updates between two changes, at least 1.
        factor: of a change, below 1.

    Raises:
        ParameterError: another step or factor.
    """

    def __init__(self, step: int, factor: float = 0.1):
        super().__init__()
        expect(step >= 1, "FactorScheduler: step", step, "at least 1")
        expect(factor < 1.0, "FactorScheduler: factor", factor, "less than 1")
        self.step, self.factor = step, factor
        self.old_lr = self.base_lr
        self.init = False

    def __call__(self, iteration: int) -> float:
        if not self.init:
            self.init, self.old_lr = True, self.base_lr
        rate = self.base_lr * self.factor ** (iteration // self.step)
        if rate != self.old_lr:
            self.old_lr = rate
            _log.info("update %d: learning rate %.5f", iteration, rate)
        return rate
