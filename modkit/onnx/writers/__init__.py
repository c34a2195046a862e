"""Operators written as ONNX nodes, one function for each operator, in families."""

from modkit.onnx.writers import arrays, boxes, elementwise, layers, recurrent, reductions
from modkit.onnx.writers.table import WRITERS

__all__ = ["WRITERS"]
