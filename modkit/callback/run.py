"""One call of ``fit``, as callbacks see it and as it is resumed."""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from modkit.io.base import move_to, position_of
from modkit.io.random_state import Streams, set_streams, streams
from modkit.kvstore.check_equal import check_equal
from modkit.metric.composite import known_names
from modkit.ndarray import NDArray
from modkit.overriding import replaced

_log = logging.getLogger(__name__)

Metrics = dict[str, Any]


class Run:
    """One call of ``fit``: its position, metrics and arguments.

    Attributes:
        eval_data: the validation iterator, or ``None``.
        num_epoch: number after the last epoch.
        epoch: number of the present epoch, from ``begin_epoch``.
        batch: number of batches trained on in this epoch; in ``on_batch_end`` at least 1.
        step: number of batches trained on in all epochs, with those before a resume.
        history: metrics of each epoch that ended: ``{"epoch": 0, "train-accuracy": 0.9, ...}``.
        resumed: True if the training goes on from a checkpoint.
        resume_folder: the argument ``resume`` of ``fit``.
        training: a random name, which checkpoints keep and a resume goes on with.
        stopping: True after `stop_training`.
        chunk_end: False between batches that one program trains on (``steps_per_call``): the
            parameters are those after the last of them.
        last_batch: True at the last batch of an epoch.
        accumulate: number of batches of an update.
        marking: set to True for `position` to be noted before the next batch is read ahead.
        position: streams and data after `batch` batches, if it was noted; else ``None``.
        identity: network, optimizer and metric as plain values, where checkpoints are used.
        trained: names and values of the training metric of an epoch, at its end.
        callbacks: the callback objects, in the order of their calls.
        averaged: the parameters that the validation of this epoch used in place of the module's
            own; ``None`` if it used these.
    """

    def __init__(
        self,
        module: Any,
        train_data: Any,
        eval_data: Any,
        eval_metric: Any,
        epochs: range,
        callbacks: Sequence[Any] = (),
        accumulate: int = 1,
        validation_metric: Any = None,
    ):
        self.accumulate = accumulate
        self.module, self.train_data, self.eval_data = module, train_data, eval_data
        self.eval_metric, self._validation_metric = eval_metric, validation_metric
        self.epoch, self.num_epoch = epochs.start, epochs.stop
        self.batch = self.step = 0
        self.history: list[Metrics] = []
        self.resumed = self.stopping = False
        self.resume_folder: Path | None = None
        self.training = secrets.token_hex(8)
        self._wants_to_stop = self._interrupted = False
        self.chunk_end, self.last_batch = True, False
        self.marking = False
        self.position: dict[str, Any] | None = None
        self.identity: dict[str, Any] = {}
        mine = [each for each in callbacks if each.every_worker or self._is_first]
        self.callbacks = sorted(mine, key=lambda each: each.order)
        self.averaged: dict[str, NDArray] | None = None
        self._around: tuple[Streams, Streams] | None = None  # the next read of a resumed training
        self._epoch_began: dict[str, Any] = {"streams": streams(), "reset": False}
        self.trained: Sequence[tuple[str, Any]] = ()
        self._train: Metrics | None = None
        self._validation: Metrics = {}
        self._started_s = time.perf_counter()
        self._first_batch = 0

    def __repr__(self) -> str:
        return f"<Run: epoch {self.epoch} of {self.num_epoch}, batch {self.batch}>"

    def stop_training(self, *, interrupted: bool = False) -> None:
        """End the training after the present batch, or the present epoch at its end.

        An epoch that is cut short has no validation, no epoch callbacks and no row in `history`.
        With several workers a call in one of them ends all, after the next batch or the same epoch.

        Args:
            interrupted: a resume goes on with the training; default: nothing of it is left.
        """
        self._wants_to_stop = True
        self._interrupted = self._interrupted or interrupted
        self.stopping = self.stopping or self.workers is None

    @property
    def updated(self) -> bool:
        """Whether the present batch ends with an update: False inside a group of ``accumulate``."""
        return self.batch % self.accumulate == 0 or self.last_batch

    @property
    def workers(self) -> Any:
        """The processes that train together; ``None`` where there is one."""
        return self.module._present_workers

    @property
    def _is_first(self) -> bool:
        return self.workers is None or self.workers.rank == 0

    @property
    def metrics(self) -> Metrics:
        """Values by name: ``train-<name>`` of this epoch, ``validation-<name>`` of the last one.

        Reading them waits for the batches in progress. With several workers the values of a
        finished epoch cover the data of all, and those of the present epoch this worker's data.
        """
        train = self._train
        if train is None:
            train = _named("train", self.eval_metric.get_name_value())
        return {**train, **self._validation}

    def _metric_names(self) -> list[str] | None:
        """Names that `metrics` will have; ``None`` where a user's own class may give others."""
        if any(replaced(each, "on_eval_end") for each in self.callbacks):  # may call end_validation
            return None
        names = [*self._validation]
        for data, metric in (("train", self.eval_metric), ("validation", self._validation_metric)):
            own = [] if metric is None else known_names(metric)
            if own is None:
                return None
            names += [f"{data}-{name}" for name in own]
        return names

    @property
    def optimizer(self) -> Any:
        """The optimizer; ``None`` for a module that has none."""
        return self.module._present_optimizer

    @property
    def learning_rate(self) -> float | None:
        """The rate of the next update, before multipliers; ``None`` without an optimizer."""
        return None if self.optimizer is None else self.optimizer.learning_rate

    @property
    def samples_per_s(self) -> float:
        """Samples a second in this epoch; those that are still being computed count."""
        elapsed_s = time.perf_counter() - self._started_s
        size = getattr(self.train_data, "batch_size", 0)
        return (self.batch - self._first_batch) * size / elapsed_s if elapsed_s else 0.0

    # ── For fit ─────────────────────────────────────────────────────────────────────────────

    def call(self, event: str) -> None:
        """Call a method of each callback object."""
        for each in self.callbacks:
            getattr(each, event)(self)

    def epochs(self) -> Iterator[int]:
        """Count the epochs, until the last one has ended or the training is stopped.

        `fit` begins each: a StopIteration of a callback would be a RuntimeError in a generator.
        """
        for epoch in range(self.epoch, self.num_epoch):
            if self.stopping:
                return
            self.epoch = epoch
            yield epoch

    def _begin_epoch(self) -> None:
        """Start the present epoch, or go on after the batches before the checkpoint."""
        goes_on = self._around is not None and self.batch > 0
        self.batch = self.batch if goes_on else 0
        self._train, self.averaged = None, None
        self._started_s, self._first_batch = time.perf_counter(), self.batch
        if goes_on and self._around is not None:  # states that were restored may have drawn
            set_streams(self._around[0])
        else:
            self.restore_streams()  # no batch has been read ahead of the end of an epoch
            self.eval_metric.reset()
            self.call("on_epoch_begin")

    def all_have(self, has: bool) -> bool:
        """Whether every worker has a batch (this one: ``has``); also agrees on `stopping`."""
        return self._agreed(has) == self.workers.size

    def agree(self) -> None:
        """Agree with all workers on `stopping`."""
        if self.workers is not None and not self.stopping:
            self._agreed(False)

    def _agreed(self, has: bool) -> int:
        """The number of workers for which ``has`` is true; all have the same `stopping` then."""
        own = np.array([has, self._wants_to_stop, self._interrupted], np.int32)
        having, stop, interrupted = map(int, self.workers.total(own))
        self.stopping = self.stopping or stop > 0
        self._interrupted = self._interrupted or interrupted > 0
        return having

    def check_workers(self, facts: Mapping[str, Any]) -> None:
        """Check before the first epoch that all workers train alike.

        Args:
            facts: arguments of ``fit`` that decide for how long, and for what, workers wait.

        Raises:
            DistributedError: a fact differs, or a callback that waits for all is missing in one.
        """
        waiting = [(type(each).__name__, each.collective()) for each in self.callbacks]
        own: dict[str, list[Any]] = {}
        for name, options in waiting:
            if options is not None:
                own.setdefault(f"callback {name}", []).append(options)
        check_equal(
            self.workers, "fit",
            {"epochs": f"{self.epoch} to {self.num_epoch}", "eval_data": self.eval_data is not None,
             "eval_metric": self.eval_metric.name, **facts, **own},
        )  # fmt: skip

    def mark(self) -> None:
        """Note the position, before a batch is read ahead of its turn."""
        self.position = self._position()

    def _position(self) -> dict[str, Any]:
        return {
            "streams": streams(), "data": position_of(self.train_data),
            "epoch_began": self._epoch_began,
        }  # fmt: skip

    def restore_streams(self) -> None:
        """Set the random streams to their states after the batch that was read ahead."""
        if self._around is not None:
            set_streams(self._around[1])
            self._around = None

    def reset_data(self) -> None:
        """Begin the next epoch of the training data."""
        self._epoch_began = {"streams": streams(), "reset": True}
        self.train_data.reset()

    def end_training_data(self, values: Sequence[tuple[str, Any]]) -> None:
        """Keep the training metric of the epoch, which callbacks may reset."""
        self.trained = values
        self._train = _named("train", values)

    def end_validation(self, values: Sequence[tuple[str, Any]]) -> None:
        """Keep the validation metric of the epoch."""
        self._validation = _named("validation", values)

    def end_epoch(self) -> None:
        """Append the epoch's metrics to `history`, and call the objects."""
        self.reset_data()
        self.history.append({"epoch": self.epoch, **self.metrics})
        self.position = None
        self.call("on_epoch_end")
        self.agree()

    def state_dict(self) -> dict[str, Any]:
        """The state of the training after `batch` batches of this epoch, or after the epoch.

        Nothing waits: ``"metric"`` is a function, which a thread may call later.
        """
        ended = self._train is not None
        return {
            "epoch": self.epoch + ended,
            "batch": 0 if ended else self.batch,
            "step": self.step,
            "training": self.training,
            "stopping": self.stopping and not self._interrupted,
            "history": list(self.history),
            "validation": self._validation,
            "metric": self.eval_metric._snapshot(),
            "position": self.position or self._position(),
            "eval_data": position_of(self.eval_data),
            "streams": streams(),
            "module": self.module.state_dict(),
            "callbacks": [[type(each).__name__, each.state_dict()] for each in self.callbacks],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to the position of `state_dict`."""
        self.epoch, self.batch, self.step = state["epoch"], state["batch"], state["step"]
        self.history, self._validation = list(state["history"]), state["validation"]
        self.stopping = state["stopping"]
        self.training = state.get("training", self.training)
        if self.stopping:
            _log.info(
                "resume: stop_training() has ended this training, so nothing is left of it; to "
                "train on, begin from its parameters without resume"
            )
        self.eval_metric.load_state_dict(state["metric"])
        self.module.load_state_dict(state["module"])
        if state["eval_data"] is not None:
            move_to(self.eval_data, state["eval_data"])
        position = state["position"]
        self._epoch_began = position["epoch_began"]
        self._around = position["streams"], state["streams"]
        self.resumed = True
        if position["data"] is not None:
            set_streams(position["streams"])
            move_to(self.train_data, position["data"])
        else:
            self._read_again()

    def _read_again(self) -> None:
        """Pass over the batches of the present epoch, of an iterator without ``state_dict``."""
        _log.info(
            "resume: %s has no state_dict(), so its first %d batches are read again; its order has "
            "to come from NumPy's or Python's global random stream",
            type(self.train_data).__name__, self.batch,
        )  # fmt: skip
        set_streams(self._epoch_began["streams"])
        if self._epoch_began["reset"]:
            self.train_data.reset()
        for _ in range(self.batch):
            next(self.train_data)


def _named(prefix: str, values: Sequence[tuple[str, Any]]) -> Metrics:
    return {f"{prefix}-{name}": value for name, value in values}


class Running:
    """Context manager of a training: ``on_fit_begin`` first, ``on_fit_end`` also after an error."""

    def __init__(self, run: Run):
        self._callbacks, self._run = run.callbacks, run

    def __enter__(self) -> None:
        for count, each in enumerate(self._callbacks, 1):
            try:
                each.on_fit_begin(self._run)
            except BaseException as error:
                _end(self._callbacks[:count], self._run, error)
                raise

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            if error is not None:
                self._run.module._abandon_batch()
        finally:
            _end(self._callbacks, self._run, error)


def _end(callbacks: Sequence[Any], run: Run, error: BaseException | None) -> None:
    """Call ``on_fit_end`` of each, also where one of them raises."""
    with contextlib.ExitStack() as ends:
        for each in reversed(callbacks):
            ends.callback(each.on_fit_end, run, error)
