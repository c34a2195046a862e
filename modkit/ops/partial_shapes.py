"""Partly known shapes, and the tools by which shape rules of operators fill them in.

In a partly known shape a 0 is a size that is not known, and ``None`` a shape that is not; a known
size of 0 is `NONE_LEFT`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

from modkit.errors import ShapeError, wrong
from modkit.ops.parameters import Shape

Sizes = Shape | None
"""A partly known shape."""

Rule = tuple[list[Sizes], list[Sizes]]
"""The result of a ``partial`` rule: shapes of the inputs, and of the outputs."""


class _NoneLeft(int):
    """The number 0 as a known size: true, and equal to itself only."""

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _NoneLeft)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(_NoneLeft)


NONE_LEFT = _NoneLeft(0)
"""The size of an axis without elements; rules that compute with it get 0, an unknown size."""


def known_sizes(shape: Sequence[int]) -> Shape:
    """The shape of an array as a completely known one."""
    return tuple(int(size) or NONE_LEFT for size in shape)


def plain_sizes(shape: Sequence[int]) -> Shape:
    """A completely known shape as that of an array."""
    return tuple(map(int, shape))


def _same(size: int) -> int:
    return size


def complete(shape: Sizes) -> TypeGuard[Shape]:
    """Whether every size is known."""
    return shape is not None and 0 not in shape


def merge(name: str, first: Sizes, second: Sizes) -> Sizes:
    """The combination of two partly known shapes of one array.

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


def common(name: str, shapes: Sequence[Sizes]) -> Sizes:
    """The common shape of several arrays; ShapeError where they contradict each other."""
    full: Sizes = None
    for shape in shapes:
        full = merge(name, shape, full)
    return full


def check_shape(operator: str, name: str, array: Any, expected: Sequence[int]) -> None:
    """Raise ShapeError for an input of another shape."""
    if array.shape != tuple(expected):
        raise ShapeError(f"{operator}: {name}: got shape {array.shape}, expected {tuple(expected)}")


def opened(name: str, shape: Sizes, rank: int) -> list[int]:
    """The sizes as a list to be filled in; ShapeError for another number of axes than ``rank``."""
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
    forward: Callable[[int], int] = _same,
    backward: Callable[[int], int] = _same,
) -> None:
    """Fill size ``i`` of ``xs`` from size ``j`` of ``ys``, or vice versa.

    Args:
        name: the operator, for the error.
        forward: ``ys[j]`` for a known ``xs[i]``.
        backward: ``xs[i]`` for a known ``ys[j]``; 0 if it is undetermined.

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


def results(*shapes: Shape) -> Callable[..., Rule]:
    """The rule of shapes where those of the results are always the same."""
    return lambda ins, outs, attrs: (list(ins), list(shapes))


def like_first(*rest: Sizes) -> Callable[..., Rule]:
    """The rule of shapes where the first result has that of the first input.

    Args:
        rest: the shapes of the other inputs, and those of the other results.
    """

    def rule(ins: Sequence[Sizes], outs: Sequence[Sizes], _attrs: Any) -> Rule:
        whole = common("data", [ins[0], outs[0]])
        return [whole, *rest[: len(ins) - 1]], [whole, *rest[: len(outs) - 1]]

    return rule


def by_axes(
    name: str, *, rank: Callable[[Any], int] | None = None, more: int = 0
) -> Callable[[Callable[[list[int], list[int], Any], None]], Callable[..., Rule]]:
    """The rule of shapes of an operator on one array, made of ``fill(xs, ys, attrs)``.

    That function fills in the sizes ``xs`` of the array and ``ys`` of the result, as by `link`.

    Args:
        name: the operator, for errors.
        rank: ``attrs -> number of axes`` of the array; by default that of a known shape.
        more: the number of axes that the result has more than the array.
    """

    def made(fill: Callable[[list[int], list[int], Any], None]) -> Callable[..., Rule]:
        def rule(ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Any) -> Rule:
            axes = rank(attrs) if rank else rank_of((ins[0], 0), (outs[0], more))
            if axes is None:
                return list(ins), list(outs)
            xs, ys = opened(name, ins[0], axes), opened(name, outs[0], axes + more)
            fill(xs, ys, attrs)
            return [tuple(xs)], [tuple(ys)]

        return rule

    return made


def rank_of(*shapes: tuple[Sizes, int]) -> int | None:
    """The number of axes, by the first known shape; each comes with how many more it has."""
    return next((len(shape) - more for shape, more in shapes if shape is not None), None)


def check_axis(name: str, axis: int, rank: int, *, what: str = "axis") -> int:
    """The axis counted from the front; ParameterError where there is no such axis."""
    if not -rank <= axis < rank:
        axes = f"one of {-rank} .. {rank - 1} for an array with {rank} axes"
        raise wrong(f"{name}: {what}", axis, axes)
    return axis % rank


_MOST_ELEMENTS = 2**40


def check_elements(what: str, shape: Shape) -> None:
    """Raise ShapeError from 2**40 elements on: XLA ends the process where sizes overflow."""
    if math.prod(n or 1 for n in shape) >= _MOST_ELEMENTS:
        raise ShapeError(
            f"{what}: shape {shape} has too many elements, expected fewer than 2**40, which take "
            "4 TiB in float32"
        )
