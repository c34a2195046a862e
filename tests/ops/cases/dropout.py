"""Dropout."""

from case import Case, Input

CASES = [
    Case("Dropout", [(2, 3)], grad=False),
    Case("Dropout", [(2, 3)], {"p": 0.9}, grad=False),
    Case("Dropout", [(2, 3)], {"p": 0.0}),
    Case("Dropout", [(2, 3)], {"p": 0.0, "mode": "always"}, train=True),
    Case("Dropout", [Input((2, 3), dtype="float16")], {"p": 0.3}, grad=False),
    Case("Dropout", [(2, 3, 4)], {"p": 0.3, "axes": (1, 2), "cudnn_off": True}, grad=False),
    Case("Dropout", [(20, 30)], {"p": 0.3}, train=True, random=True),
    Case("Dropout", [(20, 30)], {"p": 0.3, "mode": "always"}, random=True),
    Case("Dropout", [(4, 3, 2)], {"p": 0.3, "axes": (0,)}, train=True, random=True),
]
