"""``mx.contrib.onnx.import_model``: an ONNX model as a symbol with parameters."""

from __future__ import annotations

import importlib
import math
import os
from typing import Any

import numpy as np

from modkit import ndarray, symbol
from modkit.errors import DTypeError, NotSupportedError
from modkit.name import Prefix
from modkit.ndarray import NDArray
from modkit.onnx.element_types import ElementTypes, code_of, dtype_of
from modkit.onnx.files import load_model
from modkit.onnx.onnx_node import OnnxNode
from modkit.onnx.package import onnx
from modkit.onnx.readers import READERS
from modkit.onnx.sizes import Size, resolved, size_of
from modkit.onnx.values import Values
from modkit.ops.dtypes import CODE_OF_DTYPE
from modkit.symbol import Symbol
from modkit.symbol.graph import Node

Params = dict[str, NDArray]

_DOMAINS = "", "ai.onnx"
"""Names of the domain of ONNX's own operators."""

_SMALL = 1024
"""Most elements of an initializer whose values may say a shape."""

_LACKING = {
    **dict.fromkeys(
        ("Compress", "NonMaxSuppression", "NonZero", "Unique"),
        "the size of its result depends on data, which no shape of a symbol does; end the model "
        "at its inputs (onnx.utils.extract_model)",
    ),
    **dict.fromkeys(("If", "Loop", "Scan"), "graphs in a node are not read; export without them"),
}
"""Reasons why symbols have no form of an operator."""


def import_model(model_file: str | os.PathLike[str]) -> tuple[Symbol, Params, Params]:
    """Read an ONNX model as a symbol with its parameters.

    Inputs of the model are variables of the same names, and so are its weights. They have its
    element types; truth values are float32. Nodes keep their names, those without one have the name
    of their output. Scalars have the shape (1,).

    Args:
        model_file: path of a ``.onnx`` file.

    Returns:
        The symbol, its arguments that are no inputs, and its auxiliary states.

    Raises:
        FileFormatError: the file is no ONNX model.
        NotSupportedError: the model has an operator, or a use of one, that symbols lack; or the
            package onnx is not installed.
    """
    return Import(load_model(model_file, "import_model")).result()


def get_model_metadata(model_file: str | os.PathLike[str]) -> dict[str, Any]:
    """Names and shapes of the inputs and outputs of an ONNX model, and the inputs' types.

    Args:
        model_file: path of a ``.onnx`` file.

    Returns:
        ``{"input_tensor_data": [(name, shape, type), ...], "output_tensor_data": [(name, shape),
        ...]}``, with ONNX's number of the element type; a size that is dynamic is 0.

    Raises:
        FileFormatError: the file is no ONNX model.
        NotSupportedError: the package onnx is not installed.
    """
    graph = load_model(model_file, "get_model_metadata").graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    return {
        "input_tensor_data": [(*_declared(v), v.type.tensor_type.elem_type) for v in inputs],
        "output_tensor_data": [_declared(v) for v in graph.output],
    }


def _declared(value: Any) -> tuple[str, tuple[int, ...]]:
    return value.name, tuple(d.dim_value for d in value.type.tensor_type.shape.dim)


