"""``mx.nd.CachedOp``: a Symbol as a function of NDArrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from modkit.context import Context, current_context
from modkit.errors import DTypeError, ParameterError, ShapeError, not_taken
from modkit.ndarray.contrib_functions import boolean_mask
from modkit.ndarray.control_flow import cond, foreach, while_loop
from modkit.ndarray.custom import Custom, run_custom
from modkit.ndarray.ndarray import NDArray, _apply, new
from modkit.ops.dtypes import dtype_name
from modkit.ops.loops import require_alike, require_rows
from modkit.ops.partial_shapes import known_sizes, plain_sizes

_FLAGS = (
    "inline_limit", "forward_bulk_size", "backward_bulk_size", "data_indices", "param_indices",
    "subgraph", "static_alloc", "static_shape", "is_dynamic",
)  # fmt: skip


def call_node(node: Any, inputs: Sequence[NDArray], ctx: Context) -> Sequence[NDArray]:
    """The outputs of a node, run eagerly; of an operator without inputs, on ``ctx``."""
    if node.op_name in _BY_CALLS:
        made = _BY_CALLS[node.op_name](node, inputs)
    else:
        made = _apply(node.op, inputs, node.params, None, ctx)
    return made if isinstance(made, list | tuple) else [made]


def evaluated(
    graph: Any, args: Sequence[NDArray], call: Callable[..., Sequence[NDArray]] = call_node
) -> list[NDArray]:
    """The outputs of a graph; ``call`` is `call_node`, or a function around it."""
    given, done = iter(args), {}
    for node in graph.nodes:
        if node.is_variable:
            done[id(node)] = [next(given)]
            continue
        inputs = [done[id(entry.node)][entry.output] for entry in node.inputs]
        ctx = (inputs or args)[0].context if inputs or args else current_context()
        try:
            done[id(node)] = call(node, inputs, ctx)
        except ShapeError as error:
            raise ShapeError(f"operator {node.op_name} of node {node.name!r}: {error}") from error
    return [done[id(head.node)][head.output] for head in graph.heads]


def _custom(node: Any, inputs: Sequence[NDArray]) -> Any:
    """The outputs of a user's operator, which the node of a bound graph keeps."""
    if node.own is None:
        return Custom(*inputs, **node.attrs)
    return run_custom(node.own["bridge"], inputs)


def _bodies(node: Any, inputs: Sequence[NDArray]) -> list[Callable[..., list[NDArray]]]:
    """The bodies of a node, as functions of inputs that change, by their places."""

    def body(graph: Any, ties: Sequence[Any], changed: Mapping[int, NDArray] | None = None) -> Any:
        given = {**dict(enumerate(inputs)), **(changed or {})}
        return evaluated(graph, [given[tie.place] for tie in ties])

    return [
        functools.partial(body, graph, wires.inputs) for graph, wires in node.op.wired(node.params)
    ]


def _branch(node: Any, inputs: Sequence[NDArray]) -> list[NDArray]:
    """The outputs of a ``_cond`` node: of the branch that its condition selects."""
    test, then, other = _bodies(node, inputs)
    return cond(test()[0], then, other)


def _looped(node: Any, inputs: Sequence[NDArray]) -> list[NDArray]:
    """The outputs of a ``_foreach`` or ``_while_loop``."""
    outputs, wires = node.params["num_out_data"], node.op.wired(node.params)[-1][1]
    *tests, body = _bodies(node, inputs)
    places = [old.place for _, old in wires.heads[outputs:]]

    def step(changed: Mapping[int, NDArray], states: Sequence[NDArray]) -> Any:
        made = body({**changed, **dict(zip(places, states, strict=True))})
        return made[:outputs], require_alike("new state", states, made[outputs:])

    states = [inputs[place] for place in places]
    if tests:
        made, states = while_loop(
            lambda *now: tests[0](dict(zip(places, now, strict=True)))[0],
            lambda *now: step({}, now),
            states,
            node.params["max_iterations"],
        )
    elif len(inputs[0]):
        rows = inputs[: len(node.params["in_data_locs"])]
        require_rows("data", rows)
        made, states = foreach(lambda now, old: step(dict(enumerate(now)), old), rows, states)
    else:
        made = []
    return [*(made or _blank(node, inputs)[:outputs]), *states]


def _blank(node: Any, inputs: Sequence[NDArray]) -> list[NDArray]:
    """Zeros as the outputs of a loop without a step."""
    unknown, ctx = [None] * node.params["num_outputs"], inputs[0].context
    shapes = node.op.shapes([known_sizes(x.shape) for x in inputs], unknown, node.params)[1]
    types = node.op.element_types([dtype_name(x.dtype) for x in inputs], node.params)[1]
    return [
        new(np.zeros(plain_sizes(s), np.dtype(t)), ctx) for s, t in zip(shapes, types, strict=True)
    ]


_BY_CALLS: Mapping[str, Callable[[Any, Sequence[NDArray]], Any]] = {
    "Custom": _custom,
    "_contrib_boolean_mask": lambda node, inputs: boolean_mask(inputs[0], inputs[1], **node.params),
    "_cond": _branch,
    "_foreach": _looped,
    "_while_loop": _looped,
}


class CachedOp:
    """A graph that is called with arrays and that ``autograd`` records.

    Its operators run eagerly, one after the other; `backward` runs all their gradients as one
    compiled program. Auxiliary states are written in training mode.

    Args:
        flags: pairs of a name and a value. MXNet places memory by them, which changes no result;
            here they have no effect.

    Raises:
        DTypeError: ``sym`` is not a Symbol.
        ParameterError: an unknown flag.
    """

    def __init__(self, sym: Any, flags: Iterable[tuple[str, Any]] = ()):
        if not hasattr(sym, "graph"):
            raise DTypeError(f"CachedOp: got {type(sym).__name__}, expected a Symbol")
        for name, _ in flags:
            if name not in _FLAGS:
                raise not_taken("CachedOp", name, _FLAGS, "flag")
        self._graph = sym.graph

    def __call__(self, *args: NDArray, out: Any = None) -> Any:
        """The outputs: an array, or a list of several.

        Args:
            args: an array for each name of ``list_inputs()``, in that order.
            out: an array, or a list of them, to write to.

        Raises:
            ParameterError: too many or too few arrays.
            DTypeError: an argument is not an NDArray.
        """
        names = [node.name for node in self._graph.nodes if node.is_variable]
        if len(args) != len(names):
            raise ParameterError(
                f"CachedOp: got {len(args)} arrays, expected {len(names)}: {', '.join(names)}"
            )
        for name, arg in zip(names, args, strict=True):
            if not isinstance(arg, NDArray):
                raise DTypeError(
                    f"CachedOp: {name!r}: got {type(arg).__name__}, expected an NDArray"
                )
        results = evaluated(self._graph, args)
        if out is not None:
            outs = out if isinstance(out, list | tuple) else [out]
            if len(outs) != len(results):
                raise ParameterError(
                    f"CachedOp: out: got {len(outs)} arrays, expected {len(results)}"
                )
            for result, target in zip(results, outs, strict=True):
                result.copyto(target)
            return out
        return results[0] if len(results) == 1 else results
