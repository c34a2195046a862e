"""``mx.sym.random``: symbols of random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from modkit.ops.random.frontend import RandomFunctions
from modkit.ops.registry import get_op
from modkit.symbol.symbol import Symbol, invoke


def _call(name: str, tensors: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    called = name.removeprefix("_random_") if name.endswith("_like") else name
    return invoke(get_op(name), tensors, keywords, called)


globals().update(RandomFunctions(_call, Symbol, shape=None, get_prob=True).functions())
