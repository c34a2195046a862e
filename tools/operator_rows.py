"""Rows of operators that `tests/ops/cases/` has none of, for the cases of `operator_cases.py`.

Tests cannot record them: the figures of several update operators need arrays that the reference
writes, others a kernel that its CPUs lack in most calls, others functions or sparse arrays.
Random cases compare what both run.
"""

from case import Case, Input

W = (3, 4)
POSITIVE = Input(W, 0.1, 1)
HALF = Input(W, dtype="float16")
ONE = Input(values=[1.0])
TWO = Input(values=[0.1, 0.2])
SMALL = Input(values=[0.01, 0.0])
BYTES = Input((2, 3, 4, 4), 0, 200, "int", "uint8")
KERNELS = Input((2, 3, 3, 3), -100, 100, "int", "int8")
BIAS = Input((2,), -100, 100, "int", "int8")
LOW, HIGH = Input(values=[-1.0]), Input(values=[1.0])

BYTES_SIGNED = Input((2, 3, 4, 4), -100, 100, "int", "int8")
INDICES = Input(values=[0, 2])
GRAPH = Input((5, 5), 0, 3, "int", "int64")
VERTICES = Input(values=[0, 2, 3], dtype="int64")
SEEDS = Input(values=[1, 4], dtype="int64")

RATES = {"lrs": (0.1, 0.2), "wds": (0.01, 0.0)}
ADAMW = {"lr": 0.1, "eta": 0.5, "wd": 0.1}
ADAMWS = dict(RATES, etas=(0.5, 1.0), num_weights=2)
LAMBS = {"learning_rates": (0.1, 0.2), "wds": (0.01, 0.0), "step_count": (1, 3), "num_tensors": 2}


def _two(*inputs):
    """The inputs of an operator for two weights: those of one, and again."""
    return [*inputs, *inputs]


ROWS = [
    Case("IdentityAttachKLSparseReg", [(3, 4), Input((4,), 0.1, 0.5)], aux=1),
    Case("_adamw_update", [W, W, W, POSITIVE, ONE], ADAMW),
    Case("_mp_adamw_update", [HALF, HALF, W, POSITIVE, W, ONE], ADAMW),
    Case("_multi_adamw_update", [*_two(W, W, W, POSITIVE), ONE], ADAMWS),
    Case("_multi_mp_adamw_update", [*_two(HALF, HALF, W, POSITIVE, W), ONE], ADAMWS),
    Case("_multi_lamb_update", _two(W, W, W, POSITIVE), LAMBS),
    Case("_multi_mp_lamb_update", _two(HALF, HALF, W, POSITIVE, W), LAMBS),
    Case("mp_lamb_update_phase2", [HALF, W, ONE, Input(values=[2.0]), W], {"lr": 0.1}),
    Case("multi_sgd_update", _two(W, W), dict(RATES, num_weights=2)),
    Case("multi_sgd_mom_update", _two(W, W, W), dict(RATES, num_weights=2, momentum=0.9)),
    Case("multi_mp_sgd_update", _two(HALF, HALF, W), dict(RATES, num_weights=2)),
    Case(
        "multi_mp_sgd_mom_update", _two(HALF, HALF, W, W), dict(RATES, num_weights=2, momentum=0.9)
    ),
    Case("preloaded_multi_sgd_update", [*_two(W, W), TWO, SMALL], {"num_weights": 2}),
    Case(
        "preloaded_multi_sgd_mom_update",
        [*_two(W, W, W), TWO, SMALL],
        {"num_weights": 2, "momentum": 0.9},
    ),
    Case("preloaded_multi_mp_sgd_update", [*_two(HALF, HALF, W), TWO, SMALL], {"num_weights": 2}),
    Case(
        "preloaded_multi_mp_sgd_mom_update",
        [*_two(HALF, HALF, W, W), TWO, SMALL],
        {"num_weights": 2, "momentum": 0.9},
    ),
    Case("reset_arrays", [W, (2,), (2, 1, 3)], {"num_arrays": 3}),
    Case("_backward_gather_nd", [(2, 3), Input(values=[[2, 2]])], {"shape": (4, 3)}),
    Case(
        "_scatter_set_nd",
        [(4, 3), (2, 3), Input(values=[[2, 0]], dtype="int64")],
        {"shape": (4, 3)},
    ),
    Case("fill_element_0index", [(3, 4), (3,), Input(values=[1.0, 0.0, 3.0])]),
    Case(
        "_contrib_quantized_conv",
        [BYTES, KERNELS, BIAS, LOW, HIGH, LOW, HIGH, LOW, HIGH],
        {"kernel": (3, 3), "num_filter": 2},
    ),
    Case("_contrib_SparseEmbedding", [INDICES, (4, 3)], {"input_dim": 4, "output_dim": 3}),
    Case("_sparse_retain", [(4, 3), INDICES]),
    Case("_square_sum", [(4, 3)], {"axis": 1}),
    Case("_contrib_getnnz", [Input((4, 3), 0, 2, "int")]),
    Case("_contrib_edge_id", [Input((4, 4), 0, 2, "int"), INDICES, Input(values=[1, 3])]),
    Case("_sparse_adagrad_update", [W, W, POSITIVE], {"lr": 0.1, "wd": 0.0}),
    Case("_contrib_group_adagrad_update", [W, W, Input((3, 1), 0.1, 1)], {"lr": 0.1}),
    Case("_contrib_boolean_mask", [(4, 3), Input(values=[0.0, 1.0, 0.0, 2.0])]),
    Case("_contrib_boolean_mask", [(4, 2, 3), Input((4,), 0, 2, "int", "int32")]),
    Case("_foreach", [(3, 4), (4,), (4,)], {"body": "sums"}),
    Case("_while_loop", [(4,), (4,)], {"func": "sums", "limit": 3.0, "max_iterations": 4}),
    Case("_cond", [(3,), (3,), (3,)], {"branches": "plain", "more": True}),
    Case("Custom", [(3, 2), (3, 2)], {"power": 2, "two": True}),
    Case("_contrib_dgl_adjacency", [GRAPH]),
    Case("_contrib_dgl_subgraph", [GRAPH, VERTICES], {"return_mapping": True}),
    Case("_contrib_dgl_subgraph", [GRAPH, VERTICES, SEEDS], {"return_mapping": False}),
    Case("_contrib_dgl_graph_compact", [GRAPH, SEEDS], {"num_hops": 1}),
    Case("_contrib_dgl_csr_neighbor_uniform_sample", [GRAPH, SEEDS], {"num_hops": 1}),
    Case(
        "_contrib_dgl_csr_neighbor_non_uniform_sample",
        [GRAPH, Input((5,), 0.1, 1, dtype="float32"), SEEDS],
        {"num_hops": 1},
    ),
    Case(
        "_contrib_count_sketch",
        [(2, 4), Input(values=[[0, 2, 1, 1]]), Input(values=[[1.0, -1.0, 1.0, -1.0]])],
        {"out_dim": 3},
    ),
    Case("_contrib_fft", [(2, 6)]),
    Case("_contrib_fft", [(2, 3, 2, 4)]),
    Case("_contrib_ifft", [(2, 6)]),
    Case("_contrib_ifft", [(2, 3, 2, 4)]),
    Case(
        "_contrib_quantized_batch_norm",
        [BYTES_SIGNED, *[Input((3,), 0.5, 1.5)] * 2, (3,), Input((3,), 0.5, 1.5), LOW, HIGH],
        {"min_calib_range": -2.0, "max_calib_range": 2.0, "use_global_stats": True},
    ),
]

