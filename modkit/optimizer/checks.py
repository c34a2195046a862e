"""Validation of the arguments of optimizers: rates, multipliers, parameter names."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from modkit.errors import ParameterError, nearest


def finite(name: str, value: Any) -> Any:
    """``value``, which must be a finite number.

    Raises:
        ParameterError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        raise ParameterError(f"optimizer: {name}: got {value!r}, expected a finite number")
    return value


def check_rate(lr: Any, num_update: int | None = None) -> Any:
    """``lr``, which must be finite.

    Raises:
        ParameterError: it is not.
    """
    if type(lr) is float and -math.inf < lr < math.inf:  # fast path: called at every step
        return lr
    if isinstance(lr, np.ndarray) and lr.size == 1:
        lr = lr.item()
    number = isinstance(lr, numbers.Real) and not isinstance(lr, bool)
    if not number or not math.isfinite(lr):
        when = "" if num_update is None else f" at update {num_update}"
        raise ParameterError(
            f"learning rate: got {lr!r}{when}, expected a finite number; "
            "check learning_rate, set_learning_rate and the lr_scheduler"
        )
    return lr


def multipliers(given: Mapping[Any, float]) -> dict[Any, float]:
    """A copy of the multipliers by name or index.

    Raises:
        ParameterError: not a dict, or a value is not a finite number.
    """
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"multipliers: got {given!r}, expected a dict from name or index to number"
        )
    for key, value in given.items():
        finite(f"multiplier of {key!r}", value)
    return dict(given)


_ELSEWHERE = {
    "lr": "learning_rate", "weight_decay": "wd", "eps": "epsilon", "scheduler": "lr_scheduler",
}  # fmt: skip
"""Names that parameters have in other libraries."""


def refuse_unknown(klass: type, kwargs: Mapping[str, Any]) -> None:
    """Check keyword arguments against the constructors of a class of modkit and its bases.

    Raises:
        ParameterError: no constructor accepts one of them; lists near names.
    """
    takes: list[str] = []
    for each in klass.__mro__:
        if "__init__" not in each.__dict__:
            continue
        parameters = list(inspect.signature(each.__init__).parameters.values())[1:]
        takes += [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        if not any(p.kind == p.VAR_KEYWORD for p in parameters):
            break
    unknown = [n for n in kwargs if n not in takes]
    if unknown and klass.__module__.startswith("modkit."):
        name = unknown[0]
        meant = _ELSEWHERE.get(name)
        hint = f" Did you mean {meant!r}?" if meant in takes else nearest(name, takes)
        raise ParameterError(
            f"{klass.__name__}: no parameter {name!r}.{hint} It takes: {', '.join(takes)}"
        )
