"""Progress: a bar with time left, metrics and samples a second; plain lines where it cannot be."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Mapping
from typing import Any

from modkit.callback.base import Callback
from modkit.callback.run import Run
from modkit.errors import expect

_log = logging.getLogger(__name__)


class Progress(Callback):
    """Shows the progress of each epoch: by the rich package on a terminal and in notebooks.

    Elsewhere, or without rich, it logs a line at the end of each epoch. Metrics are read, which
    waits for the steps in progress, at each refresh. On a narrow terminal their names are shortened
    and the last ones cut. Epochs count from 0, as in the log of ``fit``.

    Args:
        refresh_s: least number of seconds between two refreshes of the bar.

    Raises:
        ParameterError: it is negative.
    """

    every_worker = False

    def __init__(self, refresh_s: float = 0.5):
        expect(refresh_s >= 0, "Progress: refresh_s", refresh_s, "0 or more")
        self.refresh_s = refresh_s
        self._bar: Any = None
        self._task: Any = None
        self._shown_s = -math.inf
        self._batches: int | None = None

    def on_fit_begin(self, run: Run) -> None:
        self._batches = number_of_batches(run.train_data)
        self._bar = _bar()
        if self._bar is not None:
            self._bar.start()

    def on_epoch_begin(self, run: Run) -> None:
        self._task = None

    def on_batch_end(self, run: Run) -> None:
        now_s = time.perf_counter()
        if self._bar is None or (now_s - self._shown_s < self.refresh_s and not run.last_batch):
            return
        self._shown_s = now_s
        self._show(run)

    def _show(self, run: Run) -> None:
        if self._task is None:
            self._task = self._bar.add_task(_epoch(run), total=self._batches, values="")
        if run.last_batch:
            self._batches = run.batch
        counts = f"{self._batches or '?'}"
        width = self._bar.console.width
        taken = len(_epoch(run)) + _bar_width(width) + 2 * len(counts) + 1 + len("0:00:00") + 4
        values = fitted(run.metrics, run.samples_per_s, width - taken)
        self._bar.update(self._task, completed=run.batch, total=self._batches, values=values)
        self._bar.refresh()

    def on_epoch_end(self, run: Run) -> None:
        """Show the metrics of the epoch."""
        if self._bar is not None:
            self._show(run)
            self._task = None
        else:
            _log.info("%s  %s", _epoch(run), _text(run.metrics, 4))

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        """Leave the bar as it is."""
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.stop()


def fitted(metrics: Mapping[str, float], samples_per_s: float, width: int) -> str:
    """Metrics and speed in so many columns: in full, without the speed, shortened, or cut."""
    full = _text(metrics, 4)
    short = _text({_short(name): value for name, value in metrics.items()}, 3)
    texts = (f"{full}  {samples_per_s:,.0f} samples/s", full, short)
    cut = f"{short[: width - 1]}\N{HORIZONTAL ELLIPSIS}" if width > 0 else ""
    return next((text for text in texts if len(text) <= width), cut)


def _short(name: str) -> str:
    for long, short in _SHORT.items():
        name = name.replace(long, short)
    return name


_SHORT = {"train-": "", "validation-": "val-", "accuracy": "acc", "cross-entropy": "ce"}


def _text(metrics: Mapping[str, float], digits: int) -> str:
    return "  ".join(f"{name} {value:.{digits}f}" for name, value in metrics.items())


def _epoch(run: Run) -> str:
    return f"Epoch[{run.epoch}] of {run.num_epoch}"


def number_of_batches(data: Any) -> int | None:
    """The number of batches of an epoch; ``None`` where the iterator does not state it."""
    count = getattr(data, "num_data", None)
    size = getattr(data, "batch_size", 0) * getattr(data, "num_parts", 1)
    if count is None or not size:
        return getattr(data, "size", None)
    whole = getattr(data, "last_batch_handle", "pad") != "pad"
    return count // size if whole else math.ceil(count / size)


def _bar() -> Any:
    """A bar of rich's on the standard error; ``None`` where it is no terminal, or without rich."""
    notebook = "ipykernel" in sys.modules
    if sys.stderr is None or not (sys.stderr.isatty() or notebook):
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return bar_on(None if notebook else Console(stderr=True))


def bar_on(console: Any) -> Any:
    """A bar on a console of rich's; ``None`` for that of a notebook."""
    from rich import get_console, progress

    console = console or get_console()
    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(_bar_width(console.width)),
        progress.MofNCompleteColumn(), progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[values]}", markup=False),
    )  # fmt: skip
    # No thread that redraws the same numbers in between, which takes time from the training
    return progress.Progress(*columns, console=console, auto_refresh=False)


def _bar_width(width: int) -> int:
    return max(10, min(40, width // 8))
