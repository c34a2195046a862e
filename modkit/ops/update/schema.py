"""Update operators made of formulas: of one weight, or of several weights at once.

A formula's arrays are the operator's inputs, and its numbers the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp

from modkit.errors import ParameterError
from modkit.ops.entry import numbered
from modkit.ops.parameters import REQUIRED, Attrs, Inert, Traced, TracedInt, TracedInts, TracedTuple
from modkit.ops.partial_shapes import Rule, Sizes, common, complete, merge
from modkit.ops.registry import op
from modkit.ops.schema import with_schema
from modkit.ops.stype import PLAIN

Numbers = Mapping[str, Any]
"""Parameters of an update in MXNet's order, with their defaults."""

LR = {"lr": REQUIRED}
COMMON = {"wd": 0.0, "rescale_grad": 1.0, "clip_gradient": -1.0}
KINDS = {"t": TracedInt, "step_count": TracedInts, "lazy_update": Inert[bool]}
"""Kinds of parameters that are no plain flags or numbers."""


def declare(
    name: str,
    run: Callable[..., Any],
    tensors: Sequence[str] | None,
    numbers: Numbers,
    doc: str,
    **fields: Any,
) -> None:
    """Register ``run`` with these inputs and parameters, which are arguments of the program."""
    attrs = _typed(numbers, {})
    fields = {"gradient": "refused", **fields}
    op(name, precision="float32", **fields)(with_schema(run, name, doc, tensors, attrs))


def _typed(numbers: Numbers, kinds: Attrs) -> dict[str, tuple[Any, Any]]:
    """Annotation and default of each parameter: of these kinds, else a flag or a number."""
    kinds = {**kinds, **KINDS}
    return {
        n: (kinds.get(n, bool if isinstance(d, bool) else Traced), d) for n, d in numbers.items()
    }


def one_weight(
    name: str,
    formula: Callable[..., Any],
    states: Sequence[str],
    numbers: Numbers,
    doc: str,
    *,
    shared: Sequence[str] = (),
    mixed: str = "",
    **fields: Any,
) -> None:
    """Register the update operator of a formula.

    Args:
        formula: ``formula(weight, grad, *states, **numbers)``: the new weight, and new states.
        shared: inputs after the states, which the formula takes by name.
        mixed: name of the mixed-precision form, which updates a float32 copy of a 16-bit weight.
        fields: see `op`.
    """
    fields = {"same_shape": "partial" not in fields, **fields}

    def register(name: str, states: Sequence[str], doc: str, **fields: Any) -> None:
        tensors = ("weight", "grad", *states)

        def run(**given: Any) -> Any:
            arrays = [given.pop(n) for n in tensors]
            new, *changed = _stepped(formula, "weight32" in states, arrays, given)
            return (new, dict(zip(states, changed, strict=True))) if states else new

        declare(name, run, (*tensors, *shared), numbers, doc, aux=states, **fields)

    register(name, states, doc, **fields)
    if mixed:
        doc = f"`{name}` on the float32 copy ``weight32`` of a 16-bit weight."
        fields |= {"aliases": (), "dtypes": mixed_types, "storage": PLAIN}
        register(mixed, (*states, "weight32"), doc, **fields)


def _stepped(
    formula: Callable[..., Any], mixed: bool, arrays: Sequence[Any], numbers: Numbers
) -> list[Any]:
    """The new weight and states, from weight, gradient and states.

    With ``mixed`` the last state is the weight's float32 copy, which the formula updates.
    """
    weight, grad, *states = arrays
    updated = states.pop() if mixed else weight
    made = formula(updated, grad.astype(updated.dtype), *states, **numbers)
    new, *changed = made if isinstance(made, tuple) else (made,)
    return [new.astype(weight.dtype), *changed, *([new] if mixed else ())]


def mixed_types(ins: Sequence[str | None], _attrs: Attrs) -> Any:
    """Types of a mixed-precision operator: 16-bit weight and gradient, the rest float32."""
    low = next((d for d in ins[:2] if d), None)
    return [low, low, *["float32"] * (len(ins) - 2)], [low]


