"""Functions of arrays of one shape."""

from case import Case, Input

ALL = ("elemwise_add", "elemwise_sub", "elemwise_mul", "elemwise_div", "_mod", "_maximum",
       "_minimum", "_hypot", "_equal", "_not_equal", "_greater", "_greater_equal", "_lesser",
       "_lesser_equal", "_logical_and", "_logical_or", "_logical_xor")  # fmt: skip
LEFT = [1, 1, 2, -2, 3, -3.5, 0.5]
RIGHT = [1, 2, 1, -2, -2, 2, 3]
WHOLE = ([-7, -2, -1, 0, 1, 2, 7], [3, -3, 2, 5, -2, 3, 2])

CASES = [
    *(Case(n, [(2, 3), Input((2, 3), 0.5, 2)]) for n in ALL),
    *(Case(n, [Input(values=LEFT), Input(values=RIGHT)], note="points") for n in ALL),
    *(Case(n, [Input(values=v, dtype="int32") for v in WHOLE]) for n in (*ALL, "_power")),
    *(
        Case(n, [Input((4,), 0.5, 3, dtype="float16"), Input((4,), 0.5, 3, dtype="float16")])
        for n in (*ALL, "_power")
        # The reference's own gradient, in float16 throughout, is far off for a remainder.
        if n != "_mod"
    ),
    *(
        Case(n, [Input((4,), 0.5, 3, dtype="float64"), Input((4,), 0.5, 3, dtype="float64")])
        for n in ("elemwise_div", "_power", "_hypot")
    ),
    Case("_power", [Input((2, 3), 0.2, 3), (2, 3)]),
    Case("_power", [Input(values=[-2.0, -0.5, 3.0]), Input(values=[2.0, 3.0, -1.0])], grad=(0,)),
    Case("elemwise_div", [Input(values=[1.0, -1.0]), Input(values=[0.0, 0.0])], note="zero"),
    Case("_grad_add", [(2, 3), (2, 3)], grad=False),
    Case("_scatter_elemwise_div", [(2, 3), Input((2, 3), 1, 2)]),
    Case("elemwise_div", [Input(values=[6e-4, 3e-3, 300, 1000], dtype="float16")] * 2, note="wide"),
    Case("_identity_with_attr_like_rhs", [(2, 3), (2, 3)]),
    Case("_Plus", [(2, 3), (2, 3)]),
    Case("_minus", [(2, 3), (2, 3)]),
    Case("add_n", [(2, 3)] * 3),
    Case("add_n", [(2, 3)]),
    Case("ElementWiseSum", [Input((2,), 0, 9, "int", "int32")] * 2),
]
