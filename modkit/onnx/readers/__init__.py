"""ONNX operators read as symbols, one function for each operator, in families."""

from modkit.onnx.readers import arrays, einsum, elementwise, layers, recurrent, reductions, resizing
from modkit.onnx.readers.table import READERS

__all__ = ["READERS"]
