"""ONNX operators read as symbols, one function for each operator, in families."""

from modkit.onnx.readers import arrays, elementwise, layers, recurrent, reductions
from modkit.onnx.readers.table import READERS

__all__ = ["READERS"]
