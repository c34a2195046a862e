"""Losses: SoftmaxOutput, the regressions, SVMOutput, MakeLoss and CTCLoss."""

from case import Case, Input


def _labels(*shape, high=3, low=0, dtype="float32"):
    return Input(shape, low, high, kind="int", dtype=dtype)


def _softmax_rows():
    """Every combination of the parameters that decide the gradient."""
    layouts = (
        ([(4, 3), _labels(4, low=-1)], {}),
        ([(2, 3, 5), _labels(2, 5, low=-1)], {"multi_output": True}),
        ([(2, 4, 3), _labels(2, 4, low=-1)], {"preserve_shape": True}),
    )
    for inputs, layout in layouts:
        for normalization in ("null", "batch", "valid"):
            for use_ignore in (False, True):
                for more in ({}, {"smooth_alpha": 0.1}):
                    attrs = dict(layout, normalization=normalization, use_ignore=use_ignore)
                    yield Case("SoftmaxOutput", inputs, dict(attrs, **more), grad=[0])


def _regression_rows():
    for op in ("LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput"):
        yield Case(op, [(4, 3), (4, 3)], grad=[0])
        yield Case(op, [(4, 3), (4, 3)], {"grad_scale": 0.5}, grad=[0])
        yield Case(op, [(4, 1), (4,)], grad=[0])
        yield Case(op, [(4, 1), (4, 1)], grad=[0])
        yield Case(op, [(4,), (4,)], grad=[0])
        yield Case(op, [(2, 3, 4), (2, 3, 4)], grad=[0])
        yield Case(op, [Input((2, 3), dtype="float64")] * 2, grad=[0])
        yield Case(op, [Input((2, 3), dtype="float16")] * 2, grad=[0])


def _ctc_rows():
    data, steps = (6, 3, 5), Input(values=[4, 6, 5])
    padded = Input(values=[[1, 2, 3], [4, 0, 0], [2, 2, 0]])
    full = _labels(3, 3, low=1, high=5)
    for op in ("CTCLoss", "ctc_loss", "_contrib_CTCLoss"):
        yield Case(op, [data, padded], grad=[0])
    yield Case("CTCLoss", [data, full], grad=[0], note="no padding")
    yield Case("CTCLoss", [data, _labels(3, 2, low=1, high=5, dtype="int32")], grad=[0])
    yield Case("CTCLoss", [Input(data, -9, 9), padded], grad=[0], note="far apart")
    yield Case("CTCLoss", [data, padded, steps], {"use_data_lengths": True}, grad=[0])
    lengths = Input(values=[2, 3, 1])
    both = {"use_data_lengths": True, "use_label_lengths": True}
    yield Case("CTCLoss", [data, full, steps, lengths], both, grad=[0])
    last = Input(values=[[1, 2, 0], [3, -1, -1], [2, 2, -1]])
    yield Case("CTCLoss", [data, last], {"blank_label": "last"}, grad=[0])


_BATCH = [(4, 3), _labels(4)]
_IGNORED = Input(values=[2, 2, 2, 2])

