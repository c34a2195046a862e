"""Rows for `modkit/ops/linalg/interleaved.py`."""

from case import Case

_QK, _VALATT = (
    "_contrib_interleaved_matmul_selfatt_qk",
    "_contrib_interleaved_matmul_selfatt_valatt",
)
_QK2, _VALATT2 = (
    "_contrib_interleaved_matmul_encdec_qk",
    "_contrib_interleaved_matmul_encdec_valatt",
)


CASES = [
    Case(_QK, [(3, 2, 12)], {"heads": 2}),
    Case(_QK, [(4, 1, 9)], {"heads": 1}),
    Case(_QK, [(2, 3, 18)], {"heads": 3}),
    Case(_VALATT, [(3, 2, 12), (4, 3, 3)], {"heads": 2}),
    Case(_VALATT, [(4, 1, 9), (1, 4, 4)], {"heads": 1}),
    Case(_VALATT, [(2, 3, 18), (9, 2, 2)], {"heads": 3}),
    Case(_QK2, [(3, 2, 4), (5, 2, 8)], {"heads": 2}),
    Case(_QK2, [(4, 1, 3), (2, 1, 6)], {"heads": 1}),
    Case(_QK2, [(2, 3, 6), (3, 3, 12)], {"heads": 3}),
    Case(_VALATT2, [(5, 2, 8), (4, 3, 5)], {"heads": 2}),
    Case(_VALATT2, [(2, 1, 6), (1, 4, 2)], {"heads": 1}),
    Case(_VALATT2, [(3, 3, 12), (9, 2, 3)], {"heads": 3}),
]
