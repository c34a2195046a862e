"""Callback functions of ``fit``, which log metrics and save checkpoints.

They log through the root logger, which scripts set up with
``logging.getLogger().setLevel(logging.INFO)``. The lines have MXNet's format, which scripts parse.
"""

from __future__ import annotations

import functools
import logging
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from modkit.checkpoint import Prefix, save_checkpoint
from modkit.constructors import check_arguments, is_number
from modkit.errors import MissingFileError, ParameterError, instance_hint, warn_caller, wrong
from modkit.files import check_writable, named_errors
from modkit.metric import EvalMetric
from modkit.ndarray import NDArray
from modkit.symbol import Symbol


class BatchEnd(Protocol):
    """The fields of `BatchEndParams` that the callbacks below read."""

    epoch: Any
    nbatch: Any
    eval_metric: Any


class BatchEndParams(NamedTuple):
    """The argument of a batch callback.

    ``locals`` holds variables of the loop by name: of ``fit`` its arguments, ``data_batch``,
    ``next_data_batch``, ``end_of_batch``, ``tic`` and, from the last batch on, ``eval_name_vals``;
    of ``score`` also ``eval_batch`` and ``actual_num_batch``.
    """

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Any


class Checkpoints(Protocol):
    """The methods of a module that `module_checkpoint` uses."""

    def save_checkpoint(
        self, prefix: Prefix, epoch: int, save_optimizer_states: bool = False
    ) -> None:
        """Write the net and its parameters."""
        ...


EpochEnd = Callable[..., None]


def module_checkpoint(
    mod: Checkpoints, prefix: Prefix, period: int = 1, save_optimizer_states: bool = False
) -> EpochEnd:
    """An epoch callback that saves a module.

    Args:
        prefix: path of the files, without their endings.
        period: save every so many epochs.
        save_optimizer_states: also save ``prefix-<epoch>.states``, to resume training.
    """
    if not hasattr(mod, "save_checkpoint") or isinstance(mod, type):
        raise wrong("module_checkpoint: mod", mod, f"a Module{instance_hint(mod)}")

    def save(epoch: int, *_: Any) -> None:  # the module has its own parameters
        mod.save_checkpoint(prefix, epoch, save_optimizer_states)

    return every_epochs(period, save, "module_checkpoint", prefix)


def every_epochs(period: int, save: Callable[..., None], *checked: Prefix) -> EpochEnd:
    """An epoch callback that calls ``save(number of epochs, symbol, arguments, states)``.

    Args:
        period: call it every so many epochs.
        checked: a name for messages and the prefix of the files, for `check_folders`.

    Raises:
        ParameterError: ``period`` is no number.
    """
    where = f"{checked[0]}: " if checked else ""
    try:
        period = max(1, int(period))
    except (TypeError, ValueError):
        raise wrong(f"{where}period", period, "a number of epochs") from None

    def callback(
        iter_no: int,
        sym: Symbol | None = None,
        arg: Mapping[str, NDArray] | None = None,
        aux: Mapping[str, NDArray] | None = None,
    ) -> None:
        if not is_number(iter_no):
            raise wrong(f"{where}iter_no", iter_no, "the number of the epoch")
        if (iter_no + 1) % period == 0:
            save(iter_no + 1, sym, arg or {}, aux or {})

    vars(callback)[_SAVES] = (*checked, period) if checked else ()
    return callback


def do_checkpoint(prefix: Prefix, period: int = 1) -> EpochEnd:
    """An epoch callback that saves the net and its parameters.

    Args:
        prefix: path of the files, without their endings.
        period: save every so many epochs.
    """
    save = functools.partial(save_checkpoint, prefix)
    return every_epochs(period, save, "do_checkpoint", prefix)


_SAVES = "_saves"


def is_of_epochs(function: Any) -> bool:
    """Whether a callback is one of `every_epochs`, which fails at the end of a batch."""
    return _SAVES in getattr(function, "__dict__", ())


