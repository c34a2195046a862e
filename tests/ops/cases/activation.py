"""Activation and LeakyReLU."""

from case import Case, Input

_EDGES = Input(values=[[-90.0, -2.0, -0.0], [0.0, 1.0, 90.0]])
_DOUBLE = Input((5,), dtype="float64")
_TYPES = ("relu", "sigmoid", "softrelu", "softsign", "tanh")
_LEAKY = (("elu", True), ("gelu", True), ("leaky", True), ("selu", False))
"""With whether the reference's gradient is the derivative (else: tests/ops/test_activation.py)."""

CASES = [
    *[Case("Activation", [(2, 3, 4)], {"act_type": name}) for name in _TYPES],
    *[Case("Activation", [_EDGES], {"act_type": name}, note="edges") for name in _TYPES],
    *[Case("Activation", [_DOUBLE], {"act_type": name}) for name in _TYPES],
    Case("Activation", [Input((5,), dtype="float16")], {"act_type": "tanh"}),
    Case("LeakyReLU", [(2, 3)]),
    *[Case("LeakyReLU", [(2, 3, 4)], {"act_type": n}, grad=g) for n, g in _LEAKY],
    *[Case("LeakyReLU", [_EDGES], {"act_type": n}, grad=g, note="edges") for n, g in _LEAKY],
    *[Case("LeakyReLU", [_DOUBLE], {"act_type": n}, grad=g) for n, g in _LEAKY],
    Case("LeakyReLU", [(3, 4)], {"act_type": "elu", "slope": 0.7}),
    Case("LeakyReLU", [(3, 4)], {"act_type": "leaky", "slope": 0.01}),
    Case("LeakyReLU", [(3, 4), (4,)], {"act_type": "prelu"}),
    Case("LeakyReLU", [(3, 4), (1,)], {"act_type": "prelu"}, grad=[0, 1]),
    Case("LeakyReLU", [(2, 3, 4, 5), (3,)], {"act_type": "prelu"}),
    Case("LeakyReLU", [(2, 3, 4), (1,)], {"act_type": "prelu"}),
    Case("LeakyReLU", [(2, 3), (2, 3)], {"act_type": "prelu"}),
    Case("LeakyReLU", [(2, 3, 4), (2, 3)], {"act_type": "prelu"}),
    Case("LeakyReLU", [(2, 3, 4), (1, 3)], {"act_type": "prelu"}, grad=[0]),
    Case("LeakyReLU", [(2, 3, 4), (2,)], {"act_type": "prelu"}, grad=[0]),
    Case("LeakyReLU", [(2, 3)], {"act_type": "rrelu"}, random=True),
]
