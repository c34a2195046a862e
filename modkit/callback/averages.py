"""EMA and SWA: averages of the parameters over the training."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from modkit.callback.base import Callback
from modkit.callback.run import Run
from modkit.constructors import check_at_least
from modkit.errors import NotReadyError, NotSupportedError, expect
from modkit.ndarray import NDArray, from_jax
from modkit.signals import DeferredReads

Arrays = dict[str, jax.Array]


class Averaged(Callback):
    """Keeps an average of the parameters, which validation uses in their place."""

    alike = True
    _kept = ("average", "count")
    order = -1  # what others do at the end of the training, such as restore_best, comes after

    def __init__(self, at_end: bool):
        self.at_end = at_end
        self.average: Arrays | None = None
        self.count = 0
        self._own: Any = None

    def params(self) -> dict[str, NDArray]:
        """The average by name.

        Raises:
            NotReadyError: there is none yet.
        """
        if self.average is None:
            raise NotReadyError(
                f"{type(self).__name__}: there is no average yet; fit() comes first"
            )
        return {n: from_jax(v) for n, v in self.average.items()}

    def _add(self, run: Run, weight: float) -> None:
        """Move the average by ``weight`` of the way to the parameters; the first one begins it."""
        if not run.chunk_end:
            raise NotSupportedError(
                f"{type(self).__name__}: with steps_per_call the parameters between two batches of "
                "a call are not there; use steps_per_call=1"
            )
        present = {n: v for n, v in run.module._param_values().items() if n in self._names}
        if self.average is None:
            self.average = present
        else:
            with DeferredReads():  # a handler's own calls would be part of the trace
                self.average = _moved(self.average, present, weight)
        self.count += 1

    def on_fit_begin(self, run: Run) -> None:
        """Note the names of the parameters; forget the average of an earlier training."""
        if not run.resumed:
            self.average, self.count = None, 0
        self._names = frozenset(run.module.get_params()[0])

    def on_eval_begin(self, run: Run) -> None:
        """Give the module the average. Of several averages, validation uses the last one's."""
        if self.average is not None:
            present = run.module.get_params()
            if run.averaged is None:  # else an earlier Averaged has kept the parameters
                self._own = present
            run.averaged = self.params()
            run.module.set_params(run.averaged, present[1])

    def on_eval_end(self, run: Run) -> None:
        """Give the module its own parameters again."""
        own, self._own = self._own, None
        if own is not None:
            run.module.set_params(*own)

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        """Give the module the average, or its own parameters after an error."""
        self.on_eval_end(run)
        if self.at_end and error is None and self.average is not None:
            run.module.set_params(self.params(), run.module.get_params()[1])

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.average = self.average and {n: jnp.array(v) for n, v in self.average.items()}


class EMA(Averaged):
    """Exponential moving average of the parameters: ``a ← d a + (1 − d) w`` after each update.

    It begins at the parameters after the first update. Validation uses the average. The auxiliary
    states are those of the training.

    Args:
        decay: d, between 0 and 1.
        at_end: give the module the average when the training ends.

    Raises:
        ParameterError: another decay.
    """

    def __init__(self, decay: float = 0.999, at_end: bool = True):
        expect(0 < decay < 1, "EMA: decay", decay, "between 0 and 1")
        super().__init__(at_end)
        self.decay = decay

    def on_batch_end(self, run: Run) -> None:
        """Add the parameters, if they were updated."""
        if run.updated:
            self._add(run, 1 - self.decay)


class SWA(Averaged):
    """Stochastic weight averaging (Izmailov et al., 2018): the mean over the ends of epochs.

    Validation uses the mean, which has the epochs before. The auxiliary states are those of the
    training: for BatchNorm, compute them anew by passes of ``forward(is_train=True)``.

    Args:
        first_epoch: number of the first epoch of the mean.
        at_end: give the module the mean when the training ends.
    """

    def __init__(self, first_epoch: int = 0, at_end: bool = True):
        super().__init__(at_end)
        self.first_epoch = check_at_least("SWA", "first_epoch", first_epoch, 0)

    def on_epoch_end(self, run: Run) -> None:
        if run.epoch >= self.first_epoch:
            self._add(run, 1 / (self.count + 1))


@jax.jit
def _moved(average: Arrays, present: Arrays, weight: float) -> Arrays:
    return jax.tree.map(lambda a, w: a + (w - a) * jnp.asarray(weight, a.dtype), average, present)
