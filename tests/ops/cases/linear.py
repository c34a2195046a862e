"""Products of arrays."""

from case import Case, Input

BOTH_WAYS = [(a, b) for a in (False, True) for b in (False, True)]

CASES = [
    Case("dot", [(3,), (3,)]),
    Case("dot", [(2,), (2, 3)]),
    Case("dot", [(3, 2), (2,)]),
    Case("dot", [(2, 2, 3), (3, 2)]),
    Case("dot", [Input((2, 3), dtype="float64"), Input((3, 2), dtype="float64")]),
    Case("dot", [(2, 3), (3, 2)], {"forward_stype": "default"}),
    *[Case("dot", [(3, 2, 2) if a else (2, 2, 3), (4, 2, 3) if b else (3, 4, 2)],
           {"transpose_a": a, "transpose_b": b}) for a, b in BOTH_WAYS],
    *[Case("batch_dot", [(2, 3, 2) if a else (2, 2, 3), (2, 4, 3) if b else (2, 3, 4)],
           {"transpose_a": a, "transpose_b": b}) for a, b in BOTH_WAYS],
    Case("batch_dot", [(1, 2, 2, 3), (1, 2, 3, 2)]),
    Case("khatri_rao", [(2, 2), (3, 2)], grad=False),
    Case("khatri_rao", [(2, 3), (3, 3), (2, 3)], grad=False),
    Case("_contrib_div_sqrt_dim", [(2, 5)]),
    Case("_contrib_div_sqrt_dim", [Input((2, 6), -20, 20, kind="int", dtype="int32")]),
    Case("_contrib_div_sqrt_dim", [Input((2, 6), -20, 20, kind="int", dtype="int64")]),
]  # fmt: skip
