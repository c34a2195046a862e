"""The table of readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from modkit import symbol as sym
from modkit.onnx.correspondence import ALIKE, Attributes, registering
from modkit.onnx.onnx_node import OnnxNode
from modkit.symbol import Symbol

Reader = Callable[[OnnxNode], Symbol | Sequence[Symbol | None]]
"""A function from an ONNX node to symbols of its outputs."""


def of_inputs(function: Callable[..., Symbol], attrs: Attributes | None = None) -> Reader:
    """A reader that applies a function to all inputs."""

    def read(node: OnnxNode) -> Symbol:
        given: dict[str, Any] = {}
        for name, (param, default) in (attrs or {}).items():
            value = node.attr(name, default)
            given[param] = tuple(value) if isinstance(value, list) else value
        return function(*node.symbols(), **given)

    return read


READERS: dict[str, Reader] = {
    op_type: of_inputs(getattr(sym, name), attrs) for name, (op_type, attrs) in ALIKE.items()
}
"""By the ONNX operator."""

reads = registering(READERS)
