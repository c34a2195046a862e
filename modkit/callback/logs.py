"""CSVLogger and JSONLines: the metrics of a training as rows of a file; Reporter, their base."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from modkit.callback.base import Callback
from modkit.callback.run import Metrics, Run
from modkit.constructors import check_at_least
from modkit.errors import ParameterError
from modkit.files import sync


def _numbers(run: Run, metrics: Metrics) -> dict[str, float]:
    """The learning rate, where there is one, and metrics."""
    rate = {} if run.learning_rate is None else {"learning_rate": run.learning_rate}
    return {n: float(v) for n, v in {**rate, **metrics}.items()}


class Reporter(Callback):
    """The base of callbacks that write metrics at the end of each epoch, and after batches."""

    every_worker = False

    def __init__(self, every_n_batches: int | None = None):
        if every_n_batches is not None:
            check_at_least(type(self).__name__, "every_n_batches", every_n_batches, 1)
        self.every_n_batches = every_n_batches

    def on_batch_end(self, run: Run) -> None:
        """Write the training metrics, if it is due."""
        if self.every_n_batches and run.step % self.every_n_batches == 0:
            train = {n: v for n, v in run.metrics.items() if n.startswith("train-")}
            self._report(run, _numbers(run, train), ended=False)

    def on_epoch_end(self, run: Run) -> None:
        self._report(run, _numbers(run, run.metrics), ended=True)

    def _report(self, run: Run, values: dict[str, float], *, ended: bool) -> None:
        """Write the learning rate and metrics, at the end of an epoch or after a batch."""
        raise NotImplementedError


class RowLogger(Reporter):
    """Writes a row at the end of each epoch, and optionally after batches.

    A new training replaces the file. A resumed training drops the rows after its checkpoint, so
    that an interruption leaves no trace in the file.

    Args:
        path: of the file; a missing folder is made.
        every_n_batches: also write the training metrics after so many batches, which waits for
            the steps; ``None``: only at the ends of epochs.
    """

    _kept = ("_size",)

    def __init__(self, path: str | os.PathLike[str], every_n_batches: int | None = None):
        super().__init__(every_n_batches)
        self.path = Path(path)
        self._size = 0
        self._file: BinaryIO | None = None

    def line(self, row: dict[str, Any]) -> str:
        """A row as text."""
        raise NotImplementedError

    def on_fit_begin(self, run: Run) -> None:
        """Open the file.

        Raises:
            ParameterError: it is shorter than at the checkpoint.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not run.resumed:
            self._size = 0
        present = self.path.stat().st_size if self.path.exists() else 0
        if present < self._size:
            raise ParameterError(
                f"{type(self).__name__}: {self.path} has {present} bytes, expected at least the "
                f"{self._size} that it had at the checkpoint; restore it, or log to another file"
            )
        self._file = self.path.open("ab")
        self._file.truncate(self._size)

    def _report(self, run: Run, values: dict[str, float], *, ended: bool) -> None:
        row = {"epoch": run.epoch, "batch": run.batch, "step": run.step, **values}
        file = self._file
        if file is not None:
            file.write(self.line(row).encode())
            file.flush()
            self._size = file.tell()

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def sync(self) -> None:
        if self._size:
            sync(self.path)


class CSVLogger(RowLogger):
    """Rows of comma-separated values under a line of names: epoch, batch, step, rate, metrics.

    The first row decides the columns; values that come later and have no column are left out, so
    name them in ``columns`` where rows of batches come first. Arguments: see `RowLogger`.

    Args:
        path: of the file; a missing folder is made.
        every_n_batches: also write after so many batches.
        columns: names of the columns; default those of the first row, and ``validation-<name>`` for
            each ``train-<name>`` if there is validation data.
    """

    _kept = ("_size", "_columns")

    def __init__(
        self,
        path: str | os.PathLike[str],
        every_n_batches: int | None = None,
        columns: Sequence[str] | None = None,
    ):
        super().__init__(path, every_n_batches)
        self._given = list(columns) if columns is not None else None
        self._columns: list[str] | None = None
        self._validates = False

    def on_fit_begin(self, run: Run) -> None:
        super().on_fit_begin(run)
        self._validates = run.eval_data is not None
        if not run.resumed:
            self._columns = None

    def line(self, row: dict[str, Any]) -> str:
        """A row, after the names of the columns if it is the first one."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self._columns is None:
            self._columns = self._given or self._named(row)
            writer.writerow(self._columns)
        writer.writerow([row.get(name, "") for name in self._columns])
        return text.getvalue()

    def _named(self, row: dict[str, Any]) -> list[str]:
        names = dict.fromkeys(row)
        if self._validates:
            trained = [n.removeprefix("train-") for n in row if n.startswith("train-")]
            names.update(dict.fromkeys(f"validation-{n}" for n in trained))
        return list(names)


class JSONLines(RowLogger):
    """A JSON object in each line, with what there is at that time; NaN and infinity are ``null``.

    Arguments: see `RowLogger`.
    """

    def line(self, row: dict[str, Any]) -> str:
        finite = {n: v if abs(v) < float("inf") else None for n, v in row.items()}
        return json.dumps(finite, allow_nan=False) + "\n"
