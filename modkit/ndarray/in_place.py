"""Calls that overwrite what they read: no write of another thread comes in between.

The values are computed without a lock, and written if those that were read are still in place;
a call that finds others computes once more, while other writers wait.
"""

from __future__ import annotations

import _thread
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from modkit.ndarray.invoke import CallPlan, Results
from modkit.ndarray.storage import AnyCell, replacing

other_threads = _thread._count
"""The number of threads beside the main one; `threading.active_count` takes a lock, and 0.3 us."""


def overwritten(
    plan: CallPlan, inputs: Sequence[Any], out: Sequence[Any]
) -> tuple[dict[int, AnyCell], list[AnyCell]]:
    """The cells of inputs that a call also writes, by their places, and all cells that it writes.

    None of the first for operators that call Python, which may take any lock.
    """
    if plan.op.on_host:
        return {}, []
    targets = [x for x in out if hasattr(x, "_cell")] + [inputs[at] for at in plan.changes]
    written = [x._cell.root for x in targets]
    cells = [x._cell.root for x in inputs]
    own = {at: c for at, c in enumerate(cells) if c in written and c.lock is not None}
    return own, [c for c in written if c.lock is not None]


def exchange(
    own: Mapping[int, AnyCell],
    written: Collection[AnyCell],
    compute: Callable[..., Results],
    finish: Callable[[Results], Any],
) -> Any:
    """Run a call that overwrites inputs.

    Args:
        own: the cells that it overwrites, by the places of inputs.
        written: these, and others that it writes: a lock taken later would be out of order.
        compute: makes the results, from values of inputs by their places, and reads the others.
    """
    before = {at: cell.version() for at, cell in own.items()}
    results = compute()
    read = results[3]
    while True:
        with _locks_of(written):
            pending = [cell for cell in written if cell.is_pending]
            if not pending:
                for at, cell in own.items() if read else ():
                    if not _is_in_place(cell, before[at], read[at]):
                        others = {at: value for at, value in enumerate(read) if at not in own}
                        return finish(compute(others))
                return finish(results)
        for cell in pending:
            cell.settle()  # outside of the locks, as a pass takes others


def _is_in_place(cell: AnyCell, before: Any, read: Any) -> bool:
    version = cell.version()
    return version is not None and (version is read or version is before)


def _locks_of(cells: Collection[AnyCell]) -> Any:
    """The locks of cells, in one order for all threads: stores' locks, then the shared one."""
    locks = {id(cell.lock): cell.lock for cell in cells}
    if len(locks) == 1:
        return next(iter(locks.values()))
    stack = contextlib.ExitStack()
    for lock in sorted(locks.values(), key=lambda lock: (lock is replacing, id(lock))):
        stack.enter_context(lock)
    return stack
