"""Densities and probabilities of samples."""

from case import Case, Input

BETWEEN = Input(values=[[1.1, 1.9, 1.5], [0.55, 0.58, 0.51]])
COUNTS = Input(values=[[1.0, 2, 5], [3, 0, 1]])
ONE, TWO = Input(values=[1.0, 0.5]), Input(values=[2.0, 0.6])
ROWS = {
    "uniform": [BETWEEN, ONE, TWO],
    "normal": [BETWEEN, ONE, TWO],
    "gamma": [BETWEEN, ONE, TWO],
    "exponential": [BETWEEN, ONE],
    "poisson": [COUNTS, ONE],
    "negative_binomial": [COUNTS, Input(values=[1.0, 3]), Input(values=[0.3, 0.6])],
    "generalized_negative_binomial": [COUNTS, ONE, TWO],
    "dirichlet": [Input(values=[[[0.2, 0.8], [0.5, 0.5]]]), Input(values=[[2.0, 3.0]])],
}

CASES = [
    *(Case(f"_random_pdf_{n}", inputs) for n, inputs in ROWS.items()),
    *(Case(f"random_pdf_{n}", inputs, {"is_log": True}) for n, inputs in ROWS.items()),
    Case("_random_pdf_normal", [(2, 3), (2, 3), Input((2, 3), 0.5, 2)]),
]
