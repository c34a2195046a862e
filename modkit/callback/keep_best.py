"""KeepBest: the parameters of the best epoch, in MXNet's files."""

from __future__ import annotations

import os
from pathlib import Path

from modkit.callback.best_so_far import BestSoFar
from modkit.callback.run import Run
from modkit.checkpoint import write_params


class KeepBest(BestSoFar):
    """Writes ``prefix-symbol.json`` and ``prefix-best.params`` whenever a metric improves.

    Beside `EMA` or `SWA` a metric of the validation is that of the averages, and they are written.

    Args:
        prefix: path of the files, without their endings; a missing folder is made.
        monitor, mode, min_delta: see `EarlyStopping`.
    """

    every_worker = False

    def __init__(
        self,
        prefix: str | os.PathLike[str],
        monitor: str = "validation-accuracy",
        mode: str = "auto",
        min_delta: float = 0.0,
    ):
        super().__init__(monitor, mode, min_delta)
        self.prefix = os.fspath(prefix)

    def on_epoch_end(self, run: Run) -> None:
        """Write, if the epoch is the best one."""
        if self.improves(run):
            Path(self.prefix).parent.mkdir(parents=True, exist_ok=True)
            run.module.symbol.save(f"{self.prefix}-symbol.json")
            write_params(f"{self.prefix}-best.params", *self.params(run))
