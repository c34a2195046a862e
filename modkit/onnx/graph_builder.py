"""An ONNX graph under construction, and one node of a symbol that is written into it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from modkit.errors import NotSupportedError
from modkit.onnx.element_types import code_of
from modkit.onnx.package import onnx
from modkit.symbol.graph import Entry, Node

Sizes = tuple[int | None, ...]
"""A shape; ``None`` is a size that is dynamic in the ONNX model."""

Operand = str | np.ndarray
"""The name of a value, or a constant."""


class Value(NamedTuple):
    """A tensor of the graph.

    Attributes:
        name: its name in the ONNX model.
        dtype: the name of its element type.
        sizes: each size for the given shapes of the inputs, and for others of the dynamic ones.
    """

    name: str
    shape: Sizes
    dtype: str
    sizes: tuple[tuple[int, ...], ...]


class GraphBuilder:
    """Nodes and constants of an ONNX graph, in the order of their definition.

    Attributes:
        axes: for each dynamic size (numbers, as in `Value`) the input and the axis that have it;
            ``None`` where several have that are not the same by name or position.
    """

    def __init__(self) -> None:
        self.axes: dict[tuple[int, ...], tuple[str, int] | None] = {}
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self._names: set[str] = set()
        self._by_content: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def unique(self, stem: str) -> str:
        """A name that no other value has."""
        name, count = stem, 0
        while name in self._names:
            count += 1
            name = f"{stem}_{count}"
        self._names.add(name)
        return name

    def constant(self, array: np.ndarray) -> str:
        """The name of an initializer with this content."""
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        key = str(array.dtype), array.shape, array.tobytes()
        if key not in self._by_content:
            name = self._by_content[key] = self.unique("constant")
            self.constants[name] = array
        return self._by_content[key]

    def add(
        self, op_type: str, operands: Sequence[Operand], outputs: Sequence[str], attrs: Any
    ) -> None:
        """Append a node; constants among the operands become initializers."""
        names = [o if isinstance(o, str) else self.constant(o) for o in operands]
        made = onnx.helper.make_node(op_type, names, list(outputs), name=outputs[0], **attrs)
        self.nodes.append(made)

    def rename(self, start: int, names: Mapping[str, str]) -> None:
        """Rename values that nodes from number ``start`` on define."""
        for node in self.nodes[start:]:
            for values in (node.input, node.output):
                values[:] = [names.get(v, v) for v in values]
            node.name = names.get(node.name, node.name)


class Call:
    """One node of a symbol, and the ONNX nodes that are written for it.

    Attributes:
        params: the operator's parameters, defaults included.
        inputs: its inputs, in the operator's order; absent optional ones are left out.
        outputs: its outputs, with the names that they get.
    """

    def __init__(
        self,
        builder: GraphBuilder,
        node: Node,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        evaluate: Callable[[Entry], np.ndarray | None],
    ):
        self.builder, self.node, self._evaluate = builder, node, evaluate
        self.params: Mapping[str, Any] = node.params
        self.inputs, self.outputs = list(inputs), list(outputs)
        self._named = dict(zip(node.op.input_names(node.params), inputs, strict=False))

    def __getattr__(self, name: str) -> Any:
        try:
            return self.params[name]
        except KeyError:
            raise AttributeError(name) from None

    def input(self, name: str) -> Value | None:
        """An input by the operator's name for it; ``None`` if it is absent."""
        return self._named.get(name)

    def constant_input(self, name: str) -> np.ndarray:
        """The numbers of an input; NotSupportedError unless it follows from parameters alone."""
        position = self.node.op.input_names(self.params).index(name)
        found = self._evaluate(self.node.inputs[position])
        if found is None:
            raise self.refuse(f"its input {name!r} must follow from parameters alone")
        return found

    @property
    def x(self) -> str:
        """The name of the first input."""
        return self.inputs[0].name

    @property
    def shape(self) -> Sizes:
        """The shape of the first input."""
        return self.inputs[0].shape

    @property
    def rank(self) -> int:
        """The number of axes of the first input."""
        return len(self.shape)

    @property
    def dtype(self) -> str:
        """The element type of the first output."""
        return self.outputs[0].dtype

    def refuse(self, reason: str, instead: str = "") -> NotSupportedError:
        """An error that says why this node cannot be written."""
        return NotSupportedError(
            f"export_model: node {self.node.name!r} ({self.node.op_name}): {reason}"
            + (f"; {instead}" if instead else "")
        )

    def emit(self, op_type: str, *operands: Operand, **attrs: Any) -> str:
        """Write an ONNX node with one output; the name of that output."""
        return self.emit_many(op_type, operands, 1, **attrs)[0]

    def emit_many(
        self, op_type: str, operands: Sequence[Operand], outputs: int, **attrs: Any
    ) -> list[str]:
        """Write an ONNX node; the names of its outputs."""
        stem = f"{self.node.name}_{op_type.lower()}"
        names = [self.builder.unique(stem) for _ in range(outputs)]
        self.builder.add(op_type, operands, names, attrs)
        return names

    def number(self, value: float, dtype: str | None = None) -> np.ndarray:
        """A scalar constant, of the first input's type by default.

        Raises:
            NotSupportedError: the type has no such number.
        """
        dtype = dtype or self.inputs[0].dtype
        whole = np.dtype(dtype).kind in "iu"
        with contextlib.suppress(OverflowError):
            if not whole or (np.isfinite(value) and value == int(value)):
                return np.asarray(value, dtype)
        raise self.refuse(f"{dtype} has no {value}", "cast its input first")

    def cast(self, x: str, dtype: str) -> str:
        """``x`` as another element type."""
        return self.emit("Cast", x, to=code_of(dtype))

    def as_type(self, value: Value, dtype: str) -> str:
        """The name of a value as an element type, cast if it has another."""
        return value.name if value.dtype == dtype else self.cast(value.name, dtype)

    def reshape(self, x: str, sizes: Sequence[int | None]) -> str:
        """``x`` in another shape; NotSupportedError where two of its sizes are dynamic."""
        if sum(s is None for s in sizes) > 1:
            raise self.refuse("two sizes of a shape are dynamic", "make one of them static")
        return self.emit("Reshape", x, ints(-1 if s is None else s for s in sizes))

    def shaped(self, x: str) -> str:
        """``x`` in the shape of the first output."""
        return self.reshape(x, self.outputs[0].shape)

    def transpose(self, x: str, axes: Sequence[int]) -> str:
        """``x`` with its axes in another order."""
        if list(axes) == list(range(len(axes))):
            return x
        return self.emit("Transpose", x, perm=list(axes))

    def static(self, value: Value, *axes: int) -> list[int]:
        """Sizes of a value, all of them by default; NotSupportedError where one is dynamic."""
        sizes = [value.shape[a] for a in axes] if axes else list(value.shape)
        found = [s for s in sizes if s is not None]
        if len(found) < len(sizes):
            raise self.refuse(
                "a size that it needs is dynamic", "give it as a number in dynamic_input_shapes"
            )
        return found

    def size(self, value: Value, axis: int) -> Operand:
        """The size of a value's axis, one whole number in an array: that of an input's axis.

        Raises:
            NotSupportedError: it is dynamic, and that of no input's axis, or of several.
        """
        if value.shape[axis] is not None:
            return ints([value.shape[axis]])
        found = self.builder.axes.get(value.sizes[axis])
        if found is None:
            raise self.refuse(
                "a size that it needs is dynamic, and that of no axis of an input, or of two that "
                "were given one size",
                "give it as a number in dynamic_input_shapes, or other sizes in in_shapes",
            )
        name, position = found
        return self.emit("Gather", self.emit("Shape", name), ints([position]))

    def axes(self, axis: int | Sequence[int] | None, exclude: bool = False) -> list[int]:
        """Axes of the first input, none of them negative; ``None`` and ``()`` are all."""
        if axis is None or axis == ():
            return list(range(self.rank))
        given = [axis] if isinstance(axis, int) else list(axis)
        found = sorted(a % self.rank for a in given)
        return [a for a in range(self.rank) if a not in found] if exclude else found


def ints(values: Any) -> np.ndarray:
    """Whole numbers as a constant, as ONNX takes shapes and axes."""
    return np.asarray(list(values), np.int64)
