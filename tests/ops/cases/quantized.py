"""Operators of 8-bit arrays, as oneDNN runs them."""

from case import Case, Input


def _levels(*shape, dtype="int8"):
    low = 0 if dtype == "uint8" else -127
    return Input(shape, low, low + (256 if dtype == "uint8" else 255), "int", dtype)


def _ends(*pairs):
    return [Input(values=[end]) for pair in pairs for end in pair]


UNSIGNED = _levels(2, 6, dtype="uint8")
WIDE = Input((2, 5), -(10**8), 10**8, "int", "int32")
SYMMETRIC, SMALL, POSITIVE = (-2, 2), (-0.5, 0.5), (0, 2)
CALIBRATED = {"min_calib_range": -2.0, "max_calib_range": 1.5}
UP = {"min_calib_range": 0.0, "max_calib_range": 2.0}
# One level apart where oneDNN rounds a half the other way.
ROUNDED = {"atol": 1, "rtol": 0, "grad": False}


def _row(name, inputs, attrs=None, **more):
    return Case("_contrib_" + name, inputs, attrs or {}, **{"grad": False, **more})


CASES = [
    *(
        _row("quantize", [Input((3, 8), -2.5, 2.5), *_ends((-1, 2))], {"out_type": dtype})
        for dtype in ("int8", "uint8")
    ),
    _row("quantize", [Input((3, 8), 0, 2), *_ends(POSITIVE)]),
    *(
        _row("quantize_v2", [Input((3, 8), -2.5, 2.2)], attrs)
        for attrs in (
            {},
            {"out_type": "uint8"},
            {"out_type": "auto"},
            CALIBRATED,
            UP,
            {"out_type": "auto", **UP},
            {"out_type": "auto", **CALIBRATED},
            {"out_type": "uint8", **UP},
        )
    ),
    _row("dequantize", [_levels(3, 4), *_ends((-2, 1))]),
    _row("dequantize", [_levels(3, 4, dtype="uint8"), *_ends((0, 3))]),
    _row("dequantize", [_levels(2, 2), *_ends((-0.1, 0.1))]),
    *(
        _row("requantize", [WIDE, *_ends((-300, 300))], attrs, **ROUNDED)
        for attrs in (
            {},
            CALIBRATED,
            UP,
            {"out_type": "uint8", **UP},
            {"out_type": "uint8", **CALIBRATED},
            {"out_type": "auto", **UP},
            {"out_type": "auto", **CALIBRATED},
        )
    ),
    *(
        _row("quantized_fully_connected", inputs, {"num_hidden": 3, **attrs}, **ROUNDED)
        for inputs, attrs in [
            (
                [_levels(2, 6), _levels(3, 6), _levels(3), *_ends(SYMMETRIC, SMALL, (-1, 1))],
                {},
            ),
            ([UNSIGNED, _levels(3, 6), _levels(3), *_ends(POSITIVE, SMALL, (-1, 1))], {}),
            (
                [_levels(2, 3, 4), _levels(3, 4), _levels(3), *_ends(SYMMETRIC, SMALL, (-1, 1))],
                {"flatten": False},
            ),
        ]
    ),
    *(
        _row(
            "quantized_pooling", [_levels(2, 3, 5, 6, dtype=dtype), *_ends(ends)], attrs, **ROUNDED
        )
        for dtype, ends in (("int8", SYMMETRIC), ("uint8", POSITIVE))
        for attrs in (
            {"kernel": (2, 2), "stride": (2, 2)},
            {"kernel": (3, 3), "pad": (1, 1), "pool_type": "avg"},
            {"kernel": (1, 1), "global_pool": True, "pool_type": "avg"},
        )
    ),
    _row("quantized_flatten", [_levels(2, 3, 4), *_ends(SYMMETRIC)]),
    _row("quantized_flatten", [_levels(2, 3, 4, 2, dtype="uint8"), *_ends(POSITIVE)]),
    _row("quantized_flatten", [_levels(4, 3), *_ends(SMALL)]),
    *(
        _row("quantized_act", [_levels(*shape), *_ends(SYMMETRIC)], {"act_type": "relu"})
        for shape in ((2, 6), (3,), (2, 3, 4, 4))
    ),
    *(
        _row(
            "quantized_concat",
            [_levels(*s, dtype=t) for s, t in zip(shapes, types)]  # noqa: B905 - Python 3.8
            + _ends(*ranges),
            {"num_args": len(shapes), **attrs},
            **ROUNDED,
        )
        for shapes, types, ranges, attrs in [
            ([(2, 3), (2, 4)], ["int8", "int8"], [(-2, 2), (-3, 3)], {}),
            ([(2, 3), (2, 4)], ["uint8", "uint8"], [(0, 2), (0, 3)], {}),
            ([(2, 3), (2, 3)], ["uint8", "int8"], [(0, 2), (-3, 3)], {"dim": 0}),
            (
                [(1, 2, 2, 2), (1, 3, 2, 2), (1, 1, 2, 2)],
                ["int8"] * 3,
                [(-2, 2), (-0.5, 0.5), (-1, 1)],
                {},
            ),
        ]
    ),
    *(
        _row(
            "quantized_elemwise_add",
            [_levels(2, 5), _levels(2, 5), *_ends(SYMMETRIC, ends)],
            attrs,
            grad=False,
            note=str(ends[1]),
            atol=1 if attrs else 0,
            rtol=0 if attrs else 1e-6,
        )
        for ends, attrs in [
            ((-1, 1), {}),
            ((-1, 1), CALIBRATED),
            ((-3, 3), {}),
            ((-3, 3), CALIBRATED),
        ]
    ),
    *(
        _row(
            "quantized_elemwise_mul",
            [_levels(2, 5), _levels(2, 5), *_ends(SYMMETRIC, (-1, 1))],
            attrs,
        )
        for attrs in ({}, CALIBRATED, {"enable_float_output": True})
    ),
    *(
        _row(
            "quantized_embedding",
            [Input(shape, 0, 4, "int"), _levels(4, 3), *_ends(SMALL)],
            {"input_dim": 4, "output_dim": 3},
        )
        for shape in ((3,), (2, 2), (1, 2, 3))
    ),
    *(
        _row(
            "calibrate_entropy",
            [
                Input((bins,), 0, 40, "int"),
                Input(values=[4 * i / bins - 2 for i in range(bins + 1)]),
            ],
            {"num_quantized_bins": levels},
        )
        for bins, levels in ((101, 15), (255, 31), (61, 15))
    ),
]
