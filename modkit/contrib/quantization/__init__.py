"""``mx.contrib.quantization``: networks of float32 as networks of 8 bits, calibrated on data.

Its steps have MXNet's private names too.
"""

from modkit.absent import absent_names
from modkit.contrib.quantization import calibration as _calibration
from modkit.contrib.quantization import graph as _graph
from modkit.contrib.quantization import model as _model
from modkit.contrib.quantization.calibration import combine_histogram as combine_histogram
from modkit.contrib.quantization.model import calib_graph as calib_graph
from modkit.contrib.quantization.model import quantize_graph as quantize_graph
from modkit.contrib.quantization.model import quantize_model as quantize_model
from modkit.contrib.quantization.model import quantize_model_mkldnn as quantize_model_mkldnn

_LayerHistogramCollector = _calibration.LayerHistogramCollector
_LayerOutputMinMaxCollector = _calibration.LayerOutputMinMaxCollector
_calibrate_quantized_sym = _graph.with_ranges
_collect_layer_histogram = _model.collect_layer_histogram
_collect_layer_output_min_max = _model.collect_layer_output_min_max
_collect_layer_statistics = _model.collect_layer_statistics
_get_optimal_threshold = _calibration.get_optimal_threshold
_get_optimal_thresholds = _calibration.get_optimal_thresholds
_load_params = _model.load_params
_load_sym = _model.load_sym
_quantize_params = _model.quantize_params
_quantize_symbol = _model.quantize_symbol
_smooth_distribution = _calibration.smooth_distribution

__getattr__ = absent_names(
    __name__,
    "Gluon is no part of it; export the block and quantize the symbol file with quantize_model",
    "_DataIterWrapper",
    "_as_data_iter",
    "quantize_net",
    "quantize_net_v2",
)
