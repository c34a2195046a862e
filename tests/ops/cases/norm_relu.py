"""BatchNormWithReLU, which the reference has for float32 images in training only."""

from case import Case, Input

SETTINGS = [
    {},
    {"fix_gamma": False},
    {"fix_gamma": False, "use_global_stats": True},
    {"fix_gamma": False, "eps": 0.1, "momentum": 0.5},
]
INPUTS = [(4, 3, 2, 2), (3,), (3,), Input((3,), low=-0.5, high=0.5), Input((3,), low=0.5, high=2.0)]

CASES = [Case("_contrib_BatchNormWithReLU", INPUTS, a, aux=2, train=True) for a in SETTINGS] + [
    Case("_contrib_BatchNormWithReLU", INPUTS, a, aux=2, grad=False) for a in SETTINGS[:2]
]
