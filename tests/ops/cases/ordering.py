"""Sorting, and the largest or smallest few."""

from case import Case, Input

TIES = Input(values=[[1.0, 2, 2, 0], [4, -5, 4, 4]])
KINDS = [
    TIES,
    Input(values=[[1, 2, 2, 0], [4, -5, 4, 4]], dtype="int32"),
    Input(values=[[1, 2, 2, 0], [4, 5, 4, 4]], dtype="uint8"),
    Input(values=[[1, 2, 2, 0], [4, -5, 4, 4]], dtype="float64"),
]
WAYS = [{}, {"axis": 0}, {"axis": "None"}, {"is_ascend": False}, {"axis": 1, "is_ascend": True}]

CASES = [
    # The gradient of the reference's sort raises an error.
    *(Case("sort", [x], way, grad=False) for x in KINDS for way in WAYS),
    *(Case("argsort", [x], way) for x in KINDS for way in WAYS),
    *(Case("argsort", [TIES], {"dtype": d}) for d in ("int32", "int64", "uint8", "float64")),
    *(
        Case("topk", [x], {"k": 2, "ret_typ": r, "axis": -1})
        for x in KINDS
        for r in ("value", "indices", "mask", "both")
    ),
    *(
        Case("topk", [TIES], {"k": 2, "ret_typ": r, "axis": a})
        for r in ("value", "indices", "mask", "both")
        for a in (0, "None")
    ),
    Case("topk", [TIES]),
    Case("topk", [TIES], {"k": 0}),
    Case("topk", [TIES], {"k": -1, "ret_typ": "value", "axis": -1}),
    Case("topk", [TIES], {"k": 3, "is_ascend": True, "ret_typ": "both", "axis": -1}),
    Case("topk", [Input((3, 4, 5))], {"k": 2, "axis": 1, "ret_typ": "both", "dtype": "int32"}),
    *(Case("topk", [TIES], {"k": 2, "dtype": d}) for d in ("int64", "uint8", "float64")),
    Case("topk", [Input((2, 4), dtype="float16")], {"k": 2, "ret_typ": "both"}, grad=False),
]
