"""The same values with another gradient, type or filling."""

from case import Case, Input

FRACTIONS = Input(values=[-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5])
WHOLE = Input(values=[-7, 0, 3, 120], dtype="int32")

CASES = [
    *(Case(n, [(2, 3)]) for n in ("_copy", "identity", "BlockGrad", "zeros_like", "ones_like")),
    *(Case(n, [WHOLE]) for n in ("_copy", "BlockGrad", "zeros_like", "ones_like", "make_loss")),
    *(Case(n, [Input((2,), dtype="float64")]) for n in ("_copy", "zeros_like", "ones_like")),
    Case("stop_gradient", [(2, 3)]),
    Case("ones_like", [Input(values=[1, 0], dtype="bool")]),
    Case("make_loss", [(2, 3)]),
    *(Case("Cast", [FRACTIONS], {"dtype": d}) for d in ("float16", "float32", "float64")),
    *(
        Case("Cast", [FRACTIONS], {"dtype": d}, grad=False)
        for d in ("int32", "uint8", "int8", "int64", "bool")
    ),
    *(Case("cast", [WHOLE], {"dtype": d}) for d in ("float32", "uint8", "int8", "int64", "bool")),
    Case("cast", [Input(values=[300.7, -1.5, 260.0])], {"dtype": "uint8"}, grad=False),
    Case("Cast", [Input((2, 3), dtype="float16")], {"dtype": "float32"}),
    *(Case("amp_cast", [FRACTIONS], {"dtype": d}) for d in ("float16", "float32", "float64")),
    Case("amp_cast", [WHOLE], {"dtype": "float16"}),
    Case("amp_cast", [Input((2, 3), dtype="float64")], {"dtype": "float16"}),
    Case("amp_cast", [FRACTIONS], {"dtype": "int32"}, grad=False),
    Case("amp_multicast", [(2,), Input((3,), dtype="float16")], {"num_outputs": 2}),
    Case(
        "amp_multicast",
        [(2,), Input((3,), dtype="float16")],
        {"num_outputs": 2, "cast_narrow": True},
    ),
    Case(
        "amp_multicast",
        [Input((2,), dtype="float16"), Input((3,), dtype="float64"), (2,)],
        {"num_outputs": 3},
    ),
    *(Case("cast_storage", [(2, 3)], {"stype": s}) for s in ("default", "csr", "row_sparse")),
    Case("shape_array", [(2, 3)]),
    Case("shape_array", [WHOLE]),
    Case("size_array", [(2, 3)]),
]
