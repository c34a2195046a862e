"""One node of an ONNX graph, as the function that reads it sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

from modkit.errors import NotSupportedError
from modkit.onnx.package import onnx
from modkit.onnx.sizes import Size
from modkit.onnx.values import Values
from modkit.symbol import Symbol


class OnnxNode:
    """One node of an ONNX graph, as its reader sees it.

    Attributes:
        values: those of its graph.
        inputs: names of its inputs; absent ones are empty.
    """

    def __init__(self, values: Values, node: Any):
        self.values, self._node = values, node
        self.op_type: str = node.op_type
        self.inputs, self.outputs = list(node.input), list(node.output)
        self.opset = values.opset
        value = onnx.helper.get_attribute_value
        self._attrs = {a.name: value(a) for a in node.attribute}

    @property
    def name(self) -> str:
        """A name for the symbol."""
        return self._node.name or self.first_output

    @property
    def first_output(self) -> str:
        """Its first output that has a name: absent ones are empty."""
        return next(filter(None, self.outputs))

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute; text is decoded."""
        found = self._attrs.get(name, default)
        return found.decode() if isinstance(found, bytes) else found

    def tensor(self, name: str, default: np.ndarray) -> np.ndarray:
        """An attribute that is an array."""
        found = self._attrs.get(name)
        to_array = onnx.numpy_helper.to_array
        return default if found is None else to_array(found)

    def has(self, index: int) -> bool:
        """Whether an optional input is there."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def symbol(self, index: int = 0) -> Symbol:
        """An input as a symbol."""
        return self.values.symbol(self.inputs[index])

    def parameter(self, name: str, value: np.ndarray) -> Symbol:
        """A new parameter of the symbol; names of nodes may occur twice, those of values not."""
        return self.values.parameter(f"{self.first_output}_{name}", value)

    def symbols(self) -> list[Symbol]:
        """All inputs that are there, as symbols."""
        return [self.symbol(i) for i in range(len(self.inputs)) if self.has(i)]

    def constant(self, index: int) -> np.ndarray | None:
        """An input that depends on no data; ``None`` for others."""
        return self.values.constant(self.inputs[index]) if self.has(index) else None

    def sizes(self, index: int) -> list[Size] | None:
        """A vector of integers, which may have dynamic sizes of inputs; ``None`` for others."""
        name = self.inputs[index] if self.has(index) else ""
        if name in self.values.followed:
            return self.values.followed[name]
        value = self.values.constants.get(name)
        if value is None or value.ndim > 1 or value.dtype.kind not in "iub":
            return None
        return np.atleast_1d(value).tolist()

    def shape(self, index: int = 0) -> tuple[int | None, ...] | None:
        """The shape of an input as far as the model decides it; ``None``: not even its rank."""
        dims = self.dims(index)
        return None if dims is None else tuple(s if isinstance(s, int) else None for s in dims)

    def dims(self, index: int = 0) -> tuple[Size, ...] | None:
        """The shape of an input, with names for the sizes that the model leaves open."""
        return (1,) if self.is_scalar(index) else self.values.shapes.get(self.inputs[index])

    def is_scalar(self, index: int = 0) -> bool:
        """Whether an input has no axes in ONNX; its symbol has one of size 1."""
        return self.values.shapes.get(self.inputs[index]) == ()

    def dtype(self, index: int = 0) -> str:
        """The element type of an input; truth values are float32."""
        name = self.inputs[index]
        constant = self.values.constants.get(name)
        if constant is not None and constant.dtype != np.bool_:
            return constant.dtype.name
        return self.values.dtypes.get(name, "float32")

    def rank(self, index: int = 0) -> int:
        """The number of axes of an input; NotSupportedError where the model does not decide it."""
        shape = self.shape(index)
        if shape is None:
            raise self.refuse(f"the model does not say how many axes {self.inputs[index]!r} has")
        return len(shape)

    def ints(self, index: int, attr: str | None = None, default: Any = None) -> Any:
        """Whole numbers from an input, or in older versions of ONNX from an attribute.

        Raises:
            NotSupportedError: they depend on data.
        """
        if attr is not None and attr in self._attrs:
            return list(self._attrs[attr])
        if not self.has(index):
            return default
        found = self.constant(index)
        if found is None:
            raise self.refuse(f"its input {self.inputs[index]!r} depends on data")
        return [int(v) for v in np.atleast_1d(found)]

    def number(self, index: int, attr: str, default: Any = None) -> Any:
        """A number from an input, or in older versions of ONNX from an attribute.

        Raises:
            NotSupportedError: it depends on data.
        """
        if attr in self._attrs:
            return self._attrs[attr]
        if not self.has(index):
            return default
        found = self.constant(index)
        if found is None or found.size != 1:
            raise self.refuse(f"its input {self.inputs[index]!r} is not one constant number")
        return found.reshape(()).item()

    def refuse(self, reason: str) -> NotSupportedError:
        """An error that says why this node cannot be read."""
        return NotSupportedError(f"import_model: node {self.name!r} ({self.op_type}): {reason}")
