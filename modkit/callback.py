"""Callbacks: what is logged and saved while ``fit`` runs.

Everything is logged through the root logger, which scripts set up with
``logging.getLogger().setLevel(logging.INFO)``, and in the words that scripts look for.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from modkit.checkpoint import save_checkpoint
from modkit.metric import EvalMetric
from modkit.ndarray import NDArray
from modkit.symbol import Symbol


class BatchEnd(Protocol):
    """What a batch callback gets; `modkit.model.BatchEndParam` is one."""

    epoch: Any
    nbatch: Any
    eval_metric: Any


class Checkpoints(Protocol):
    """A module, as far as `module_checkpoint` knows one."""

    def save_checkpoint(self, prefix: str, epoch: int, save_optimizer_states: bool = False) -> None:
        """Write the net and its parameters."""
        ...


EpochEnd = Callable[..., None]


def module_checkpoint(
    mod: Checkpoints, prefix: str, period: int = 1, save_optimizer_states: bool = False
) -> EpochEnd:
    """An epoch callback that saves a module.

    Args:
        mod: the module.
        prefix: path of the files, without their endings.
        period: save every so many epochs.
        save_optimizer_states: save ``prefix-<epoch>.states`` too, to go on training from.
    """
    period = max(1, int(period))

    def callback(
        iter_no: int,
        sym: Symbol | None = None,
        arg: Mapping[str, NDArray] | None = None,
        aux: Mapping[str, NDArray] | None = None,
    ) -> None:
        del sym, arg, aux  # the module has them
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return callback


def do_checkpoint(prefix: str, period: int = 1) -> EpochEnd:
    """An epoch callback that saves the net and its parameters.

    Args:
        prefix: path of the files, without their endings.
        period: save every so many epochs.
    """
    period = max(1, int(period))

    def callback(
        iter_no: int,
        sym: Symbol | None,
        arg: Mapping[str, NDArray],
        aux: Mapping[str, NDArray],
    ) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return callback


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[BatchEnd], None]:
    """A batch callback that logs the training metric.

    Args:
        period: log every so many batches.
        auto_reset: reset the metric after logging, as far as `EvalMetric.get` shows it.
    """

    def callback(param: BatchEnd) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info(
                    "Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value
                )
            if auto_reset:
                param.eval_metric.reset_local()

    return callback


class Speedometer:
    r"""A batch callback that logs the speed and the training metric.

    It logs ``Epoch[0] Batch [0-20]\tSpeed: 1234.56 samples/sec\taccuracy=0.876543``; the batches
    are those that the metric is over.

    Args:
        batch_size: number of samples in a batch.
        frequent: log every so many batches.
        auto_reset: reset the metric after logging, so that the next one is over new batches.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True):
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self.init = False
        self.tic = 0.0
        self.last_count = 0

    def __call__(self, param: BatchEnd) -> None:
        """Log, if it is time to. Reading the metric waits for the batches under way."""
        count = param.nbatch
        if self.last_count > count:
            self.init = False  # a new epoch began
        self.last_count = count
        if not self.init:
            self.init, self.tic = True, time.perf_counter()
            return
        if count % self.frequent:
            return
        shown = "" if param.eval_metric is None else self._shown(param.eval_metric)
        elapsed_s = time.perf_counter() - self.tic
        speed = self.frequent * self.batch_size / elapsed_s if elapsed_s else math.inf
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
        else:
            first = count - self.frequent if self.auto_reset else 0
            logging.info(
                "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec%s",
                param.epoch, first, count, speed, shown,
            )  # fmt: skip
        self.tic = time.perf_counter()

    def _shown(self, metric: EvalMetric) -> str:
        pairs = metric.get_name_value()
        if self.auto_reset:
            metric.reset_local()
        return "".join(f"\t{name}={value:f}" for name, value in pairs)


class ProgressBar:
    """A batch callback that logs how much of an epoch is done.

    Args:
        total: number of batches in an epoch.
        length: number of characters of the bar.
    """

    def __init__(self, total: int, length: int = 80):
        self.bar_len = length
        self.total = total

    def __call__(self, param: BatchEnd) -> None:
        """Log the bar."""
        share = param.nbatch / float(self.total)
        filled = round(self.bar_len * share)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        logging.info("[%s] %s%%\r", bar, math.ceil(100.0 * param.nbatch / float(self.total)))


class LogValidationMetricsCallback:
    """A callback for the end of an evaluation, which logs its metric."""

    def __call__(self, param: BatchEnd) -> None:
        """Log."""
        if param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
