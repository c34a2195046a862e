"""ClipGlobalNorm: gradients scaled together, so that their norm has a bound."""

from __future__ import annotations

from modkit.callback.base import Callback
from modkit.callback.run import Run
from modkit.errors import NotSupportedError, expect


class ClipGlobalNorm(Callback):
    """Scales all gradients alike where their norm, taken together, is larger than a bound.

    Gradients are those that the optimizer reads: summed, and multiplied by ``rescale_grad``. They
    are scaled in the program of the step (Pascanu et al., 2013).

    Raises:
        ParameterError: it is not positive.
    """

    alike = True

    def __init__(self, max_norm: float):
        expect(max_norm > 0, "ClipGlobalNorm: max_norm", max_norm, "above 0")
        self.max_norm = float(max_norm)

    def on_fit_begin(self, run: Run) -> None:
        """Set the bound.

        Raises:
            NotSupportedError: the optimizer updates each parameter by Python code, or is optax's.
        """
        optimizer = run.optimizer
        rule = optimizer.tree_rule() if hasattr(optimizer, "_clip_norm") else None
        if rule is None or "rescale_grad" not in rule.rule.columns:
            raise NotSupportedError(
                f"ClipGlobalNorm: {type(optimizer).__name__} does not update all parameters by one "
                "rule; for optax put optax.clip_by_global_norm into an optax.chain"
            )
        optimizer._clip_norm = self.max_norm

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        if hasattr(run.optimizer, "_clip_norm"):
            run.optimizer._clip_norm = None
