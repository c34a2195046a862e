"""Pooling, and its first version."""

from case import Case, Input

SHAPES = [
    {"kernel": (2, 2), "stride": (2, 2)},
    {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)},
    {"kernel": (2, 2), "stride": (3, 3), "pad": (1, 1)},
    {"kernel": (3, 2)},
    {"global_pool": True},
    {"kernel": (2, 2), "pad": (1, 1), "global_pool": True},
]
TIES = Input(values=[[[[1, 1, 0, 2, 2], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0], [3, 0, 3, 0, 3]]]])
"""Equal values, so that the row says which of them has the gradient."""

CASES = [
    Case(
        "Pooling",
        [Input(values=[[[300.0, -400.0, 1000.0]]], dtype="float16")],
        {"pool_type": "lp", "p_value": 2, "kernel": (2,)},
    ),
    *(
        Case(op, [(2, 2, 5, 6)], {"pool_type": kind, "pooling_convention": rounded, **attrs})
        for op in ("Pooling", "Pooling_v1")
        for kind in ("max", "avg", "sum")
        for rounded in ("valid", "full")
        for attrs in SHAPES
    ),
    *(
        Case("Pooling", [(2, 2, 7)], {**attrs, "pad": (0, 0, 0), "pooling_convention": "same"})
        for attrs in (
            {"kernel": (2,), "stride": (2,)},
            {"kernel": (3,)},
            {"kernel": (4,), "stride": (3,), "pool_type": "avg"},
            {"kernel": (3,), "stride": (2,), "pool_type": "sum"},
        )
    ),
    *(
        Case("Pooling", [(2, 2, 5, 6)], {"pool_type": "avg", "count_include_pad": count, **attrs})
        for count in (True, False)
        for attrs in (*SHAPES[1:3], {**SHAPES[2], "pooling_convention": "full"})
    ),
    *(
        Case(op, [TIES], attrs, note="ties")
        for op in ("Pooling", "Pooling_v1")
        for attrs in (SHAPES[1], {"kernel": (2, 2)}, {"global_pool": True})
    ),
    *(
        Case("Pooling", [(1, 2, 5, 5)], {"pool_type": "lp", "p_value": p, **attrs})
        for p in (1, 2)
        for attrs in (SHAPES[0], SHAPES[1], SHAPES[4])
    ),
    Case(
        "Pooling",
        [Input((1, 2, 5, 5), low=0.1)],
        {"pool_type": "lp", "p_value": 3, "kernel": (2, 2)},
    ),
    Case(
        "Pooling",
        [Input((1, 1, 3, 3), low=0, high=0)],
        {"pool_type": "lp", "p_value": 2, **SHAPES[3]},
    ),
    Case("Pooling", [(2, 3, 7)], {"kernel": (3,), "stride": (2,)}),
    Case("Pooling", [(2, 3, 7)], {"kernel": (3,), "stride": (2, 3), "pad": (1, 0, 2)}),
    Case("Pooling", [(2, 3, 7)], {"kernel": (3,), "pool_type": "avg", "pad": (1,)}),
    Case("Pooling", [(1, 2, 4, 5, 6)], {"kernel": (2, 2, 3), "stride": (2, 2, 2)}),
    Case("Pooling", [(1, 2, 4, 5, 6)], {"kernel": (2, 2, 3), "pool_type": "avg"}),
    Case("Pooling", [(1, 2, 4, 5, 6)], {"global_pool": True, "pool_type": "avg"}),
    Case("Pooling", [(2, 2, 5, 6)], {"kernel": 3, "global_pool": True, "layout": "NCHW"}),
    *(
        Case(
            op,
            [(2, 2, 5, 6)],
            {"kernel": (3, 3), "stride": (2,), "pad": (1, -1, 1), "global_pool": True},
        )
        for op in ("Pooling", "Pooling_v1")
    ),
    Case("Pooling", [(2, 7, 3)], {"kernel": (3,), "stride": (2,), "layout": "NWC"}),
    Case("Pooling", [(2, 5, 6, 3)], {"layout": "NHWC", **SHAPES[1]}),
    Case(
        "Pooling",
        [(2, 5, 6, 3)],
        {"layout": "NHWC", "pool_type": "avg", "global_pool": True, "kernel": (1, 1)},
    ),
    Case("Pooling", [(1, 4, 5, 6, 2)], {"kernel": (2, 2, 3), "layout": "NDHWC"}),
    *(
        Case("Pooling", [Input((2, 2, 5, 6), dtype=dtype)], {"pool_type": kind, **SHAPES[1]})
        for dtype in ("float16", "float64")
        for kind in ("max", "avg")
    ),
]
