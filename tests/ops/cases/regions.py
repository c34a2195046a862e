"""Region proposals and networks on regions: matching, box codes, pooling, deformable kernels."""

import numpy as np
from case import Case, Input

BOXES = np.array([[[0, 0, 1, 1], [0, 0.5, 2, 2], [0, 0, 2, 1], [1, 1, 2, 3]]])
REFS = Input(values=np.array([[[0, 0, 1, 2], [1, 1, 3, 3]]]))
MEANS, STDS = Input(values=[0.1, 0, 0.2, -0.1]), Input(values=[0.5, 1, 0.1, 0.2])
REGIONS = [
    [0, 0, 0, 6, 7],
    [1, 1, 1, 7, 9],
    [0, 2, 2, 2, 2],
    [0, 6, 5, 12, 12],
    [0, -4, -4, 3, 3],
    [0, 5, 5, 3, 3],
    [1, 2.5, 3.5, 7, 8],
    [1, 20, 20, 30, 30],
]
TURNED = [
    [0, 3, 3, 4, 2, 30],
    [1, 4, 4, 6, 3, -70],
    [0, 1, 1, 0.5, 0.5, 10],
    [1, 7, 7, 5, 9, 90],
    [0, 3.5, 2.5, 3, 6, 200],
]


def _scores(*shape):
    return Input(shape, 0, 1)


def _align(attrs, channels=3):
    given = dict({"pooled_size": (2, 3), "spatial_scale": 1.0}, **attrs)
    # With aligned the reference ends the process for a region without an area.
    rois = [r for r in REGIONS if r[3] > r[1]] if "aligned" in attrs else REGIONS
    return Case("_contrib_ROIAlign", [(2, channels, 8, 9), Input(values=rois)], given, [0])


def _turned(attrs):
    given = dict({"pooled_size": (2, 3), "spatial_scale": 1.0}, **attrs)
    return Case("_contrib_RROIAlign", [(2, 3, 8, 9), Input(values=TURNED)], given, False)


def _psroi(channels, attrs):
    given = dict({"spatial_scale": 1.0, "output_dim": 2, "pooled_size": 2}, **attrs)
    rois = Input(values=REGIONS[:7])
    return Case("_contrib_PSROIPooling", [(2, channels, 8, 9), rois], given, [0])


def _deformable_psroi(trans, attrs, grad, channels=8):
    given = {"spatial_scale": 1.0, "output_dim": 2, "pooled_size": 2, "group_size": 2}
    given.update(attrs)
    inputs = [(2, channels, 8, 9), Input(values=REGIONS[:7]), trans][: 2 + (trans is not None)]
    return Case("_contrib_DeformablePSROIPooling", inputs, given, grad, atol=2e-5)


def _deformable(data, offset, weight, attrs, mask=None):
    given = dict({"kernel": weight[2:], "num_filter": weight[0]}, **attrs)
    name = "DeformableConvolution" if mask is None else "ModulatedDeformableConvolution"
    inputs = [data, Input(offset, -1.9, 1.9), *([] if mask is None else [Input(mask, 0, 1)])]
    inputs += [weight] if given.get("no_bias") else [weight, weight[:1]]
    # The reference has the gradient of the modulated one on GPUs only.
    return Case("_contrib_" + name, inputs, given, mask is None, atol=1e-4, rtol=1e-3)


def _propose(name, images, attrs, kinds=4):
    given = {"scales": (1, 2), "ratios": (0.5, 2), "rpn_pre_nms_top_n": 40}
    given.update({"rpn_post_nms_top_n": 10, "rpn_min_size": 4})
    given.update(attrs)
    space = (8, 10) if "feature_stride" in attrs else (4, 5)
    info = Input(values=[[60, 75, 1.5], [50, 80, 0.7]][:images])
    moves = Input((images, 4 * kinds, *space), -0.4, 0.4)
    inputs = [_scores(images, 2 * kinds, *space), moves, info]
    return Case("_contrib_" + name, inputs, given, False, rtol=1e-4, atol=1e-4)


