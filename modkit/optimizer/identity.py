"""An optimizer as plain values, for comparisons with checkpoints and other workers."""

from __future__ import annotations

import inspect
import re
from typing import Any

from modkit.optimizer.base import Optimizer

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of functions, in transformations of optax
_MUTABLE = {  # during a training
    "learning_rate", "lr_scheduler", "base_lr", "begin_num_update", "param_idx2name", "sym",
}  # fmt: skip


def identity(optimizer: Any) -> dict[str, str]:
    """Class and parameters of an optimizer, without those that change during a training."""
    return {"class": type(optimizer).__name__, **_own(optimizer, type(optimizer))}


def settings(optimizer: Any) -> dict[str, str]:
    """`identity`, with the rate, its schedule, multipliers, and what all optimizers have."""
    schedule = optimizer.lr_scheduler
    return {
        **_common(optimizer),
        **identity(optimizer),
        "learning_rate": _plain(optimizer.lr),
        "lr_scheduler": f"{type(schedule).__name__} {_plain(getattr(schedule, '__dict__', {}))}",
    }


def resumable(optimizer: Any) -> dict[str, str]:
    """Parameters that a checkpoint restores and `identity` lacks; the rate only without a schedule.

    Decay, clipping, multipliers, and parameters of the schedule that its calls do not change.
    """
    schedule = optimizer.lr_scheduler
    if schedule is None:
        return {**_common(optimizer), "learning_rate": _plain(optimizer.lr)}
    own = _own(schedule, type(schedule))
    return {**_common(optimizer), **{f"lr_scheduler {name}": own[name] for name in own}}


def _common(optimizer: Any) -> dict[str, str]:
    """Parameters of every optimizer, and multipliers."""
    return {
        **_own(optimizer, Optimizer),
        "lr_mult": _plain(sorted(optimizer.lr_mult.items(), key=repr)),
        "wd_mult": _plain(sorted(optimizer.wd_mult.items(), key=repr)),
    }


def _own(optimizer: Any, by: type) -> dict[str, str]:
    """Attributes under the names of the parameters of a class."""
    names = [n for n in inspect.signature(by).parameters if n not in _MUTABLE]
    return {n: _plain(vars(optimizer)[n]) for n in names if n in vars(optimizer)}


def _plain(value: Any) -> str:
    """A text that is the same in another process."""
    if isinstance(value, set | frozenset):
        value = sorted(map(repr, value))
    return _ADDRESS.sub("", repr(value))
