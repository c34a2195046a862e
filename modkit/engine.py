"""``mx.engine``: several batches at a call; within a graph, XLA does what MXNet's engine did."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from modkit.errors import ParameterError

_bulk_size = 0
_steps_per_call = 1


def set_bulk_size(size: int) -> int:
    """Remember how many operators MXNet would run at once, and return the last number.

    It changes nothing: whole graphs are compiled, and eager operators run one by one.
    """
    global _bulk_size
    before, _bulk_size = _bulk_size, int(size)
    return before


def steps_per_call() -> int:
    """How many batches ``Module.fit`` trains on by one call; 1 outside of `bulk`."""
    return _steps_per_call


@contextlib.contextmanager
def bulk(size: int) -> Iterator[None]:
    """Inside the ``with``, ``Module.fit`` trains on ``size`` batches by one call.

    The same as ``fit(..., steps_per_call=size)``, which says what callbacks then see.

    Raises:
        ParameterError: ``size`` is not a number from 1 on.
    """
    global _steps_per_call
    steps, before = _steps_per_call, set_bulk_size(size)
    _steps_per_call = check_steps("bulk: size", size)
    try:
        yield
    finally:
        _steps_per_call = steps
        set_bulk_size(before)


def check_steps(what: str, steps: int) -> int:
    """A number of steps, checked.

    Raises:
        ParameterError: it is not an integer from 1 on.
    """
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise ParameterError(f"{what}: got {steps!r}, expected an integer from 1 on")
    return steps
