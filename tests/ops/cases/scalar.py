"""An array and a number."""

from case import Case, Input

PLAIN = ("plus", "minus", "rminus", "mul", "div", "maximum", "minimum", "hypot", "mod", "equal",
         "not_equal", "greater", "greater_equal", "lesser", "lesser_equal", "logical_and",
         "logical_or", "logical_xor")  # fmt: skip
REVERSED = ("rdiv", "rmod", "power", "rpower")
X = [0.0, 2.0, 1.0, -2.0, -3.5, 3.0]
WHOLE = [-7, -2, -1, 1, 2, 7]

CASES = [
    *(Case(f"_{n}_scalar", [Input(values=X)], {"scalar": s}) for n in PLAIN for s in (2.0, -2.0)),
    *(Case(f"_{n}_scalar", [Input((2, 3), 0.2, 4)], {"scalar": 2.5}) for n in REVERSED),
    *(Case(f"_{n}_scalar", [Input(values=X)], {"scalar": 2.0}) for n in ("power", "rpower")),
    *(Case(f"_{n}_scalar", [Input(values=X[1:])], {"scalar": -2.0}) for n in REVERSED[:2]),
    *(
        Case(f"_{n}_scalar", [Input(values=WHOLE, dtype="int32")], {"scalar": s})
        for n in (*PLAIN, "rdiv", "rmod", "power")
        for s in (2.5, 3)
    ),
    *(
        Case(f"_{n}_scalar", [Input(values=WHOLE, dtype="int32")], {"scalar": -3.0})
        for n in ("div", "mod", "rmod", "rdiv", "hypot", "power")
    ),
    *(
        Case(f"_{n}_scalar", [Input((2, 3), 0.5, 4, dtype="float16")], {"scalar": 2.5})
        for n in (*PLAIN, *REVERSED)
    ),
    *(
        Case(f"_{n}_scalar", [Input((2, 3), 0.5, 4, dtype="float64")], {"scalar": 2.5})
        for n in ("plus", "div", "power", "mod", "hypot", "greater")
    ),
    *(
        Case(f"_{n}_scalar", [Input(values=[1, 0, 1], dtype="bool")], {"scalar": 2.0})
        for n in ("plus", "div", "maximum", "power", "equal", "logical_xor")
    ),
    *(
        Case(f"_{n}_scalar", [Input(values=[0, 1, 2, 7], dtype="uint8")], {"scalar": s})
        for n in ("plus", "rminus", "mul", "div", "mod", "maximum", "greater_equal")
        for s in (2.5, -3.0)
    ),
    Case("_plus_scalar", [Input((2, 3))]),
    Case("_plus_scalar", [Input(values=WHOLE, dtype="int64")], {"scalar": 1e12}),
    Case("_plus_scalar", [Input(values=WHOLE, dtype="int32")], {"scalar": 123456789}),
    *(
        Case(f"_{n}_scalar", [Input(values=WHOLE, dtype=d)], {"scalar": 1.5, "is_int": False})
        for n in ("plus", "div", "greater")
        for d in ("int32", "float32")
    ),
    *(Case(f"_{n}_scalar", [Input(values=X)], {"scalar": 0.0}) for n in ("div", "rdiv", "mod")),
    Case(
        "_rdiv_scalar", [Input(values=[0.003, 300.0], dtype="float16")], {"scalar": 20.0}, atol=1e-4
    ),
    Case("_mod_scalar", [Input(values=WHOLE, dtype="int32")], {"scalar": 0.0}),
    Case("_maximum_scalar", [Input(values=[float("nan"), 1.0])], {"scalar": 0.5}, grad=False),
    Case("_scatter_plus_scalar", [(2, 3)], {"scalar": 2.0}, grad=False),
    Case("_scatter_minus_scalar", [(2, 3)], {"scalar": 2.0}, grad=False),
    Case("_PlusScalar", [(2, 3)], {"scalar": 2.0}),
    Case("_RMinusScalar", [(2, 3)], {"scalar": "2.0"}),
]
