"""Reductions."""

from case import Case, Input

PLAIN = ("sum", "mean", "prod", "nansum", "nanprod", "max", "min")
TIES = Input(values=[[1.0, 2, 2], [4, -5, 4]])
WHOLE = [[1, 2, 2], [4, -5, 4]]
NAN = Input(values=[[float("nan"), 2, 3], [1, float("nan"), 5]])
WAYS = [
    {},
    {"axis": 1},
    {"axis": (0, -1)},
    {"axis": (), "keepdims": True},
    {"axis": (0, 2), "keepdims": True},
    {"axis": (0, 1, 2)},
    {"axis": 1, "exclude": True},
    {"axis": (0, 1, 2), "exclude": True},
]

CASES = [
    *(Case(n, [(2, 3, 4)], way) for n in PLAIN for way in WAYS),
    *(Case(n, [TIES], {"axis": 1}, note="ties") for n in PLAIN),
    *(Case(n, [Input(values=WHOLE, dtype="int32")], w) for n in PLAIN for w in ({}, {"axis": 0})),
    *(Case(n, [Input(values=WHOLE, dtype="int64")]) for n in PLAIN),
    *(Case(n, [Input(values=[[100, 100], [3, -7]], dtype="int8")]) for n in PLAIN),
    *(Case(n, [Input(values=[[200, 100], [3, 7]], dtype="uint8")]) for n in PLAIN),
    *(Case(n, [Input((2, 3), 0.5, 1.5, dtype="float16")], {"axis": 1}) for n in PLAIN),
    *(Case(n, [Input((2, 3), 0.5, 1.5, dtype="float64")], {"axis": 1}) for n in PLAIN),
    *(Case(n, [Input(values=[[1, 0], [1, 1]], dtype="bool")]) for n in ("sum", "max", "min")),
    *(Case(n, [NAN], {"axis": 1}, note="nan") for n in ("sum", "nansum", "nanprod")),
    *(Case(n, [NAN], {"axis": 1}, note="nan", grad=False) for n in ("max", "min", "mean")),
    Case("sum", [(5,)], {"axis": 0}),
    Case("sum", [(5, 2, 4)], {"axis": (0, 2), "keepdims": True}),
    Case("sum", [(5, 2, 4)], {"axis": 2, "keepdims": True}),
    Case("sum_axis", [(2, 3)], {"axis": "1"}),
    Case("max_axis", [(2, 3)], {"axis": "(1,)"}),
    Case("min_axis", [(2, 3)], {"axis": "None"}),
    *(
        Case("norm", [(2, 3, 4)], {"ord": o, **way})
        for o in (1, 2)
        for way in ({}, {"axis": 1}, {"axis": (0, 1)}, {"axis": (1, 2), "keepdims": True})
    ),
    Case("norm", [(2, 3)]),
    Case("norm", [(2, 3)], {"keepdims": True}),
    Case("norm", [Input(values=[[0.0, 2, 0], [3, 0, 4]])], {"axis": 1}),
    Case("norm", [Input(values=[[0.0, 2, 0], [3, 0, 4]])], {"axis": 1, "ord": 1}),
    *(
        Case("norm", [Input(values=[[1, 0, 1], [0, 0, 0]], dtype="bool")], {"ord": o, **way})
        for o in (1, 2)
        for way in ({}, {"axis": 1})
    ),
    Case("norm", [Input((2, 3), dtype="float64")], {"axis": 0}),
    Case("norm", [Input((2, 3), dtype="float16")], {"axis": 0}),
    *(
        Case(n, [x], way)
        for n in ("argmax", "argmin")
        for x in (TIES, Input(values=WHOLE, dtype="int32"))
        for way in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"keepdims": True})
    ),
    *(Case(n, [NAN], {"axis": 1}, note="nan") for n in ("argmax", "argmin")),
    Case("argmax", [Input((2, 3), dtype="float16")], {"axis": -1}),
    Case("argmax", [(5,)], {"axis": 0}),
    Case("argmax_channel", [(3, 4)], grad=False),
    Case("argmax_channel", [(3, 4, 2)], grad=False),
    Case("moments", [(2, 3, 4)], {"axes": (0, 2)}),
    Case("moments", [(2, 3, 4)], {"axes": (0, 1, 2)}),
    Case("moments", [(2, 3)], {"axes": 1, "keepdims": True}),
    Case("moments", [Input(values=WHOLE, dtype="int32")], {"axes": 1}),
]
