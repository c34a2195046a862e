"""Convolution and deconvolution.

The reference runs channels-last layouts, and deconvolution over three axes, on GPUs only, and its
dilated deconvolution does not fit its own gradient: those are in test_conv_layouts.py.
"""

from case import Case

GROUPED = {"num_filter": 6, "kernel": (3, 3), "num_group": 2}
TARGETS = [
    {"target_shape": (7,)},
    {"target_shape": (8,)},
    {"target_shape": (6,)},
    {"target_shape": (0,)},
    {"target_shape": (7, 9)},
    {"target_shape": (0, 0)},
    {"target_shape": (7,), "pad": (2,)},
    {"adj": (1,)},
    {"pad": (1,), "adj": (1,)},
]

CONVOLUTIONS = [
    Case("Convolution", [(2, 3, 7), (4, 3, 3), (4,)], {"num_filter": 4, "kernel": (3,)}),
    Case(
        "Convolution",
        [(2, 3, 9), (4, 3, 3), (4,)],
        {"num_filter": 4, "kernel": (3,), "stride": (2,), "pad": (1,), "dilate": (2,)},
    ),
    Case("Convolution", [(2, 3, 5, 6), (4, 3, 3, 2), (4,)], {"num_filter": 4, "kernel": (3, 2)}),
    Case(
        "Convolution",
        [(2, 3, 5, 6), (4, 3, 3, 3)],
        {"num_filter": 4, "kernel": (3, 3), "pad": (1, 1), "no_bias": True, "layout": "NCHW"},
    ),
    Case(
        "Convolution",
        [(2, 3, 8, 7), (4, 3, 3, 2), (4,)],
        {"num_filter": 4, "kernel": (3, 2), "stride": (2, 3), "pad": (2, 1)},
    ),
    Case(
        "Convolution",
        [(1, 2, 8, 8), (3, 2, 3, 3), (3,)],
        {"num_filter": 3, "kernel": (3, 3), "dilate": (2, 1), "stride": (1, 2)},
    ),
    Case("Convolution", [(2, 4, 5, 5), (6, 2, 3, 3), (6,)], GROUPED),
    Case(
        "Convolution",
        [(2, 4, 5, 5), (4, 1, 3, 3)],
        {"num_filter": 4, "num_group": 4, "kernel": (3, 3), "pad": (1, 1), "no_bias": True},
    ),
    Case("Convolution", [(2, 3, 4, 4), (5, 3, 1, 1), (5,)], {"num_filter": 5, "kernel": (1, 1)}),
    Case(
        "Convolution",
        [(2, 3, 4, 4), (5, 3, 1, 1), (5,)],
        {"num_filter": 5, "kernel": (1, 1), "stride": (2, 2), "workspace": 64, "cudnn_off": True},
    ),
    Case(
        "Convolution",
        [(1, 2, 4, 5, 4), (3, 2, 3, 2, 3), (3,)],
        {"num_filter": 3, "kernel": (3, 2, 3), "pad": (1, 0, 1), "stride": (2, 1, 1)},
    ),
    Case("Convolution_v1", [(2, 3, 5, 6), (4, 3, 3, 2), (4,)], {"num_filter": 4, "kernel": (3, 2)}),
]

DECONVOLUTIONS = [
    Case("Deconvolution", [(2, 3, 4, 5), (3, 4, 3, 3)], {"num_filter": 4, "kernel": (3, 3)}),
    Case(
        "Deconvolution",
        [(2, 3, 4, 5), (3, 4, 4, 3), (4,)],
        {
            "num_filter": 4,
            "kernel": (4, 3),
            "stride": (2, 3),
            "pad": (1, 1),
            "adj": (1, 2),
            "no_bias": False,
        },
    ),
    Case(
        "Deconvolution",
        [(2, 4, 3, 3), (4, 3, 4, 4)],
        {"num_filter": 6, "num_group": 2, "kernel": (4, 4), "stride": (2, 2), "pad": (1, 1)},
    ),
    Case(
        "Deconvolution",
        [(1, 3, 4, 4), (3, 1, 4, 4)],
        {"num_filter": 3, "num_group": 3, "kernel": (4, 4), "stride": (2, 2), "pad": (1, 1)},
    ),
    Case(
        "Deconvolution",
        [(1, 2, 3, 4), (2, 3, 3, 3)],
        {"num_filter": 3, "kernel": (3, 3), "stride": (2, 2), "target_shape": (6, 8)},
    ),
    *(
        Case(
            "Deconvolution",
            [(2, 2, 4), (2, 3, 3)],
            {"num_filter": 3, "kernel": (3,), "stride": (2,), **attrs},
        )
        for attrs in TARGETS
    ),
]

CASES = [*CONVOLUTIONS, *DECONVOLUTIONS]
