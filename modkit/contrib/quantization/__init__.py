"""``mx.contrib.quantization``: networks of float32 as networks of 8 bits, calibrated on data."""

from modkit.contrib.absent import absent_names
from modkit.contrib.quantization.calibration import combine_histogram as combine_histogram
from modkit.contrib.quantization.model import calib_graph as calib_graph
from modkit.contrib.quantization.model import quantize_graph as quantize_graph
from modkit.contrib.quantization.model import quantize_model as quantize_model
from modkit.contrib.quantization.model import quantize_model_mkldnn as quantize_model_mkldnn

__getattr__ = absent_names(
    __name__,
    "Gluon is no part of it; export the block and quantize the symbol file with quantize_model",
    "quantize_net",
    "quantize_net_v2",
)
