"""softmax, softmin, log_softmax, SoftmaxActivation, softmax_cross_entropy."""

from case import Case, Input

_FAMILY = ("softmax", "softmin", "log_softmax")


def _lengths(*values, dtype="int32"):
    return Input(values=list(values), dtype=dtype)


CASES = [
    *[Case(op, [(2, 3)]) for op in _FAMILY],
    *[Case(op, [(4,)]) for op in _FAMILY],
    *[Case(op, [(2, 3, 4)], {"axis": axis}) for op in _FAMILY for axis in (0, 1, -1)],
    *[Case(op, [(2, 3)], {"temperature": 0.5}) for op in _FAMILY],
    *[Case(op, [Input((2, 3), -80, 80)], note="far apart") for op in _FAMILY],
    *[Case(op, [Input((2, 3), dtype="float16")]) for op in _FAMILY],
    *[Case(op, [Input((2, 3), dtype="float64")]) for op in _FAMILY],
    *[
        Case(op, [Input((2, 3), dtype="float16")], {"dtype": "float32"}, grad=False, rtol=2e-3)
        for op in _FAMILY
    ],
    Case("softmax", [(2, 3)], {"dtype": "float64"}, grad=False, rtol=1e-5),
    Case("softmax", [(4, 3), _lengths(1, 3, 2, 0)], {"use_length": True}),
    Case("softmax", [(4, 3), _lengths(1, 3, 2, 1, dtype="int64")], {"use_length": True}),
    Case("softmax", [(4, 3), _lengths(1, 3, 4)], {"use_length": True, "axis": 0}),
    Case(
        "softmax",
        [(2, 3, 4), Input((2, 4), 1, 4, kind="int", dtype="int32")],
        {"use_length": True, "axis": 1, "temperature": 2.0},
    ),
    Case("SoftmaxActivation", [(2, 3)]),
    Case("SoftmaxActivation", [(2, 3, 4)], grad=False),  # the reference sums over axis 1
    Case("SoftmaxActivation", [(2, 3, 4)], {"mode": "channel"}),
    Case("SoftmaxActivation", [(2, 3, 4, 2)], {"mode": "channel"}),
    Case("softmax_cross_entropy", [(4, 3), Input(values=[0, 2, 1, 1])], grad=[0]),
    Case(
        "softmax_cross_entropy",
        [Input((4, 3), -40, 40), Input(values=[0, 2, 1, 1])],
        grad=[0],
        note="far apart",
    ),
    Case(
        "softmax_cross_entropy",
        [Input((2, 3), dtype="float64"), Input(values=[0, 2], dtype="float64")],
        grad=[0],
    ),
]
