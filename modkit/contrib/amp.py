"""``mx.contrib.amp``: mixed precision of MXNet.

Its names can be imported, and raise when they are called.
"""

from modkit.contrib.absent import absent_names

__getattr__ = absent_names(
    __name__,
    "Module(..., compute_dtype='bfloat16') trains in mixed precision, see docs/mixed_precision.md",
)
