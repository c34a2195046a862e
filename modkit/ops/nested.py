"""Nested lists of arrays or symbols, as the bodies of control flow take and return them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from modkit.errors import ParameterError, expect

Form = int | list["Form"]
"""A nested list with the number of each leaf in its place."""


def flatten(value: Any, kind: type, where: str) -> tuple[list[Any], Form]:
    """The leaves of a nested list or tuple, and its form.

    Args:
        value: a leaf, or lists and tuples of leaves to any depth.
        kind: the class of the leaves.
        where: the argument, for the error.

    Raises:
        ParameterError: something in it is of another class.
    """
    leaves: list[Any] = []

    def form(part: Any) -> Form:
        if isinstance(part, list | tuple):
            return [form(each) for each in part]
        if not isinstance(part, kind):
            raise ParameterError(
                f"{where}: got {part!r} of type {type(part).__name__}, expected one "
                f"{kind.__name__} or a nested list of them"
            )
        leaves.append(part)
        return len(leaves) - 1

    made = form(value)
    return leaves, made


def regroup(leaves: Any, form: Form) -> Any:
    """The leaves as nested lists of that form."""
    if isinstance(form, int):
        return leaves[form]
    return [regroup(leaves, each) for each in form]


def arguments(leaves: Any, form: Form) -> list[Any]:
    """The arguments of a function of a loop: the items of the outermost list."""
    made = regroup(leaves, form)
    return made if isinstance(form, list) else [made]


def pair(result: Any, where: str) -> Iterator[Any]:
    """The two parts that a body returns; ParameterError where it returned something else."""
    if not isinstance(result, list | tuple) or len(result) != 2:
        raise ParameterError(
            f"{where}: the body returned {result!r}, expected a pair: outputs of this step, and "
            "the new states"
        )
    return iter(result)


def check_functions(where: str, **given: Any) -> None:
    """Raise ParameterError for a value that cannot be called."""
    for name, value in given.items():
        expect(callable(value), f"{where}: {name}", value, "a function")


def iterations(given: Any, least: int | None = None) -> int:
    """``max_iterations`` of a ``while_loop``; ParameterError unless finite, from ``least`` on."""
    try:
        count = int(given)
    except (TypeError, ValueError, OverflowError):
        count = None
    if count is None or (least is not None and count < least):
        range_ = "" if least is None else f" of {least} or more"
        raise ParameterError(f"while_loop: max_iterations: got {given!r}, expected an int{range_}")
    return count
