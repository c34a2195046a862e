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


_made = RandomFunctions(_call, Symbol, shape=None, get_prob=True).functions()

uniform = _made["uniform"]
normal = _made["normal"]
randn = _made["randn"]
gamma = _made["gamma"]
exponential = _made["exponential"]
poisson = _made["poisson"]
negative_binomial = _made["negative_binomial"]
generalized_negative_binomial = _made["generalized_negative_binomial"]
randint = _made["randint"]
multinomial = _made["multinomial"]
shuffle = _made["shuffle"]
uniform_like = _made["uniform_like"]
normal_like = _made["normal_like"]
gamma_like = _made["gamma_like"]
exponential_like = _made["exponential_like"]
poisson_like = _made["poisson_like"]
negative_binomial_like = _made["negative_binomial_like"]
generalized_negative_binomial_like = _made["generalized_negative_binomial_like"]
