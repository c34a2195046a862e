"""Gradients of a part of the tape, node by node: what NumPy runs while its structure is new.

A loop over episodes records another structure each time. Tracing each as one program takes half a
millisecond a node, and compiling it more; the derivative of an operator is traced once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from modkit.compile.executables import Eager
from modkit.fork import process
from modkit.interpreter import NumPyProgram, program_of, quietly
from modkit.interpreter.costs import NODE_S, calls_of_tape, compilation_s
from modkit.interpreter.reverse import rules_are_known
from modkit.interpreter.shared import derivative_of
from modkit.ndarray.invoke import Call, Operator, Types, flat_numbers, owned, types_of
from modkit.ndarray.storage import needs_x64, x64_scope
from modkit.ops.elementwise.arithmetic import is_whole


class Derivative:
    """An operator's outputs with what its derivative needs, and the derivative, by NumPy.

    Attributes:
        moving: positions of the inputs whose gradients `backward` returns.
        real: positions of the outputs that have cotangents.
    """

    def __init__(self, fn: Eager, moving: tuple[int, ...], avals: Sequence[Any], call: Call):
        rest, layout = jax.tree.flatten((call.key_data, call.numbers))

        def function(arrays: Sequence[Any]) -> Any:
            return fn.plain(arrays[: len(avals)], *layout.unflatten(arrays[len(avals) :]))

        run: Callable[..., Any] = function
        key: Any = fn
        if isinstance(fn, Operator) and not rest:
            run, key = fn.as_function()
        made = derivative_of(run, key, [*map(jax.typeof, (*avals, *rest))], moving)
        outputs = made.made[0]
        self.real = tuple(
            at for at, o in enumerate(outputs) if jnp.issubdtype(o.dtype, jnp.inexact)
        )
        back = made.pull(self.real)
        self.moving = tuple(
            at for at, gradient in zip(moving, back.shapes, strict=True) if gradient is not None
        )
        self._numbers = [var.aval.dtype.type for var in made.listing.invars[len(avals) :]]
        self._count, self._all = len(outputs), len(jax.tree.leaves(made.made))
        self._forward, self._backward = program_of(made.listing), program_of(back.listing)

    @property
    def programs(self) -> tuple[NumPyProgram, NumPyProgram] | None:
        """Both programs; ``None`` unless NumPy can run both."""
        forward, backward = self._forward, self._backward
        return None if forward is None or backward is None else (forward, backward)

    # Both run where `programs` are there.

    def forward(self, arrays: Sequence[Any], call: Call) -> tuple[list[Any], list[Any]]:
        """The outputs, and what `backward` needs."""
        given = list(arrays)
        if self._numbers:
            given += flat_numbers(call, self._numbers)
        made = self._forward.run(given)  # type: ignore[union-attr]
        return made[: self._count], made[self._all :]

    def backward(self, kept: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The gradients of `moving`, from cotangents of `real`."""
        return self._backward.run([*kept, *cotangents])  # type: ignore[union-attr]


@functools.lru_cache(maxsize=4096)
def _made(
    fn: Any, moving: tuple[int, ...], types: Types, sizes: tuple[int, ...]
) -> list[Derivative]:
    """The derivative of a signature, which its first call traces and adds."""
    return []


def _derivative(call: Call, moving: Sequence[bool], arrays: Sequence[Any]) -> Derivative:
    types = types_of(arrays)
    at = tuple(i for i, m in enumerate(moving) if m and jnp.issubdtype(types[i][1], jnp.inexact))
    sizes = tuple(len(n) if isinstance(n, tuple | list) else 0 for n in call.numbers)
    made = _made(call.fn, at, types, sizes)
    if not made:
        with x64_scope(call.needs_x64 or needs_x64(*(dtype for _, dtype in types))):
            avals = [jax.ShapeDtypeStruct(*each) for each in types]
            made.append(Derivative(call.fn, at, avals, call))
    return made[0]


Forward = tuple[list[list[Any]], list[list[Any]]]
"""For each call its outputs, and what its derivative needs."""


def _run_forward(
    derivative: Derivative,
    inputs: Sequence[Any],
    call: Call,
    outputs: list[list[Any]],
    kept: list[list[Any]],
) -> None:
    made, needed = derivative.forward(inputs, call)
    outputs.append(made)
    kept.append(needed)


