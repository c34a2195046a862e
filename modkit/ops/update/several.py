"""Update operators over several weights at once: their inputs, inference and outputs.

Inputs are interleaved: weight, gradient and states of the first, then of the second, and so on.
Inputs that all weights share come last.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from modkit.errors import ParameterError
from modkit.ops.inference_rules import Rule, Sizes, common, merge
from modkit.ops.registry import op


@dataclass(frozen=True)
class Several:
    """An update operator over several weights.

    Attributes:
        name: the operator's.
        step: ``step(weight, grad, *states, **numbers) -> (weight, *states)``, one weight's update.
        states: names of the states of a weight; the last is ``"weight32"`` in the mixed-precision
            form, whose master copy is what ``step`` reads and makes.
        shared: inputs that all weights share, with their shapes: ``count -> shape``, or ``None``
            where it is free.
        count: the parameter that counts the weights.
        doc: the first line of its documentation.
        stored: the argument of ``step`` that is the weight as it is stored, in 16 bits for a
            mixed-precision form; most steps have none.
    """

    name: str
    step: Callable[..., Any]
    states: tuple[str, ...]
    doc: str
    shared: Mapping[str, Callable[[int], Sizes]]
    count: str = "num_weights"
    stored: str = ""

    @property
    def mixed(self) -> bool:
        """Whether the weights have master copies in float32."""
        return self.states[-1:] == ("weight32",)

    @property
    def each(self) -> tuple[str, ...]:
        """Names of one weight's inputs."""
        return ("weight", "grad", *self.states)

    def run(
        self, arrays: Sequence[Any], count: int, numbers: Mapping[str, Any], rest: Mapping[str, Any]
    ) -> Any:
        """The new weights, and the new states by input name.

        Args:
            arrays: the inputs, without the shared ones.
            count: the number of weights.
            numbers: sequences with an element for each weight, by the names that ``step`` has.
            rest: arguments that all weights share.

        Raises:
            ParameterError: not as many arrays or numbers as ``count`` weights have.
        """
        width = len(self.each)
        got = {"arrays": len(arrays)} | {f"values of {n}": len(v) for n, v in numbers.items()}
        expected = dict.fromkeys(got, count) | {"arrays": count * width}
        if got != expected:
            raise ParameterError(
                f"{self.name}: got {_spell(got)} for {self.count}={count}, expected "
                f"{_spell(expected)}"
            )
        outputs, changed = [], {}
        for i in range(count):
            own = {name: values[i] for name, values in numbers.items()}
            weight, states = self._one(arrays[i * width : (i + 1) * width], own, rest)
            outputs.append(weight)
            named = zip(self.states, states, strict=True)
            changed |= {f"{state}_{i}": value for state, value in named}
        return (tuple(outputs), changed) if self.states else tuple(outputs)

    def _one(
        self, tensors: Sequence[Any], own: Mapping[str, Any], rest: Mapping[str, Any]
    ) -> tuple[Any, list[Any]]:
        """The new weight and states of one of the weights."""
        weight, grad, *states = tensors
        master = states.pop() if self.mixed else weight
        own = {n: v.astype(master.dtype) if hasattr(v, "astype") else v for n, v in own.items()}
        if self.stored:
            own[self.stored] = weight.astype(master.dtype)
        new, *changed = self.step(master, grad.astype(master.dtype), *states, **own, **rest)
        return new.astype(weight.dtype), [*changed, new] if self.mixed else changed

    def register(self, function: Callable[..., Any]) -> None:
        """Register ``function``, which calls `run`, as the operator."""
        function.__doc__ = self.doc
        op(
            self.name,
            precision="float32",
            variadic="num_args",
            names=self._names,
            aux=("states",) if self.states else (),
            outputs=functools.partial(_outputs, self.count),
            partial=self._partial,
            dtypes=self._dtypes,
        )(function)

    def _names(self, attrs: Mapping[str, Any]) -> list[str]:
        return [f"{n}_{i}" for i in range(attrs[self.count]) for n in self.each] + list(self.shared)

    def _dtypes(self, ins: Sequence[Any], attrs: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        del attrs
        low = next((d for d in ins[: len(ins) - len(self.shared)] if d), None)
        states = ["float32" if self.mixed else low] * len(self.states)
        count = (len(ins) - len(self.shared)) // len(self.each)
        return [low, low, *states] * count + ["float32"] * len(self.shared), [low] * count

    def _partial(
        self, ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Mapping[str, Any]
    ) -> Rule:
        """One shape for each weight, its gradient and states."""
        width, count = len(self.each), attrs[self.count]
        filled: list[Sizes] = []
        for i in range(count):
            part = [*ins[i * width : (i + 1) * width], outs[i]]
            filled += [common(f"grad_{i} or state", part)] * width
        rest = zip(self.shared.items(), ins[len(filled) :], strict=True)
        shared = [merge(name, got, shape(count)) for (name, shape), got in rest]
        return [*filled, *shared], filled[::width]


def _spell(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.items())


def _outputs(count: str, attrs: Mapping[str, Any]) -> Sequence[str]:
    number = attrs[count]
    return ("output",) if number == 1 else tuple(f"output{i}" for i in range(number))
