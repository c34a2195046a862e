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

from modkit.cache import Eager
from modkit.ndarray.invoke import Call, Operator, host_form, types_of
from modkit.ndarray.node_by_node import steps_of
from modkit.ndarray.storage import needs_x64, x64_scope
from modkit.ndarray.tape import Host, Leaf, TapeNode, Use, order_of
from modkit.ops.elementwise.arithmetic import is_whole
from modkit.ops.elementwise.cast import cast_through

Operand = tuple[int, int]
"""A value: ``(number of a call, index of its output)``, or ``(-1, index of an argument)``."""


class TapeStructure(NamedTuple):
    """Cache key of the gradient program: equal for parts of the tape that repeat.

    Attributes:
        calls: for each call, in order, its function, that of its gradient, and its inputs.
        heads: the outputs that are differentiated.
        wanted: the arguments to differentiate with respect to; several of one variable are added.
        given: for each head, whether a cotangent is an argument (else it is 1).
        anchors: the calls with a gradient of their own that are no heads.
    """

    calls: tuple[tuple[Callable[..., Any], Callable[..., Any], tuple[Operand, ...]], ...]
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
        calls: the recorded calls.
    """

    structure: TapeStructure
    arguments: list[Use]
    sources: list[Any]
    call: Call
    calls: list[Call]


def part(heads: Sequence[Use], given: Sequence[bool], train_mode: bool) -> TapePart:
    """The part of the tape that the heads depend on.

    Args:
        heads: the outputs to differentiate.
        given: for each, whether a cotangent is an argument.
        train_mode: see `modkit.ndarray.ndarray.NDArray.backward`.
    """
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

    def entry(node: TapeNode) -> tuple[Any, Any, tuple[Operand, ...]]:
        fn, uses = node.call.fn, node.uses
        if (cast := _through_whole_numbers(node, id(node) in ends)) is not None:
            fn, uses = cast
        return fn, (not train_mode and node.call.predicting) or fn, tuple(map(place, uses))

    # Only at the end of the tape can a cast to whole numbers give floats instead.
    read = {id(use.source) for node in order for use in node.uses}
    ends = {id(use.source) for use in heads} - read
    calls = tuple(map(entry, order))
    outputs = tuple(map(place, heads))
    sources, wanted = _wanted([use for _, use in arguments.values()])
    shown = {at for at, _ in outputs}
    anchors = tuple(
        at for at, node in enumerate(order) if at not in shown and _has_own_gradient(node)
    )
    structure = TapeStructure(calls, outputs, wanted, tuple(given), anchors)
    call = Call(
        fn=program(structure),
        key_data=[node.call.key_data for node in order],
        numbers=[node.call.numbers for node in order],
        needs_x64=any(node.call.needs_x64 for node in order),
    )
    recorded = [node.call for node in order]
    return TapePart(structure, [use for _, use in arguments.values()], sources, call, recorded)


def _has_own_gradient(node: TapeNode) -> bool:
    """See `modkit.ops.registry.op`."""
    return isinstance(node.call.fn, Operator) and node.call.fn.own_gradient


def _through_whole_numbers(
    node: TapeNode, end: bool
) -> tuple[Callable[..., Any], list[Use]] | None:
    """A chain of casts as one function of its first input, which has a gradient.

    Args:
        node: a recorded call.
        end: whether no other call reads its result: a cast to whole numbers then gives the same
            numbers as floats, so that it takes a cotangent.
    """
    types, under, use = [], node, None
    while len(under.symbol) == 1 and under.symbol[0][0] == "Cast":
        types.insert(0, str(under.symbol[0][1]["dtype"]))
        use = under.uses[0]
        if isinstance(use.source, Leaf | Host):
            break
        under = use.source
    if use is None or not any(is_whole(jnp.dtype(t)) for t in types):
        return None
    if is_whole(jnp.dtype(types[-1])):
        if not end:
            return None
        types.append("")
    return _cast_call(tuple(types)), [use]


@functools.lru_cache(maxsize=256)
def _cast_call(types: tuple[str, ...]) -> Callable[..., Any]:
    """A recorded call's function that casts to several types in turn; "" is that of the data."""

    def run(inputs: Sequence[Any], key_data: Any, numbers: Any) -> Any:
        del key_data, numbers
        (data,) = inputs
        last = types[-1] or str(data.dtype)
        return (cast_through(data, through=types[:-1], dtype=last),), {}

    return run


