"""Freeze: parameters that are not trained, from an epoch on or until one."""

from __future__ import annotations

import fnmatch
import logging
from collections.abc import Sequence
from typing import Any

from modkit.callback.base import Callback, Run
from modkit.errors import NameNotFoundError

_log = logging.getLogger(__name__)


class Freeze(Callback):
    """Keeps parameters as they are in some epochs, by a multiplier of 0 of their rates.

    A momentum (SGD, NAG) from before ``from_epoch`` goes on moving them while it decays.

    Args:
        names: names of parameters, or patterns such as ``"stage1_*"``.
        until_epoch: number of the epoch that trains them again; ``None``: none does.
        from_epoch: number of the first epoch that does not train them.

    Raises:
        NameNotFoundError: no parameter has such a name, when the training begins.
    """

    def __init__(
        self, names: str | Sequence[str], until_epoch: int | None = None, from_epoch: int = 0
    ):
        self.patterns = [names] if isinstance(names, str) else list(names)
        self.until_epoch, self.from_epoch = until_epoch, from_epoch
        self._before: dict[str, Any] | None = None

    def on_fit_begin(self, run: Run) -> None:
        """Check the names, and freeze if it is time."""
        params = list(run.module.get_params()[0])
        for pattern in self.patterns:
            if not fnmatch.filter(params, pattern):
                raise NameNotFoundError(
                    f"Freeze: no parameter is called {pattern!r}; there are {', '.join(params)}"
                )
        self._names = [n for n in params if any(fnmatch.fnmatchcase(n, p) for p in self.patterns)]
        self._change(run)

    def on_epoch_begin(self, run: Run) -> None:
        """Freeze the parameters, or train them from this epoch on."""
        self._change(run)

    def _change(self, run: Run) -> None:
        frozen = run.epoch >= self.from_epoch and not self._is_over(run.epoch)
        if frozen and self._before is None:
            self._before = {n: run.optimizer.lr_mult.get(n) for n in self._names}
            run.optimizer.lr_mult.update(dict.fromkeys(self._names, 0.0))
        elif not frozen:
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
