"""Freeze: parameters that are not trained until an epoch."""

from __future__ import annotations

import fnmatch
import logging
from collections.abc import Sequence
from typing import Any

from modkit.callback.base import Callback, Run
from modkit.errors import NameNotFoundError

_log = logging.getLogger(__name__)


class Freeze(Callback):
    """Keeps parameters as they are until an epoch begins, by a multiplier of 0 of their rates.

    Args:
        names: names of parameters, or patterns such as ``"stage1_*"``.
        until_epoch: number of the epoch that trains them; ``None``: none does.

    Raises:
        NameNotFoundError: no parameter has such a name, when the training begins.
    """

    def __init__(self, names: str | Sequence[str], until_epoch: int | None = None):
        self.patterns = [names] if isinstance(names, str) else list(names)
        self.until_epoch = until_epoch
        self._before: dict[str, Any] | None = None

    def on_fit_begin(self, run: Run) -> None:
        """Freeze the parameters."""
        params = list(run.module.get_params()[0])
        for pattern in self.patterns:
            if not fnmatch.filter(params, pattern):
                raise NameNotFoundError(
                    f"Freeze: no parameter is called {pattern!r}; there are {', '.join(params)}"
                )
        if self._before is None and not self._is_over(run.epoch):
            names = [n for n in params if any(fnmatch.fnmatchcase(n, p) for p in self.patterns)]
            self._before = {n: run.optimizer.lr_mult.get(n) for n in names}
            run.optimizer.lr_mult.update(dict.fromkeys(names, 0.0))

    def on_epoch_begin(self, run: Run) -> None:
        """Train the parameters from this epoch on, if it is the one."""
        if self._is_over(run.epoch):
            self._unfreeze(run)

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        """Restore the multipliers."""
        self._unfreeze(run)

    def _is_over(self, epoch: int) -> bool:
        return self.until_epoch is not None and epoch >= self.until_epoch

    def _unfreeze(self, run: Run) -> None:
        before, self._before = self._before, None
        for name, mult in (before or {}).items():
            if mult is None:
                run.optimizer.lr_mult.pop(name, None)
            else:
                run.optimizer.lr_mult[name] = mult

    def state_dict(self) -> dict[str, Any]:
        """The multipliers of frozen parameters."""
        return {"before": self._before}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See `Callback.load_state_dict`."""
        self._before = state["before"]