CASES = [
    *(
        Case("_contrib_bipartite_matching", [_scores(*shape)], dict({"threshold": 0.1}, **attrs))
        for shape, attrs in [
            ((5, 4), {}),
            ((4, 9), {"threshold": 0.6}),
            ((2, 3, 6, 6), {}),
            ((7, 6), {"topk": 1}),
            ((7, 6), {"topk": 3}),
            ((7, 6), {"topk": 0}),
            ((6, 7), {"is_ascend": True, "threshold": 0.4}),
            ((2, 6, 7), {"is_ascend": True, "threshold": 0.9, "topk": 2}),
        ]
    ),
    Case("_contrib_bipartite_matching", [Input((9, 8), 0, 4, "int")], {"threshold": 0.5}),
    Case(
        "_contrib_bipartite_matching", [Input((9, 8), 0, 4, "int")], {"threshold": 0.5, "topk": 4}
    ),
    *(
        Case(
            "_contrib_box_encode",
            [Input(values=samples), Input(values=matches), Input(values=BOXES), REFS, MEANS, STDS],
            grad=False,
            note=note,
        )
        for note, samples, matches in [
            ("some", [[1, 0, -1, 1]], [[0, 1, 1, 1]]),
            ("soft", [[0.6, 0.5, 0.4, 2]], [[1, 1, 0, 0]]),
            ("none", [[0, 0, -1, -1]], [[1, 1, 0, 0]]),
        ]
    ),
    *(
        Case("_contrib_box_decode", [(2, 4, 4), Input(values=BOXES)], attrs, grad=False)
        for attrs in (
            {},
            {"std0": 0.1, "std1": 0.2, "std2": 0.3, "std3": 0.4, "format": "corner"},
            {"clip": 0.2, "format": "corner"},
            {"clip": 0.1, "std2": 2},
        )
    ),
    _align({}),
    _align({"sample_ratio": 2}),
    _align({"sample_ratio": 3, "spatial_scale": 0.5, "pooled_size": (3, 1)}),
    _align({"aligned": True}),
    _align({"aligned": True, "sample_ratio": 2, "spatial_scale": 0.7}),
    _align({"position_sensitive": True, "sample_ratio": 2}, 12),
    _align({"position_sensitive": True, "pooled_size": (2, 2)}, 8),
    *(
        _turned(attrs)
        for attrs in ({}, {"sampling_ratio": 2}, {"spatial_scale": 0.5, "pooled_size": (3, 3)})
    ),
    _psroi(8, {}),
    _psroi(8, {"group_size": 2, "pooled_size": 4}),
    _psroi(18, {"pooled_size": 3, "spatial_scale": 0.6}),
    _psroi(18, {"pooled_size": 2, "group_size": 3}),
    _psroi(8, {"group_size": -2}),
    _deformable_psroi((7, 2, 2, 2), {"trans_std": 0.1}, [0, 2]),
    _deformable_psroi((7, 4, 2, 2), {"trans_std": 0.2, "sample_per_part": 2}, [0, 2]),
    _deformable_psroi((7, 4, 2, 2), {"trans_std": 0.2, "group_size": -2}, [0, 2]),
    _deformable_psroi(
        (7, 2, 3, 3),
        {"trans_std": 0.1, "part_size": 3, "sample_per_part": 3, "pooled_size": 4},
        [0, 2],
    ),
    _deformable_psroi(  # points at whole positions
        Input((7, 2, 2, 2), 0, 1, "int"), {"trans_std": 0.1, "spatial_scale": 0.5}, [0, 2]
    ),
    _deformable_psroi(None, {"no_trans": True, "sample_per_part": 2}, [0]),
    _deformable((2, 4, 5, 6), (2, 18, 3, 4), (3, 4, 3, 3), {}),
    _deformable(
        (1, 4, 5, 6),
        (1, 36, 5, 6),
        (4, 2, 3, 3),
        {
            "pad": (1, 1),
            "num_group": 2,
            "num_deformable_group": 2,
            "no_bias": True,
        },
    ),
    _deformable(
        (1, 4, 7, 6),
        (1, 16, 3, 5),
        (2, 4, 2, 2),
        {
            "stride": (2, 1),
            "dilate": (2, 1),
            "num_deformable_group": 2,
        },
    ),
    _deformable((2, 4, 5, 6), (2, 18, 3, 4), (3, 4, 3, 3), {}, (2, 9, 3, 4)),
    _deformable(
        (1, 4, 5, 6),
        (1, 36, 5, 6),
        (4, 2, 3, 3),
        {
            "pad": (1, 1),
            "num_group": 2,
            "num_deformable_group": 2,
            "no_bias": True,
        },
        (1, 18, 5, 6),
    ),
    _deformable(
        (1, 4, 7, 6),
        (1, 16, 3, 5),
        (2, 4, 2, 2),
        {
            "stride": (2, 1),
            "dilate": (2, 1),
            "num_deformable_group": 2,
        },
        (1, 8, 3, 5),
    ),
    _propose("Proposal", 1, {}),
    _propose("Proposal", 1, {"threshold": 0.3, "rpn_post_nms_top_n": 30, "output_score": True}),
    _propose("Proposal", 1, {"feature_stride": 8, "iou_loss": True, "output_score": True}),
    _propose("Proposal", 1, {"rpn_pre_nms_top_n": -1, "rpn_min_size": 30}),
    _propose("MultiProposal", 2, {"output_score": True}),
    _propose("MultiProposal", 2, {"threshold": 0.2, "rpn_post_nms_top_n": 25}),
    _propose("MultiProposal", 1, {"scales": (4, 8), "rpn_min_size": 0, "iou_loss": True}),
]
