"""Learning-rate schedules: the rate as a function of the number of updates."""

from __future__ import annotations

import logging
import math
from typing import Any

from modkit.constructors import ChecksArguments, check_at_least
from modkit.errors import NotReadyError, NotSupportedError, ParameterError, expect, typed, wrong
from modkit.lazy import dir_of
from modkit.overriding import replaced
from modkit.registry import call_text

__dir__ = dir_of(__name__)

__all__ = [
    "CosineScheduler",
    "FactorScheduler",
    "LRScheduler",
    "MultiFactorScheduler",
    "PolyScheduler",
]


def _log_change(num_update: int, rate: float) -> None:
    """Log a changed rate in the line that programs which read MXNet's logs look for."""
    logging.info("Update[%d]: Change learning rate to %0.5e", num_update, rate)


def _number(where: str, value: Any) -> Any:
    """``value``, which must be a finite number."""
    try:
        finite = not isinstance(value, str) and math.isfinite(value)
    except TypeError:
        finite = False
    if not finite:
        raise ParameterError(f"{where}: got {typed(value)}, expected a finite number")
    return value


def is_pure(kind: type) -> bool:
    """Whether a schedule is this module's: its rates are functions of ``num_update``.

    A user's class, or ``__call__`` set on one of these, may change with each call, so it is called
    as often as MXNet calls it.
    """
    return kind.__module__ == __name__ and not replaced(kind, "__call__")


class LRScheduler(ChecksArguments):
    """Base class of schedules: ``scheduler(num_update)`` is the rate of an update.

    During the first ``warmup_steps`` updates the rate rises from ``warmup_begin_lr`` to
    ``base_lr`` (``"linear"``), or is ``warmup_begin_lr`` (``"constant"``).

    Args:
        base_lr: the initial rate after warm-up.
        warmup_steps: number of warm-up updates.
        warmup_begin_lr: the rate at the start of the warm-up.
        warmup_mode: ``"linear"`` or ``"constant"``.

    Raises:
        ParameterError: a value is out of range.

    Differs: where several contexts train alike and the store does not update, MXNet calls a user's
    schedule for each of them; here they share the rates. Where the optimizer's ``learning_rate``
    replaces a ``base_lr`` that was set, there is a warning; MXNet prints a line.
    """

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ):
        name = type(self).__name__
        self.base_lr = _number(f"{name}: base_lr", base_lr)
        self.warmup_steps = check_at_least(name, "warmup_steps", warmup_steps, 0)
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = _number(f"{name}: warmup_begin_lr", warmup_begin_lr)
        low_enough, most = warmup_begin_lr <= base_lr, f"at most base_lr={base_lr}"
        expect(low_enough, f"{name}: warmup_begin_lr", warmup_begin_lr, most)
        known = warmup_mode in ("linear", "constant")
        expect(known, f"{name}: warmup_mode", warmup_mode, "'linear' or 'constant'")
        self.warmup_mode = warmup_mode

    def _warms_up(self, num_update: int) -> bool:
        try:
            return num_update < self.warmup_steps
        except TypeError as error:
            raise wrong(f"{type(self).__name__}: num_update", num_update, "a number") from error

    def get_warmup_lr(self, num_update: int) -> float:
        """The rate of a warm-up update.

        Raises:
            NotReadyError: ``num_update`` is after the warm-up.
        """
        if not self._warms_up(num_update):
            raise NotReadyError(
                f"get_warmup_lr: got update {num_update}, expected one below "
                f"warmup_steps={self.warmup_steps}; call the scheduler itself"
            )
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = (self.warmup_final_lr - self.warmup_begin_lr) * num_update / self.warmup_steps
        return self.warmup_begin_lr + rise

    def __repr__(self) -> str:
        """The class, and the parameters under which it goes on."""
        return call_text(self)

    def __call__(self, num_update: int) -> float:
        """The rate of update ``num_update``. Abstract."""
        raise NotSupportedError(
            f"{type(self).__name__} has no __call__(num_update); "
            "use FactorScheduler or another subclass, or override it"
        )


def _check_factor(name: str, factor: float) -> float:
    expect(_number(f"{name}: factor", factor) <= 1, f"{name}: factor", factor, "at most 1")
    return factor