def _wanted(arguments: Sequence[Use]) -> tuple[list[Any], tuple[tuple[int, ...], ...]]:
    """Sources of the gradients (variables, outputs of host calls), and their arguments."""
    groups: dict[Any, tuple[Any, list[int]]] = {}
    for at, use in enumerate(arguments):
        source = use.source
        if isinstance(source, Host):
            if jnp.issubdtype(use.value.dtype, jnp.inexact):
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
                full[at] = value
            done = _replay(structure, full, key_data, numbers)
            shown = [full[j] if i < 0 else done[i][j] for i, j in structure.heads]
            return shown, [done[at][0] for at in structure.anchors]

        (outputs, anchors), pull = jax.vjp(heads, [arguments[at] for at in flat])
        back = [
            _cotangent(o, next(cotangents) if g else None)
            for o, g in zip(outputs, structure.given, strict=True)
        ]
        # Array cotangents of 0 run the gradients of losses that nothing reads.
        found = iter(pull((back, list(map(jnp.zeros_like, anchors))))[0])
        summed = (
            functools.reduce(operator.add, itertools.islice(found, len(places)))
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
        return jax.make_jaxpr(self._fn, return_shape=True)(list(avals), key_data, numbers)


def _replay(
    structure: TapeStructure, arguments: Sequence[Any], key_data: Any, numbers: Any
) -> list[Sequence[Any]]:
    """The results of the calls."""
    done: list[Sequence[Any]] = []

    def value(place: Operand) -> Any:
        return arguments[place[1]] if place[0] < 0 else done[place[0]][place[1]]

    for (fn, gradient_fn, places), own_key, given in zip(
        structure.calls, key_data, numbers, strict=True
    ):
        inputs = [value(place) for place in places]
        outputs = fn(inputs, own_key, given)[0]
        if gradient_fn is not fn:
            outputs = list(map(_valued, gradient_fn(inputs, own_key, given)[0], outputs))
        done.append(outputs)
    return done


@jax.custom_jvp
def _valued(through: Any, value: Any) -> Any:
    """The array ``value``, with the derivative of ``through``."""
    del through
    return value


_valued.defjvp(lambda primals, tangents: (primals[1], tangents[0]))


def _cotangent(output: Any, given: Any) -> Any:
    if not jnp.issubdtype(output.dtype, jnp.inexact):
        return np.zeros(output.shape, jax.dtypes.float0)
    return jnp.ones_like(output) if given is None else given.astype(output.dtype)


def run(part: TapePart, cotangents: Sequence[Any], *, on_host: bool) -> Sequence[Any]:
    """The gradients, in the order of ``part.sources``; cotangents are those that are given.

    Args:
        part: the part of the tape.
        cotangents: arrays of NumPy or JAX, as the values on the tape.
        on_host: whether NumPy may run it.
    """
    arrays = [*(use.value for use in part.arguments), *cotangents]
    if on_host:
        types, values = types_of(arrays), map(np.asarray, arrays)
        if (made := steps_of(part.structure, types).run(values, part.calls)) is not None:
            return made
        if (form := host_form(part.call, types)) is not None:
            return form.run(list(map(np.asarray, arrays)), part.call)[0]
    with x64_scope(part.call.needs_x64 or needs_x64(*(a.dtype for a in arrays))):
        return part.call.fn(arrays, part.call.key_data, part.call.numbers)[0]
