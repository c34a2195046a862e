"""``mx.onnx.export_model``: a graph with its parameters as an ONNX model."""

from __future__ import annotations

import logging
import operator
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from modkit import ndarray, symbol
from modkit.context import cpu
from modkit.errors import NameNotFoundError, NotSupportedError, ParameterError, ShapeError
from modkit.files import atomic_write, named_errors
from modkit.ndarray import NDArray
from modkit.ndarray.files import plain_name
from modkit.onnx.draft import Call, Draft, Sizes, Value
from modkit.onnx.package import IR_VERSION, OPSET, module
from modkit.onnx.writers import WRITERS
from modkit.ops.registry import dtype_name
from modkit.ops.shape_inference import Known
from modkit.symbol import Symbol
from modkit.symbol.graph import Entry, Graph, Node
from modkit.symbol.graph_inference import Solution, infer_dtypes, infer_shapes

_LARGEST = 2**31 - 2**20
"""Bytes of parameters that fit into one protobuf file."""

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
    module("onnx", "export_model")
    net = sym if isinstance(sym, Symbol) else symbol.load(os.fspath(sym))
    types = in_types if input_type is None else input_type
    if dynamic_input_shapes is not None and not dynamic:
        raise ParameterError("export_model: dynamic_input_shapes needs dynamic=True")
    nodes = _predicting(net.graph)
    signature = _signature(
        net.graph,
        nodes,
        _arrays(params),
        in_shapes if input_shape is None else input_shape,
        types,
        (dynamic_input_shapes or ()) if dynamic else None,
    )
    _require_writers(nodes)
    model = _Export(net.graph, nodes, signature, verbose).model()
    if run_shape_inference:
        model = module("onnx.shape_inference", "export_model").infer_shapes(model)
    _save(model, onnx_file_path, signature.params)
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


class _Input(NamedTuple):
    """An input of the ONNX model; ``None`` and names are dynamic sizes."""

    name: str
    shape: tuple[int, ...]
    dynamic: tuple[int | str | None, ...]
    dtype: str


class _Signature(NamedTuple):
    """The inputs of the ONNX model, its parameters, and the shapes of labels that were given."""

    inputs: list[_Input]
    params: dict[str, np.ndarray]
    labels: dict[str, tuple[int, ...]]


def _arrays(params: Any) -> dict[str, np.ndarray]:
    """Parameters by their plain names, as NumPy arrays."""
    if isinstance(params, str | os.PathLike):
        params = ndarray.load(os.fspath(params))
    if isinstance(params, Sequence) and len(params) == 2:
        params = {**params[0], **params[1]}
    if not isinstance(params, Mapping):
        raise ParameterError(
            f"export_model: params is {type(params).__name__}; expected a dictionary of arrays, a "
            "path of a .params file, or a list of arguments and auxiliary states"
        )
    return {
        plain_name(n): v.tostype("default").asnumpy() if isinstance(v, NDArray) else np.asarray(v)
        for n, v in params.items()
    }


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


def _signature(
    graph: Graph,
    nodes: Sequence[Node],
    params: dict[str, np.ndarray],
    shapes: Any,
    types: Any,
    dynamic: Any,
) -> _Signature:
    names = [node.name for node in nodes if node.is_variable]
    needed = set(names)
    if len(needed) < len(names):
        twice = sorted(n for n in needed if names.count(n) > 1)
        raise ParameterError(
            f"export_model: got several variables with the names {twice}; give each its own, or "
            "pass one mx.sym.Variable to all that use it"
        )
    free = [n.name for n in graph.arguments if n.name not in params]
    absent = [n.name for n in graph.auxiliary if n.name not in params]
    if absent:
        raise NameNotFoundError(
            f"export_model: params lacks the auxiliary states {', '.join(absent)}"
        )
    data = [n for n in free if n in needed]
    if shapes is None:
        raise ParameterError(f"export_model: in_shapes is needed, a shape for each of: {data}")
    wanted = free if len(shapes) == len(free) else data
    if len(shapes) != len(wanted):
        raise ParameterError(
            f"export_model: in_shapes has {len(shapes)} shapes, expected {len(data)}, for the "
            f"inputs {data}. A variable that is no input is missing in params"
        )
    by_name = {n: _whole(n, s) for n, s in zip(wanted, shapes, strict=True)}
    if isinstance(types, Mapping):
        raise ParameterError("export_model: in_types is a dictionary, expected a type or a list")
    if not isinstance(types, list | tuple):
        types = [types] * len(wanted)
    if len(types) != len(wanted):
        raise ParameterError(
            f"export_model: in_types has {len(types)} types, expected one or {len(wanted)}"
        )
    kinds = dict(zip(wanted, map(dtype_name, types), strict=True))
    sizes = _dynamic(wanted, by_name, dynamic)
    inputs = [_Input(n, by_name[n], sizes[n], kinds[n]) for n in data]
    return _Signature(inputs, params, {n: by_name[n] for n in wanted if n not in needed})


