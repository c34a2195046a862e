"""Random numbers: shapes, element types and gradients. Their distribution is in test_random_ops."""

from case import Case, Input

LEGAL = {
    "uniform": {"low": -1, "high": 2},
    "normal": {"loc": 1.5, "scale": 2},
    "gamma": {"alpha": 2, "beta": 3},
    "exponential": {"lam": 4},
    "poisson": {"lam": 4},
    "negative_binomial": {"k": 3, "p": 0.5},
    "generalized_negative_binomial": {"mu": 3, "alpha": 0.5},
}
TWO = ("uniform", "normal", "gamma", "negative_binomial", "generalized_negative_binomial")
PROBABILITIES = Input(values=[[0.1, 0.2, 0.7], [0, 1, 0]])


def _draw(op, inputs=(), attrs=None):
    return Case(op, inputs, attrs or {}, random=True)


CASES = [
    *(_draw(f"_random_{n}", attrs={**a, "shape": (2, 3)}) for n, a in LEGAL.items()),
    *(_draw(f"random_{n}", attrs={"shape": 4}) for n in LEGAL),
    *(
        _draw(f"_random_{n}", attrs={"shape": (2, 3), "dtype": d})
        for n in LEGAL
        for d in ("float16", "float64")
    ),
    *(
        _draw(f"_random_{n}_like", [Input((2, 3), dtype=d)], a)
        for n, a in LEGAL.items()
        for d in ("float32", "float64")
    ),
    *(
        _draw(f"_sample_{n}", [Input((2, 3), 0.2, 0.9)] * (1 + (n in TWO)), attrs)
        for n in LEGAL
        for attrs in ({}, {"shape": 4}, {"shape": (4, 5), "dtype": "float64"})
    ),
    _draw("sample_uniform", [Input((2,), dtype="float64")] * 2),
    _draw("uniform", attrs={"shape": (2,)}),
    _draw("normal", attrs={"shape": (2,), "ctx": "cpu(0)"}),
    _draw("_random_randint", attrs={"low": 0, "high": 5, "shape": (2, 3)}),
    _draw("random_randint", attrs={"low": -5, "high": 5, "shape": 4, "dtype": "int64"}),
    _draw("_sample_multinomial", [PROBABILITIES]),
    _draw("_sample_multinomial", [Input(values=[0.5, 0.5])]),
    _draw("_sample_multinomial", [PROBABILITIES], {"shape": 4}),
    _draw("_sample_multinomial", [PROBABILITIES], {"shape": (4, 5), "get_prob": True}),
    _draw("sample_multinomial", [PROBABILITIES], {"dtype": "uint8", "get_prob": True}),
    Case("_sample_multinomial", [Input(values=[[0, 1.0], [1.0, 0]])], note="certain", grad=False),
    Case("_sample_multinomial", [Input(values=[[0, 1.0, 0]])], {"get_prob": True}, note="certain"),
    _draw("_sample_unique_zipfian", attrs={"range_max": 30, "shape": (2, 12)}),
    _draw("_shuffle", [(5, 2)]),
    _draw("shuffle", [Input((4,), 0, 9, "int", "int32")]),
]
