"""Freeze: parameters that are not updated, from an epoch on or until one."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from modkit.callback.base import Callback
from modkit.callback.run import Run
from modkit.errors import NameNotFoundError, NotSupportedError, unknown


class Freeze(Callback):
    """Leaves parameters out of the updates of some epochs.

    Their bits stay, and so do their optimizer states and update counts, from which they go on. A
    change compiles the step anew.

    Args:
        names: names of parameters, or patterns such as ``"stage1_*"``.
        until_epoch: number of the epoch that trains them again; ``None``: none does.
        from_epoch: number of the first epoch that does not train them.

    Raises:
        NameNotFoundError: no parameter has such a name, when the training begins.
        NotSupportedError: the module has no optimizer of its own, such as a SequentialModule.
    """

    alike = True

    def __init__(
        self, names: str | Sequence[str], until_epoch: int | None = None, from_epoch: int = 0
    ):
        self.names = [names] if isinstance(names, str) else list(names)
        self.until_epoch, self.from_epoch = until_epoch, from_epoch
        self._names: list[str] = []

    def on_fit_begin(self, run: Run) -> None:
        """Check the names, and freeze if it is time."""
        if run.optimizer is None:
            raise NotSupportedError(
                f"Freeze: {type(run.module).__name__} has no optimizer of its own; use "
                "fixed_param_names of its modules"
            )
        params = list(run.module.get_params()[0])
        for pattern in self.names:
            if not fnmatch.filter(params, pattern):
                raise NameNotFoundError(unknown("Freeze: no parameter", pattern, params))
        self._names = [n for n in params if any(fnmatch.fnmatchcase(n, p) for p in self.names)]
        self._change(run)

    def on_epoch_begin(self, run: Run) -> None:
        """Freeze the parameters, or train them from this epoch on."""
        self._change(run)

    def _change(self, run: Run) -> None:
        """Freeze what this and other callbacks of the class want."""
        every = [each for each in run.callbacks if isinstance(each, Freeze)]
        run.optimizer._frozen_names = frozenset(n for each in every for n in each._at(run.epoch))

    def _at(self, epoch: int) -> Sequence[str]:
        over = self.until_epoch is not None and epoch >= self.until_epoch
        return () if over or epoch < self.from_epoch else self._names

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        if run.optimizer is not None:
            run.optimizer._frozen_names = frozenset()