def _whole(name: str, shape: Any) -> tuple[int, ...]:
    """A shape of an input.

    Raises:
        ParameterError: it is none.
    """
    try:
        return tuple(map(operator.index, shape))
    except TypeError as error:
        raise ParameterError(
            f"export_model: in_shapes: got {shape!r} for the input {name!r}, expected a tuple of "
            "whole numbers, as in in_shapes=[(1, 3, 224, 224)]"
        ) from error


def _dynamic(
    names: Sequence[str], shapes: Mapping[str, tuple[int, ...]], given: Any
) -> dict[str, tuple[Any, ...]]:
    """The shape of each input, with ``None`` or a name for a dynamic size."""
    if given is None:
        return dict(shapes)
    if not given:
        return {n: (None, *shapes[n][1:]) for n in names}
    if [len(s) for s in given] != [len(shapes[n]) for n in names]:
        raise ParameterError(
            f"export_model: dynamic_input_shapes={list(given)!r} must have a size, None or a name "
            f"for each axis of in_shapes={[shapes[n] for n in names]}"
        )
    return {n: _sizes(n, shapes[n], s) for n, s in zip(names, given, strict=True)}


def _sizes(name: str, shape: tuple[int, ...], given: Sequence[Any]) -> tuple[int | str | None, ...]:
    """A shape with dynamic sizes, whose numbers must be those of the shape.

    Raises:
        ParameterError: one is another number, or something else.
    """
    for size, wanted in zip(given, shape, strict=True):
        if size != wanted and not (size is None or isinstance(size, str)):
            raise ParameterError(
                f"export_model: dynamic_input_shapes: got {tuple(given)!r} for the input {name!r}, "
                f"expected None, a name or {wanted} in place of {size!r}: in_shapes has {shape}"
            )
    pairs = zip(given, shape, strict=True)
    return tuple(g if g is None or isinstance(g, str) else s for g, s in pairs)


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

    def __init__(self, graph: Graph, nodes: Sequence[Node], signature: _Signature, verbose: bool):
        self.graph, self.nodes = graph, nodes
        self.signature, self.verbose = signature, verbose
        self.draft = Draft()
        self.helper = self.draft.helper
        arrays = {n: a.shape for n, a in signature.params.items()}
        plain = {i.name: i.shape for i in signature.inputs}
        kinds = {n: a.dtype.name for n, a in signature.params.items()}
        self._sizes = [infer_shapes(graph, {**arrays, **signature.labels, **plain})]
        if any(i.dynamic != i.shape for i in signature.inputs):
            self._sizes.append(_inferred_dynamic(graph, arrays, signature.inputs))
        self._types = infer_dtypes(graph, {**kinds, **{i.name: i.dtype for i in signature.inputs}})
        self._names: dict[tuple[int, int], str] = {}

    def model(self) -> Any:
        """The ONNX model.

        Raises:
            NotSupportedError: a node has no ONNX form.
        """
        inputs = [self._declared(i.name, i.dtype, i.dynamic) for i in self.signature.inputs]
        for node in self.nodes:  # variables first, as they keep their names
            if node.is_variable:
                self._names[self.graph.index[id(node)], 0] = self.draft.unique(node.name)
        for node in self.nodes:
            if not node.is_variable:
                self._write(node)
        outputs = [self._output(entry) for entry in self.graph.heads]
        read = {name for node in self.draft.nodes for name in node.input}
        constants = {**self.signature.params, **self.draft.constants}
        tensors = [
            module("onnx.numpy_helper", "export_model").from_array(array, name)
            for name, array in constants.items()
            if name in read
        ]
        graph = self.helper.make_graph(self.draft.nodes, "modkit", inputs, outputs, tensors)
        opset = self.helper.make_opsetid("", OPSET)
        return self.helper.make_model(
            graph, producer_name="modkit", ir_version=IR_VERSION, opset_imports=[opset]
        )

    def _declared(self, name: str, dtype: str, sizes: Sequence[int | str | None]) -> Any:
        """The declaration of an input or output."""
        return self.helper.make_tensor_value_info(name, self.draft.type_code(dtype), list(sizes))

    def _shape(self, entry: Entry) -> Sizes:
        node, output = entry
        found = [sizes.outputs(node)[output] or () for sizes in self._sizes]
        return tuple(a if a == b else None for a, b in zip(found[0], found[-1], strict=True))

    def _value(self, entry: Entry) -> Value:
        name = self._names.get(self.graph.position(entry), "")
        dtype = self._types.outputs(entry.node)[entry.output] or "float32"
        return Value(name, self._shape(entry), dtype)

    def _write(self, node: Node) -> None:
        """Write a node; its outputs get the name of the node."""
        start, index = len(self.draft.nodes), self.graph.index[id(node)]
        count = len(node.output_names())
        outputs = [self._value(Entry(node, i)) for i in range(count)]
        inputs = [self._value(entry) for entry in node.inputs]
        made = WRITERS[node.op.name](Call(self.draft, node, inputs, outputs, self._evaluated))
        made = [made] if isinstance(made, str) else made
        defined = {name for each in self.draft.nodes[start:] for name in each.output}
        stems = [node.name] if len(made) == 1 else [f"{node.name}_{i}" for i in range(len(made))]
        names = {
            name: self.draft.unique(stem)
            for name, stem in zip(made, stems, strict=True)
            if name in defined
        }
        self.draft.rename(start, names)
        for i, name in enumerate(made):
            self._names[index, i] = names.get(name, name)
        if self.verbose:
            kinds = [each.op_type for each in self.draft.nodes[start:]]
            logging.info("%s (%s): %s", node.name, node.op_name, ", ".join(kinds) or "passed on")

    def _output(self, entry: Entry) -> Any:
        """Declare an output; one that is an input, a parameter or an output twice is copied."""
        value = self._value(entry)
        if not value.name:
            raise NotSupportedError(
                f"export_model: output {entry.output} of node {entry.node.name!r} "
                f"({entry.node.op_name}) has no ONNX form"
            )
        name = self.draft.unique(f"{entry.node.name}_output")
        made = any(value.name in node.output for node in self.draft.nodes)
        if made and sum(self._value(head).name == value.name for head in self.graph.heads) == 1:
            name = value.name
        else:
            self.draft.add("Identity", [value.name], [name], {})
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
    graph: Graph, arrays: Mapping[str, tuple[int, ...]], inputs: Sequence[_Input]
) -> Solution[Known]:
    """Shapes of all values for other sizes in place of the dynamic ones.

    Raises:
        ParameterError: the graph takes no other sizes.
    """
    failed: ShapeError | None = None
    for factor in _FACTORS:
        other = {
            i.name: tuple(
                s if isinstance(d, int) else s * factor
                for s, d in zip(i.shape, i.dynamic, strict=True)
            )
            for i in inputs
        }
        try:
            return infer_shapes(graph, {**arrays, **other})
        except ShapeError as error:
            failed = error
    raise ParameterError(
        f"export_model: the graph has no dynamic sizes where they are wanted: {failed}. Give "
        "dynamic_input_shapes, with None for the sizes that may change"
    ) from failed


