"""The base class of callback objects, and the check of those given to ``fit``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from modkit.callback.run import Run
from modkit.constructors import ChecksArguments
from modkit.errors import ParameterError, instance_hint, nearest, warn_caller
from modkit.registry import call_text


class Callback(ChecksArguments):
    """The base class of callback objects: ``fit(..., callbacks=[...])``.

    A subclass overrides some of the methods, which do nothing here. What they raise ends the
    training and reaches the caller of ``fit``; the module stays usable.
    """

    alike = False
    """True for callbacks that change parameters, rates or the step: all workers need the same."""

    _sleeps_until = 0
    """Before this batch of an epoch, ``on_batch_end`` is called for the epoch's last batch only."""

    order = 0
    """Callbacks run by this number, then as they are listed: a checkpoint after all others."""

    _kept: tuple[str, ...] = ()
    """Names of the attributes that `state_dict` returns."""

    every_worker = True
    """False for callbacks that write files or show something: they run in worker 0 only."""

    def __repr__(self) -> str:
        return call_text(self)

    def on_fit_begin(self, run: Run) -> None:
        """Before the first epoch: the module is bound, its parameters are initialised."""

    def on_epoch_begin(self, run: Run) -> None:
        """Before the first batch of an epoch; not called when an epoch is resumed."""

    def on_batch_end(self, run: Run) -> None:
        """After each batch of training data."""

    def on_eval_begin(self, run: Run) -> None:
        """Before the validation of an epoch."""

    def on_eval_end(self, run: Run) -> None:
        """After the validation of an epoch."""

    def on_epoch_end(self, run: Run) -> None:
        """After an epoch and its validation; the iterator is at the next epoch."""

    def on_fit_end(self, run: Run, error: BaseException | None) -> None:
        """After the last epoch, or after an error.

        Args:
            error: the exception that ends the training, or ``None``.
        """

    def state_dict(self) -> dict[str, Any]:
        """State that a checkpoint keeps: numbers, texts, arrays, and lists and dicts of them."""
        return {name.lstrip("_"): getattr(self, name) for name in self._kept}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned; called before `on_fit_begin`."""
        for name in self._kept:
            setattr(self, name, state[name.lstrip("_")])

    def collective(self) -> dict[str, Any] | None:
        """Options that have to be equal in all workers; ``None``: each may have this or not.

        ``fit`` raises where they differ, or a worker lacks the callback. By default the parameters,
        for a callback that is `alike`; one whose methods wait for all workers (a barrier, a sum)
        returns the options that decide when.
        """
        return {"parameters": repr(self)} if self.alike else None

    def sync(self) -> None:
        """Force files that the state counts on to the disk; in the thread that writes it."""


EVENTS = [name for name in vars(Callback) if name.startswith("on_")]
"""The methods of callbacks that `fit` calls."""


def as_callbacks(given: Any) -> list[Callback]:
    """A list of callback objects: from one, a sequence of them, or ``None``.

    Warns of methods that are named like events and are none.

    Raises:
        ParameterError: an entry is no `Callback`.
    """
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes | Callback)
    found: list[Any] = list(given) if several else [given] if given is not None else []
    for each in found:
        if not isinstance(each, Callback):
            is_plain = type(each).__repr__ is object.__repr__  # an address says nothing
            got = f"an object of {type(each).__name__}" if is_plain else repr(each)
            hint = "; functions, and Speedometer, go to batch_end_callback or epoch_end_callback"
            if isinstance(each, type) and issubclass(each, Callback):
                hint = instance_hint(each)
            raise ParameterError(
                f"fit: callbacks: got {got}, expected objects of mx.callback.Callback{hint}"
            )
        for name in sorted(set(dir(type(each))) - set(dir(Callback))):
            if name.startswith("on_"):
                hint = nearest(name, EVENTS) or f" Events: {', '.join(EVENTS)}"
                warn_caller(
                    f"fit: callbacks: {type(each).__name__}.{name} is no event, so that fit does "
                    f"not call it.{hint}"
                )
    return found
