"""The calls by which MXNet's updater updates a list of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Indices(tuple[Any, ...]):
    """Indices of parameters that are updated at once, and the calls that MXNet makes for them.

    Attributes:
        calls: positions of the parameters of each call.
    """

    calls: Sequence[Sequence[int]]

    @classmethod
    def divided(
        cls, indices: Sequence[Any], weights: Sequence[Any], optimizer: Any, by_key: bool = False
    ) -> Indices:
        """The indices of these weights, in the calls of an optimizer.

        Args:
            indices: what the updater calls the parameters.
            by_key: a store updates them, each by its key.
        """
        made = cls(indices)
        made.calls = calls_of(weights, 0 if by_key else optimizer.aggregate_num)
        return made


def calls_of(weights: Sequence[Any], size: int) -> list[list[int]]:
    """Positions of parameters by call: ``size`` of one type at most, or each on its own."""
    if size <= 0:
        return [[at] for at in range(len(weights))]
    calls = []
    for dtype in dict.fromkeys(w.dtype for w in weights):
        alike = [at for at, weight in enumerate(weights) if weight.dtype == dtype]
        calls += [alike[i : i + size] for i in range(0, len(alike), size)]
    return calls
