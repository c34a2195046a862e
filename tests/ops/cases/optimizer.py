"""Rows for the update operators of `modkit/ops/update/sgd.py` and `optimizer_moments.py`."""

from case import Case, Input

W = (3, 4)
FULL = {"wd": 0.1, "rescale_grad": 0.7, "clip_gradient": 0.4}
POS = Input(W, 0.1, 1)
HALF = Input(W, dtype="float16")


def _row(op, inputs, attrs, aux=0, **more):
    return Case(op, inputs, attrs, grad=False, aux=aux, **more)


def _both(op, inputs, attrs, aux=0, full=None):
    """The row as it is, and with weight decay, rescaling and clipping."""
    full = FULL if full is None else full
    return [_row(op, inputs, attrs, aux), _row(op, inputs, dict(full, **attrs), aux)]


CASES = [
    *_both("sgd_update", (W, W), {"lr": 0.1}),
    _row("sgd_update", (W, W), {"lr": 0.1, "clip_gradient": 0.0}),
    _row("sgd_update", (HALF, HALF), dict(FULL, lr=0.1)),
    *_both("sgd_mom_update", (W, W, W), {"lr": 0.1, "momentum": 0.9}, 1),
    *_both("mp_sgd_update", (HALF, HALF, W), {"lr": 0.1}, 1),
    *_both("mp_sgd_mom_update", (HALF, HALF, W, W), {"lr": 0.1, "momentum": 0.9}, 2),
    *_both("nag_mom_update", (W, W, W), {"lr": 0.1, "momentum": 0.9}, 1, dict(FULL, wd=0)),
    *_both(
        "mp_nag_mom_update", (HALF, HALF, W, W), {"lr": 0.1, "momentum": 0.9}, 2, dict(FULL, wd=0)
    ),
    *_both("signsgd_update", (W, W), {"lr": 0.1}),
    *_both("signum_update", (W, W, W), {"lr": 0.1, "momentum": 0.9}, 1),
    _row("signum_update", (W, W, W), dict(FULL, lr=0.1, momentum=0.5, wd_lh=0.2), 1),
    *_both("adam_update", (W, W, W, POS), {"lr": 0.1}, 2),
    _row("adam_update", (W, W, W, POS), dict(FULL, lr=0.1, beta1=0.5, beta2=0.7, epsilon=0.1), 2),
    *_both("rmsprop_update", (W, W, POS), {"lr": 0.1}, 1),
    _row("rmsprop_update", (W, W, POS), {"lr": 0.1, "gamma1": 0.5, "clip_weights": 0.3}, 1),
    *_both("rmspropalex_update", (W, W, Input(W, 1, 2), W, W), {"lr": 0.1}, 3),
    _row(
        "rmspropalex_update",
        (W, W, Input(W, 1, 2), W, W),
        {"lr": 0.1, "gamma1": 0.5, "gamma2": 0.3, "epsilon": 0.1, "clip_weights": 0.3},
        3,
    ),
    *_both("ftrl_update", (W, W, W, POS), {"lr": 0.1}, 2),
    _row("ftrl_update", (W, W, W, POS), dict(FULL, lr=0.1, lamda1=0.4, beta=0.5), 2),
    _row("ftml_update", (W, W, POS, POS, W), {"lr": 0.1, "t": 3}, 3),
    _row(
        "ftml_update",
        (W, W, POS, POS, W),
        {"lr": 0.1, "t": 1, "wd": 0.1, "rescale_grad": 0.7, "clip_grad": 0.4, "beta1": 0.3},
        3,
    ),
    *_both("lamb_update_phase1", (W, W, W, POS), {"t": 2, "wd": 0.1}, 2),
    _row("lamb_update_phase1", (W, W, W, POS), {"t": 2, "wd": 0.1, "bias_correction": False}, 2),
    *_both("mp_lamb_update_phase1", (HALF, HALF, W, POS, W), {"t": 2, "wd": 0.1}, 3),
    *[
        _row(
            "lamb_update_phase2", (W, W, Input(values=[r1]), Input(values=[2.0])), {"lr": 0.1, **b}
        )
        for r1, b in (
            (5.0, {}),
            (5.0, {"upper_bound": 2.0}),
            (5.0, {"lower_bound": 7.0}),
            (0.0, {"lower_bound": -1}),
        )
    ],
    *[
        _row(
            "multi_lars",
            (W, Input(W, 0.0, 4.0), Input(W, 0.0, 2.0), Input(W, 0.0, 0.1)),
            dict({"eta": 0.01, "eps": 1e-3}, **more),
        )
        for more in ({}, {"rescale_grad": 0.5})
    ],
    _row(
        "multi_lars",
        [
            Input(values=v)
            for v in ([0.1, 0.2, 0.3], [4.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.01, 0.2, 0.3])
        ],
        {"eta": 0.001, "eps": 1e-8, "rescale_grad": 0.5},
    ),
]
