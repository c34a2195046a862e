"""One answer about whole arrays."""

from case import Case, Input

INF = Input(values=[1.0, float("inf")])

CASES = [
    Case("all_finite", [(2, 3)], grad=False),
    Case("all_finite", [INF], grad=False),
    Case("all_finite", [Input((2,), dtype="float16")], grad=False),
    Case("multi_all_finite", [(2, 3), (2,)], {"num_arrays": 2}, grad=False),
    Case("multi_all_finite", [(2, 3), INF], {"num_arrays": 2}, note="inf", grad=False),
    Case("multi_sum_sq", [(2, 3), (4,)], {"num_arrays": 2}, grad=False),
    Case("multi_sum_sq", [Input((3,), dtype="float16")], {"num_arrays": 1}, grad=False),
]
