"""The table of writers."""

from __future__ import annotations

from collections.abc import Callable

from modkit.onnx.draft import Call
from modkit.ops.registry import get_op

Writer = Callable[[Call], str | list[str]]
"""A function that writes ONNX nodes for a node, and returns the names of its outputs."""

WRITERS: dict[str, Writer] = {}
"""By the operator's first name."""


def writes(*names: str) -> Callable[[Writer], Writer]:
    """Register a writer for operators of these names."""

    def register(writer: Writer) -> Writer:
        for name in names:
            WRITERS[get_op(name).name] = writer
        return writer

    return register
