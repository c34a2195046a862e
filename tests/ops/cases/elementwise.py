"""Functions of one array, element by element."""

from case import Case, Input

X = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]
HALVES = [-2.5, -1.5, -0.5, -0.3, 0.0, 0.49999997, 0.5, 1.5, 2.5, 1e7 + 0.5]
WIDE = [6e-4, 3e-3, 300.0, 1000.0]
"""Squares of these, or their inverses, are outside of float16."""
WHOLE = [-7, -2, -1, 0, 1, 2, 7]

ANY = ("erf", "exp", "expm1", "sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "arcsinh",
       "degrees", "radians", "sigmoid", "softsign", "negative", "abs", "sign", "square", "relu",
       "logical_not", "cbrt")  # fmt: skip
POSITIVE = ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "rcbrt", "gammaln", "gamma",
            "reciprocal")  # fmt: skip
WITHIN_ONE = ("erfinv", "arcsin", "arccos", "arctanh")
ROUNDING = ("round", "rint", "ceil", "floor", "trunc", "fix")
INFINITE_AT_ZERO = ("gamma", "gammaln")

CASES = [
    *(Case(n, [Input((2, 3), -3, 3)]) for n in ANY),
    *(Case(n, [Input(values=X)], note="points") for n in ANY),
    *(Case(n, [Input((2, 3), -3, 3, dtype="float16")]) for n in ANY),
    *(Case(n, [Input((2, 3), -3, 3, dtype="float64")], rtol=1e-5) for n in ANY),
    *(Case(n, [Input(values=WHOLE, dtype="int32")]) for n in ANY if n not in ("sinh", "cosh")),
    *(Case(n, [Input((2, 3), 0.1, 4)]) for n in POSITIVE),
    *(Case(n, [Input((2, 3), 0.5, 4, dtype="float16")]) for n in POSITIVE),
    *(Case(n, [Input((2, 3), 0.1, 4, dtype="float64")], rtol=1e-5) for n in POSITIVE),
    *(Case(n, [Input(values=[1, 2, 7], dtype="int32")]) for n in POSITIVE),
    *(Case(n, [Input(values=X[1:])], note="points") for n in POSITIVE if n not in INFINITE_AT_ZERO),
    *(Case(n, [Input(values=[-2.5, -0.5, 0.5, 1, 2])], note="points") for n in INFINITE_AT_ZERO),
    *(Case(n, [Input((2, 3), -0.95, 0.95)]) for n in WITHIN_ONE),
    *(Case(n, [Input(values=[-1.0, 0, 1])], note="ends") for n in WITHIN_ONE),
    *(Case(n, [Input((2, 3), -0.95, 0.95, dtype="float64")], rtol=1e-5) for n in WITHIN_ONE),
    Case("arccosh", [Input((2, 3), 1.1, 5)]),
    Case("arccosh", [Input(values=[1.0, 2.0])], note="ends"),
    *(
        Case(n, [Input(values=WIDE[-2:], dtype="float16")], note="wide", atol=1e-4)
        for n in ("arccosh", "arcsinh")
    ),
    Case("rsqrt", [Input(values=WIDE, dtype="float16")], note="wide", atol=1e-4),
    *(Case(n, [Input(values=HALVES)]) for n in ROUNDING),
    *(Case(n, [Input(values=HALVES[:9], dtype="float16")]) for n in ROUNDING),
    *(Case(n, [Input(values=WHOLE, dtype="int32")]) for n in ROUNDING),
    Case("negative", [Input(values=[0, 1, 7], dtype="uint8")]),
    Case("degrees", [Input(values=[0, 1, 7], dtype="uint8")], note="wraps"),
    Case("sqrt", [Input(values=[0, 1, 7], dtype="int64")]),
    Case("relu", [Input(values=[float("nan"), -1.0, 1.0])], note="nan", grad=False),
    Case("hard_sigmoid", [Input((2, 3), -4, 4)]),
    Case("hard_sigmoid", [Input(values=[-2.5, 0, 2.5])], note="ends"),
    Case("hard_sigmoid", [Input((2, 3), -4, 4)], {"alpha": 0.3, "beta": 0.6}),
    Case("smooth_l1", [Input((3, 4), -3, 3)]),
    Case("smooth_l1", [Input(values=[-2, -0.25, -0.1, 0, 0.25, 0.3])], {"scalar": 2.0}),
    *(Case("smooth_l1", [Input(values=WHOLE, dtype="int32")], {"scalar": s}) for s in (1.0, 0.9)),
    Case("smooth_l1", [Input((3, 4), -3, 3, dtype="float16")]),
    Case("_contrib_quadratic", [(2, 3)], {"a": 1.0, "b": -2.0, "c": 3.0}),
]
