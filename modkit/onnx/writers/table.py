"""The table of writers."""

from __future__ import annotations

from collections.abc import Callable

from modkit.onnx.correspondence import ALIKE, Attributes, registering
from modkit.onnx.graph_builder import Call

Writer = Callable[[Call], str | list[str]]
"""A function that writes ONNX nodes for a node, and returns the names of its outputs."""


def of_inputs(op_type: str, attrs: Attributes | None = None) -> Writer:
    """A writer of one ONNX node, which has all inputs."""

    def write(call: Call) -> str:
        given = {}
        for name, (param, default) in (attrs or {}).items():
            value = call.params[param]
            given[name] = float(value) if isinstance(default, float) else value
        return call.emit(op_type, *(v.name for v in call.inputs), **given)

    return write


WRITERS: dict[str, Writer] = {name: of_inputs(*row) for name, row in ALIKE.items()}
"""By the operator's first name."""

writes = registering(WRITERS)
