"""Normalisation: over a batch, and within a sample."""

from case import Case, Input

SETTINGS = [
    {},
    {"fix_gamma": False},
    {"fix_gamma": False, "use_global_stats": True},
    {"fix_gamma": False, "eps": 0.1, "momentum": 0.5},
]


def batch_norm(op, shape=(4, 3, 2, 2), train=True, dtype="float32", **attrs):
    """A row; ``attrs`` are the operator's."""
    wide = "float64" if dtype == "float64" else "float32"
    vectors = [
        Input((3,), dtype=wide),
        Input((3,), dtype=wide),
        Input((3,), low=-0.5, high=0.5, dtype=wide),
        Input((3,), low=0.5, high=2.0, dtype=wide),
    ]
    # Without training there is nothing to compare gradients with: see the operator's docstring.
    grad = train or attrs.get("use_global_stats", False)
    loose = 1e-2 if dtype == "float16" else None
    inputs = [Input(shape, dtype=dtype), *vectors]
    return Case(op, inputs, attrs, aux=2, train=train, grad=grad, rtol=loose, atol=loose)


CASES = [
    *(
        batch_norm(op, train=train, **attrs)
        for op in ("BatchNorm", "BatchNorm_v1")
        for train in (True, False)
        for attrs in SETTINGS
    ),
    *(batch_norm(op, output_mean_var=True) for op in ("BatchNorm", "BatchNorm_v1")),
    batch_norm("BatchNorm", train=False, output_mean_var=True),
    batch_norm("BatchNorm", shape=(5, 3), fix_gamma=False),
    batch_norm("BatchNorm", shape=(2, 4, 3), axis=-1, fix_gamma=False),
    batch_norm("BatchNorm", shape=(3, 4, 2), axis=0, fix_gamma=False, output_mean_var=True),
    batch_norm("BatchNorm", shape=(2, 3, 2, 2, 2), fix_gamma=False),
    batch_norm("BatchNorm", dtype="float16", fix_gamma=False, output_mean_var=True),
    batch_norm("BatchNorm", dtype="float64", fix_gamma=False, output_mean_var=True),
    batch_norm("BatchNorm", train=False, dtype="float16"),
    *(
        batch_norm("_contrib_SyncBatchNorm", train=train, key=f"row{train}{at}", **attrs)
        for train in (True, False)
        for at, attrs in enumerate(SETTINGS)
    ),
    batch_norm("_contrib_SyncBatchNorm", key="shown", output_mean_var=True),
    *(
        Case(
            "LayerNorm",
            [Input((2, 3, 4), dtype=dtype), *[Input((size,), dtype=dtype)] * 2],
            {"output_mean_var": shown, **attrs},
            # The reference sums 16-bit numbers in 16 bits.
            rtol=3e-2 if dtype == "float16" else None,
        )
        for shown in (False, True)
        for dtype in ("float32", "float16", "float64")
        for size, attrs in ((4, {}), (3, {"axis": 1}), (3, {"axis": -2, "eps": 0.1}))
    ),
    *(
        Case(
            "GroupNorm",
            [shape, (groups,), (groups,)],
            {"num_groups": groups, "output_mean_var": shown},
        )
        for shown in (False, True)
        for shape, groups in (((2, 4, 3), 2), ((2, 6, 2, 3), 3), ((2, 3, 4), 1))
    ),
    Case(
        "GroupNorm",
        [Input((2, 4, 3), dtype="float16"), *[Input((2,), dtype="float16")] * 2],
        {"num_groups": 2, "eps": 0.1},
    ),
    Case("InstanceNorm", [(2, 3, 5), (3,), (3,)]),
    Case("InstanceNorm", [(2, 3, 4, 2), (3,), (3,)], {"eps": 0.1}),
    Case("LRN", [(2, 5, 2, 3)], {"nsize": 3, "alpha": 0.5, "beta": 0.7, "knorm": 2.0}),
    Case("LRN", [(1, 6, 2, 2)], {"nsize": 5}),
    Case("LRN", [(1, 3, 2, 2)], {"nsize": 1, "alpha": 0.3}),
    *(
        Case("L2Normalization", [(2, 3, 2, 2)], {"mode": m})
        for m in ("instance", "channel", "spatial")
    ),
    *(
        Case("L2Normalization", [Input((2, 3, 4), dtype=dtype)], {"mode": m, "eps": 0.1})
        for m in ("instance", "channel", "spatial")
        for dtype in ("float32", "float16", "float64")
    ),
    Case("L2Normalization", [(2, 3)]),
]
