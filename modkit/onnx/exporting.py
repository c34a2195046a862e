"""``mx.onnx.export_model``: a graph with its parameters as an ONNX model."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from modkit import ndarray, symbol
from modkit.context import cpu
from modkit.errors import NotSupportedError, ParameterError, ShapeError
from modkit.onnx.element_types import code_of
from modkit.onnx.files import save_model
from modkit.onnx.graph_builder import Call, GraphBuilder, Sizes, Value
from modkit.onnx.package import IR_VERSION, OPSET, onnx, require_onnx
from modkit.onnx.signature import Input, Signature, signature_of
from modkit.onnx.writers import WRITERS
from modkit.ops import partial_shapes
from modkit.symbol import Symbol
from modkit.symbol.graph import Entry, Graph, Node
from modkit.symbol.graph_inference import Solution, infer_dtypes, infer_shapes

_FACTORS = 101, 13, 3
"""Dynamic sizes are found by inference for second sizes, so many times larger.

A multiple fits where the size fits (halves that are joined again, `Reshape` to rows of 4). A large
one changes every size that follows from it, through strides too; smaller ones are for graphs in
which it is too large for an array or a table of positions.
"""


def export_model(
    sym: Symbol | str | os.PathLike[str],
    params: Any,
    in_shapes: Sequence[Any] | None = None,
    in_types: Any = np.float32,
    onnx_file_path: str | os.PathLike[str] = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Sequence[Any] | None = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Sequence[Any] | None = None,
) -> str:
    """Write a graph with its parameters as an ONNX model for prediction (opset 13).

    Losses become their predictions (``SoftmaxOutput`` a softmax), and labels are left out.
    Inputs keep the names of the variables, outputs have the names of their nodes.

    Args:
        sym: the graph, or the path of its ``-symbol.json``.
        params: parameters by name, with or without ``arg:`` and ``aux:``; the path of a
            ``.params`` file; or arguments and auxiliary states as a list of two dictionaries.
        in_shapes: shapes of the inputs, in the order of ``list_arguments()``; labels are optional.
        in_types: element types of the inputs, one for all or one for each.
        onnx_file_path: the file. Parameters of more than 2 GiB go to a file beside it, with
            ``.data`` at the end of its name.
        verbose: log each node that is written.
        dynamic: take ``dynamic_input_shapes``; by default the first axis of each input is then
            dynamic.
        dynamic_input_shapes: the shapes, with ``None`` or a name for each dynamic size.
        run_shape_inference: write shapes of inner values, by ONNX's own inference.
        input_type: an older name of ``in_types``.
        input_shape: an older name of ``in_shapes``.

    Returns:
        ``onnx_file_path``.

    Raises:
        NotSupportedError: ONNX 13 has nothing for an operator or a parameter of it, or the package
            onnx is not installed.
        ParameterError: shapes or types do not belong to the inputs.
        NameNotFoundError: a parameter is missing.
        ShapeError: the shapes contradict each other.
    """
    require_onnx("export_model")
    net = sym if isinstance(sym, Symbol) else symbol.load(os.fspath(sym))
    types = in_types if input_type is None else input_type
    if dynamic_input_shapes is not None and not dynamic:
        raise ParameterError("export_model: dynamic_input_shapes needs dynamic=True")
    nodes = _predicting(net.graph)
    signature = signature_of(
        net.graph,
        nodes,
        params,
        in_shapes if input_shape is None else input_shape,
        types,
        (dynamic_input_shapes or ()) if dynamic else None,
    )
    _require_writers(nodes)
    model = _Export(net.graph, nodes, signature, verbose).model()
    if run_shape_inference:
        model = onnx.shape_inference.infer_shapes(model)
    save_model(model, onnx_file_path, signature.params)
    return os.fspath(onnx_file_path)


def get_operator_support(opset_version: int | None = None) -> list[str]:
    """Names of the operators that `export_model` writes.

    Args:
        opset_version: 13, the default, is the only one.

    Raises:
        ParameterError: another version.
    """
    if opset_version not in (None, OPSET):
        raise ParameterError(
            f"get_operator_support: opset_version={opset_version}: modkit writes opset {OPSET}"
        )
    return sorted(WRITERS)


def _predicting(graph: Graph) -> list[Node]:
    """The nodes that predictions need, inputs before users: not those of labels alone."""
    needed: set[int] = set()
    waiting = [head.node for head in graph.heads]
    while waiting:
        node = waiting.pop()
        if id(node) in needed:
            continue
        needed.add(id(node))
        names = [] if node.is_variable else node.op.input_names(node.params)
        waiting += [e.node for n, e in zip(names, node.inputs, strict=False) if n != "label"]
    return [node for node in graph.nodes if id(node) in needed]


def _require_writers(nodes: Sequence[Node]) -> None:
    lacking = {n.op_name: n for n in nodes if not n.is_variable and n.op.name not in WRITERS}
    if lacking:
        first = next(iter(lacking.values()))
        raise NotSupportedError(
            f"export_model: no ONNX form of the operators {', '.join(sorted(lacking))} (node "
            f"{first.name!r}); export the part before it, from get_internals(). "
            "get_operator_support() lists those that have one"
        )


class _Export:
    """One export: shapes and types of all values, and the ONNX graph."""

    def __init__(self, graph: Graph, nodes: Sequence[Node], signature: Signature, verbose: bool):
        self.graph, self.nodes = graph, nodes
        self.signature, self.verbose = signature, verbose
        self.builder = GraphBuilder()
        arrays = {n: a.shape for n, a in signature.params.items()}
        plain = {i.name: i.shape for i in signature.inputs}
        kinds = {n: a.dtype.name for n, a in signature.params.items()}
        self._sizes = [infer_shapes(graph, {**arrays, **signature.labels, **plain})]
        if any(i.dynamic != i.shape for i in signature.inputs):
            self._sizes += _inferred_dynamic(graph, arrays, signature.inputs)
        self._types = infer_dtypes(graph, {**kinds, **{i.name: i.dtype for i in signature.inputs}})
        self._names: dict[tuple[int, int], str] = {}
        self._find_axes()

    def model(self) -> Any:
        """The ONNX model; NotSupportedError where a node has no ONNX form."""
        inputs = [self._declared(i.name, i.dtype, i.dynamic) for i in self.signature.inputs]
        for node in self.nodes:  # variables first, as they keep their names
            if node.is_variable:
                self._names[self.graph.index[id(node)], 0] = self.builder.unique(node.name)
        for node in self.nodes:
            if not node.is_variable:
                self._write(node)
        outputs = [self._output(entry) for entry in self.graph.heads]
        read = {name for node in self.builder.nodes for name in node.input}
        constants = {**self.signature.params, **self.builder.constants}
        to_tensor = onnx.numpy_helper.from_array
        tensors = [to_tensor(array, name) for name, array in constants.items() if name in read]
        graph = onnx.helper.make_graph(self.builder.nodes, "modkit", inputs, outputs, tensors)
        opset = onnx.helper.make_opsetid("", OPSET)
        return onnx.helper.make_model(
            graph, producer_name="modkit", ir_version=IR_VERSION, opset_imports=[opset]
        )

    def _declared(self, name: str, dtype: str, sizes: Sequence[int | str | None]) -> Any:
        """The declaration of an input or output."""
        return onnx.helper.make_tensor_value_info(name, code_of(dtype), list(sizes))

    def _probed(self, entry: Entry) -> tuple[tuple[int, ...], ...]:
        """Each size of a value, for all shapes of the inputs that were inferred."""
        found = [sizes.outputs(entry.node)[entry.output] or () for sizes in self._sizes]
        return tuple(zip(*found, strict=True))

    def _shape(self, entry: Entry) -> Sizes:
        return tuple(s[0] if len({*s}) == 1 else None for s in self._probed(entry))

    def _find_axes(self) -> None:
        """Find the axes of inputs that have the dynamic sizes."""
        named: dict[tuple[int, ...], str | int] = {}
        variables = {node.name: node for node in self.nodes if node.is_variable}
        for each in self.signature.inputs:
            probed = self._probed(Entry(variables[each.name]))
            for axis, (sizes, dynamic) in enumerate(zip(probed, each.dynamic, strict=True)):
                if not isinstance(dynamic, int):
                    name = axis if dynamic is None else dynamic
                    same = named.setdefault(sizes, name) == name
                    found = self.builder.axes.get(sizes, (each.name, axis))
                    self.builder.axes[sizes] = found if same else None

    def _value(self, entry: Entry) -> Value:
        name = self._names.get(self.graph.position(entry), "")
        dtype = self._types.outputs(entry.node)[entry.output] or "float32"
        return Value(name, self._shape(entry), dtype, self._probed(entry))

    def _write(self, node: Node) -> None:
        """Write a node; its outputs get the name of the node."""
        start, index = len(self.builder.nodes), self.graph.index[id(node)]
        count = len(node.output_names())
        outputs = [self._value(Entry(node, i)) for i in range(count)]
        inputs = [self._value(entry) for entry in node.inputs]
        made = WRITERS[node.op.name](Call(self.builder, node, inputs, outputs, self._evaluated))
        made = [made] if isinstance(made, str) else made
        defined = {name for each in self.builder.nodes[start:] for name in each.output}
        stems = [node.name] if len(made) == 1 else [f"{node.name}_{i}" for i in range(len(made))]
        names = {
            name: self.builder.unique(stem)
            for name, stem in zip(made, stems, strict=True)
            if name in defined
        }
        self.builder.rename(start, names)
        for i, name in enumerate(made):
            self._names[index, i] = names.get(name, name)
        if self.verbose:
            kinds = [each.op_type for each in self.builder.nodes[start:]]
            logging.info("%s (%s): %s", node.name, node.op_name, ", ".join(kinds) or "passed on")

    def _output(self, entry: Entry) -> Any:
        """Declare an output; one that is an input, a parameter or an output twice is copied."""
        value = self._value(entry)
        if not value.name:
            raise NotSupportedError(
                f"export_model: output {entry.output} of node {entry.node.name!r} "
                f"({entry.node.op_name}) has no ONNX form"
            )
        name = self.builder.unique(f"{entry.node.name}_output")
        made = any(value.name in node.output for node in self.builder.nodes)
        if made and sum(self._value(head).name == value.name for head in self.graph.heads) == 1:
            name = value.name
        else:
            self.builder.add("Identity", [value.name], [name], {})
        return self._declared(name, value.dtype, value.shape)

    def _evaluated(self, entry: Entry) -> np.ndarray | None:
        """The numbers of a value that follows from parameters alone; else ``None``."""
        part = Symbol([entry])
        params, needed = self.signature.params, part.list_inputs()
        if any(name not in params for name in needed):
            return None
        given = {n: ndarray.array(params[n], dtype=params[n].dtype) for n in needed}
        (found,) = part.bind(cpu(), given).forward()
        return found.asnumpy()


def _inferred_dynamic(
    graph: Graph, arrays: Mapping[str, tuple[int, ...]], inputs: Sequence[Input]
) -> list[Solution[partial_shapes.Sizes]]:
    """Shapes of all values for other sizes in place of the dynamic ones.

    First for multiples; then for none, which sizes that are rounded do not follow. A graph that
    takes multiples alone has no second.
    """
    failed: ShapeError | None = None
    found: list[Solution[partial_shapes.Sizes]] = []
    for more in (0, 1):
        for factor in _FACTORS:
            other = {
                i.name: tuple(
                    s if isinstance(d, int) else s * factor + more
                    for s, d in zip(i.shape, i.dynamic, strict=True)
                )
                for i in inputs
            }
            try:
                found.append(infer_shapes(graph, {**arrays, **other}))
                break
            except ShapeError as error:
                failed = error
        if not found:
            raise ParameterError(
                "export_model: the graph has no dynamic sizes where they are wanted: "
                f"{failed}. Give dynamic_input_shapes, with None for the sizes that may change"
            ) from failed
    return found
