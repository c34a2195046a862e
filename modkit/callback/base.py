"""Callback objects of ``fit``, and the `Run` that each of their methods gets."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from modkit.errors import ParameterError

Metrics = dict[str, Any]


class Run:
    """One call of ``fit``: its position, metrics and arguments.

    Attributes:
        module: the module that is trained.
        train_data: the training iterator.
        eval_data: the validation iterator, or ``None``.
        eval_metric: the training metric.
        num_epoch: number after the last epoch.
        epoch: number of the present epoch, from ``begin_epoch``.
        batch: number of batches trained on in this epoch; in ``on_batch_end`` at least 1.
        step: number of batches trained on in all epochs, with those before a resume.
        history: metrics of each epoch that ended: ``{"epoch": 0, "train-accuracy": 0.9, ...}``.
        resumed: True if the training goes on from a checkpoint.
        stopping: True after `stop_training`.
        chunk_end: False between batches that one program trains on (``steps_per_call``): the
            parameters are those after the last of them.
    """

    def __init__(
        self, module: Any, train_data: Any, eval_data: Any, eval_metric: Any, num_epoch: int
    ):
        self.module, self.train_data, self.eval_data = module, train_data, eval_data
        self.eval_metric, self.num_epoch = eval_metric, num_epoch
        self.epoch = self.batch = self.step = 0
        self.history: list[Metrics] = []
        self.resumed = self.stopping = False
        self.chunk_end = True
        self._train: Metrics | None = None
        self._validation: Metrics = {}
        self._started_s = time.perf_counter()
        self._first_batch = 0

    def stop_training(self) -> None:
        """End the training after the present batch, or the present epoch at its end.

        An epoch that is cut short has no validation, no epoch callbacks and no row in `history`.
        """
        self.stopping = True

    @property
    def metrics(self) -> Metrics:
        """Values by name: ``train-<name>`` of this epoch, ``validation-<name>`` of the last one.

        Reading them waits for the batches in progress.
        """
        train = self._train
        if train is None:
            train = _named("train", self.eval_metric.get_name_value())
        return {**train, **self._validation}

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

    def begin_epoch(self, epoch: int, batch: int) -> None:
        """Start ``epoch`` behind ``batch`` batches."""
        self.epoch, self.batch, self._train = epoch, batch, None
        self._started_s, self._first_batch = time.perf_counter(), batch

    def end_batch(self, *, chunk_end: bool) -> None:
        """Count a batch."""
        self.batch += 1
        self.step += 1
        self.chunk_end = chunk_end

    def end_training_data(self, values: Sequence[tuple[str, Any]]) -> None:
        """Keep the training metric of the epoch, which callbacks may reset."""
        self._train = _named("train", values)

    def end_validation(self, values: Sequence[tuple[str, Any]]) -> None:
        """Keep the validation metric of the epoch."""
        self._validation = _named("validation", values)

    def end_epoch(self) -> None:
        """Append the epoch's metrics to `history`."""
        self.history.append({"epoch": self.epoch, **self.metrics})


class Callback:
    """The base class of callback objects: ``fit(..., callbacks=[...])``.

    A subclass overrides some of the methods, which do nothing here. What they raise ends the
    training and reaches the caller of ``fit``; the module stays usable.
    """

    last = False
    """True for a callback that runs behind all others, such as a checkpoint of their states."""

    def on_fit_begin(self, run: Run) -> None:
        """Before the first epoch: the module is bound, its parameters are initialised."""

    def on_epoch_begin(self, run: Run) -> None:
        """Before the first batch of an epoch; not called when an epoch is resumed."""

    def on_batch_end(self, run: Run) -> None:
        """After each batch of training data."""

    def on_eval_begin(self, run: Run) -> None:
        """Before the validation of an epoch."""

    def on_eval_end(self, run: Run) -> None:
        """After the validation of an epoch."""

    def on_epoch_end(self, run: Run) -> None:
        """After an epoch and its validation; the iterator is at the next epoch."""

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        """After the last epoch, or after an error.

        Args:
            run: the training.
            error: the exception that ends the training, or ``None``.
        """

    def state_dict(self) -> dict[str, Any]:
        """State that a checkpoint keeps: numbers, texts, arrays, and lists and dicts of them."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned; called before `on_fit_begin`."""


def in_order(callbacks: Any) -> list[Callback]:
    """A list of callback objects, with those that run last at its end.

    Raises:
        ParameterError: an entry is no `Callback`.
    """
    given = [callbacks] if isinstance(callbacks, Callback) else list(callbacks or ())
    for each in given:
        if not isinstance(each, Callback):
            raise ParameterError(
                f"fit: callbacks: got {each!r}, expected objects of mx.callback.Callback; "
                "functions go to batch_end_callback and epoch_end_callback"
            )
    return sorted(given, key=lambda each: each.last)


class Running:
    """A block of a training: ``on_fit_begin`` before it, ``on_fit_end`` however it ends."""

    def __init__(self, callbacks: Sequence[Callback], run: Run):
        self._callbacks, self._run = callbacks, run

    def __enter__(self) -> None:
        for count, each in enumerate(self._callbacks, 1):
            try:
                each.on_fit_begin(self._run)
            except BaseException as error:
                _end(self._callbacks[:count], self._run, error)
                raise

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        _end(self._callbacks, self._run, error)


def _end(callbacks: Sequence[Callback], run: Run, error: BaseException | None) -> None:
    """Call ``on_fit_end`` of each, also where one of them raises."""
    if callbacks:
        try:
            callbacks[0].on_fit_end(run, error)
        finally:
            _end(callbacks[1:], run, error)


def _named(prefix: str, values: Sequence[tuple[str, Any]]) -> Metrics:
    return {f"{prefix}-{name}": value for name, value in values}