class FactorScheduler(LRScheduler):
    """Multiplies the rate by ``factor`` every ``step`` updates, down to ``stop_factor_lr``.

    The schedule is stateful, as in MXNet: an earlier ``num_update`` does not restore its rate.

    Args:
        step: number of updates between decays.
        factor: at most 1.
        stop_factor_lr: lower bound of the rate.
        base_lr: this and the following, see `LRScheduler`.

    >>> schedule = FactorScheduler(step=2, factor=0.5, base_lr=1.0)
    >>> [schedule(n) for n in range(6)]
    [1.0, 1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        where = "FactorScheduler: step"
        expect(_number(where, step) >= 1, where, step, "1 or more")
        self.step = step
        self.factor = _check_factor("FactorScheduler", factor)
        self.stop_factor_lr = _number("FactorScheduler: stop_factor_lr", stop_factor_lr)
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if self._warms_up(num_update):
            return self.get_warmup_lr(num_update)
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr *= self.factor
            if self.base_lr < self.stop_factor_lr:
                self.base_lr = self.stop_factor_lr
                logging.info(
                    "Update[%d]: now learning rate arrived at %0.5e, will not change in the future",
                    num_update, self.base_lr,
                )  # fmt: skip
            else:
                _log_change(num_update, self.base_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate by ``factor`` after each of the updates in ``step``.

    Args:
        step: an increasing list of update numbers.
        factor: at most 1.
        base_lr: this and the following, see `LRScheduler`.

    >>> schedule = MultiFactorScheduler(step=[2, 3], factor=0.5, base_lr=1.0)
    >>> [schedule(n) for n in range(6)]
    [1.0, 1.0, 1.0, 0.5, 0.25, 0.25]
    """

    def __init__(
        self,
        step: list[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        where = "MultiFactorScheduler: step"
        expect(isinstance(step, list) and step, where, step, "a list of update numbers")
        for before, here in zip([0, *step], step, strict=False):
            expect(_number(where, here) >= 1, where, here, "1 or more")
            expect(here > before, where, step, "rising numbers")
        self.step = step
        self.cur_step_ind = 0
        self.factor = _check_factor("MultiFactorScheduler", factor)
        self.count = 0

    def __call__(self, num_update: int) -> float:
        if self._warms_up(num_update):
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            _log_change(num_update, self.base_lr)
        return self.base_lr


class _Decay(LRScheduler):
    """From ``base_lr`` to ``final_lr`` over ``max_update`` updates, along a curve."""

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        name = type(self).__name__
        self.base_lr_orig = self.base_lr
        self.max_update = check_at_least(name, "max_update", max_update, 1)
        self.final_lr = _number(f"{name}: final_lr", final_lr)
        self.max_steps = self.max_update - self.warmup_steps

    def _curve(self, done: float) -> float:
        """The decay from 1 to 0 as a function of the fraction ``done`` of the updates."""
        raise NotImplementedError

    def __call__(self, num_update: int) -> float:
        if self._warms_up(num_update):
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            done = (num_update - self.warmup_steps) / self.max_steps if self.max_steps > 0 else 1.0
            fall = self.base_lr_orig - self.final_lr
            self.base_lr = self.final_lr + fall * self._curve(done)
        return self.base_lr


class PolyScheduler(_Decay):
    """``final_lr + (base_lr − final_lr)·(1 − n/max_update)^pwr``, ``n`` counted after warm-up.

    Args:
        max_update: the update at which the rate reaches ``final_lr``.
        warmup_steps: this and the following, see `LRScheduler`.

    >>> schedule = PolyScheduler(max_update=4, base_lr=1.0)
    >>> [schedule(n) for n in range(6)]
    [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = _number("PolyScheduler: pwr", pwr)

    def _curve(self, done: float) -> float:
        return (1 - done) ** self.power


class CosineScheduler(_Decay):
    """``final_lr + (base_lr − final_lr)·(1 + cos(π·n/max_update))/2``, ``n`` after warm-up.

    Args:
        max_update: the update at which the rate reaches ``final_lr``.
        warmup_steps: this and the following, see `LRScheduler`.

    >>> schedule = CosineScheduler(max_update=4, base_lr=1.0)
    >>> [round(schedule(n), 3) for n in range(6)]
    [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """

    def _curve(self, done: float) -> float:
        return (1 + math.cos(math.pi * done)) / 2
