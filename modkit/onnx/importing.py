"""``mx.contrib.onnx.import_model``: an ONNX model as a symbol with parameters."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from modkit import ndarray, symbol
from modkit.errors import NotSupportedError
from modkit.ndarray import NDArray
from modkit.onnx.files import load_model
from modkit.onnx.onnx_node import OnnxNode
from modkit.onnx.package import onnx_module
from modkit.onnx.readers import READERS
from modkit.onnx.sizes import Size, size_of
from modkit.symbol import Symbol

Params = dict[str, NDArray]


def import_model(model_file: str | os.PathLike[str]) -> tuple[Symbol, Params, Params]:
    """Read an ONNX model as a symbol with its parameters.

    Inputs of the model are variables of the same names, and so are its weights.

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
    """Names and shapes of the inputs and outputs of an ONNX model.

    Args:
        model_file: path of a ``.onnx`` file.

    Returns:
        ``{"input_tensor_data": [(name, shape), ...], "output_tensor_data": [...]}``; a size that
        is dynamic is 0.

    Raises:
        FileFormatError: the file is no ONNX model.
        NotSupportedError: the package onnx is not installed.
    """
    graph = load_model(model_file, "get_model_metadata").graph
    weights = {tensor.name for tensor in graph.initializer}
    return {
        "input_tensor_data": [_declared(v) for v in graph.input if v.name not in weights],
        "output_tensor_data": [_declared(v) for v in graph.output],
    }


def _declared(value: Any) -> tuple[str, tuple[int, ...]]:
    return value.name, tuple(d.dim_value for d in value.type.tensor_type.shape.dim)


