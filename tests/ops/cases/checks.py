"""One answer about whole arrays."""

from case import Case, Input

INF = float("inf")
NAN = float("nan")
INFINITE = Input(values=[1.0, INF])

CASES = [
    Case("all_finite", [(2, 3)], grad=False),
    Case("all_finite", [INFINITE], grad=False),
    Case("all_finite", [Input((2,), dtype="float16")], grad=False),
    Case("multi_all_finite", [(2, 3), (2,)], {"num_arrays": 2}, grad=False),
    Case("multi_all_finite", [(2, 3), INFINITE], {"num_arrays": 2}, note="inf", grad=False),
    Case("multi_sum_sq", [(2, 3), (4,)], {"num_arrays": 2}, grad=False),
    Case("multi_sum_sq", [Input((3,), dtype="float16")], {"num_arrays": 1}, grad=False),
    *[
        Case(
            "_contrib_allclose", [Input(values=a), Input(values=b)], attrs, grad=False, note=str(i)
        )
        for i, (a, b, attrs) in enumerate(
            (
                ([1.0, 2.0], [1.0, 2.00001], {}),
                ([1.0, 2.0], [1.0, 2.1], {}),
                ([1.0, 2.0], [1.0, 2.1], {"rtol": 0.1}),
                ([1.0, 2.0], [1.0, 2.1], {"atol": 0.2}),
                ([[1.0, NAN]], [[1.0, NAN]], {}),
                ([[1.0, NAN]], [[1.0, NAN]], {"equal_nan": False}),
                ([INF, -INF], [INF, -INF], {}),
                ([INF, -INF, 1.0], [INF, INF, 1.0], {}),
                ([INF], [3.0], {}),
            )
        )
    ],
    Case(
        "_contrib_allclose",
        [Input(values=[1, 2], dtype="int64"), Input(values=[1, 3], dtype="int64")],
        grad=False,
    ),
]
