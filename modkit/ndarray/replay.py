"""Gradients of a part of the tape: one compiled program, cached by the part's structure."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from modkit import profiler
from modkit.compile.executables import Eager
from modkit.interpreter.reverse import vjp
from modkit.interpreter.tracing import jaxpr_for_numpy
from modkit.ndarray.invoke import Call, Operator, host_form, types_of
from modkit.ndarray.node_by_node import steps_of
from modkit.ndarray.storage import needs_x64, x64_scope
from modkit.ndarray.tape import Host, Leaf, TapeNode, Use, order_of
from modkit.ops.elementwise.arithmetic import convert
from modkit.ops.integer_gradients import moving, outputs, through, untwinned, with_derivative

Operand = tuple[int, int]
"""A value: ``(number of a call, index of its output)``, or ``(-1, index of an argument)``."""


class TapeStructure(NamedTuple):
    """Cache key of the gradient program: equal for parts of the tape that repeat.

    Attributes:
        calls: in order; each is the function, the gradient's function, the inputs, and the name of
            the operator ("" for other calls).
        heads: the outputs that are differentiated.
        wanted: the arguments to differentiate with respect to; several of one variable are added.
        given: for each head, whether a cotangent is an argument (else it is 1).
        anchors: the calls with a gradient of their own that are no heads.
    """

    calls: tuple[tuple[Callable[..., Any], Callable[..., Any], tuple[Operand, ...], str], ...]
    heads: tuple[Operand, ...]
    wanted: tuple[tuple[int, ...], ...]
    given: tuple[bool, ...]
    anchors: tuple[int, ...]


class TapePart(NamedTuple):
    """A part of the tape, ready to be differentiated.

    Attributes:
        arguments: leaves, and outputs of calls on the host.
        sources: the owner of each gradient: a `Leaf`, or a call on the host and its output.
        call: the gradient program with its runtime arguments.
    """

    structure: TapeStructure
    arguments: list[Use]
    sources: list[Any]
    call: Call
    calls: list[Call]


def part(heads: Sequence[Use], given: Sequence[bool], train_mode: bool) -> TapePart:
    """The part of the tape that the heads depend on; ``given``: whose cotangent is an argument."""
    order = order_of(heads)
    number = {id(node): at for at, node in enumerate(order)}
    arguments: dict[Any, tuple[int, Use]] = {}

    def place(use: Use) -> Operand:
        source = use.source
        if not isinstance(source, Leaf | Host):
            return number[id(source)], use.output
        if isinstance(source, Host):
            use = use._replace(value=source.values[use.output])
        # A variable written between two reads is two arguments.
        key = id(source), use.output, id(use.value)
        return -1, arguments.setdefault(key, (len(arguments), use))[0]

    def entry(node: TapeNode) -> tuple[Any, Any, tuple[Operand, ...], str]:
        fn = node.call.fn
        predicting = (not train_mode and node.call.predicting) or fn
        name = node.symbol[0][0] if len(node.symbol) == 1 else ""
        return fn, predicting, tuple(map(place, node.uses)), name

    calls = tuple(map(entry, order))
    ends = tuple(map(place, heads))
    sources, wanted = _wanted([use for _, use in arguments.values()])
    shown = {at for at, _ in ends}
    anchors = tuple(
        at
        for at, fn in enumerate(node.call.fn for node in order)
        if at not in shown and isinstance(fn, Operator) and fn.has_own_gradient
    )
    structure = TapeStructure(calls, ends, wanted, tuple(given), anchors)
    call = Call(
        fn=program(structure),
        key_data=[node.call.key_data for node in order],
        numbers=[node.call.numbers for node in order],
        needs_x64=any(node.call.needs_x64 for node in order),
    )
    recorded = [node.call for node in order]
    return TapePart(structure, [use for _, use in arguments.values()], sources, call, recorded)


def _wanted(arguments: Sequence[Use]) -> tuple[list[Any], tuple[tuple[int, ...], ...]]:
    """Sources of the gradients (variables, outputs of host calls), and their arguments."""
    groups: dict[Any, tuple[Any, list[int]]] = {}
    for at, use in enumerate(arguments):
        source = use.source
        if isinstance(source, Host):
            if use.value.dtype != np.bool_:
                groups[id(source), use.output] = (source, use.output), [at]
        elif isinstance(source, Leaf) and source.marked:
            groups.setdefault((id(source), 0), (source, []))[1].append(at)
    return [source for source, _ in groups.values()], tuple(tuple(p) for _, p in groups.values())


@functools.lru_cache(maxsize=256)
def program(structure: TapeStructure) -> Callable[..., Any]:
    """The gradients as a compiled function of the arguments, then of the given cotangents."""
    flat = tuple(itertools.chain.from_iterable(structure.wanted))

    def gradients(arrays: Sequence[Any], key_data: Any, numbers: Any) -> Any:
        count = len(arrays) - sum(structure.given)
        arguments, cotangents = list(arrays[:count]), iter(arrays[count:])

        def heads(values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
            full = list(arguments)
            for at, value in zip(flat, values, strict=True):
                full[at] = with_derivative(full[at], value)
            done = _replay(structure, full, key_data, numbers)
            shown = [full[j] if i < 0 else done[i][j] for i, j in structure.heads]
            return list(map(through, shown)), [done[at][0] for at in structure.anchors]

        (outputs, anchors), pull = vjp(heads, [moving(arguments[at]) for at in flat])
        back = [
            _cotangent(o, next(cotangents) if g else None)
            for o, g in zip(outputs, structure.given, strict=True)
        ]
        # Array cotangents of 0 run the gradients of losses that nothing reads.
        found = iter(pull((back, list(map(jnp.zeros_like, anchors))))[0])
        summed = (
            convert(
                functools.reduce(operator.add, itertools.islice(found, len(places))),
                arguments[places[0]].dtype,
            )
            for places in structure.wanted
        )
        return tuple(summed), {}

    return Gradients(gradients)


class Gradients(Eager):
    """The gradients of a structure, which NumPy may run as it runs operators."""

    elementwise = False

    def __init__(self, fn: Callable[..., Any]):
        super().__init__(fn)
        self._fn = fn

    def traced(self, avals: Sequence[Any], key_data: Any, numbers: Sequence[Any]) -> Any:
        """The jaxpr for these shapes and types, and the structure of the results."""
        return jaxpr_for_numpy(self._fn, list(avals), key_data, numbers)


def _replay(
    structure: TapeStructure, arguments: Sequence[Any], key_data: Any, numbers: Any
) -> list[Sequence[Any]]:
    """The results of the calls."""
    done: list[Sequence[Any]] = []

    def value(place: Operand) -> Any:
        return arguments[place[1]] if place[0] < 0 else done[place[0]][place[1]]

    for (fn, gradient_fn, places, name), own_key, given in zip(
        structure.calls, key_data, numbers, strict=True
    ):
        inputs = [value(place) for place in places]
        results = _called(fn, inputs, own_key, given, name)
        if gradient_fn is not fn:
            paths = _called(gradient_fn, inputs, own_key, given, name)
            results = [
                with_derivative(untwinned(y), path)
                if jnp.issubdtype(path.dtype, jnp.inexact)
                else y
                for path, y in zip(map(through, paths), results, strict=True)
            ]
        done.append(results)
    return done


def _called(
    fn: Callable[..., Any], inputs: Sequence[Any], key_data: Any, numbers: Any, name: str
) -> list[Any]:
    return outputs(lambda arrays: fn(arrays, key_data, numbers)[0], inputs, name)


def _cotangent(output: Any, given: Any) -> Any:
    if not jnp.issubdtype(output.dtype, jnp.inexact):
        return np.zeros(output.shape, jax.dtypes.float0)
    return jnp.ones_like(output) if given is None else convert(given, output.dtype)


def run(part: TapePart, cotangents: Sequence[Any], *, on_host: bool) -> Sequence[Any]:
    """The gradients, in the order of ``part.sources``; cotangents are those that are given.

    Args:
        cotangents: arrays of NumPy or JAX, as the values on the tape.
        on_host: whether NumPy may run it.
    """
    if "operators" not in profiler.aggregated:
        return _run(part, cotangents, on_host)
    last = (call[3] for call in part.structure.calls[-1:])  # none where a variable is the head
    row = " ".join(("backward", *last)).strip()
    return profiler.timed(row, lambda: _run(part, cotangents, on_host))


def _run(part: TapePart, cotangents: Sequence[Any], on_host: bool) -> Sequence[Any]:
    arrays = [*(use.value for use in part.arguments), *cotangents]
    if on_host:
        types, values = types_of(arrays), map(np.asarray, arrays)
        if (made := steps_of(part.structure, types).run(values, part.calls)) is not None:
            return made
        if (form := host_form(part.call, types)) is not None:
            return form.run(list(map(np.asarray, arrays)), part.call)[0]
    with x64_scope(part.call.needs_x64 or needs_x64(*(a.dtype for a in arrays))):
        return part.call.fn(arrays, part.call.key_data, part.call.numbers)[0]
