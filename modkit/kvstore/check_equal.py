"""Comparison of values that have to be equal in all workers, before any use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from modkit.errors import DistributedError
from modkit.kvstore.workers import Workers

_LINES, _LETTERS = 20, 200


def check_equal(workers: Workers | None, where: str, facts: Mapping[str, Any]) -> None:
    """Check that facts are equal in all workers; every worker makes this call.

    A digest of 32 bytes is compared; the facts themselves are sent only where digests differ.

    Raises:
        DistributedError: in all workers; it names each fact that differs, and each worker's value.
    """
    if workers is None:
        return
    own = {name: str(value) for name, value in facts.items()}
    digest = hashlib.sha256(json.dumps(own, sort_keys=True).encode()).digest()
    rows = workers.rows(np.frombuffer(digest, np.int32))
    if (rows == rows[0]).all():
        return
    lines = differences(workers.gather(own))
    more = f"\n  and {len(lines) - _LINES} more" if len(lines) > _LINES else ""
    listed = "".join(f"\n  {line}" for line in lines[:_LINES])
    raise DistributedError(
        f"{where}: the workers differ:{listed}{more}\nAll workers have to run the same program"
    )


def differences(by_rank: list[dict[str, str]]) -> list[str]:
    """A line for each fact that is not the same in all workers.

    >>> differences([{"w": "(2, 3)"}, {"w": "(2, 4)"}, {"w": "(2, 3)"}])
    ['w: (2, 3) in workers 0, 2; (2, 4) in worker 1']
    """
    names = dict.fromkeys(name for facts in by_rank for name in facts)
    lines = []
    for name in names:
        ranks: dict[str, list[int]] = {}
        for rank, facts in enumerate(by_rank):
            ranks.setdefault(facts.get(name, "missing"), []).append(rank)
        if len(ranks) > 1:
            parts = (f"{_short(value)} in {_workers(own)}" for value, own in ranks.items())
            lines.append(f"{name}: {'; '.join(parts)}")
    return lines


def _workers(ranks: list[int]) -> str:
    return f"worker{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}..."
