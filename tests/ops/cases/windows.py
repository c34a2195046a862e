"""Rows for `modkit/ops/nn/im2col.py`."""

from case import Case, Input

_STRIDED = {"kernel": (2, 3), "stride": (2, 1), "dilate": (1, 2), "pad": (1, 2)}

CASES = [
    Case("im2col", [(2, 3, 4, 5)], {"kernel": (2, 2)}),
    Case("im2col", [(1, 2, 5, 6)], _STRIDED),
    Case("im2col", [Input((1, 2, 3, 3), dtype="float64")], {"kernel": (3, 3), "pad": (1, 1)}),
    Case("im2col", [Input((5, 5, 4, 2), dtype="float64")], _STRIDED),
    Case("col2im", [(2, 12, 12)], {"output_size": (4, 5), "kernel": (2, 2)}),
    Case("col2im", [(1, 12, 18)], dict(_STRIDED, output_size=(5, 6))),
    Case(
        "col2im",
        [Input((1, 18, 9), dtype="float64")],
        {"output_size": (3, 3), "kernel": (3, 3), "pad": (1, 1)},
    ),
]
