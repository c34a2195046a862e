"""Stretching dimensions of size 1, and functions of two arrays that do it first."""

from case import Case, Input

ALL = ("add", "sub", "mul", "div", "mod", "maximum", "minimum", "hypot", "equal", "not_equal",
       "greater", "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or",
       "logical_xor")  # fmt: skip
WHOLE = ([[-7, -2, 0], [1, 2, 7]], [[3], [-2]])

CASES = [
    *(Case(f"broadcast_{n}", [(2, 1, 3), Input((1, 4, 1), 0.5, 2)]) for n in ALL),
    *(
        Case(f"broadcast_{n}", [Input((2, 3), -3, 3, "int"), Input((1, 3), 1, 3, "int")])
        for n in ALL
    ),
    *(
        Case(f"broadcast_{n}", [Input(values=v, dtype="int32") for v in WHOLE])
        for n in (*ALL, "power")
    ),
    Case("broadcast_power", [Input((2, 1, 3), 0.2, 3), (1, 4, 1)]),
    Case("broadcast_add", [(2, 3), (3,)]),
    Case("broadcast_add", [(2, 3), (1,)]),
    Case("broadcast_mul", [Input((2, 3), dtype="float64"), Input((2, 1), dtype="float64")]),
    Case("broadcast_mul", [Input((2, 3), dtype="float16"), Input((2, 1), dtype="float16")]),
    Case("broadcast_plus", [(2, 3), (1, 3)]),
    Case("broadcast_minus", [(2, 3), (1, 3)]),
    Case("broadcast_to", [(1, 3)], {"shape": (2, 3)}),
    Case("broadcast_to", [(2, 1, 3)], {"shape": (0, 4, 0)}),
    Case("broadcast_to", [Input((1, 3), 0, 9, "int", "int32")], {"shape": (2, 3)}),
    Case("broadcast_axis", [(1, 2, 1)], {"axis": (0, 2), "size": (2, 3)}),
    Case("broadcast_axes", [(1, 2, 1)], {"axis": 2, "size": 4}),
    Case("broadcast_like", [(1, 2), (3, 2)]),
    Case("broadcast_like", [(1, 2), (3, 5)], {"lhs_axes": (0,), "rhs_axes": (1,)}),
    Case("broadcast_like", [(1, 2), (3, 5)], {"lhs_axes": (-2,), "rhs_axes": (-1,)}),
    Case("broadcast_like", [(1, 2), Input((3, 2), 0, 9, "int", "int32")]),
]
