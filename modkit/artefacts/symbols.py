"""Description of a ``-symbol.json`` file: dialect, inputs, outputs, operators and parameters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from modkit import symbol
from modkit.artefacts.base import Facts
from modkit.artefacts.table import Table, operator_table, pairs
from modkit.errors import listed
from modkit.ops.registry import OPS
from modkit.symbol.graph import VARIABLE
from modkit.symbol.roles import roles_of


@dataclass(frozen=True)
class SymbolFacts(Facts):
    """A ``-symbol.json`` file.

    Attributes:
        version: of the MXNet that wrote it, ``"1.9.1"``; ``None`` before 0.9, which wrote none.
        attributes_field: name of the nodes' field for attributes: ``"attrs"``, or ``"attr"`` or
            ``"param"`` in older dialects; ``None`` if no node has any.
        subgraphs: number of nested graphs, in operators of control flow.
        inputs: variables that take data.
        labels: variables that take labels.
        parameters: variables that are learned.
        auxiliary: variables that training updates without gradients.
        operators: number of uses of each operator, in subgraphs too.
        missing: those among them that modkit lacks.
    """

    version: str | None
    attributes_field: str | None
    nodes: int
    subgraphs: int
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    parameters: tuple[str, ...]
    auxiliary: tuple[str, ...]
    outputs: tuple[str, ...]
    operators: dict[str, int]
    missing: dict[str, int]

    def tables(self) -> list[Table]:
        """A table of facts, and one of the operators."""
        facts = [
            ("kind", "symbol"),
            ("format", f"MXNet {self.version or '0.8 or older'}"),
            ("nodes", self.nodes),
            ("subgraphs", self.subgraphs or None),
            ("inputs", ", ".join(self.inputs)),
            ("labels", ", ".join(self.labels)),
            ("parameters", _counted(self.parameters)),
            ("auxiliary", _counted(self.auxiliary)),
            ("outputs", listed(self.outputs)),
            ("not in modkit", ", ".join(self.missing)),
        ]
        return [pairs(self.path, facts), operator_table(self.operators, self.missing, "in modkit")]


def _counted(names: tuple[str, ...]) -> str:
    return f"{len(names)}: {listed(names, 4)}" if names else ""


def describe_symbol(path: str, size_bytes: int) -> SymbolFacts:
    """Describe a ``-symbol.json`` file; FileFormatError where it is not a graph."""
    net, document = symbol.load(path), json.loads(Path(path).read_text("utf-8"))
    roles, graphs = roles_of(net), list(_graphs(document))
    names = (n["op"] for graph in graphs for n in graph["nodes"] if n["op"] != VARIABLE)
    operators = dict(Counter(sorted(names)).most_common())
    return SymbolFacts(
        path=path,
        kind="symbol",
        size_bytes=size_bytes,
        version=_version(document),
        attributes_field=_attributes_field(document["nodes"]),
        nodes=len(document["nodes"]),
        subgraphs=len(graphs) - 1,
        inputs=roles.inputs,
        labels=roles.labels,
        parameters=roles.parameters,
        auxiliary=roles.auxiliary,
        outputs=tuple(net.list_outputs()),
        operators=operators,
        missing={n: c for n, c in operators.items() if n not in OPS},
    )


def _graphs(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A parsed graph, and those nested in its nodes."""
    yield document
    for node in document["nodes"]:
        for subgraph in node.get("subgraphs") or ():
            yield from _graphs(subgraph)


def _version(document: dict[str, Any]) -> str | None:
    attrs = document.get("attrs")
    pair = attrs.get("mxnet_version") if isinstance(attrs, dict) else None
    if not isinstance(pair, list) or not pair or not isinstance(pair[-1], int):
        return None
    return f"{pair[-1] // 10000}.{pair[-1] // 100 % 100}.{pair[-1] % 100}"


def _attributes_field(nodes: Iterable[dict[str, Any]]) -> str | None:
    used = {field for node in nodes for field in ("attrs", "attr", "param") if node.get(field)}
    return next((field for field in ("attrs", "param", "attr") if field in used), None)
