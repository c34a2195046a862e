"""Rectangular parts, ``where`` and ``clip``."""

from case import Case, Input

SLICES = [
    ((1,), (3,), ()),
    ((None, 1), (None, 3), ()),
    ((5,), (1,), (-2,)),
    ((-3,), (None,), ()),
    ((None, None), (None, None), (2, -1)),
    ((-100,), (2,), ()),
    ((0,), (100,), (None,)),
    ((5,), (None,), (-1,)),
]
EDGES = [1.0, 2.0, 2.5, 3.0, 4.0]

CASES = [Case("slice", [(6, 4)], {"begin": b, "end": e, "step": s}) for b, e, s in SLICES]
CASES += [
    Case("crop", [(3, 4)], {"begin": (0, 1), "end": (2, 4)}),
    Case("slice_axis", [(6, 4)], {"axis": -1, "begin": -2, "end": None}),
    Case("slice_axis", [(6, 4)], {"axis": 0, "begin": 1, "end": -3}),
    Case("slice_like", [(4, 5), (2, 3)]),
    Case("slice_like", [(4, 5), (2, 3)], {"axes": (-1,)}),
    Case("slice_like", [(4, 5), (2, 2, 2)], {"axes": (1,)}),
    Case("Crop", [(1, 2, 4, 5)], {"h_w": (2, 3), "offset": (1, 2), "num_args": 1}),
    Case("Crop", [(1, 2, 5, 5)], {"h_w": (2, 3), "center_crop": True, "num_args": 1}),
    Case("Crop", [(1, 2, 4, 5), (1, 3, 2, 2)], {"num_args": 2}),
    Case("_slice_assign", [(3, 4), (2, 2)], {"begin": (0, 1), "end": (2, 3)}, grad=False),
    Case("_slice_assign", [(4, 3), (2, 3)], {"begin": (None,), "end": (None,), "step": (2,)},
         grad=False),
    Case("_slice_assign_scalar", [(3, 4)], {"scalar": 2.5, "begin": (0, 1), "end": (2, 3)},
         grad=False),
    Case("_slice_assign_scalar", [Input((3, 4), 0, 9, "int", "int32")],
         {"scalar": 7.8, "begin": (0, 1), "end": (2, 3)}, grad=False),
    Case("where", [Input(values=[[1, 0, 2], [0, -1, 0]]), (2, 3), (2, 3)]),
    Case("where", [Input(values=[1, 0]), (2, 3), (2, 3)]),
    Case("where", [Input(values=[1, 0], dtype="int32"), Input((2, 3), dtype="float64"),
                   Input((2, 3), dtype="float64")]),
    Case("clip", [Input(values=EDGES)], {"a_min": 2.0, "a_max": 3.0}),
    Case("clip", [Input(values=EDGES)], {"a_min": 3.0, "a_max": 2.0}, note="wrong order"),
    Case("clip", [Input(values=[-5, -2, 0, 3], dtype="int32")], {"a_min": -2.5, "a_max": 1.9}),
    Case("clip", [Input(values=[0, 3, 9], dtype="uint8")], {"a_min": -2.5, "a_max": 7.5}),
    Case("clip", [Input((4,), dtype="float64")], {"a_min": -0.3, "a_max": 0.3}),
]  # fmt: skip
