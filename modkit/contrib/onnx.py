"""``mx.contrib.onnx``: conversion from and to ONNX.

Its names can be imported, and raise when they are called.
"""

from modkit.contrib.absent import absent_names

__getattr__ = absent_names(
    __name__,
    "ONNX has tools of its own that read -symbol.json and .params",
    "import_model",
    "import_to_gluon",
    "get_model_metadata",
    "export_model",
    "mx2onnx",
    "onnx2mx",
)
