"""The table of writers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from modkit.onnx.graph_builder import Call
from modkit.ops.registry import get_op

Writer = Callable[[Call], str | list[str]]
"""A function that writes ONNX nodes for a node, and returns the names of its outputs."""

WRITERS: dict[str, Writer] = {}
"""By the operator's first name."""

_Writer = TypeVar("_Writer", bound=Writer)


def writes(*names: str) -> Callable[[_Writer], _Writer]:
    """Register a writer for operators of these names."""

    def register(writer: _Writer) -> _Writer:
        for name in names:
            WRITERS[get_op(name).name] = writer
        return writer

    return register
