"""ResizeIter: epochs of any number of batches."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from modkit import fork
from modkit.constructors import is_number
from modkit.errors import ParameterError, typed
from modkit.io.base import (
    HeldBatchIter,
    check_iterator,
    check_position,
    move_to,
    position_of,
    reseed,
)
from modkit.overriding import overrides

_PARTS = ("data", "label", "pad", "index")


class ResizeIter(HeldBatchIter):
    """Another iterator with epochs of ``size`` batches: truncated, or repeated.

    Args:
        data_iter: the source of the batches.
        size: batches in an epoch.
        reset_internal: whether `reset` also resets ``data_iter``; else it continues.
    """

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True):
        if not is_number(size) or size % 1:  # an epoch would not end
            raise ParameterError(f"ResizeIter: size: got {typed(size)}, expected a whole number")
        needed = ["batch_size", "provide_data", "provide_label", "next"]
        needed += ["reset"] * bool(reset_internal)
        check_iterator(data_iter, "ResizeIter: data_iter", needed)
        super().__init__(data_iter.batch_size)
        self.data_iter, self.size, self.reset_internal = data_iter, size, reset_internal
        self.cur = 0
        self._turn = fork.lock()  # held while a batch is read
        self.provide_data: Any = data_iter.provide_data
        self.provide_label: Any = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def state_dict(self) -> dict[str, Any] | None:
        """The position; ``None`` where the other iterator has none."""
        inner = position_of(self.data_iter)
        return None if inner is None else {"size": self.size, "cur": self.cur, "inner": inner}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to the position of `state_dict`; ParameterError for that of another iterator."""
        check_position(self, state, size=self.size)
        move_to(self.data_iter, state["inner"])
        self.cur = state["cur"]

    def reseed(self, seed: int) -> None:
        """Begin anew, with the other iterator seeded."""
        self.cur = 0
        reseed(self.data_iter, seed)

    def next(self) -> Any:
        """The next batch, with what ``getdata()`` and the like of a subclass return."""
        with self._turn:
            batch = super().next()
            if overrides(self, HeldBatchIter, *(f"get{part}" for part in _PARTS)):
                batch = copy.copy(batch)
                vars(batch).update({part: getattr(self, f"get{part}")() for part in _PARTS})
            return batch

    def iter_next(self) -> bool:
        if 0 <= self.size <= self.cur:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True
