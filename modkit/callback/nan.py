"""TerminateOnNaN: ends a training that has left the numbers, with the name of an array."""

from __future__ import annotations

import numpy as np

from modkit.callback.base import Callback, Run
from modkit.callback.monitored import check_at_least
from modkit.errors import ModkitError


class NotFiniteError(ModkitError, ArithmeticError):
    """An output or a parameter is not finite."""


class TerminateOnNaN(Callback):
    """Raises `NotFiniteError` when an output or a parameter is NaN or infinite.

    Outputs are in their order, then parameters; the first one that is not finite is named. Reading
    them waits for the step, so that ``every_n_batches=1`` has a price.

    Args:
        every_n_batches: number of batches between checks.
    """

    def __init__(self, every_n_batches: int = 1):
        self.every_n_batches = check_at_least(
            "TerminateOnNaN", "every_n_batches", every_n_batches, 1
        )

    def on_batch_end(self, run: Run) -> None:
        """Check outputs and parameters.

        Raises:
            NotFiniteError: one is not finite.
        """
        if run.step % self.every_n_batches or not run.chunk_end:
            return
        module = run.module
        outputs = zip(module.output_names, module.get_outputs(), strict=True)
        named = [("output", n, v._cell.get()) for n, v in outputs]
        named += [("parameter", n, v) for n, v in module._values().items()]
        for what, name, value in named:
            if not np.isfinite(np.asarray(value)).all():
                raise NotFiniteError(
                    f"TerminateOnNaN: {what} {name!r} is not finite after batch {run.batch} of "
                    f"epoch {run.epoch}; lower the learning rate, set clip_gradient, or look at "
                    "the data"
                )
