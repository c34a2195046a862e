"""Functions whose gradient is a rule of MXNet's, not their derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax


def with_gradient(
    value: Callable[[Any], Any], gradient: Callable[..., Any], data: Any, *others: Any
) -> Any:
    """``value(data)``, whose gradient is ``gradient(data, value(data), *others, cotangent)``.

    The other arrays, of which labels are some, have none.
    """

    @jax.custom_vjp
    def run(data: Any, *others: Any) -> Any:
        del others
        return value(data)

    def forward(data: Any, *others: Any) -> Any:
        made = value(data)
        return made, (data, made, *others)

    def backward(saved: Any, cotangent: Any) -> Any:
        return gradient(*saved, cotangent), *[None] * len(others)

    run.defvjp(forward, backward)
    return run(data, *others)
