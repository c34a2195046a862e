"""Gradient accumulation: ``fit(accumulate=K)`` updates once for K batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from modkit.callback.base import Callback
from modkit.callback.run import Run
from modkit.constructors import check_at_least
from modkit.errors import NotSupportedError, ParameterError


class Accumulated:
    """Binding, scale and updates of a training that adds gradients up.

    The module is bound with ``grad_req="add"``, and `Updates` runs the optimizer. This is an
    argument of ``fit`` and no callback because it decides how the module is bound.

    Attributes:
        adds: whether the module is bound with ``grad_req="add"``; with K = 1 too, if an earlier
            ``fit`` bound it so.
        binding: arguments for ``bind``.
        callbacks: the updates, in place of those of ``fit``; none for K = 1.

    Raises:
        NotSupportedError: the module cannot add gradients up.
        ParameterError: K is below 1, or the module is bound otherwise.
    """

    def __init__(self, module: Any, count: int, force_rebind: bool):
        check_at_least("fit", "accumulate", count, 1)
        if count > 1 and not module._can_add_up:
            raise NotSupportedError(
                f"fit: accumulate={count}: {type(module).__name__} cannot add gradients up; Module "
                "and BucketingModule can"
            )
        bound = None if force_rebind or not module.binded else getattr(module, "_grad_req", None)
        if count > 1 and bound not in (None, "add"):
            raise ParameterError(
                f"fit: accumulate={count} needs a module whose gradients are added up; this one is "
                f"bound with grad_req={bound!r}: use force_rebind=True, or bind(grad_req='add')"
            )
        self.adds = count > 1 or (module._adds_up and not force_rebind)
        self._module, self._count = module, count
        self.binding: dict[str, Any] = {"grad_req": "add"} if self.adds else {}
        self.callbacks: Sequence[Callback] = [Updates()] if self.adds else []

    def updates(self, batches: int | None) -> int | None:
        """The number of updates of so many batches of an epoch."""
        return None if batches is None else -(-batches // self._count)

    def scale(self) -> None:
        """Let the optimizer divide gradients by the samples of all K batches.

        One whose ``rescale_grad`` is its user's own is left as it is.
        """
        optimizer = self._module._present_optimizer
        count, chosen = getattr(optimizer, "_scaled_for", None) or (self._count, None)
        if count != self._count and optimizer.rescale_grad == chosen:
            optimizer.rescale_grad *= count / self._count
            optimizer._scaled_for = self._count, optimizer.rescale_grad


class Updates(Callback):
    """Updates the parameters after every K batches and at the end of an epoch."""

    order = -2  # the other callbacks see the parameters after the update

    def on_fit_begin(self, run: Run) -> None:
        """Drop what an earlier training, which was stopped, has summed."""
        if not run.resumed:
            run.module._clear_gradients()

    def on_batch_end(self, run: Run) -> None:
        """Update, and begin a new sum, if it is due."""
        if run.updated:
            run.module.update()
            run.module._clear_gradients()
