"""``mx.contrib.quantization``: int8 inference of MXNet's kernels.

Its names can be imported, and raise when they are called.
"""

from modkit.contrib.absent import absent_names

__getattr__ = absent_names(__name__, "XLA compiles float32, bfloat16 and float16")
