"""Description of an ONNX model: version of its operators, inputs, outputs, operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modkit.artefacts.base import Facts
from modkit.artefacts.table import Table, operator_table, pairs
from modkit.errors import listed
from modkit.onnx.element_types import dtype_of
from modkit.onnx.files import load_model
from modkit.onnx.readers import READERS


@dataclass(frozen=True)
class ModelFacts(Facts):
    """An ONNX model.

    Attributes:
        producer: name and version of the program that wrote it.
        opset: version of the ONNX operators; ``None`` where the model has no such operator.
        domains: versions of the operators that are not ONNX's, by their domain.
        nodes: number of nodes, in nested graphs too.
        inputs: as ``"name: float32 (N, 3)"``.
        outputs: likewise.
        weights: number of initializers.
        operators: number of uses of each operator, in nested graphs too.
        missing: the operators that `import_model` does not read, likewise.
    """

    producer: str
    opset: int | None
    domains: dict[str, int]
    nodes: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights: int
    operators: dict[str, int]
    missing: dict[str, int]

    def tables(self) -> list[Table]:
        """A table of facts, and one of the operators."""
        facts = [
            ("kind", "onnx"),
            ("written by", self.producer),
            ("opset", self.opset),
            ("other operators", ", ".join(f"{n} {v}" for n, v in self.domains.items())),
            ("nodes", self.nodes),
            ("inputs", listed(self.inputs)),
            ("weights", self.weights),
            ("outputs", listed(self.outputs)),
            ("not read", ", ".join(self.missing)),
        ]
        operators = operator_table(self.operators, self.missing, "read by import_model")
        return [pairs(self.path, facts), operators]


def describe_model(path: str) -> ModelFacts:
    """Describe an ONNX model.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is no ONNX model.
        NotSupportedError: the package onnx is not installed.
    """
    model = load_model(path, "describe_model")
    weights = {tensor.name for tensor in model.graph.initializer}
    nodes = list(_nodes(model.graph))
    names = (f"{n.domain}.{n.op_type}".removeprefix("ai.onnx").strip(".") for n in nodes)
    operators = dict(Counter(sorted(names)).most_common())
    versions = {o.domain or "ai.onnx": o.version for o in model.opset_import}
    return ModelFacts(
        path=path,
        kind="onnx",
        size_bytes=Path(path).stat().st_size,
        producer=f"{model.producer_name} {model.producer_version}".strip(),
        opset=versions.pop("ai.onnx", None),
        domains=versions,
        nodes=len(nodes),
        inputs=tuple(_declared(v) for v in model.graph.input if v.name not in weights),
        outputs=tuple(map(_declared, model.graph.output)),
        weights=len(weights),
        operators=operators,
        missing={n: c for n, c in operators.items() if n not in READERS and n != "Constant"},
    )


def _nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph, and of those nested in them."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            yield from _nodes(attribute.g)
            for inner in attribute.graphs:
                yield from _nodes(inner)


def _declared(value: Any) -> str:
    kind = value.type.tensor_type
    if not kind.elem_type:
        return f"{value.name}: no tensor"
    sizes = [str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?"
             for d in kind.shape.dim]  # fmt: skip
    return f"{value.name}: {dtype_of(kind.elem_type)} ({', '.join(sizes)})"
