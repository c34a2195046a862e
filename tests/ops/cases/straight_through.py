"""Functions whose gradient is chosen, not derived."""

from case import Case, Input

CASES = [
    Case("_contrib_round_ste", [Input(values=[1.5, -2.5, 0.3])]),
    Case("_contrib_sign_ste", [Input(values=[1.5, -2.5, 0.0])]),
    Case("_contrib_gradientmultiplier", [(2, 3)], {"scalar": -3.0}),
    Case("_contrib_gradientmultiplier", [(2, 3)]),
]