class Steps:
    """A structure on arguments of certain shapes and types, node by node.

    Attributes:
        left: the number of calls that are still run so.
    """

    def __init__(self, structure: Any):
        self._structure = structure
        self._derivatives: list[Derivative] | None = None
        calls, wanted = structure.calls, {at for group in structure.wanted for at in group}
        self.left = math.inf
        plain = all(isinstance(fn, Eager) and fn is back for fn, back, *_ in calls)
        if not plain or not rules_are_known():
            self.left = 0
        moves: list[bool] = []
        for fn, _, places, _ in calls:
            moves.append(any(moves[i] if i >= 0 else j in wanted for i, j in places))
            if moves[-1] and isinstance(fn, Operator) and fn.refuses_gradients:
                self.left = 0  # the program knows which cotangents are there
        self._differentiated = [
            (i, j) for i, j in structure.heads if (moves[i] if i >= 0 else j in wanted)
        ]
        self._moving = [
            [moves[i] if i >= 0 else j in wanted for i, j in places] for _, _, places, _ in calls
        ]

    def run(self, arrays: Iterable[Any], calls: Sequence[Call]) -> list[Any] | None:
        """The gradients of ``structure.wanted``; ``None`` if they are to be one program.

        Args:
            arrays: the arguments, and then the given cotangents; read if they are needed.
            calls: the recorded calls, in order.
        """
        self.left -= 1
        if self.left < 0:
            return None
        made = quietly(self._run, list(arrays), calls)
        if made is None:
            self.left = 0
        return made

    def _run(self, arrays: Sequence[Any], calls: Sequence[Call]) -> list[Any] | None:
        structure = self._structure
        count = len(arrays) - sum(structure.given)
        found = self._traced if self._derivatives is None else self._forward
        if (done := found(arrays[:count], calls)) is None:
            return None
        outputs, kept = done
        back = self._heads(arrays[:count], outputs, iter(arrays[count:]))
        for at in structure.anchors:
            back.add((at, 0), np.zeros_like(outputs[at][0]))
        derivatives = self._derivatives or []
        for at in reversed(range(len(calls))):
            derivative, places = derivatives[at], structure.calls[at][2]
            if not derivative.moving or not back.any(at, derivative.real):
                continue
            given = [back.take((at, j), outputs[at][j]) for j in derivative.real]
            for i, gradient in zip(
                derivative.moving, derivative.backward(kept[at], given), strict=True
            ):
                back.add(places[i], gradient)
            kept[at] = []
        taken = set(map(id, arrays))
        return [
            owned(functools.reduce(np.add, (back.take((-1, j), arrays[j]) for j in group)), taken)
            for group in structure.wanted
        ]

    def _traced(self, arguments: Sequence[Any], calls: Sequence[Call]) -> Forward | None:
        """See `_forward`. Finds the derivatives, and how often they run; ``None`` without one."""
        if process.forked:
            return None
        cost_s, steps = 0.0, 0
        found: list[Derivative] = []
        outputs: list[list[Any]] = []
        kept: list[list[Any]] = []
        for call, (_, _, places, _), moving in zip(
            calls, self._structure.calls, self._moving, strict=True
        ):
            inputs = [self._value(arguments, outputs, place) for place in places]
            if any(m and is_whole(x.dtype) for m, x in zip(moving, inputs, strict=True)):
                return None  # see `modkit.ops.integer_gradients`
            derivative = _derivative(call, moving, inputs)
            if derivative.programs is None:
                return None
            for program in derivative.programs:
                cost_s += program.cost_s + NODE_S
                steps += program.steps
            if cost_s > compilation_s(steps):  # large work, which is compiled at once
                return None
            found.append(derivative)
            _run_forward(derivative, inputs, call, outputs, kept)
        if any(
            is_whole(self._value(arguments, outputs, head).dtype) for head in self._differentiated
        ):
            return None
        self._derivatives = found
        self.left = calls_of_tape(cost_s, steps)
        return outputs, kept

    def _forward(self, arguments: Sequence[Any], calls: Sequence[Call]) -> Forward:
        """The outputs of all calls, and what their derivatives need."""
        outputs: list[list[Any]] = []
        kept: list[list[Any]] = []
        for call, derivative, (_, _, places, _) in zip(
            calls, self._derivatives or (), self._structure.calls, strict=True
        ):
            inputs = [self._value(arguments, outputs, place) for place in places]
            _run_forward(derivative, inputs, call, outputs, kept)
        return outputs, kept

    @staticmethod
    def _value(arguments: Sequence[Any], outputs: Sequence[Any], place: tuple[int, int]) -> Any:
        call, at = place
        return arguments[at] if call < 0 else outputs[call][at]

    def _heads(
        self, arguments: Sequence[Any], outputs: Sequence[Any], given: Iterator[Any]
    ) -> _Cotangents:
        back = _Cotangents()
        for (i, j), has in zip(self._structure.heads, self._structure.given, strict=True):
            value = self._value(arguments, outputs, (i, j))
            own = next(given) if has else np.ones_like(value)
            if value.dtype.kind == "f":
                back.add((i, j), own.astype(value.dtype, copy=False))
        return back


class _Cotangents:
    """Sums of cotangents by value: number of a call and of its output; -1 and an argument."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, int], Any] = {}

    def add(self, place: tuple[int, int], value: Any) -> None:
        """Add a cotangent."""
        before = self._sums.get(place)
        self._sums[place] = value if before is None else before + value

    def any(self, call: int, outputs: Sequence[int]) -> bool:
        """Whether one of a call's outputs has a cotangent."""
        return any((call, j) in self._sums for j in outputs)

    def take(self, place: tuple[int, int], like: Any) -> Any:
        """The sum, zeros where nothing was added."""
        found = self._sums.get(place)
        return np.zeros_like(like) if found is None else found


@functools.lru_cache(maxsize=256)
def steps_of(structure: Any, types: Types) -> Steps:
    """The structure on arguments of these types; see `Steps`."""
    return Steps(structure)
