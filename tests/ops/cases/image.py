"""Images cut, mirrored, resized, normalized and coloured.

Where the reference passes a gradient on unchanged (all but crop and normalize), or leaves memory
unwritten (flips of odd sizes, colours of grey images), rows leave it out: see test_image_ops.py.
"""

from case import Case, Input

COLOUR = Input((4, 6, 3), 0, 255)
GREY = Input((4, 6, 1), 0, 255)
TYPES = ("uint8", "int8", "int32", "int64", "float16", "float64")


def _pixels(dtype, shape=(4, 6, 3)):
    high = 120 if dtype == "int8" else 255
    return Input(shape, 0, high, "int" if "int" in dtype else "float", dtype)


def _fixed(name, factor):
    return "_image_random_" + name, {"min_factor": factor, "max_factor": factor}


def _changed(op, inputs, attrs, **options):
    """A row without a gradient.

    Whole numbers may differ by one, by the order of rounding; the reference computes in float32.
    """
    dtype = inputs[0].dtype
    atol = 1.0 if "int" in dtype else 1e-3 if dtype == "float64" else None
    return Case(op, inputs, attrs, grad=False, atol=atol, **options)


FACTORS = (("brightness", 1.7), ("contrast", 0.4), ("saturation", 1.3), ("hue", 0.3))
COLOURS = [_fixed(name, factor) for name, factor in FACTORS]
COLOURS += [_fixed("hue", 0.85), ("_image_adjust_lighting", {"alpha": (0.5, -1.0, 2.0)})]
SIZES = [{"size": (3, 2)}, {"size": 5}, {"size": 7, "keep_ratio": True}, {"size": (9, 3)}]
CROP = {"x": 1, "y": 2, "width": 3, "height": 2}

CASES = [
    *(Case("_image_to_tensor", [x], grad=False) for x in (COLOUR, GREY, Input((2, 3, 4, 5)))),
    *(Case("_image_to_tensor", [_pixels(d)], grad=False) for d in TYPES),
    Case("_image_normalize", [Input((3, 4, 5))], {"mean": (0.1, 0.2, 0.3), "std": (1, 2, 0.5)}),
    Case("_image_normalize", [Input((2, 3, 4, 5))], {"mean": (0.1,), "std": (3, 2, 0.5)}),
    Case("_image_normalize", [Input((2, 1, 4, 5))], {"mean": 0.5, "std": 0.25}),
    *(
        Case("_image_normalize", [_pixels(d, (3, 4, 6))], {"mean": (90,), "std": (2, 3, 4)})
        for d in TYPES
    ),
    Case("_image_crop", [COLOUR], CROP),
    Case("_image_crop", [Input((2, 4, 6, 1))], CROP),
    *(Case("_image_crop", [_pixels(d)], CROP) for d in TYPES),
    *(
        Case(f"_image_flip_{way}", [_pixels(d)], grad=False)
        for way in ("left_right", "top_bottom")
        for d in ("float32", *TYPES)
    ),
    Case("_image_random_flip_left_right", [COLOUR], random=True),
    Case("_image_random_flip_top_bottom", [_pixels("uint8")], random=True),
    *(
        _changed("_image_resize", [x], {**size, "interp": interp})
        for x in (COLOUR, Input((2, 8, 5, 1)))
        for size in SIZES
        for interp in range(5)
    ),
    *(
        Case("_image_resize", [x], {**size, "interp": interp}, grad=False)
        for x in (_pixels("uint8"), _pixels("uint8", (6, 4, 1)), _pixels("uint8", (6, 4, 2)))
        for size in (*SIZES, {"size": (2, 3)})
        for interp in (0, 1, 3, 4, 5)
    ),
    *(_changed("_image_resize", [_pixels("uint8")], {**size, "interp": 2}) for size in SIZES),
    Case("_image_resize", [_pixels("uint8", (3, 52, 1))], {"size": 10, "interp": 0}, grad=False),
    _changed("_image_resize", [_pixels("float64")], {"size": (4, 9)}),
    _changed("_image_resize", [_pixels("int32")], {"size": (4, 9), "interp": 0}),
    *(_changed(op, [COLOUR], attrs) for op, attrs in COLOURS),
    *(_changed(op, [_pixels(d)], attrs) for op, attrs in COLOURS for d in TYPES if d != "int8"),
    *(_changed(op, [GREY], attrs) for op, attrs in COLOURS[:3]),
    *(_changed(op, [COLOUR], attrs) for op, attrs in [_fixed(n, 0) for n, _ in FACTORS]),
    Case(
        "_image_random_color_jitter",
        [COLOUR],
        {"brightness": 0.1, "contrast": 0.2, "saturation": 0.3, "hue": 0.1},
        random=True,
    ),
    Case("_image_random_lighting", [_pixels("uint8")], {"alpha_std": 0.1}, random=True),
    Case("_image_random_lighting", [COLOUR], random=True),
]
