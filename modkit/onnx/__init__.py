"""``mx.onnx``: graphs and parameters written as ONNX models.

``mx.contrib.onnx`` reads ONNX models. Both need the package ``onnx``
(``pip install '.[onnx]'``), which is imported at the first call.
"""

from modkit.onnx.exporting import export_model, get_operator_support

__all__ = ["export_model", "get_operator_support"]
