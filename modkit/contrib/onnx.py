"""``mx.contrib.onnx``: ONNX models read as symbols, and written."""

from modkit.absent import absent_names
from modkit.onnx import export_model
from modkit.onnx.importing import get_model_metadata, import_model

__all__ = ["export_model", "get_model_metadata", "import_model"]

__getattr__ = absent_names(
    __name__, "modkit has no Gluon: use import_model and mx.mod.Module", "import_to_gluon"
)
