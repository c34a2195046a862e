"""Int8 inference: values of 8 bits with the range that they stand for, and sums in int32."""

from modkit.ops.quantized import calibrate as calibrate
from modkit.ops.quantized import conversions as conversions
from modkit.ops.quantized import elementwise as elementwise
from modkit.ops.quantized import layers as layers
from modkit.ops.quantized import products as products
