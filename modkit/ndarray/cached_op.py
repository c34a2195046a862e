"""``mx.nd.CachedOp``: a Symbol as a function of NDArrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from modkit.context import current_context
from modkit.errors import DTypeError, NotSupportedError, ParameterError, not_taken
from modkit.ndarray.contrib_functions import boolean_mask
from modkit.ndarray.custom import Custom
from modkit.ndarray.ndarray import NDArray, _apply

_FLAGS = (
    "inline_limit", "forward_bulk_size", "backward_bulk_size", "data_indices", "param_indices",
    "subgraph", "static_alloc", "static_shape", "is_dynamic",
)  # fmt: skip


def _evaluated(graph: Any, args: Sequence[NDArray]) -> list[NDArray]:
    """The outputs of a graph for an array for each of its variables."""
    given, done = iter(args), {}
    for node in graph.nodes:
        if node.is_variable:
            done[id(node)] = [next(given)]
            continue
        inputs = [done[id(entry.node)][entry.output] for entry in node.inputs]
        if node.op_name in _BY_CALLS:
            made = _BY_CALLS[node.op_name](node, inputs)
        else:
            ctx = (inputs or args)[0].context if inputs or args else current_context()
            made = _apply(node.op, inputs, node.params, None, ctx)
        done[id(node)] = made if isinstance(made, list | tuple) else [made]
    return [done[id(head.node)][head.output] for head in graph.heads]


def _branch(node: Any, inputs: Sequence[NDArray]) -> list[NDArray]:
    """The outputs of the branch of a ``_cond`` that its condition chooses."""
    test, *branches = [
        functools.partial(_evaluated, body, [inputs[tie.place] for tie in wires.inputs])
        for body, wires in node.op.wired(node.params)
    ]
    (truth,) = test()
    return branches[0 if truth.asscalar() else 1]()


_BY_CALLS: Mapping[str, Callable[[Any, Sequence[NDArray]], Any]] = {
    "Custom": lambda node, inputs: Custom(*inputs, **node.attrs),
    "_contrib_boolean_mask": lambda node, inputs: boolean_mask(inputs[0], inputs[1], **node.params),
    "_cond": _branch,
}


class CachedOp:
    """A graph that is called with arrays and that ``autograd`` records.

    Its operators run eagerly, one after the other; `backward` runs all their gradients as one
    compiled program. Auxiliary states are written in training mode.

    Args:
        sym: the graph.
        flags: pairs of a name and a value. MXNet places memory by them, which changes no result;
            here they have no effect.

    Raises:
        DTypeError: ``sym`` is not a Symbol.
        NotSupportedError: the graph has loops: bind it.
        ParameterError: an unknown flag.
    """

    def __init__(self, sym: Any, flags: Iterable[tuple[str, Any]] = ()):
        if not hasattr(sym, "graph"):
            raise DTypeError(f"CachedOp: got {type(sym).__name__}, expected a Symbol")
        for name, _ in flags:
            if name not in _FLAGS:
                raise not_taken("CachedOp", name, _FLAGS, "flag")
        self._graph = sym.graph
        for node in self._graph.nodes:
            if not node.is_variable and node.op.bodies and node.op_name != "_cond":
                raise NotSupportedError(
                    f"CachedOp: node {node.name!r} is of operator {node.op_name}, which runs in "
                    "bound graphs only: use Symbol.bind"
                )

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
        results = _evaluated(self._graph, args)
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
