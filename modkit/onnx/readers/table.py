"""The table of readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from modkit.onnx.onnx_node import OnnxNode
from modkit.symbol import Symbol

Reader = Callable[[OnnxNode], Symbol | Sequence[Symbol | None]]
"""A function from an ONNX node to symbols of its outputs."""

READERS: dict[str, Reader] = {}
"""By the ONNX operator."""


def reads(*op_types: str) -> Callable[[Reader], Reader]:
    """Register a reader for ONNX operators."""

    def register(reader: Reader) -> Reader:
        READERS.update(dict.fromkeys(op_types, reader))
        return reader

    return register
