"""ONNX files: models are read, and written after ONNX's own check."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from modkit.errors import FileFormatError, NotSupportedError
from modkit.files import atomic_write, check_is_file, named_errors
from modkit.onnx.package import OPSET, onnx, require_onnx

_LARGEST = 2**31 - 2**20
"""Bytes of parameters that fit into one protobuf file."""


def load_model(path: str | os.PathLike[str], user: str) -> Any:
    """The model of a file; ``user`` is the caller, for messages.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: the file is no ONNX model.
        NotSupportedError: the package onnx is not installed.
    """
    require_onnx(user)
    check_is_file(Path(path))
    try:
        model = onnx.load(os.fspath(path))
    except (OSError, NotSupportedError):
        raise
    except Exception as error:  # protobuf's errors have no common class of their own
        raise FileFormatError(f"{user}: {os.fspath(path)!r} is no ONNX model: {error}") from error
    if not model.graph.node:
        raise FileFormatError(f"{user}: {os.fspath(path)!r} is no ONNX model: it has no nodes")
    return model


def save_model(model: Any, path: str | os.PathLike[str], params: Mapping[str, np.ndarray]) -> None:
    """Write the model to a file, after ONNX's own check."""
    if sum(array.nbytes for array in params.values()) > _LARGEST:
        _save_in_two(model, Path(path))
        return
    _check(model)
    with atomic_write(path) as file:
        file.write(model.SerializeToString())


def _save_in_two(model: Any, path: Path) -> None:
    """Write the model to a file, and its parameters to another beside it."""
    data = path.name + ".data"
    # onnx adds to a data file that is there, so both are made in a new folder.
    with (
        named_errors(path, "written"),
        tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder,
    ):
        made = Path(folder, path.name)
        onnx.save_model(model, os.fspath(made), save_as_external_data=True, location=data)
        _check(os.fspath(made))
        made.with_name(data).replace(path.with_name(data))
        made.replace(path)


def _check(model: Any) -> None:
    """ONNX's own check of a model or of a file, element types included."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise NotSupportedError(
            f"export_model: ONNX {OPSET} has no such model: {str(error).strip('. ')}. If it is "
            "about an element type, cast the input of that node: sym.cast(x, dtype='float32')"
        ) from error