def _save(model: Any, path: str | os.PathLike[str], params: Mapping[str, np.ndarray]) -> None:
    """Write the model to a file, after ONNX's own check."""
    if sum(array.nbytes for array in params.values()) > _LARGEST:
        _save_in_two(model, Path(path))
        return
    _check(model)
    with atomic_write(path) as file:
        file.write(model.SerializeToString())


def _save_in_two(model: Any, path: Path) -> None:
    """Write the model to a file, and its parameters to another beside it."""
    data = path.name + ".data"
    # onnx adds to a data file that is there, so both are made in a new folder.
    with (
        named_errors(path, "written"),
        tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder,
    ):
        made = Path(folder, path.name)
        module("onnx", "export_model").save_model(
            model, os.fspath(made), save_as_external_data=True, location=data
        )
        _check(os.fspath(made))
        made.with_name(data).replace(path.with_name(data))
        made.replace(path)


def _check(model: Any) -> None:
    """ONNX's own check of a model or of a file, element types included.

    Raises:
        NotSupportedError: ONNX has no such model.
    """
    checker, inference = (
        module(f"onnx.{n}", "export_model") for n in ("checker", "shape_inference")
    )
    try:
        checker.check_model(model, full_check=True)
    except (checker.ValidationError, inference.InferenceError) as error:
        raise NotSupportedError(
            f"export_model: ONNX {OPSET} has no such model: {str(error).strip('. ')}. If it is "
            "about an element type, cast the input of that node: sym.cast(x, dtype='float32')"
        ) from error
