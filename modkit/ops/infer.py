"""Tools for the inference rules of operators: partly known sizes, and element types.

In a partly known shape a 0 is a size that is not known, and ``None`` a shape that is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from modkit.errors import ParameterError, ShapeError
from modkit.ops.registry import Shape

Sizes = Shape | None
"""A partly known shape."""

Rule = tuple[list[Sizes], list[Sizes]]
"""What a ``partial`` rule returns: shapes of the inputs, and of the outputs."""


def complete(*shapes: Sizes) -> bool:
    """Whether every size of every shape is known."""
    return all(shape is not None and 0 not in shape for shape in shapes)


def product(sizes: Sequence[int]) -> int:
    """How many elements; 0 where a size is not known."""
    return math.prod(sizes)


def merge(name: str, first: Sizes, second: Sizes) -> Sizes:
    """What two partly known shapes of one array tell together.

    Raises:
        ShapeError: they contradict each other.
    """
    if first is None or second is None:
        return second if first is None else first
    if len(first) != len(second) or any(
        a and b and a != b for a, b in zip(first, second, strict=True)
    ):
        raise ShapeError(f"{name}: got shape {first}, expected {second}")
    return tuple(a or b for a, b in zip(first, second, strict=True))


def opened(name: str, shape: Sizes, rank: int) -> list[int]:
    """The sizes as a list to be filled in; of ``rank`` unknown ones where the shape is.

    Raises:
        ShapeError: the shape has another number of axes.
    """
    if shape is None:
        return [0] * rank
    if len(shape) != rank:
        raise ShapeError(f"{name}: got shape {shape}, expected one with {rank} axes")
    return list(shape)


def link(
    name: str,
    xs: list[int],
    i: int,
    ys: list[int],
    j: int,
    forward: Callable[[int], int] = int,
    backward: Callable[[int], int] = int,
) -> None:
    """Fill size ``i`` of ``xs`` from size ``j`` of ``ys``, or the other way round.

    Args:
        name: the operator, for the error.
        xs: sizes of one array.
        i: a place in ``xs``.
        ys: sizes of another.
        j: a place in ``ys``.
        forward: what ``ys[j]`` is for a known ``xs[i]``.
        backward: what ``xs[i]`` is for a known ``ys[j]``; 0 where it cannot be told.

    Raises:
        ShapeError: both are known and do not fit.
    """
    if not xs[i] and ys[j]:
        xs[i] = backward(ys[j])
    if xs[i]:
        made = forward(xs[i])
        if ys[j] and ys[j] != made:
            raise ShapeError(
                f"{name}: got size {ys[j]} at axis {j} of {tuple(ys)}, expected {made} "
                f"(from axis {i} of {tuple(xs)})"
            )
        ys[j] = made


def rank_of(*shapes: tuple[Sizes, int]) -> int | None:
    """The number of axes, from the first known shape; each comes with how many more axes it has."""
    return next((len(shape) - more for shape, more in shapes if shape is not None), None)


def check_axis(name: str, axis: int, rank: int, *, what: str = "axis") -> int:
    """The axis counted from the front.

    Raises:
        ParameterError: there is no such axis.
    """
    if not -rank <= axis < rank:
        raise ParameterError(
            f"{name}: {what}: got {axis}, expected one of {-rank} .. {rank - 1} "
            f"for an array with {rank} axes"
        )
    return axis % rank


def first_decides(
    ins: Sequence[str | None], attrs: Mapping[str, Any]
) -> tuple[list[str | None], list[str | None]]:
    """The rule of types where the output has the first input's, and the others are free."""
    del attrs
    return list(ins), [ins[0]]