class Import:
    """One import: values of the ONNX graph as symbols, constants or sizes of shapes.

    Attributes:
        opset: version of the ONNX operators.
    """

    def __init__(self, model: Any):
        self._numpy = onnx_module("onnx.numpy_helper", "import_model")
        self.opset = max((o.version for o in model.opset_import if not o.domain), default=1)
        self._graph = _with_shapes(model).graph
        self._symbols: dict[str, Symbol] = {}
        self._constants: dict[str, np.ndarray] = {
            t.name: self._numpy.to_array(t) for t in self._graph.initializer
        }
        self._sizes: dict[str, list[Size]] = {}
        self._params: dict[str, np.ndarray] = {}
        declared = (*self._graph.input, *self._graph.value_info, *self._graph.output)
        self._shapes = {v.name: _shape(v) for v in declared}
        self._shapes |= {n: tuple(a.shape) for n, a in self._constants.items()}

    def result(self) -> tuple[Symbol, Params, Params]:
        """The symbol, its arguments and its auxiliary states."""
        for value in self._graph.input:
            if value.name not in self._constants:
                self._symbols[value.name] = symbol.var(value.name)
        for node in self._graph.node:
            self._read(node)
        heads = [self.symbol(v.name) for v in self._graph.output]
        net = heads[0] if len(heads) == 1 else symbol.Group(heads)
        params = {n: ndarray.array(a, dtype=a.dtype) for n, a in self._params.items()}
        needed, states = net.list_arguments(), net.list_auxiliary_states()
        return (
            net,
            {n: params[n] for n in needed if n in params},
            {n: params[n] for n in states if n in params},
        )

    def symbol(self, name: str) -> Symbol:
        """A value as a symbol; a constant becomes a parameter.

        Raises:
            NotSupportedError: it is a shape with sizes that only a batch decides, or an output
                that no symbol has.
        """
        if name not in self._symbols:
            value = self.constant(name)
            if value is None and name not in self._sizes:
                raise NotSupportedError(
                    f"import_model: {name!r} is an optional output of its node, or no value of the "
                    "model; symbols have no such arrays"
                )
            if value is None:
                raise NotSupportedError(
                    f"import_model: {name!r} is computed from the shape of an input whose sizes "
                    "the model leaves open; symbols have no such arrays. Export the model with "
                    "static shapes"
                )
            self._symbols[name] = self.parameter(name, value)
        return self._symbols[name]

    def parameter(self, name: str, value: np.ndarray) -> Symbol:
        """A variable of a shape, and its value; a scalar has the shape (1,), truth is a float."""
        value = value.astype("float32") if value.dtype == bool else value
        value = self._params[name] = value.reshape(value.shape or (1,))
        return symbol.var(name, shape=value.shape, dtype=value.dtype)

    def constant(self, name: str) -> np.ndarray | None:
        """The numbers of a value that depends on no input; else ``None``."""
        if name in self._sizes and all(isinstance(s, int) for s in self._sizes[name]):
            return np.asarray(self._sizes[name], np.int64)
        return self._constants.get(name)

    def sizes(self, name: str) -> list[Size] | None:
        """A vector of whole numbers, some of which may be sizes of inputs; else ``None``."""
        if name in self._sizes:
            return self._sizes[name]
        value = self._constants.get(name)
        if value is None or value.ndim > 1 or value.dtype.kind not in "iu":
            return None
        return np.atleast_1d(value).tolist()

    def shape(self, name: str) -> tuple[int | None, ...] | None:
        """The shape of a value as far as the model decides it; ``None``: not even its rank."""
        dims = self._shapes.get(name)
        return None if dims is None else tuple(s if isinstance(s, int) else None for s in dims)

    def dims(self, name: str) -> tuple[Size, ...] | None:
        """The shape of a value, with names for the sizes that the model leaves open."""
        return self._shapes.get(name)

    def _read(self, node: Any) -> None:
        if self._folded(node):
            return
        if node.op_type not in READERS or node.domain not in ("", "ai.onnx"):
            raise NotSupportedError(
                f"import_model: symbols have no form of ONNX's operator {node.op_type!r} (node "
                f"{node.name or node.output[0]!r})"
            )
        made = READERS[node.op_type](OnnxNode(self, node))
        values = [made] if isinstance(made, Symbol) else made
        for name, found in zip(node.output, values, strict=False):
            if name and found is not None:
                self._symbols[name] = found

    def _folded(self, node: Any) -> bool:
        """Compute a node that depends on constants or on sizes alone; whether it was one."""
        if node.op_type == "Constant":
            self._constants[node.output[0]] = self._constant_of(node)
            return True
        sizes = size_of(self, OnnxNode(self, node))
        if sizes is not None:
            self._sizes[node.output[0]] = sizes
            return True
        values = [self.constant(n) if n else None for n in node.input]
        if node.op_type.startswith("Random") or any(
            v is None and n for n, v in zip(node.input, values, strict=True)
        ):
            return False
        if not node.input:
            return False
        evaluator = onnx_module("onnx.reference", "import_model").ReferenceEvaluator
        helper = onnx_module("onnx.helper", "import_model")
        names = [n for n in node.input if n]
        blank = onnx_module("onnx", "import_model").ValueInfoProto
        graph = helper.make_graph(
            [node], "constant", [blank(name=n) for n in dict.fromkeys(names)],
            [blank(name=n) for n in node.output if n],
        )  # fmt: skip
        opsets = [helper.make_opsetid("", self.opset)]
        given = {n: v for n, v in zip(node.input, values, strict=True) if n}
        found = evaluator(helper.make_model(graph, opset_imports=opsets)).run(None, given)
        self._constants |= zip((n for n in node.output if n), map(np.asarray, found), strict=True)
        return True

    def _constant_of(self, node: Any) -> np.ndarray:
        attr = node.attribute[0]
        found = onnx_module("onnx.helper", "import_model").get_attribute_value(attr)
        if attr.name == "value":
            return self._numpy.to_array(found)
        return np.asarray(found, "float32" if attr.name.startswith("value_float") else None)


def _with_shapes(model: Any) -> Any:
    """The model with the shapes that ONNX infers."""
    inference = onnx_module("onnx.shape_inference", "import_model")
    try:
        return inference.infer_shapes(model, data_prop=True)
    except inference.InferenceError:
        return model  # readers that need a shape say so


def _shape(value: Any) -> tuple[Size, ...] | None:
    kind = value.type.tensor_type
    if not kind.HasField("shape"):
        return None
    return tuple(
        d.dim_value if d.HasField("dim_value") else d.dim_param or f"{value.name}[{i}]"
        for i, d in enumerate(kind.shape.dim)
    )
