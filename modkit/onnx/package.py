"""The package ``onnx``, imported at first use."""

from __future__ import annotations

from typing import Any

from modkit.lazy import install, optional

OPSET = 13
"""Version of the ONNX operators that `modkit.onnx.export_model` writes."""

IR_VERSION = 7
"""Version of the file format that belongs to `OPSET`."""


def onnx_module(name: str, user: str) -> Any:
    """A module of the package, such as ``"onnx.helper"``; ``user`` is the caller, for the message.

    Raises:
        NotSupportedError: the package is not installed.
    """
    return optional(name, f"{user} needs the package onnx: {install('onnx')}")
