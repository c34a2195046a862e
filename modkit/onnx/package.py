"""The package ``onnx``, imported at first use."""

from __future__ import annotations

from modkit.lazy import LazyModule, install, optional

OPSET = 13
"""Version of the ONNX operators that `modkit.onnx.export_model` writes."""

IR_VERSION = 7
"""Version of the file format that belongs to `OPSET`."""


onnx = LazyModule("onnx")
"""The package, which importing modkit does not import."""


def require_onnx(user: str) -> None:
    """Raise NotSupportedError if the package is not installed; ``user`` is the caller."""
    optional("onnx", f"{user} needs the package onnx: {install('onnx')}")