def check_folders(saving: Sequence[Any], others: Sequence[Any], epochs: range) -> None:
    """Check before the first batch that checkpoint functions can write.

    Args:
        saving: functions of the ends of epochs.
        others: all other callbacks: one of a user's own may make a folder, so that a missing one is
            only a warning.

    Raises:
        MissingFileError: a folder is missing.
        FileAccessError: a folder cannot be written.
    """
    makers = [str(getattr(each, "__module__", None)) for each in (*saving, *others)]
    own = not all(name.startswith("modkit.") for name in makers)
    marked = [getattr(each, "__dict__", {}).get(_SAVES) for each in saving]
    for name, prefix, period in filter(None, marked):
        folder = Path(f"{prefix}-symbol.json").parent
        if not any((epoch + 1) % period == 0 for epoch in epochs):
            continue
        if folder.is_dir():
            with named_errors(f"{name}: prefix: {folder}", "written"):
                check_writable(folder)
            continue
        message = f"{name}: prefix: got {prefix!r}: there is no folder {folder}; make it before fit"
        if not own:
            raise MissingFileError(message)
        warn_caller(message)


def _field(param: Any, name: str, where: str) -> Any:
    """A field of a batch callback's argument, which may have fewer than `BatchEndParams`."""
    try:
        return getattr(param, name)
    except AttributeError as error:
        expected = "mx.callback.BatchEndParams(epoch, nbatch, eval_metric, locals)"
        raise wrong(f"{where}: param", param, expected) from error


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[BatchEnd], None]:
    """A batch callback that logs the training metric.

    Args:
        period: log every so many batches.
        auto_reset: reset the metric after logging, as far as `EvalMetric.get` shows it.
    """
    if not is_number(period) or period < 1:
        raise wrong("log_train_metric: period", period, "a number of batches, 1 or more")

    def callback(param: BatchEnd) -> None:
        if (
            _field(param, "nbatch", "log_train_metric") % period == 0
            and param.eval_metric is not None
        ):
            for name, value in param.eval_metric.get_name_value():
                logging.info(
                    "Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value
                )
            if auto_reset:
                param.eval_metric.reset_local()

    return callback


@check_arguments
class Speedometer:
    r"""A batch callback that logs the speed and the training metric.

    It logs ``Epoch[0] Batch [0-20]\tSpeed: 1234.56 samples/sec\taccuracy=0.876543``; the batches
    are those that the metric is over.

    Args:
        frequent: log every so many batches.
        auto_reset: reset the metric after logging, so that the next one is over new batches.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True):
        if not frequent:
            raise ParameterError("Speedometer: frequent: got 0, expected 1 batch or more")
        self.batch_size, self.frequent, self.auto_reset = batch_size, frequent, auto_reset
        self.init = False
        self.tic = 0.0
        self.last_count = 0

    def __call__(self, param: BatchEnd) -> None:
        """Log every ``frequent`` batches. Reading the metric waits for the batches in progress."""
        count = _field(param, "nbatch", "Speedometer")
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


@check_arguments
class ProgressBar:
    """A batch callback that shows how much of an epoch is done.

    On a terminal it is one line of ``sys.stderr``; elsewhere a line of the log for each call. The
    last batch of an epoch is 100 %.

    Differs: the percentage counts the present batch; MXNet's is that of the batch before.

    Args:
        total: number of batches in an epoch.
        length: number of characters of the bar.
    """

    def __init__(self, total: int, length: int = 80):
        if total < 1:
            raise wrong("ProgressBar: total", total, "a number of batches, 1 or more")
        self.bar_len = length
        self.total = total

    def __call__(self, param: BatchEnd) -> None:
        done = min(_field(param, "nbatch", "ProgressBar") + 1, self.total)
        filled = round(self.bar_len * done / self.total)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        line = f"[{bar}] {math.ceil(100.0 * done / self.total)}%"
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"\r{line}" + "\n" * (done == self.total))
            sys.stderr.flush()
        else:
            logging.info("%s\r", line)


class LogValidationMetricsCallback:
    """A callback for the end of an evaluation, which logs its metric."""

    def __call__(self, param: BatchEnd) -> None:
        metric = _field(param, "eval_metric", "LogValidationMetricsCallback")
        if metric is not None:
            for name, value in metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
