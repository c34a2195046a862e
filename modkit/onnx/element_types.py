"""Element types by their numbers in ONNX, and those of the values of a growing graph."""

from __future__ import annotations

import functools

import numpy as np

from modkit.onnx.package import onnx
from modkit.ops import dtype_inference
from modkit.symbol.graph import Entry, Node
from modkit.symbol.graph_inference import declared_dtype


@functools.cache
def dtype_of(code: int) -> str:
    """The name of the element type with ONNX's number; truth values are float32 in symbols."""
    found = onnx.helper.tensor_dtype_to_np_dtype(code)
    return "float32" if found == np.bool_ else found.name


def code_of(dtype: str) -> int:
    """ONNX's number of an element type."""
    return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class ElementTypes:
    """Element types of a graph that grows, each node looked at once."""

    def __init__(self) -> None:
        self._found: dict[Node, dtype_inference.Types] = {}

    def of(self, entry: Entry) -> str | None:
        """The element type of a value; a variable without one is float32.

        Raises:
            DTypeError: an operator refuses the types of its inputs.
        """
        waiting = [entry.node]
        while waiting:
            node = waiting[-1]
            inner = [e.node for e in node.inputs if e.node not in self._found]
            if inner:
                waiting += inner
                continue
            waiting.pop()
            self._found[node] = self._outputs(node)
        return self._found[entry.node][entry.output]

    def _outputs(self, node: Node) -> dtype_inference.Types:
        if node.is_variable:
            return (declared_dtype(node) or "float32",)
        ins = tuple(self._found[e.node][e.output] for e in node.inputs)
        nothing = (None,) * len(node.op.output_names(node.params))
        return dtype_inference.refine(node.op, node.frozen, ins, nothing)[1]
