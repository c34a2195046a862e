"""Functions whose gradient is a rule of MXNet's, not their derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from modkit.interpreter.reverse import CustomVjp


def with_gradient(
    value: Callable[[Any], Any], gradient: Callable[..., Any], data: Any, *others: Any
) -> Any:
    """``value(data)``, whose gradient is ``gradient(value(data), *others, cotangent)``.

    The result and the other arrays are its residuals: ``data`` is one only where it is one of the
    others too. These, labels for example, have no gradients.
    """

    @CustomVjp
    def run(data: Any, *others: Any) -> Any:
        del others
        return value(data)

    def forward(data: Any, *others: Any) -> Any:
        made = value(data)
        return made, (made, *others)

    def backward(saved: Any, cotangent: Any) -> Any:
        return gradient(*saved, cotangent), *[None] * len(others)

    run.defvjp(forward, backward)
    return run(data, *others)
