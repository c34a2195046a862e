"""``mx.engine``: bulk execution, several training steps in one call of a compiled program."""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Iterator

from modkit.constructors import check_at_least
from modkit.errors import expect
from modkit.lazy import dir_of

__dir__ = dir_of(__name__)

_bulk_size = 0
_steps_per_call = 1


def set_bulk_size(size: int) -> int:
    """Store the bulk size and return the previous one.

    It has no effect on execution: graphs are compiled as a whole, eager operators run one by one.

    Raises:
        ParameterError: ``size`` is no integer.
    """
    global _bulk_size
    expect(hasattr(size, "__index__"), "set_bulk_size", size, "an integer")
    before, _bulk_size = _bulk_size, operator.index(size)
    return before


def steps_per_call() -> int:
    """Number of batches for each call of ``Module.fit``'s compiled step; 1 outside of `bulk`."""
    return _steps_per_call


def raises_at_calls() -> bool:
    """Whether a call raises the errors of its values, as with MXNet's engine that runs at once.

    ``MXNET_ENGINE_TYPE=NaiveEngine`` is that engine. With others, reading a result raises them.
    """
    return os.environ.get("MXNET_ENGINE_TYPE") == "NaiveEngine"


@contextlib.contextmanager
def bulk(size: int) -> Iterator[None]:
    """A context in which ``Module.fit`` trains on ``size`` batches in one call.

    Equivalent to ``fit(..., steps_per_call=size)``, which documents the effect on callbacks. With
    0 there is a call for each batch, as with 1.

    Raises:
        ParameterError: ``size`` is not an integer of at least 0.
    """
    global _steps_per_call
    at_once = check_at_least("bulk", "size", size, 0) or 1
    steps, before = _steps_per_call, set_bulk_size(size)
    _steps_per_call = at_once
    try:
        yield
    finally:
        _steps_per_call = steps
        set_bulk_size(before)
