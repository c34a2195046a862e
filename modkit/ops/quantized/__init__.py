"""Int8 inference: 8-bit values with their real range, and sums in int32."""
