"""``mx.contrib.quantization``: int8 inference of MXNet's kernels.

Its names can be imported, and raise when they are called.
"""

from modkit.contrib.absent import absent_names

__getattr__ = absent_names(
    __name__,
    "XLA compiles float32, bfloat16 and float16",
    "quantize_model",
    "quantize_model_mkldnn",
    "quantize_graph",
    "calib_graph",
    "quantize_net",
    "quantize_net_v2",
    "combine_histogram",
)
