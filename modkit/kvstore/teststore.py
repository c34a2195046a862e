"""A small store without state, an example of `KVStoreBase`: broadcast copies, pushpull sums."""

from __future__ import annotations

import functools
import operator
from typing import Any

import jax

from modkit.errors import expect
from modkit.kvstore.base import KVStoreBase
from modkit.kvstore.keys import pairs


@KVStoreBase.register
class TestStore(KVStoreBase):
    """Copies and sums values without storing them."""

    __test__ = False

    @property
    def rank(self) -> int:
        """0: there is one worker."""
        return 0

    @property
    def num_workers(self) -> int:
        """1: there is one worker."""
        return 1

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Always ``False``: it has no optimizer."""
        expect(capability.lower() == KVStoreBase.OPTIMIZER, "is_capable", capability, "'optimizer'")
        return False

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Copy the value to every ``out``."""
        given = dict(pairs("teststore.broadcast", key, value))
        for k, outs in pairs("teststore.broadcast", key, out):
            for each in outs:
                each._set(given[k][0])

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Sum the values, and write the sum to every ``out``, or to the values themselves."""
        given = dict(pairs("teststore.pushpull", key, value))
        for k, outs in pairs("teststore.pushpull", key, value if out is None else out):
            first, *rest = (v._cell.peek() for v in given[k])
            device = next(iter(first.devices()))
            total = functools.reduce(operator.add, (jax.device_put(a, device) for a in rest), first)
            for each in outs:
                each._set(total)
