"""UpdateCounts: update counts of parameters; counting a step is O(1) in their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


class UpdateCounts:
    """Update counts by index, for each device.

    Repeated updates of the same list of indices increment a single number; the dictionaries
    that MXNet's API exposes are brought up to date when they are read.

    Attributes:
        begin: initial count of an index that has not been counted yet.

    Args:
        begin: initial count of each index.
        counted: dictionaries by device, from a pickle.
        present: the one of them that is current, identified by identity, else by value.
    """

    def __init__(
        self,
        begin: int,
        counted: Mapping[int, dict[Any, int]] | None = None,
        present: Mapping[Any, int] | None = None,
    ):
        self.begin = begin
        self._all: dict[int, dict[Any, int]] = dict(counted or {0: dict(present or {})})
        self._device = next(
            (d for d, c in self._all.items() if c is present or c == present), next(iter(self._all))
        )
        self._block: tuple[Sequence[Any], np.ndarray, int] | None = None
        self._steps = 0

    def add(self, indices: Sequence[Any]) -> tuple[np.ndarray, int]:
        """Increment the count of each index.

        Returns:
            The new counts as float64, and their maximum.
        """
        if self._block is not None and self._block[0] == indices:
            self._steps += 1
            _, base, top = self._block
            return base + self._steps, top + self._steps
        counts = self.present()
        new = [counts.get(i, self.begin) + 1 for i in indices]
        if len(set(indices)) < len(indices):  # a repeated index counts repeatedly
            for i in indices:
                counts[i] = counts.get(i, self.begin) + 1
            return np.array([counts[i] for i in indices], np.float64), max(new, default=0)
        base = np.array(new, np.float64) - 1
        top = max(new, default=1) - 1
        self._block, self._steps = (indices, base, top), 1
        return base + 1, top + 1

    def remove(self, indices: Sequence[Any]) -> None:
        """Decrement the count of each index: take `add` back."""
        counts = self.present()
        for i in indices:
            counts[i] -= 1

    def present(self) -> dict[Any, int]:
        """The counts of the current device; mutable."""
        self._fold()
        return self._all[self._device]

    def all(self) -> dict[int, dict[Any, int]]:
        """The counts of all devices; mutable."""
        self._fold()
        return self._all

    def device(self, device_id: int) -> None:
        """Make ``device_id`` the current device."""
        if device_id != self._device:
            self._fold()
            self._all.setdefault(device_id, {})
            self._device = device_id

    def _fold(self) -> None:
        """Write pending increments into the dictionary; the next `add` starts from it."""
        if self._block is not None:
            indices, base, _ = self._block
            counts = (base + self._steps).astype(np.int64).tolist()
            self._all[self._device].update(zip(indices, counts, strict=True))
            self._block, self._steps = None, 0
