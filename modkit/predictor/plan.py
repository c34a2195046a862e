"""The plan of a Predictor: roles and types of variables, and sizes of batches."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from modkit.errors import (
    DTypeError,
    MXNetError,
    NameNotFoundError,
    ParameterError,
    ShapeError,
    listed,
    unknown,
)
from modkit.ops.dtypes import dtype_name
from modkit.ops.partial_shapes import complete
from modkit.predictor.batch_padding import BatchPadding, Shape, sample_axis
from modkit.predictor.sources import Input, sample_axes
from modkit.symbol import Symbol
from modkit.symbol.graph import VARIABLE, Entry, Node, copied, joined_by_name
from modkit.symbol.graph_inference import infer_dtypes, infer_shapes

Shapes = Mapping[str, Shape]


@dataclass(frozen=True)
class Plan:
    """Variables, element types and batches of a Predictor's network.

    Attributes:
        net: the net without its labels.
        blanks: variables that replace labels, and are never read.
        labels: names of the labels that they replace.
        params: variables that are parameters or auxiliary states.
        types: element type of each input and parameter.
        batches: the sizes that batches are run in.
    """

    net: Symbol
    blanks: tuple[str, ...]
    labels: frozenset[str]
    params: tuple[str, ...]
    types: Mapping[str, Any]
    batches: BatchPadding


def unlabelled(net: Symbol) -> tuple[Symbol, tuple[str, ...]]:
    """A copy of a net whose loss layers read blanks instead of labels.

    Operators that computed the labels, such as a Reshape, are removed with them.

    Returns:
        The copy, and the names of its blanks: variables whose values have no effect.
    """
    blanks: list[str] = []

    def without_labels(node: Node, inputs: list[Entry]) -> Node:
        op = node.known_op
        if op is not None and "label" in op.inputs and op.ignores_cotangent(node.params):
            for at, name in enumerate(op.input_names(node.params)):
                if name == "label":
                    # No user's variable has such a name.
                    blanks.append(f"{node.name}_{name} (unread {len(blanks)})")
                    inputs[at] = Entry(Node(VARIABLE, blanks[-1]))
        return node.on(inputs)

    net = Symbol(copied(net.graph, without_labels))
    return net, tuple(blanks)


def open_inputs(symbol: Symbol, params: Collection[str]) -> list[str]:
    """Names of the data: variables that are neither parameters nor labels of losses only."""
    net, blanks = unlabelled(symbol)
    return [n for n in net.list_inputs() if n not in blanks and n not in params]


def make_plan(
    symbol: Symbol, arrays: Mapping[str, Any], inputs: Mapping[str, Input], dtype: Any
) -> Plan:
    """The plan for a net, parameters and inputs; raises the errors of ``Predictor``."""
    net, blanks = unlabelled(Symbol(joined_by_name(symbol.graph)))
    names = [n for n in net.list_inputs() if n not in blanks]
    labels = frozenset(symbol.list_inputs()) - set(names)
    for name in inputs:
        if name not in names and name not in labels:
            raise NameNotFoundError(unknown("Predictor: no input", name, names, "The net has"))
    inputs = {n: each for n, each in inputs.items() if n in names}
    params = tuple(n for n in names if n not in inputs)
    missing = [n for n in params if n not in arrays]
    if missing:
        raise ParameterError(
            f"Predictor: got neither a shape nor values for {listed(missing)}; expected shapes of "
            "data in input_shapes, as {'data': (1, 3, 224, 224)}, and values of parameters"
        )
    known = {n: tuple(arrays[n].shape) for n in params}
    _check_shapes(net, {n: each.shape for n, each in inputs.items()}, known)
    types = _types(net, {n: arrays[n] for n in params}, inputs, dtype)
    batches = _batches(net, inputs, known)
    return Plan(net, blanks, labels, params, types, batches)


def _check_shapes(net: Symbol, inputs: Shapes, params: Shapes) -> None:
    """Compare each parameter with the shape that inference finds from the inputs."""
    try:
        found = infer_shapes(net.graph, dict(inputs))
    except ShapeError as error:
        raise ShapeError(f"Predictor: {error}. Inputs: {_spelled(inputs)}") from error
    for node, wanted in zip(net.graph.inputs, found.of(net.graph.inputs), strict=True):
        got = params.get(node.name, wanted)
        if complete(wanted) and wanted != got:
            raise ShapeError(
                f"Predictor: parameter {node.name!r}: got shape {got}, but for the inputs "
                f"{_spelled(inputs)} it should be {wanted}"
            )


def _spelled(shapes: Shapes) -> str:
    return ", ".join(f"{n} {s}" for n, s in shapes.items()) or "none"


def _types(
    net: Symbol, params: Mapping[str, Any], inputs: Mapping[str, Input], dtype: Any
) -> dict[str, Any]:
    """Element types of inputs and parameters."""
    types = {n: dtype if each.dtype is None else each.dtype for n, each in inputs.items()}
    known = {n: dtype_name(t) for n, t in types.items() if t is not None}
    own = {n: dtype_name(v.dtype) for n, v in params.items()}
    if dtype is None:
        known |= own
    variables = net.graph.inputs
    try:
        inferred = infer_dtypes(net.graph, known).of(variables)
    except DTypeError as error:
        raise DTypeError(
            f"Predictor: {error}. Give all parameters one type, or dtype= to convert them"
        ) from error
    found = {n.name: t for n, t in zip(variables, inferred, strict=True) if t}
    return {n: jnp.dtype(found.get(n) or own.get(n) or "float32") for n in (*inputs, *params)}


def _batches(net: Symbol, inputs: Mapping[str, Input], params: Shapes) -> BatchPadding:
    axes, size = sample_axes(inputs)
    shapes = {n: each.shape for n, each in inputs.items()}
    bound = BatchPadding(shapes, axes, None, size)
    if size is None:
        return bound
    before = _heads(net, {**params, **shapes})
    try:
        after = _heads(net, {**params, **{n: bound.resized(n, size + 1) for n in shapes}})
    except MXNetError:
        # The graph contains the batch size, in a Reshape or in states of its own.
        first = all(s[:1] == (size,) for s in before)
        return BatchPadding(shapes, axes, (0,) * len(before) if first else None, size, fixed=True)
    return BatchPadding(shapes, axes, sample_axis(before, after, size), size)


def _heads(net: Symbol, known: Shapes) -> list[Shape]:
    return [shape or () for shape in infer_shapes(net.graph, dict(known)).heads]


def blank_shapes(
    plan: Plan, inputs: Shapes, params: Mapping[str, Any]
) -> tuple[tuple[str, Shape], ...]:
    """Shapes of the variables that replace labels, for inputs of these shapes."""
    if not plan.blanks:
        return ()
    graph = plan.net.graph
    known = {n: tuple(v.shape) for n, v in params.items()}
    facts = infer_shapes(graph, {**known, **inputs})
    blanks = [n for n in graph.inputs if n.name in plan.blanks]
    return tuple((n.name, shape or ()) for n, shape in zip(blanks, facts.of(blanks), strict=True))
