"""``mx.contrib.quantization``: networks of float32 as networks of 8 bits, calibrated on data.

Its steps have MXNet's private names too.
"""

from modkit.absent import absent_names
from modkit.contrib.quantization.calibration import (
    LayerHistogramCollector as _LayerHistogramCollector,
)
from modkit.contrib.quantization.calibration import (
    LayerOutputMinMaxCollector as _LayerOutputMinMaxCollector,
)
from modkit.contrib.quantization.calibration import combine_histogram as combine_histogram
from modkit.contrib.quantization.calibration import get_optimal_threshold as _get_optimal_threshold
from modkit.contrib.quantization.calibration import (
    get_optimal_thresholds as _get_optimal_thresholds,
)
from modkit.contrib.quantization.calibration import smooth_distribution as _smooth_distribution
from modkit.contrib.quantization.graph import with_ranges as _calibrate_quantized_sym
from modkit.contrib.quantization.model import calib_graph as calib_graph
from modkit.contrib.quantization.model import collect_layer_histogram as _collect_layer_histogram
from modkit.contrib.quantization.model import (
    collect_layer_output_min_max as _collect_layer_output_min_max,
)
from modkit.contrib.quantization.model import collect_layer_statistics as _collect_layer_statistics
from modkit.contrib.quantization.model import load_params as _load_params
from modkit.contrib.quantization.model import load_sym as _load_sym
from modkit.contrib.quantization.model import quantize_graph as quantize_graph
from modkit.contrib.quantization.model import quantize_model as quantize_model
from modkit.contrib.quantization.model import quantize_model_mkldnn as quantize_model_mkldnn
from modkit.contrib.quantization.model import quantize_params as _quantize_params
from modkit.contrib.quantization.model import quantize_symbol as _quantize_symbol

__getattr__ = absent_names(
    __name__,
    "Gluon is no part of it; export the block and quantize the symbol file with quantize_model",
    "_DataIterWrapper",
    "_as_data_iter",
    "quantize_net",
    "quantize_net_v2",
)