CASES = [
    *_softmax_rows(),
    Case("SoftmaxOutput", _BATCH, grad=[0]),
    Case("Softmax", _BATCH, grad=[0]),
    Case("SoftmaxOutput", _BATCH, {"grad_scale": 2.5}, grad=[0]),
    Case("SoftmaxOutput", _BATCH, {"smooth_alpha": 0.3}, grad=[0]),
    Case("SoftmaxOutput", _BATCH, {"use_ignore": True, "ignore_label": 1}, grad=[0]),
    Case("SoftmaxOutput", _BATCH, {"normalization": "valid", "ignore_label": 1}, grad=[0]),
    Case(
        "SoftmaxOutput",
        [(4, 3), _IGNORED],
        {"use_ignore": True, "normalization": "valid", "ignore_label": 2},
        grad=[0],
        note="all ignored",
    ),
    Case(
        "SoftmaxOutput",
        [(4, 3), _IGNORED],
        {"normalization": "valid", "ignore_label": 2},
        grad=[0],
        note="none valid",
    ),
    Case("SoftmaxOutput", [(4, 3), Input((4, 3), 0, 1)], grad=[0]),
    *[
        Case(
            "SoftmaxOutput",
            [(4, 3), Input((4, 3), 0, 1)],
            {"grad_scale": 0.5, "normalization": n, "smooth_alpha": 0.2, "use_ignore": True},
            grad=[0],
        )
        for n in ("batch", "valid")
    ],
    Case("SoftmaxOutput", [(4, 3, 2), Input((4, 3, 2), 0, 1)], {"multi_output": True}, grad=[0]),
    Case("SoftmaxOutput", [(4, 3, 2), Input((4, 3, 2), 0, 1)], {"preserve_shape": True}, grad=[0]),
    *[
        Case("SoftmaxOutput", [(4, 3, 5), _labels(4, 3, high=15)], {"normalization": n}, grad=[0])
        for n in ("null", "batch", "valid")
    ],
    Case("SoftmaxOutput", [(4, 5), _labels(4, low=-3, high=9)], grad=[0], note="out of range"),
    Case("SoftmaxOutput", [(4, 5), Input((4,), 0, 4)], grad=[0], note="fractions"),
    Case("SoftmaxOutput", [(2, 3, 2, 5), _labels(2, 10)], {"multi_output": True}, grad=[0]),
    Case("SoftmaxOutput", [(2, 3, 2, 5), _labels(2, 2, 5)], {"multi_output": True}, grad=[0]),
    Case("SoftmaxOutput", [(2, 3, 2, 5), _labels(2, 1, 2, 5)], {"multi_output": True}, grad=[0]),
    Case("SoftmaxOutput", [(2, 3), _labels(2, 1)], {"multi_output": True}, grad=[0]),
    Case("SoftmaxOutput", [(2, 3, 1, 1), _labels(2, 1)], {"multi_output": True}, grad=[0]),
    Case("SoftmaxOutput", [(2, 3, 2, 2), _labels(2, 3, 2)], {"preserve_shape": True}, grad=[0]),
    *[
        Case("SoftmaxOutput", [Input((4, 3), dtype=d), _labels(4, dtype=d)], grad=[0])
        for d in ("float16", "float64")
    ],
    *_regression_rows(),
    *_ctc_rows(),
    *[
        Case("SVMOutput", inputs, dict(attrs, use_linear=linear), grad=[0])
        for linear in (False, True)
        for inputs in ([(4, 3), _labels(4)], [(2, 4, 3), _labels(2, 4)])
        for attrs in ({}, {"margin": 0.4, "regularization_coefficient": 0.3})
    ],
    *[
        Case("MakeLoss", [(4, 3)], {"grad_scale": 0.7, "normalization": n, "valid_thresh": t})
        for n in ("null", "batch", "valid")
        for t in (0.0, 0.3, 2.0)
    ],
    Case("MakeLoss", [(4,)]),
    Case("MakeLoss", [Input((2, 3), dtype="float64")], {"normalization": "valid"}),
    *[
        Case(
            "_contrib_hawkesll",
            [
                Input((2, k), 0.1, 1.0, dtype=kind),
                Input((k,), 0.1, 0.9, dtype=kind),
                Input((k,), 0.5, 2.0, dtype=kind),
                Input((2, k), 0.0, 1.0, dtype=kind),
                Input((2, steps), 0.1, 1.0, dtype=kind),
                Input((2, steps), 0, k, kind="int", dtype="int32"),
                Input(values=lengths, dtype=kind),
                Input((2,), 5.0, 6.0, dtype=kind),
            ],
            grad=(0, 1, 2),
            train=train,
        )
        for k, steps, lengths, kind, train in (
            (1, 4, [4, 2], "float32", True),
            (3, 5, [5, 0], "float32", False),
            (2, 4, [3, 4], "float64", True),
        )
    ],
]
