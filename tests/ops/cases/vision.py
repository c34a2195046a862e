"""Resizing images, and sampling them at computed places."""

import numpy as np
from case import Case, Input

REGIONS = [
    [0, 0, 0, 4, 4],
    [1, 1, 1, 7, 9],
    [0, 2, 2, 2, 2],
    [0, 8, 8, 20, 20],
    [0, -4, -4, 3, 3],
    [0, 5, 5, 3, 3],
    [1, 1, 3, 5, 5],
    [0, 2.5, 3.5, 7, 8],
    [2, 0, 0, 4, 4],
    [-1, 0, 0, 4, 4],
    [1, 20, 20, 30, 30],
]
STREAM = np.random.RandomState(5)
MANY = np.hstack([STREAM.randint(0, 2, (130, 1)), np.sort(STREAM.uniform(-3, 9, (130, 4)))])
AFFINE = [[0.8, 0.1, 0.2, -0.1, 1.1, 0.3], [1.5, 0.1, 0.2, -0.1, 1.6, 0.9]]
PARITIES = ("to_even_down", "to_even_up", "to_odd_down", "to_odd_up")


def resize(*shape, attrs):
    """A row of bilinear resizing."""
    return Case("_contrib_BilinearResize2D", [shape], attrs)


RESIZED = [
    resize(1, 2, 3, 4, attrs={"height": 5, "width": 6}),
    resize(1, 2, 3, 4, attrs={"height": 5, "width": 6, "align_corners": False}),
    resize(1, 2, 5, 4, attrs={"height": 2, "width": 3}),
    resize(1, 2, 5, 4, attrs={"height": 2, "width": 3, "align_corners": False}),
    resize(1, 2, 3, 4, attrs={"height": 1, "width": 1}),
    resize(1, 2, 3, 4, attrs={"height": 1, "width": 1, "align_corners": False}),
    resize(1, 2, 3, 4, attrs={"height": 3, "width": 4}),
    resize(1, 1, 1, 1, attrs={"height": 3, "width": 2}),
    *(
        resize(1, 1, 4, 5, attrs={"mode": mode, "scale_height": scale, "scale_width": scale})
        for mode in ("size", "odd_scale")
        for scale in (1.5, 2.0, 0.5)
    ),
    *(resize(1, 1, 4, 5, attrs={"mode": mode}) for mode in PARITIES),
    *(resize(1, 1, 3, 6, attrs={"mode": mode, "align_corners": False}) for mode in PARITIES),
    Case("_contrib_BilinearResize2D", [(1, 2, 3, 4), (1, 1, 4, 6)], {"mode": "like"}),
]

UPSAMPLED = [
    Case("UpSampling", [(1, 2, 2, 3)], {"scale": 2, "sample_type": "nearest"}),
    *(
        Case(
            "UpSampling",
            [(1, 2, 2, 2), (1, 2, 4, 4)],
            {"scale": 2, "sample_type": "nearest", "multi_input_mode": mode, "num_args": 2},
        )
        for mode in ("concat", "sum")
    ),
    Case(
        "UpSampling",
        [(1, 2, 2, 2), (1, 1, 1, 1), (1, 1, 6, 6)],
        {"scale": 3, "sample_type": "nearest", "num_args": 3},
    ),
    *(
        Case(
            "UpSampling",
            [(1, 2, 2, 3), (2, 1, size, size)],
            {"scale": scale, "sample_type": "bilinear", "num_filter": 2, "num_args": 2},
        )
        for scale, size in ((2, 4), (3, 5), (4, 8))
    ),
]

CASES = [
    *(
        Case("_contrib_AdaptiveAvgPooling2D", [shape], attrs)
        for shape, attrs in [
            ((1, 2, 3, 4), {"output_size": (2, 2)}),
            ((1, 2, 4, 5), {"output_size": (3,)}),
            ((2, 1, 3, 3), {}),
            ((1, 1, 4, 3), {"output_size": (5, 3)}),
        ]
    ),
    *RESIZED,
    *UPSAMPLED,
    Case("GridGenerator", [(2, 6)], {"transform_type": "affine", "target_shape": (3, 4)}),
    Case("GridGenerator", [(2, 2, 3, 4)], {"transform_type": "warp"}),
    Case("BilinearSampler", [(2, 3, 4, 5), Input((2, 2, 3, 4), low=-0.9, high=0.9)]),
    Case(
        "BilinearSampler", [(2, 3, 4, 5), Input((2, 2, 3, 4), low=-1.6, high=1.6)], note="outside"
    ),
    Case(
        "BilinearSampler",
        [(1, 1, 3, 4), Input(values=[[[[-1, 1, 1, -1]], [[-1, -1, 1, 0]]]])],
        note="on pixels",
    ),
    Case(
        "SpatialTransformer",
        [(2, 3, 4, 5), Input(values=AFFINE)],
        {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (3, 4)},
    ),
    Case(
        "SpatialTransformer",
        [(2, 1, 7, 8), Input(values=[[1, 0, 0, 0, 1, 0], [-1, 0, 0, 0, -1, 0]])],
        {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (7, 8)},
        note="on pixels",
    ),
    Case(
        "ROIPooling",
        [(2, 3, 6, 6), Input(values=REGIONS)],
        {"pooled_size": (2, 2), "spatial_scale": 0.5},
    ),
    Case(
        "ROIPooling",
        [(2, 2, 8, 9), Input(values=REGIONS)],
        {"pooled_size": (3, 2), "spatial_scale": 0.9},
    ),
    Case(
        "ROIPooling",
        [Input((2, 2, 6, 6), low=0, high=3, kind="int"), Input(values=REGIONS)],
        {"pooled_size": (2, 2), "spatial_scale": 0.7},
        note="ties",
    ),
    *(
        Case(
            "ROIPooling",
            [data, Input(values=MANY[:, [0, 1, 2, 4, 3]])],
            {"pooled_size": pooled, "spatial_scale": 0.9},
            note="many",
        )
        for data, pooled in [
            (Input((2, 2, 5, 7), low=0, high=3, kind="int"), (3, 3)),
            ((2, 1, 6, 4), (2, 4)),
            ((2, 1, 1, 6), (1, 2)),
        ]
    ),
]

CASES += [
    Case("Correlation", [(2, 3, 6, 7), (2, 3, 6, 7)], attrs)
    for attrs in [
        {"kernel_size": 1, "max_displacement": 1, "pad_size": 1},
        {"kernel_size": 3, "max_displacement": 2, "pad_size": 3},
        {"kernel_size": 3, "max_displacement": 2, "stride1": 2, "stride2": 2, "pad_size": 3},
        {"kernel_size": 1, "max_displacement": 4, "stride2": 3, "pad_size": 4},
        {"kernel_size": 3, "max_displacement": 1, "stride1": 3, "pad_size": 1},
        {"kernel_size": 3, "max_displacement": 1, "pad_size": 2, "is_multiply": False},
    ]
]
