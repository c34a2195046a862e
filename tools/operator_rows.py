"""Rows of operators that `tests/ops/cases/` has none of, for the cases of `operator_cases.py`.

Tests cannot record them: the figures of several update operators need arrays that the reference
writes, others a kernel that its CPUs lack in most calls. Random cases compare what both run.
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

INDICES = Input(values=[0, 2])

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
]

SPARSE_INPUTS = {
    "_sparse_retain": ("row_sparse", "default"),
    "_square_sum": ("row_sparse",),
    "_contrib_getnnz": ("csr",),
    "_contrib_edge_id": ("csr", "default", "default"),
    "_sparse_adagrad_update": ("default", "row_sparse", "default"),
}
"""Storage types of inputs of operators for sparse arrays."""

GRAPHS = "its graphs are sparse arrays: tests/ndarray/test_graphs.py"
NO_CPU = "the reference has no kernel for CPUs: tests/ops/test_transforms.py"
BODIES = "its bodies are graphs: tests/symbol/test_control_flow.py"

UNDRAWN = {
    "_contrib_boolean_mask": "graphs refuse it, and the call is a function: "
    "tests/ndarray/test_masks.py",
    "Custom": "its class is the user's: tests/test_custom_operator.py",
    "_cond": BODIES,
    "_foreach": BODIES,
    "_while_loop": BODIES,
    "_contrib_count_sketch": NO_CPU,
    "_contrib_fft": NO_CPU,
    "_contrib_ifft": NO_CPU,
    "_contrib_dgl_adjacency": GRAPHS,
    "_contrib_dgl_csr_neighbor_non_uniform_sample": GRAPHS,
    "_contrib_dgl_csr_neighbor_uniform_sample": GRAPHS,
    "_contrib_dgl_graph_compact": GRAPHS,
    "_contrib_dgl_subgraph": GRAPHS,
    "_contrib_group_adagrad_update": "dense arrays for GPUs alone: tests/ops/test_update_ops.py",
    "_contrib_quantized_batch_norm": "only oneDNN has it: tests/ops/test_quantized.py",
}
"""Operators that no case calls, each with the reason and the file that tests it."""