SPARSE_INPUTS = {
    "_sparse_retain": ("row_sparse", "default"),
    "_square_sum": ("row_sparse",),
    "_contrib_getnnz": ("csr",),
    "_contrib_edge_id": ("csr", "default", "default"),
    "_sparse_adagrad_update": ("default", "row_sparse", "default"),
    "_contrib_group_adagrad_update": ("default", "row_sparse", "default"),
    "_contrib_dgl_adjacency": ("csr",),
    "_contrib_dgl_subgraph": ("csr",),
    "_contrib_dgl_graph_compact": ("csr",),
    "_contrib_dgl_csr_neighbor_uniform_sample": ("csr",),
    "_contrib_dgl_csr_neighbor_non_uniform_sample": ("csr",),
}
"""Storage types of inputs of operators for sparse arrays; those of others vary."""

CHANGING = (
    "*_update*",
    "reset_arrays",
    "fill_element_0index",
    "_contrib_getnnz",
    "_contrib_edge_id",
    "_sparse_retain",
    "_square_sum",
    "_contrib_SparseEmbedding",
)
"""Operators that change arrays, take sparse ones alone, or have sparse gradients."""

RECORDED = ("_contrib_boolean_mask", "_contrib_dgl_*")
"""Operators whose results have sizes that depend on values: they run eagerly alone."""

NO_CPU = "the reference has no kernel for CPUs: tests/ops/test_transforms.py"

INFERRED = dict.fromkeys(("_contrib_count_sketch", "_contrib_fft", "_contrib_ifft"), NO_CPU)
"""Operators of which shapes and types alone are compared, each with the reason and the file that
tests it."""

ONEDNN = ("RNN", "_contrib_quantized_*", "*BatchNormWithReLU", "_contrib_requantize")
"""Operators that the reference runs by oneDNN alone, or, without it, in part or wrongly."""