@dataclass(frozen=True)
class Several:
    """An update operator over several weights.

    Inputs are interleaved: weight, gradient and states of the first, then of the second, and so
    on. Inputs that all weights share come last.

    Attributes:
        formula: ``formula(weight, grad, *states, **numbers)``, one weight's update.
        states: names of the states of a weight; the last is ``"weight32"`` in the mixed-precision
            form, whose master copy is what ``formula`` reads and makes.
        each: by parameter or shared input with an element for each weight, its name in ``formula``.
        doc: the first line of its documentation.
        shared: inputs that all weights share. Those in ``each`` have as many elements as there are
            weights, in any shape; the shape of others is free.
        count: the parameter that counts the weights.
        stored: the argument of ``formula`` that is the weight as it is stored, in 16 bits for a
            mixed-precision form; most have none.
    """

    name: str
    formula: Callable[..., Any]
    states: tuple[str, ...]
    each: Mapping[str, str]
    numbers: Numbers
    doc: str
    shared: Sequence[str] = ()
    count: str = "num_weights"
    stored: str = ""

    @property
    def mixed(self) -> bool:
        """Whether the weights have master copies in float32."""
        return "weight32" in self.states

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of one weight's inputs."""
        return ("weight", "grad", *self.states)

    def run(self, *data: Any, **given: Any) -> Any:
        """The new weights, and new states by input name; ParameterError for a wrong count."""
        count: int = given.pop(self.count)
        own = len(data) - len(self.shared)
        arrays, given = data[:own], {**given, **dict(zip(self.shared, data[own:], strict=False))}
        numbers = {
            name: jnp.ravel(given.pop(what)) if what in self.shared else given.pop(what)
            for what, name in self.each.items()
        }
        width = len(self.inputs)
        got = {"arrays": len(arrays)} | {f"values of {n}": len(v) for n, v in numbers.items()}
        expected = dict.fromkeys(got, count) | {"arrays": count * width}
        if got != expected:
            raise ParameterError(
                f"{self.name}: got {_spell(got)} for {self.count}={count}, expected "
                f"{_spell(expected)}"
            )
        outputs, changed = [], {}
        for i in range(count):
            mine = {name: values[i] for name, values in numbers.items()}
            weight, *states = self._one(arrays[i * width : (i + 1) * width], mine, given)
            outputs.append(weight)
            named = zip(self.states, states, strict=True)
            changed |= {f"{state}_{i}": value for state, value in named}
        return (tuple(outputs), changed) if self.states else tuple(outputs)

    def _one(self, arrays: Sequence[Any], mine: Numbers, rest: Numbers) -> Sequence[Any]:
        """The new weight and states of one of the weights."""
        dtype = arrays[-1 if self.mixed else 0].dtype
        mine = {n: v.astype(dtype) if hasattr(v, "astype") else v for n, v in mine.items()}
        if self.stored:
            mine[self.stored] = arrays[0].astype(dtype)
        return _stepped(self.formula, self.mixed, arrays, {**mine, **rest})

    def register(self, mixed: str = "") -> None:
        """Register it, and under the name ``mixed`` its mixed-precision form."""

        def run(*data: Any, **given: Any) -> Any:
            return self.run(*data, **given)

        kinds = dict.fromkeys(self.each, TracedTuple) | {self.count: int}
        attrs = _typed({**self.numbers, self.count: 1}, kinds)
        op(
            self.name,
            precision="float32",
            gradient="refused",
            variadic="num_args",
            names=self._names,
            aux=("states",) if self.states else (),
            outputs=lambda attrs: numbered(attrs[self.count]),
            partial=self._partial,
            dtypes=self._dtypes,
        )(with_schema(run, self.name, self.doc, None, attrs))
        if mixed:
            doc = f"`{self.name}` on float32 copies ``weight32`` of 16-bit weights."
            replace(self, name=mixed, states=(*self.states, "weight32"), doc=doc).register()

    def _names(self, attrs: Attrs) -> list[str]:
        count = attrs[self.count]
        return [f"{n}_{i}" for i in range(count) for n in self.inputs] + list(self.shared)

    def _dtypes(self, ins: Sequence[Any], _attrs: Attrs) -> tuple[list[Any], list[Any]]:
        low = next((d for d in ins[: len(ins) - len(self.shared)] if d), None)
        states = ["float32" if self.mixed else low] * len(self.states)
        count = (len(ins) - len(self.shared)) // len(self.inputs)
        return [low, low, *states] * count + ["float32"] * len(self.shared), [low] * count

    def _partial(self, ins: Sequence[Sizes], outs: Sequence[Sizes], attrs: Attrs) -> Rule:
        """One shape for each weight, its gradient and states."""
        width, count = len(self.inputs), attrs[self.count]
        filled: list[Sizes] = []
        for i in range(count):
            part = [*ins[i * width : (i + 1) * width], outs[i]]
            filled += [common(f"grad_{i} or state", part)] * width
        shared = zip(self.shared, ins[len(filled) :], strict=True)
        rest = [self._numbered(name, got, count) for name, got in shared]
        return [*filled, *rest], filled[::width]

    def _numbered(self, name: str, got: Sizes, count: int) -> Sizes:
        """The shape of a shared input."""
        free = name not in self.each or (complete(got) and math.prod(got or ()) == count)
        return got if free else merge(name, got, (count,))


def _spell(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in counts.items())
