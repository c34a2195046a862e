"""A wrong input is refused by name, with what came and what was expected."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import modkit as mx
from modkit.errors import DTypeError, ModkitError, ParameterError
from modkit.ops import shape_inference
from modkit.ops.registry import get_op
from tests.ops.eager import run_op

ONE_WEIGHT = {"lrs": (0.1,), "wds": (0.0,), "num_weights": 1}
TWO_WEIGHTS = {"lrs": (0.1, 0.1), "wds": (0.0, 0.0), "num_weights": 2}

ROWS = [
    # operator, shapes, parameters, words of the message
    ("reshape_like", [(4, 3), (5,)], {}, "got (5,) for lhs of shape (4, 3), expected 12"),
    ("reshape_like", [(4,), (4,)], {"lhs_begin": 2, "lhs_end": 1}, "got 2, 1; expected a range"),
    ("Reshape", [(2,)], {}, "shape: got () for (2,), expected at least one"),
    ("transpose", [(2, 3)], {"axes": (0, 0)}, "got (0, 0), expected each of 0 .. 1 once"),
    ("transpose", [(2, 3)], {"axes": (3, 0)}, "got (3, 0), expected each of 0 .. 1 once"),
    ("transpose", [(2, 3)], {"axes": (0,)}, "got (0,), expected each of 0 .. 1 once"),
    (
        "IdentityAttachKLSparseReg",
        [(2, 3), (3,)],
        {"sparseness_target": 1.5},
        "sparseness_target: got 1.5, expected a fraction from 0 to 1",
    ),
    ("cast_storage", [(2,)], {"stype": "csr"}, "got shape (2,), expected two axes"),
    ("SwapAxis", [(2, 3)], {"dim1": 0, "dim2": 2}, "dim2: got 2, expected one of -2 .. 1"),
    ("expand_dims", [(2,)], {"axis": -3}, "axis: got -3, expected one of -2 .. 1"),
    ("squeeze", [(1, 2)], {"axis": 1}, "got size 2 at axis 1 of (1, 2), expected 1"),
    ("reverse", [(2, 3)], {"axis": 2}, "axis: got 2, expected one of -2 .. 1"),
    ("tile", [(2,)], {"reps": (2, -1)}, "reps: got (2, -1), expected 0 or more"),
    (
        "UpSampling",
        [(1, 1, 4, 4)],
        {"scale": 0, "sample_type": "nearest"},
        "scale: got 0, expected an int of 1",
    ),
    ("Pooling", [(1, 1, 5, 5)], {"kernel": (3, 3), "pad": (-1, 1)}, "pad: got (-1, 1), expected 0"),
    (
        "Pooling",
        [(1, 1, 5)],
        {"kernel": 3, "pad": 1, "pooling_convention": "same"},
        "expected one axis and no pad",
    ),
    (
        "Pooling",
        [(1, 1, 5, 5)],
        {"kernel": (3, 3), "pooling_convention": "same"},
        "expected one axis",
    ),
    ("repeat", [(2,)], {"repeats": -1}, "repeats: got -1, expected 0 or more"),
    (
        "UpSampling",
        [(1, 2, 2, 2), (1, 1, 4, 4)],
        {"scale": 2, "sample_type": "nearest", "multi_input_mode": "sum", "num_args": 2},
        "as many images and channels",
    ),
    ("Pad", [(1, 1, 2, 2)], {"mode": "edge", "pad_width": (0,) * 7}, "got 7 numbers"),
    ("Pad", [(1, 2)], {"mode": "reflect", "pad_width": (0, 0, 2, 0)}, "less than 2 with mode"),
    ("Pad", [(1, 2)], {"mode": "edge", "pad_width": (0, 0, -1, 0)}, "got (-1, 0) for an axis"),
    ("depth_to_space", [(1, 6, 1, 2)], {"block_size": 2}, "expected a multiple of 4"),
    ("space_to_depth", [(1, 6, 3, 2)], {"block_size": 2}, "got size 3 at axis 2"),
    ("space_to_depth", [(6, 3, 2)], {"block_size": 2}, "expected one with 4 axes"),
    ("depth_to_space", [(1, 4, 1, 2)], {"block_size": 0}, "block_size: got 0, expected 1"),
    ("diag", [(2, 3)], {"k": 5}, "k: got 5, which is outside data of shape (2, 3)"),
    ("diag", [(2, 3)], {"axis1": 1, "axis2": -1}, "got 1 and -1, expected two axes"),
    ("Concat", [(2, 1), (3, 2)], {}, "got shape (3, 2), expected that of input 0, (2, 1)"),
    ("Concat", [(2, 1), (2, 2)], {"dim": 2}, "dim: got 2, expected one of -2 .. 1"),
    ("stack", [(2,), (3,)], {}, "got shape (3,), expected that of input 0, (2,)"),
    ("stack", [], {}, "got no arrays, expected one or more"),
    ("add_n", [], {}, "got no arrays, expected one or more"),
    ("SliceChannel", [(2, 3)], {"num_outputs": 2}, "expected a multiple of 2"),
    ("SliceChannel", [(2, 4)], {"num_outputs": 2, "squeeze_axis": True}, "expected 2 with"),
    ("SliceChannel", [(2, 4)], {"num_outputs": 0}, "num_outputs: got 0, expected"),
    ("_split_v2", [(4, 2)], {"indices": (0, 7), "axis": 0}, "got (0, 7), expected a rising list"),
    ("_split_v2", [(4, 2)], {"indices": (2, 3), "axis": 0}, "that begins with 0"),
    (
        "_split_v2",
        [(5, 2)],
        {"indices": (), "sections": 2, "axis": 0, "squeeze_axis": True},
        "got parts of [3, 2], expected 1 with",
    ),
    ("_split_v2", [(5, 2)], {"indices": (), "sections": -3}, "or their number"),
    ("slice", [(6, 4)], {"begin": (1, 2), "end": (3,)}, "got (1, 2), (3,), (); expected one"),
    ("slice", [(6,)], {"begin": (0, 0), "end": (1, 1)}, "expected at most 1 numbers"),
    ("slice", [(6,)], {"begin": (0,), "end": (1,), "step": (0,)}, "got (0,), expected no 0"),
    ("slice_axis", [(6,)], {"axis": 0, "begin": 3, "end": 2}, "got 3, 2 for axis 0 of size 6"),
    ("slice_axis", [(6,)], {"axis": 0, "begin": 0, "end": 20}, "0 <= begin < end <= 6"),
    ("slice_axis", [(6,)], {"axis": 1, "begin": 0, "end": 1}, "axis: got 1, expected one of"),
    ("slice_like", [(6, 4), (7, 3)], {}, "got size 7 at axis 0 of shape_like, expected at most 6"),
    ("slice_like", [(6, 4), (2,)], {"axes": (-1,)}, "axes: got 1, expected one of -1 .. 0"),
    ("Flatten", [()], {}, "got data of shape (), expected one axis or more"),
    ("slice_like", [(6, 4), (2,)], {}, "expected one number of axes"),
    ("Crop", [(1, 1, 4, 4)], {"h_w": (5, 2)}, "got a window of (5, 2) at (0, 0), expected one"),
    ("Crop", [(1, 1, 4, 4)], {"h_w": (3, 3), "offset": (2, 2)}, "within (4, 4)"),
    ("_slice_assign", [(3, 3), (3, 2)], {"begin": (0,), "end": (2,)}, "expected (2, 3)"),
    ("where", [(3,), (2, 2), (2, 2)], {}, "got condition (3,), x (2, 2), y (2, 2); expected"),
    ("take", [(3, 2), (1,)], {"axis": 2}, "axis: got 2, expected one of -2 .. 1"),
    ("pick", [(2, 3), (3,)], {}, "index: got shape (3,), expected (2,) or (2, 1)"),
    ("pick", [(2, 3), (2,)], {"axis": None}, "axis: got None, expected the axis"),
    ("batch_take", [(2, 3), (3,)], {}, "got shape (3,) for data of shape (2, 3), expected (2,)"),
    ("batch_take", [(3,), (1,)], {}, "expected () and two axes or more"),
    ("Embedding", [(2,), (4, 2)], {"input_dim": 3, "output_dim": 2}, "expected (3, 2)"),
    ("gather_nd", [(2, 3), (3, 1)], {}, "got shape (3, 1), expected (M, ...) with M at most 2"),
    ("scatter_nd", [(3,), (2, 3)], {"shape": (2, -3)}, "shape: got (2, -3), expected sizes of 0"),
    ("scatter_nd", [(4,), (2, 3)], {"shape": (2, 2)}, "got (4,) for the elements, expected (3,)"),
    ("_contrib_index_copy", [(4, 2), (2,), (2, 3)], {}, "new_tensor (2, 3); expected (K,)"),
    ("_contrib_index_copy", [(1, 2), (2,), (2, 2)], {}, "which K does not exceed"),
    ("_contrib_getnnz", [(2, 3)], {"axis": -1}, "axis=-1, expected a matrix and None, 0 or 1"),
    ("_contrib_edge_id", [(2, 3), (2,), (1,)], {}, "u (2,) and v (1,), expected (N, M), (K,)"),
    ("ravel_multi_index", [(2, 3)], {"shape": (2, 3, 4)}, "got 2 rows of coordinates, expected 3"),
    ("unravel_index", [(2,)], {}, "shape: got (), expected the sizes"),
    ("_histogram", [(2,)], {"bin_cnt": 3}, "got 3, None; expected a number and (low, high)"),
    ("_histogram", [(2,), (1,)], {}, "got shape (1,), expected two edges or more"),
    ("_contrib_arange_like", [(2,)], {"repeat": 0}, "repeat: got 0, expected 1 or more"),
    ("dot", [(2, 3), (2, 3)], {}, "got shapes (2, 3) and (2, 3), expected axis 1 of the first"),
    ("batch_dot", [(2, 2, 3), (1, 3, 2)], {}, "got shapes (2, 2, 3) and (1, 3, 2)"),
    ("batch_dot", [(2, 3), (3, 2)], {}, "expected (..., N, K) and (..., K, M)"),
    ("khatri_rao", [(2, 2), (3, 3)], {}, "got shapes [(2, 2), (3, 3)], expected matrices"),
    ("SequenceMask", [(3, 2)], {"axis": 2}, "axis: got 2, expected 0 or 1"),
    ("SequenceMask", [(3, 2), (3,)], {"use_sequence_length": True}, "got shape (3,), expected (2"),
    ("SequenceLast", [(3,)], {}, "got shape (3,), expected two axes or more"),
    ("SequenceReverse", [(3, 2)], {"axis": 1}, "axis: got 1, expected 0; swap the axes"),
    ("cumsum", [(2, 3)], {"axis": 2}, "axis: got 2, expected one of -2 .. 1"),
    ("_linalg_gemm2", [(2, 3), (2, 3)], {}, "expected (..., N, K) and (..., K, M)"),
    ("_linalg_gemm2", [(2, 1, 3), (3, 1, 2)], {"axis": 2}, "expected another axis than the last"),
    ("_linalg_gemm", [(2, 3), (3, 2), (3, 3)], {}, "C: got shape (3, 3), expected (2, 2)"),
    ("_linalg_potrf", [(2, 3)], {}, "got shape (2, 3), expected (..., N, N)"),
    ("_linalg_trsm", [(2, 2), (3, 2)], {}, "expected (..., N, N) and (..., N, M)"),
    ("_linalg_gelqf", [(3, 2)], {}, "expected at least as many columns as rows"),
    (
        "_linalg_extracttrian",
        [(3, 3)],
        {"offset": 5},
        "offset: got 5 for matrices of 3 rows, expected -2 .. 2",
    ),
    ("_linalg_maketrian", [(4,)], {}, "got 4 elements along the last axis of (4,), expected 1, 3"),
    ("LeakyReLU", [(2, 3, 4), (4,)], {"act_type": "prelu"}, "gamma: got shape (4,) for data of"),
    ("LeakyReLU", [(2, 3, 4), (2, 3, 4)], {"act_type": "prelu"}, "expected one number, (2,) or (3"),
    ("_contrib_box_iou", [(4,), (2, 4)], {}, "got shape (4,), expected (..., 4) with two axes"),
    (
        "_contrib_MultiBoxTarget",
        [(1, 1, 4), (2, 3, 5), (2, 4, 12)],
        {},
        "got 1 anchors and predictions for 12",
    ),
    ("SoftmaxOutput", [(3, 4), (7,)], {}, "label: got shape (7,), expected (3,) or (3, 4)"),
    ("FullyConnected", [(3, 4), (5, 4), (1,)], {"num_hidden": 5}, "bias: got shape (1,), expected"),
    (
        "Convolution",
        [(1, 3, 5, 5), (2, 3, 3, 3), (1,)],
        {"kernel": (3, 3), "num_filter": 2},
        "bias: got shape (1,), expected (2,)",
    ),
    ("sgd_update", [(3, 4), (4,)], {"lr": 0.1}, "grad: got shape (4,), expected (3, 4)"),
    ("sgd_update", [(3, 4), (3, 1)], {"lr": 0.1}, "grad: got shape (3, 1), expected (3, 4)"),
    ("sgd_mom_update", [(3, 4), (3, 4), (1, 4)], {"lr": 0.1}, "mom: got shape (1, 4), expected"),
    ("mp_sgd_update", [(3, 4), (4,), (3, 4)], {"lr": 0.1}, "grad: got shape (4,), expected"),
    ("mp_sgd_mom_update", [(3, 4), (1,), (3, 4), (3, 4)], {"lr": 0.1}, "grad: got shape (1,)"),
    ("nag_mom_update", [(3, 4), (4,), (3, 4)], {"lr": 0.1}, "grad: got shape (4,), expected"),
    ("signsgd_update", [(3, 4), (4,)], {"lr": 0.1}, "grad: got shape (4,), expected (3, 4)"),
    ("signum_update", [(3, 4), (4,), (3, 4)], {"lr": 0.1}, "grad: got shape (4,), expected"),
    ("adam_update", [(3, 4), (4,), (3, 4), (3, 4)], {"lr": 0.1}, "grad: got shape (4,), expected"),
    ("rmsprop_update", [(3, 4), (4,), (3, 4)], {"lr": 0.1}, "grad: got shape (4,), expected"),
    ("ftrl_update", [(3, 4), (4,), (3, 4), (3, 4)], {"lr": 0.1}, "grad: got shape (4,), expected"),
    ("lamb_update_phase1", [(3, 4), (4,), (3, 4), (3, 4)], {"t": 1, "wd": 0.0}, "grad: got"),
    ("lamb_update_phase2", [(3, 4), (4,), (1,), (1,)], {"lr": 0.1}, "got shape (4,), expected"),
    ("lamb_update_phase2", [(3, 4), (3, 4), (4,), (1,)], {"lr": 0.1}, "r1: got shape (4,), expec"),
    ("multi_sgd_update", [(3, 4), (4,)], ONE_WEIGHT, "grad_0 or state: got shape (4,), expected"),
    ("multi_sgd_mom_update", [(3, 4), (3, 4), (4,)], ONE_WEIGHT, "got shape (4,), expected (3, 4)"),
    ("multi_mp_sgd_update", [(3, 4), (4,), (3, 4)], ONE_WEIGHT, "got shape (4,), expected (3, 4)"),
    ("multi_sgd_update", [(3, 4)] * 3, TWO_WEIGHTS, "got 3 arrays, 2 values of lr"),
    ("preloaded_multi_sgd_update", [(3, 4), (4,), (1,), (1,)], {"num_weights": 1}, "grad_0 or sta"),
]


@pytest.mark.parametrize(
    ("name", "shapes", "attrs", "words"), ROWS, ids=[f"{r[0]}-{i}" for i, r in enumerate(ROWS)]
)
def test_what_does_not_fit_is_refused(name, shapes, attrs, words):
    op = get_op(name)
    given = {op.variadic: len(shapes)} if op.variadic else {}
    with pytest.raises(ModkitError) as caught:
        arrays = [jnp.asarray(np.zeros(s, np.float32)) for s in shapes]  # compiles nothing
        run_op(op, arrays, op.parse({**given, **attrs}))
    assert isinstance(caught.value, ValueError)
    assert name.strip("_") in str(caught.value) or op.name in str(caught.value)
    assert "got" in str(caught.value)
    assert words in str(caught.value)


SHORT = [
    # as above; the message has the end of the operator's name, or the input's
    ("broadcast_to", [(2, 1)], {"shape": (2,)}, "expected as many sizes"),
    ("broadcast_axis", [(2, 1)], {"axis": (1,), "size": (3, 4)}, "size=(3, 4), expected as many"),
    ("broadcast_axis", [(2, 1)], {"axis": (0,), "size": (3,)}, "expected one of size 1, once"),
    (
        "broadcast_like",
        [(2, 1), (2, 3)],
        {"lhs_axes": (1,), "rhs_axes": (0, 1)},
        "expected as many",
    ),
    ("broadcast_like", [(2, 1), (3,)], {"lhs_axes": (1,), "rhs_axes": (1,)}, "axes 1 and 1 of"),
    ("_sparse_retain", [(3, 2), (1, 2)], {}, "indices: got shape (1, 2), expected one axis"),
    ("_arange", [], {"start": 3, "stop": 3}, "expected at least one number from start to stop"),
    ("_arange", [], {"start": 3, "infer_range": True}, "no reader of known shape; give stop"),
    ("fill_element_0index", [(2, 3), (2,), (3,)], {}, "expected (N, M), (N,), (N,)"),
    ("Crop", [(1, 4, 4)], {"h_w": (2, 2)}, "expected one or two of (N, C, H, W)"),
    ("norm", [(2,)], {"ord": 3}, "got ord=3, expected 1 or 2"),
    ("moments", [(2,)], {"axes": ()}, "expected at least one; name all for all"),
    ("topk", [(3,)], {"k": 4}, "got k=4, expected at most 3"),
    ("_contrib_box_nms", [(6,)], {}, "expected (..., boxes, numbers)"),
    ("_linalg_gemm2", [(1, 2, 3), (3, 2)], {}, "expected one number of axes"),
    (
        "_contrib_interleaved_matmul_selfatt_qk",
        [(2, 1, 5)],
        {"heads": 1},
        "multiple of 3: 3 for each",
    ),
    (
        "_contrib_interleaved_matmul_selfatt_valatt",
        [(2, 1, 6), (1, 2, 3)],
        {"heads": 1},
        "(1, length of queries, 2)",
    ),
    (
        "_contrib_interleaved_matmul_encdec_qk",
        [(2, 1, 3), (2, 1, 4)],
        {"heads": 1},
        "(length, 1, 2) for keys_values",
    ),
    ("CTCLoss", [(3, 2, 4), (3, 1)], {}, "expected (T, N, C) and (N, L)"),
    ("CTCLoss", [(3, 2, 4), (2, 4)], {}, "no more labels than steps"),
    ("IdentityAttachKLSparseReg", [(2, 3, 4), (3,)], {}, "expected (N, C)"),
    ("LinearRegressionOutput", [(2, 3), (2, 2)], {}, "one label for each output"),
    ("SoftmaxOutput", [(3,), (3,)], {}, "at least two dimensions"),
    ("SVMOutput", [(3, 2), (2,)], {}, "expected (N, C) and (N,)"),
    (
        "_contrib_AdaptiveAvgPooling2D",
        [(1, 1, 2, 2)],
        {"output_size": (0, 2)},
        "one number, 1 or more",
    ),
    ("_contrib_BilinearResize2D", [(1, 2, 2)], {"height": 2, "width": 2}, "expected (N, C, H, W)"),
    ("_contrib_BilinearResize2D", [(1, 1, 2, 2)], {"mode": "odd_scale"}, "needs scale_height and"),
    ("_contrib_BilinearResize2D", [(1, 1, 2, 2)], {"scale_height": 2.0}, "give both scale_height"),
    (
        "_contrib_BilinearResize2D",
        [(1, 1, 2, 2)],
        {"scale_height": 0.1, "scale_width": 0.1},
        "expected 1 x 1 or more",
    ),
    ("Correlation", [(1, 1, 4, 4), (1, 1, 4, 3)], {}, "expected one shape (N, C, H, W)"),
    ("Correlation", [(1, 1, 4, 4)] * 2, {"kernel_size": 2}, "expected an odd kernel_size"),
    ("Correlation", [(1, 1, 4, 4)] * 2, {"max_displacement": 2}, "pad more: pad_size"),
    ("im2col", [(1, 1, 4, 4)], {"kernel": (2,)}, "expected 1 to 3 axes, as many in each"),
    ("im2col", [(1, 1, 4, 4)], {"kernel": (2, 2), "stride": (0, 1)}, "padding of 0 or more"),
    ("im2col", [(1, 1, 4, 4)], {"kernel": (5, 2)}, "exceeds the image (4, 4)"),
    ("col2im", [(1, 3, 9)], {"output_size": (4, 4), "kernel": (2, 2)}, "a multiple of 4, 9)"),
    ("GroupNorm", [(1, 3), (1,), (1,)], {}, "expected 3 axes or more"),
    ("GroupNorm", [(1, 3, 2), (2,), (2,)], {"num_groups": 2}, "a multiple of num_groups=2"),
    ("LRN", [(1, 3, 2, 2)], {"nsize": 2}, "nsize: got 2, expected an odd number"),
    (
        "Pooling",
        [(1, 1, 4, 4)],
        {"kernel": (2, 2), "pool_type": "lp", "p_value": 4},
        "p_value: got 4",
    ),
    ("SoftmaxActivation", [(2, 3)], {"mode": "channel"}, "three dimensions with mode='channel'"),
    ("softmax_cross_entropy", [(2, 3), (3,)], {}, "expected (N, C) and (N,)"),
    (
        "GridGenerator",
        [(2, 5)],
        {"transform_type": "affine", "target_shape": (2, 2)},
        "expected (N, 6)",
    ),
    (
        "GridGenerator",
        [(2, 6)],
        {"transform_type": "affine", "target_shape": (0, 2)},
        "expected (height, width)",
    ),
    ("GridGenerator", [(2, 3, 4, 4)], {"transform_type": "warp"}, "expected (N, 2, H, W)"),
    ("BilinearSampler", [(2, 1, 4, 4), (1, 2, 4, 4)], {}, "expected (N, C, H, W) and N"),
    ("BilinearSampler", [(2, 1, 4, 4), (2, 3, 4, 4)], {}, "expected (N, 2, height, width)"),
    (
        "UpSampling",
        [(1, 1, 2, 2)] * 3,
        {"scale": 2, "sample_type": "bilinear", "num_filter": 1},
        "images and a weight",
    ),
    (
        "ROIPooling",
        [(1, 1, 4, 4), (2, 4)],
        {"pooled_size": (2, 2), "spatial_scale": 1.0},
        "expected (N, C, H, W) and (R, 5)",
    ),
    ("_contrib_MultiBoxPrior", [(1, 1, 2, 2)], {"sizes": ()}, "at least one size and ratio"),
    ("_contrib_MultiBoxTarget", [(2, 3, 4), (1, 1, 5), (1, 2, 3)], {}, "expected (1, A, 4)"),
    ("_contrib_MultiBoxTarget", [(1, 3, 4), (1, 1, 4), (1, 2, 3)], {}, "(N, classes + 1, A)"),
    ("_contrib_MultiBoxDetection", [(1, 2, 3), (1, 8), (1, 3, 4)], {}, "(N, 4 A), (1, A, 4)"),
    (
        "_contrib_DeformableConvolution",
        [(1, 2, 4), (1, 18, 2, 2), (1, 2, 3, 3)],
        {"kernel": (3, 3), "num_filter": 1, "no_bias": True},
        "expected (N, C, H, W) and",
    ),
    (
        "_contrib_DeformableConvolution",
        [(1, 3, 4, 4), (1, 36, 2, 2), (1, 3, 3, 3)],
        {"kernel": (3, 3), "num_filter": 1, "no_bias": True, "num_deformable_group": 2},
        "multiple of num_deformable_group=2",
    ),
    (
        "_contrib_DeformableConvolution",
        [(1, 2, 2, 2), (1, 18, 1, 1), (1, 2, 3, 3)],
        {"kernel": (3, 3), "num_filter": 1, "no_bias": True},
        "larger than the padded data",
    ),
    (
        "_contrib_DeformablePSROIPooling",
        [(1, 4, 4, 4), (1, 5), (1, 3, 2, 2)],
        {
            "spatial_scale": 1.0,
            "output_dim": 1,
            "group_size": 2,
            "pooled_size": 2,
            "part_size": 2,
            "trans_std": 0.1,
        },
        "classes that divide output_dim=1",
    ),
    (
        "_contrib_DeformablePSROIPooling",
        [(1, 4, 4, 4), (1, 5), (1, 2, 2, 2)],
        {"spatial_scale": 1.0, "output_dim": 1, "group_size": 0, "pooled_size": 2},
        "group_size: got 0",
    ),
    (
        "_contrib_Proposal",
        [(1, 24, 2, 2), (1, 48, 2, 2), (1, 3)],
        {"rpn_post_nms_top_n": 0},
        "expected numbers above 0",
    ),
    ("_random_pdf_normal", [(2, 3), (3,), (3,)], {}, "one shape for the parameters"),
]


@pytest.mark.parametrize(
    ("name", "shapes", "attrs", "words"), SHORT, ids=[f"{r[0]}-{i}" for i, r in enumerate(SHORT)]
)
def test_what_does_not_fit_is_refused_in_few_words(name, shapes, attrs, words):
    op = get_op(name)
    given = {op.variadic: len(shapes)} if op.variadic else {}
    with pytest.raises(ModkitError, match=re.escape(words)) as caught:
        arrays = [jnp.asarray(np.zeros(s, np.float32)) for s in shapes]
        run_op(op, arrays, op.parse({**given, **attrs}))
    assert isinstance(caught.value, ValueError)
    said = str(caught.value)
    where = [name.removeprefix("_contrib_"), *(f"{each}: " for each in op.inputs)]
    assert any(each.strip("_") in said for each in where), said


FC = {"num_hidden": 5}

TYPES = [
    # operator, shapes, element types, parameters, words of the message
    ("FullyConnected", [(3, 4), (5, 4), (5,)], "float32 float32 float16", FC, "bias: got float16"),
    ("FullyConnected", [(3, 4), (5, 4), (5,)], "float32 float16 float32", FC, "weight: got float1"),
    ("Concat", [(2, 3), (2, 3)], "float32 float16", {}, "arg1: got float16, expected float32"),
    ("stack", [(2, 3), (2, 3)], "float32 int32", {}, "arg1: got int32, expected float32"),
    ("dot", [(2, 3), (3, 2)], "float32 float16", {}, "rhs: got float16, expected float32"),
    ("where", [(2,), (2,), (2,)], "float32 float16 float32", {}, "y: got float32, expected"),
    ("_linalg_gemm2", [(2, 3), (3, 2)], "float32 float64", {}, "B: got float64, expected float32"),
    ("sgd_update", [(3,), (3,)], "float32 float16", {"lr": 0.1}, "grad: got float16, expected fl"),
    ("mp_sgd_update", [(3,)] * 3, "float16 float16 float16", {"lr": 0.1}, "weight32: got float16"),
    ("_sample_normal", [(3,), (3,)], "float32 float16", {}, "sigma: got float16, expected float32"),
    ("_sample_gamma", [(3,), (3,)], "float16 float32", {}, "beta: got float32, expected float16"),
    ("multi_sum_sq", [(3,), (3,)], "float32 float16", {}, "arg1: got float16, expected float32"),
    ("multi_all_finite", [(3,)] * 2, "float32 float16", {}, "arg1: got float16, expected float32"),
    (
        "_contrib_index_copy", [(4, 2), (2,), (2, 2)], "float32 int32 float16", {},
        "new_tensor: got float16, expected float32",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "sizes", "types", "attrs", "words"),
    TYPES,
    ids=[f"{r[0]}-{i}" for i, r in enumerate(TYPES)],
)
def test_mixed_element_types_are_refused_as_by_bind(name, sizes, types, attrs, words):
    op = get_op(name)
    given = {op.variadic: len(sizes)} if op.variadic else {}
    arrays = [np.zeros(s, t) for s, t in zip(sizes, types.split(), strict=True)]
    with pytest.raises(DTypeError, match=f"^{op.name}\\(.*{re.escape(words)}"):
        run_op(op, arrays, op.parse({**given, **attrs}))


def test_a_call_that_comes_again_is_not_checked_again(monkeypatch):
    op, calls = get_op("elemwise_add"), []
    check = shape_inference.by_rules
    monkeypatch.setattr(shape_inference, "by_rules", lambda *a: calls.append(a) or check(*a))
    array = jnp.zeros((3, 11, 7))
    for _ in range(3):
        run_op(op, [array, array], op.parse({}))
    assert len(calls) == 1


def test_whole_numbers_have_no_factors():
    op = get_op("_linalg_det")
    with pytest.raises(TypeError, match="_linalg_det: got type int32, expected float32 or float64"):
        run_op(op, [jnp.zeros((2, 2), jnp.int32)], op.parse({}))


def test_an_operator_without_parameters_leaves_unknown_ones_out():
    with pytest.warns(UserWarning, match="zeros_like: no parameter 'dtype'.* has no effect"):
        zeros = mx.nd.zeros_like(mx.nd.ones((2,)), dtype="float64")
    assert zeros.dtype == np.float32  # as in MXNet 1.9.1
    with pytest.raises(mx.errors.ParameterError, match="zeros_like: no input 'dtype'"):
        mx.nd.zeros_like(mx.nd.ones((2,)), dtype=mx.nd.ones((2,)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda x, n: mx.nd.clip(x, a_min=n, a_max=5),
            "clip: a_min: got an NDArray, expected float",
        ),
        (lambda x, n: x.clip(0, n), "clip: a_max: got an NDArray, expected float"),
        (lambda x, n: mx.nd.sum(x, axis=n), "sum: axis: got an NDArray, expected a tuple of int"),
        (lambda x, n: mx.nd.concat(x, x, dim=n), "Concat: dim: got an NDArray, expected int"),
        (lambda x, n: mx.nd.random.uniform(0, 1, n), "_random_uniform: shape: got an NDArray"),
        (
            lambda x, n: mx.sym.clip(mx.sym.Variable("x"), mx.sym.Variable("low"), 5),
            r"clip: a_min: got a Symbol, expected float: parameters are plain values. "
            r"`.asscalar\(\)` gives that of an array with one element",
        ),
    ],
)
def test_an_array_is_no_parameter(call, words):
    """MXNet refuses them, too. Their place among the arrays of the call was read as the number."""
    for number in (mx.nd.array([2]), mx.nd.array([2, 3])):
        with pytest.raises(ParameterError, match=words):
            call(mx.nd.ones((2, 3)), number)


def test_a_number_of_numpy_is_a_parameter():
    x = mx.nd.array([1, 9])
    for low in (np.float32(2), np.array(2)):
        assert mx.nd.clip(x, a_min=low, a_max=np.int64(5)).asnumpy().tolist() == [2, 5]


def test_an_array_of_numpy_is_a_parameter_of_several_numbers():
    x = mx.nd.array([[1, 2, 3]])
    assert mx.nd.sum(x, axis=np.array([0, 1])).asnumpy().tolist() == [6]
    assert mx.nd.tile(x, reps=np.array([2, 2])).shape == (2, 6)
    assert mx.nd.random.normal(shape=np.array([2, 2])).shape == (2, 2)
    for wrong in (np.array([[0, 1]]), np.array(["None"])):
        with pytest.raises(ParameterError, match=r"sum: axis: got array.*expected a tuple of int"):
            mx.nd.sum(x, axis=wrong)
