"""TerminateOnNaN, and the warning of `fit`: an output or parameter is not finite.

Outputs may be infinite on purpose, such as masks of ``-inf``; a loss that overflows makes
parameters infinite, which are looked at as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from modkit.callback.base import Callback
from modkit.callback.run import Run
from modkit.constructors import check_at_least
from modkit.errors import ModkitError, warn_caller


class NotFiniteError(ModkitError, ArithmeticError):
    """An output is NaN, or a parameter is not finite."""


def _first_not_finite(run: Run, outputs: Sequence[Any], *, params: bool = True) -> str | None:
    """The first output that is NaN or, with ``params``, parameter that is not finite.

    It waits for the step.
    """
    module = run.module
    for place, value in enumerate(outputs):
        if hasattr(value, "_cell") and np.isnan(np.asarray(value._cell.get())).any():
            return f"output {_output_name(module, place)} is NaN"
    for name, value in module._param_values().items() if params else ():
        if not np.isfinite(np.asarray(value)).all():
            return f"parameter {name!r} is not finite"
    return None


def _output_name(module: Any, place: int) -> str:
    """The name of an output; its number where the module's class is a user's without names."""
    try:
        return repr(module.output_names[place])
    except NotImplementedError:
        return f"number {place}"


class TerminateOnNaN(Callback):
    """Raises `NotFiniteError` when an output is NaN, or a parameter NaN or infinite.

    The first one is named: outputs in their order, then parameters. Reading them waits for the
    step, so that ``every_n_batches=1`` has a price.

    Args:
        every_n_batches: number of batches between checks.
    """

    def __init__(self, every_n_batches: int = 1):
        self.every_n_batches = check_at_least(
            "TerminateOnNaN", "every_n_batches", every_n_batches, 1
        )

    def on_batch_end(self, run: Run) -> None:
        """Raise NotFiniteError unless all outputs and parameters are finite."""
        if run.step % self.every_n_batches or not run.chunk_end:
            return
        broken = _first_not_finite(run, run.module.get_outputs())
        if broken is not None:
            raise NotFiniteError(
                f"TerminateOnNaN: {broken} after batch {run.batch} of epoch "
                f"{run.epoch}; lower the learning rate, set clip_gradient, or look at the data"
            )


class Finite(Callback):
    """Warns once of an output that is NaN, or a parameter that is not finite.

    It looks at the outputs of batches 1, 2, 4, 8, ... of an epoch, since reading them waits for the
    step, and at its end at the parameters too.
    """

    order = 1  # after TerminateOnNaN, before a checkpoint

    def __init__(self) -> None:
        self._warned = False

    def on_batch_end(self, run: Run) -> None:
        """Look at the outputs, at some batches; at the last one at the parameters too."""
        due = run.last_batch or run.batch & (run.batch - 1) == 0  # a power of two
        self._sleeps_until = 0 if run.last_batch else 1 << run.batch.bit_length()
        if self._warned or not due or not run.chunk_end or run.stopping:
            return
        outputs = run.module._present_outputs()  # without a call of a user's own `get_outputs`
        broken = _first_not_finite(run, outputs, params=run.last_batch)
        if broken is not None:
            self._warned = True
            warn_caller(
                f"fit: {broken} after batch {run.batch} of epoch {run.epoch}; "
                "expected finite numbers. Lower the learning rate, set clip_gradient, or look at "
                "the data; mx.callback.TerminateOnNaN ends a training at the first such batch, "
                "mx.mon.Monitor shows the first layer"
            )
