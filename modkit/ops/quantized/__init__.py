"""Int8 inference: 8-bit values with their real range, and sums in int32."""

from modkit.ops.quantized import calibrate, conversions, elementwise, layers, products
