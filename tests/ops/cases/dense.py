"""The fully connected layer."""

from case import Case

CASES = [
    Case("FullyConnected", [(4, 3), (5, 3), (5,)], {"num_hidden": 5}),
    Case("FullyConnected", [(4, 3), (5, 3)], {"num_hidden": 5, "no_bias": True}),
    Case("FullyConnected", [(2, 3, 2, 2), (4, 12), (4,)], {"num_hidden": 4}),
    Case("FullyConnected", [(2, 3, 4), (5, 4), (5,)], {"num_hidden": 5, "flatten": False}),
    Case("FullyConnected", [(3,), (2, 1), (2,)], {"num_hidden": 2}),
    Case(
        "FullyConnected",
        [(3,), (2, 3)],
        {"num_hidden": 2, "no_bias": True, "flatten": False},
    ),
]
