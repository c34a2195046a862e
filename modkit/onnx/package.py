"""The package ``onnx``, imported at first use."""

from __future__ import annotations

import importlib
from typing import Any

from modkit.lazy import install, optional

OPSET = 13
"""Version of the ONNX operators that `modkit.onnx.export_model` writes."""

IR_VERSION = 7
"""Version of the file format that belongs to `OPSET`."""


class _Package:
    """Stand-in for the package, so that importing modkit does not import it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("onnx"), name)


onnx = _Package()


def require_onnx(user: str) -> None:
    """Raise NotSupportedError if the package is not installed; ``user`` is the caller."""
    optional("onnx", f"{user} needs the package onnx: {install('onnx')}")
