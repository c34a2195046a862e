"""``mx.contrib.amp``: mixed precision of MXNet.

Its names can be imported, and raise when they are called.
"""

from modkit.contrib.absent import absent_names

__getattr__ = absent_names(
    __name__,
    "Module(..., compute_dtype='bfloat16') trains in mixed precision, see docs/mixed_precision.md",
    "init",
    "init_trainer",
    "scale_loss",
    "unscale",
    "convert_model",
    "convert_symbol",
    "convert_hybrid_block",
    "list_lp16_ops",
    "list_fp32_ops",
    "list_lp16_fp32_ops",
    "list_conditional_fp32_ops",
    "list_widest_type_cast",
    "list_loss_output_functions",
)
