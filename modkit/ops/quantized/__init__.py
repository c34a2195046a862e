"""Int8 inference: 8-bit values with their real range, and sums in int32."""

from modkit.ops.quantized import calibrate as calibrate
from modkit.ops.quantized import conversions as conversions
from modkit.ops.quantized import elementwise as elementwise
from modkit.ops.quantized import layers as layers
from modkit.ops.quantized import products as products