class Import:
    """One import: nodes are computed, followed as sizes, or read as symbols, in their order."""

    def __init__(self, model: Any):
        self._model = model
        opset = max((o.version for o in model.opset_import if not o.domain), default=1)
        to_array = onnx.numpy_helper.to_array
        self._values = Values(opset, {t.name: to_array(t) for t in model.graph.initializer})
        self._declare_weights(model.graph)
        self._element_types = ElementTypes()
        self._names: set[str] = set()
        self._read_nodes: set[Node] = set()
        self._first_open = 0  # number of the first node that a shape may follow from
        self._infer()
        while self._follow_reshapes():
            self._infer()

    def _declare_weights(self, graph: Any) -> None:
        """Replace large initializers and constants by inputs: each inference copies the model."""
        known = {value.name for value in graph.input}
        small = [t for t in graph.initializer if math.prod(t.dims) <= _SMALL]
        large = {t.name: t for t in graph.initializer if math.prod(t.dims) > _SMALL}
        for at in reversed(range(len(graph.node))):
            node = graph.node[at]
            if node.op_type == "Constant" and node.domain in _DOMAINS:
                attr = node.attribute[0]
                if attr.name == "value" and math.prod(attr.t.dims) > _SMALL:
                    large[node.output[0]] = attr.t
                    self._values.constants[node.output[0]] = onnx.numpy_helper.to_array(attr.t)
                    del graph.node[at]
        make = onnx.helper.make_tensor_value_info
        for name, tensor in large.items():
            if name not in known:
                graph.input.append(make(name, tensor.data_type, tensor.dims))
        if large:
            del graph.initializer[:]
            graph.initializer.extend(small)

    def _infer(self) -> None:
        """Shapes and types of values, as far as ONNX infers them."""
        self._model = _with_shapes(self._model)
        self._graph = self._model.graph
        declared = (*self._graph.input, *self._graph.value_info, *self._graph.output)
        self._values.shapes = {v.name: _shape(v) for v in declared}
        self._values.shapes |= {n: tuple(a.shape) for n, a in self._values.constants.items()}
        codes = {v.name: v.type.tensor_type.elem_type for v in declared}
        self._values.dtypes = {name: dtype_of(code) for name, code in codes.items() if code}

    def _follow_reshapes(self) -> bool:
        """Declare shapes of reshapes that follow from sizes; whether ONNX had not inferred one."""
        found = []
        first, self._first_open = self._first_open, len(self._graph.node)
        for at in range(first, len(self._graph.node)):
            node = self._graph.node[at]
            if self._folded(node) or node.op_type not in ("Reshape", "Expand"):
                continue
            name, given = node.output[0], OnnxNode(self._values, node)
            if self._values.shapes.get(name) is not None:
                continue
            sizes, data = given.sizes(1), given.dims()
            self._first_open = min(self._first_open, at)
            if sizes is None or data is None:
                if found:  # what comes after it is followed once ONNX has inferred again
                    break
                continue
            code = code_of(self._values.dtypes.get(name, "float32"))
            shape = resolved(node.op_type, sizes, data, name)
            found.append(onnx.helper.make_tensor_value_info(name, code, shape))
        known = {value.name: value for value in (*self._graph.value_info, *self._graph.output)}
        for value in found:
            if value.name in known:
                known[value.name].CopyFrom(value)
            else:
                self._graph.value_info.append(value)
        return bool(found)

    def result(self) -> tuple[Symbol, Params, Params]:
        """The symbol, its arguments and its auxiliary states."""
        inputs = [v.name for v in self._graph.input if v.name not in self._values.constants]
        for name in inputs:
            dtype = self._values.dtypes.get(name, "float32")
            if dtype not in CODE_OF_DTYPE:
                raise NotSupportedError(
                    f"import_model: input {name!r} has the element type {dtype}; symbols have "
                    f"{', '.join(CODE_OF_DTYPE)}"
                )
            self._values.symbols[name] = symbol.var(
                name, dtype=None if dtype == "float32" else dtype
            )
        self._names = {*inputs, *self._values.constants}
        for node in self._graph.node:
            self._read(node)
        heads = [self._values.symbol(v.name) for v in self._graph.output]
        net = heads[0] if len(heads) == 1 else symbol.Group(heads)
        params = {n: ndarray.array(a, dtype=a.dtype) for n, a in self._values.params.items()}
        needed, states = net.list_arguments(), net.list_auxiliary_states()
        return (
            net,
            {n: params[n] for n in needed if n in params},
            {n: params[n] for n in states if n in params},
        )

    def _read(self, node: Any) -> None:
        if self._folded(node):
            return
        given = OnnxNode(self._values, node)
        if node.op_type not in READERS or node.domain not in _DOMAINS:
            raise given.refuse(_LACKING.get(node.op_type, "symbols have no form of this operator"))
        called = given.first_output if given.name in self._names else given.name
        with Prefix(f"{called}_"):
            made = READERS[node.op_type](given)
            values = [made] if isinstance(made, Symbol) else made
            pairs = zip(node.output, values, strict=False)
            found = {n: self._typed(given, n, v) for n, v in pairs if n and v is not None}
        self._values.symbols |= found
        heads = {value.heads[0].node: name for name, value in reversed(found.items())}
        for head, name in heads.items():
            if not (head.is_variable or head in self._read_nodes):
                head.name = called if len(heads) == 1 else name
        self._read_nodes.update(heads)
        self._names |= {called, *heads.values()}

    def _typed(self, node: OnnxNode, name: str, value: Symbol) -> Symbol:
        """A value in the element type that ONNX gives it."""
        wanted = self._values.dtypes.get(name)
        try:
            found = self._element_types.of(value.heads[0])
        except DTypeError as error:
            raise node.refuse(str(error)) from error
        return value if wanted in (None, found) else symbol.cast(value, dtype=wanted)

    def _folded(self, node: Any) -> bool:
        """Compute a node that depends on constants or on sizes alone; whether it was one."""
        if node.output[0] in self._values.constants or node.output[0] in self._values.followed:
            return True
        if node.domain not in _DOMAINS:
            return False
        if node.op_type == "Constant":
            self._values.constants[node.output[0]] = self._constant_of(node)
            return True
        sizes = size_of(OnnxNode(self._values, node))
        if sizes is not None:
            self._values.followed[node.output[0]] = sizes
            return True
        given = {name: self._values.constant(name) for name in node.input if name}
        nested = any(a.HasField("g") or a.graphs for a in node.attribute)
        if node.op_type.startswith("Random") or nested:
            return False
        if not node.input or any(value is None for value in given.values()):
            return False
        evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator
        outputs = [name for name in node.output if name]
        ends = ([onnx.ValueInfoProto(name=name) for name in names] for names in (given, outputs))
        graph = onnx.helper.make_graph([node], "constant", *ends)
        opsets = [onnx.helper.make_opsetid("", self._values.opset)]
        model = onnx.helper.make_model(graph, opset_imports=opsets)
        found = map(np.asarray, evaluator(model).run(None, given))
        self._values.constants |= zip(outputs, found, strict=True)
        return True

    def _constant_of(self, node: Any) -> np.ndarray:
        attr = node.attribute[0]
        found = onnx.helper.get_attribute_value(attr)
        if attr.name == "value":
            return onnx.numpy_helper.to_array(found)
        return np.asarray(found, "float32" if attr.name.startswith("value_float") else None)


def _with_shapes(model: Any) -> Any:
    """The model with the shapes that ONNX infers."""
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return model  # readers that need a shape say so


def _shape(value: Any) -> tuple[Size, ...] | None:
    kind = value.type.tensor_type
    if not kind.HasField("shape"):
        return None
    return tuple(
        d.dim_value if d.HasField("dim_value") else d.dim_param or f"{value.name}[{i}]"
        for i, d in enumerate(kind.shape.dim)
    )
