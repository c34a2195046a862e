"""Functions whose gradient is a rule of MXNet's, not their derivative."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any, NoReturn

from modkit.errors import ModkitError
from modkit.interpreter.reverse import CustomVjp


def same(value: Any) -> Any:
    """The identity: the value of a loss whose output is its data."""
    return value


def with_gradient(
    value: Callable[[Any], Any], gradient: Callable[..., Any], data: Any, *others: Any
) -> Any:
    """``value(data)``, whose gradient is ``gradient(value(data), *others, cotangent)``.

    The result and the other arrays are its residuals: ``data`` is one only where it is one of the
    others too. These, labels for example, have no gradients.
    """

    @CustomVjp
    def run(data: Any, *others: Any) -> Any:
        return value(data)

    def forward(data: Any, *others: Any) -> Any:
        made = value(data)
        return made, (made, *others)

    def backward(saved: Any, cotangent: Any) -> Any:
        return gradient(*saved, cotangent), *[None] * len(others)

    run.defvjp(forward, backward)
    return run(data, *others)


def gradient_of(
    run: Any, saved: int | slice, *, and_result: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as a `CustomVjp`'s gradient.

    Its residuals are the arguments ``saved``, or the pair of these and the result.
    """

    def forward(*given: Any) -> tuple[Any, Any]:
        made = run(*given)
        return made, (given[saved], made) if and_result else given[saved]

    def register(backward: Callable[..., Any]) -> Callable[..., Any]:
        run.defvjp(forward, backward)
        return backward

    return register


def without_gradient(
    name: str, fn: Callable[..., Any], constants: Collection[str]
) -> Callable[..., Any]:
    """The function, whose results take no cotangents; ``constants`` are no arrays."""

    @functools.wraps(fn)
    def run(*arrays: Any, **given: Any) -> Any:
        fixed = {n: given.pop(n) for n in constants if n in given}
        return refusing(name, lambda arrays, given: fn(*arrays, **given, **fixed), arrays, given)

    return run


def refusing(name: str, fn: Callable[..., Any], *given: Any) -> Any:
    """``fn(*given)``, of trees of arrays, which takes no cotangents; ``name`` is for the error."""

    @CustomVjp
    def run(*given: Any) -> Any:
        return fn(*given)

    def refuse(_saved: Any, _cotangent: Any) -> NoReturn:
        raise ModkitError(
            f"{name}: got a gradient of its result, expected none: the operator has no derivative, "
            "as in MXNet; apply BlockGrad to its result, or give its inputs the grad_req 'null'"
        )

    run.defvjp(lambda *given: (run(*given), None), refuse)
    return run(*given)
