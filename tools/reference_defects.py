"""Defects of Apache MXNet 1.9.1 that random cases find, each with its reason.

`compare_ops.py` counts a difference that a row fits as the reference's.
"""

import fnmatch
import re

import numpy as np
from operator_calls import has_inner


def _has(name, value):
    """Cases in which a parameter has a value."""
    return lambda case: str(case["attrs"].get(name)) == value


def _formats_differ(case):
    """Whether box_nms converts between corners and centres."""
    return len({case["attrs"].get(name, "corner") for name in ("in_format", "out_format")}) == 2


def _labels_of_no_class(case):
    """Whether a label of CTCLoss is neither a class nor padding."""
    data, labels, *_ = case["arrays"]
    last = case["attrs"].get("blank_label") == "last"
    low, high = (-1, data.shape[2] - 2) if last else (0, data.shape[2] - 1)
    return data.ndim == 3 and ((labels < low) | (labels > high)).any()


def _data_beyond_steps(case):
    """Whether a length of CTCLoss's data is larger than the number of steps."""
    given = case["attrs"].get("use_data_lengths") in (True, "True")
    return given and (case["arrays"][2] > len(case["arrays"][0])).any()


def _labels_without_room(case):
    """Whether labels of CTCLoss, with a blank between equal ones, are longer than the data."""
    data, labels, *lengths = case["arrays"]
    attrs, lengths = case["attrs"], iter(lengths)
    last = attrs.get("blank_label") == "last"
    given = [attrs.get(f"use_{n}_lengths") in (True, "True") for n in ("data", "label")]
    steps = next(lengths) if given[0] else [len(data)] * len(labels)
    kept = [row[row >= (0 if last else 1)] for row in labels]
    if given[1]:
        kept = [row[: int(n)] for row, n in zip(labels, next(lengths), strict=True)]
    needed = [len(row) + (row[1:] == row[:-1]).sum() for row in kept]
    return any(a > b for a, b in zip(needed, steps, strict=True))


def _without_a_step(case):
    """Whether a loop ends before its first step; no number is less than NaN, nor NaN than one."""
    limit = np.asarray(case["attrs"]["limit"], case["arrays"][1].dtype)
    return case["values"] == "special" or limit <= 0


def _lengths_outside(case):
    """Whether a length is not from 1 to the array's size."""
    if not case["attrs"].get("use_sequence_length"):
        return False
    data, lengths = case["arrays"]
    size = data.shape[int(case["attrs"].get("axis", 0))]
    return ((lengths < 1) | (lengths > size)).any()


def _lengths_beyond_axis(case):
    """Whether a length of a softmax is larger than its axis."""
    if not case["attrs"].get("use_length"):
        return False
    data, lengths, *_ = case["arrays"]
    return (lengths > data.shape[int(case["attrs"].get("axis", -1))]).any()


def _indices_outside(case):
    """Whether an index of scatter_nd is beyond the shape of the result."""
    shape = np.reshape(case["attrs"]["shape"], -1)
    indices = case["arrays"][1].astype(int)
    return any(((row < 0) | (row >= n)).any() for row, n in zip(indices, shape, strict=False))


def _none_by_default(case):
    """Whether the dtype is None, as it is by default."""
    return case["attrs"].get("dtype", "") is None


def _one_position(case):
    """Whether an image, or a grid for one, has one row or column."""
    return 1 in (*case["arrays"][0].shape[2:], *np.ravel(case["attrs"].get("target_shape", ())))


def _is_infinite(case):
    """Whether a function of whole numbers has poles, or results beyond int32."""
    poles = ("gamma", "gammaln", "arctanh", "erfinv", "exp", "expm1", "log", "sinh", "cosh")
    poles += ("reciprocal", "_rdiv_scalar")
    named = case["op"] in poles or "power" in case["op"]
    return named and case["arrays"][0].dtype.kind in "iu"


def _power_beyond_float32(case):
    """Whether whole numbers have a power that float32 does not hold."""
    data, *others = case["arrays"]
    base, exponent = data.astype(float), data if case["repeated"] or not others else others[0]
    if "scalar" in case["attrs"]:
        base = np.full(base.shape, float(case["attrs"]["scalar"]))
    return data.dtype.kind in "iu" and (np.abs(base) ** exponent > 2**24).any()


def _without_elements(case):
    """Whether an array has no elements."""
    return any(0 in a.shape for a in case["arrays"])


def _position(case):
    """The position of the element that differs most, as the difference names it."""
    place = case["difference"].split(" at ")[1].split(")")[0]
    return tuple(int(n) for n in re.findall(r"\d+", place))


def _outside_of_type(case):
    """Whether an element that is cast is no number, or none of the type."""
    kind = str(case["attrs"]["dtype"])
    if kind not in ("uint8", "int8", "int32", "int64"):
        return False
    value, ends = float(case["arrays"][0][_position(case)]), np.iinfo(kind)
    return not ends.min <= value <= ends.max


def _not_finite(*places):
    """Cases in which one of these inputs, or any, has NaN or infinities."""

    def test(case):
        arrays = [case["arrays"][i] for i in places] or case["arrays"]
        return any(not np.isfinite(a.astype(float)).all() for a in arrays)

    return test


def _empty_part(case):
    """Whether a slice starts at its end, or at that of the array."""
    shape, attrs = case["arrays"][0].shape, case["attrs"]
    bounds = zip(shape, np.ravel(attrs["begin"]), np.ravel(attrs["end"]), strict=False)
    return any(begin is not None and begin in (n, end) for n, begin, end in bounds)


def _without_axes(case):
    """Whether no array has an axis."""
    return all(a.ndim == 0 for a in case["arrays"])


def _subnormal(case):
    """Whether there are subnormal numbers of float32 beside those whose squares overflow."""
    arrays = [a for a in case["arrays"] if a.dtype == "float32"]
    values = np.concatenate([np.ravel(a).astype(float) for a in [np.zeros(1), *arrays]])
    small = (values != 0) & (np.abs(values) < np.finfo(np.float32).tiny)
    return small.any() and (np.abs(values) > 1e19).any()


def _global(case):
    """Whether pooling is global."""
    return case["attrs"].get("global_pool") in (True, "True")


def _excess(name):
    """Cases in which a parameter has more numbers than the kernel, or than two."""
    return lambda case: np.size(case["attrs"][name]) > np.size(case["attrs"].get("kernel", (1, 1)))


def _by_one(case):
    """Whether whole numbers differ by 1 at most."""
    got, expected = _numbers(case)
    return case["arrays"][0].dtype.kind in "iu" and abs(got - expected) <= 1


def _by_rounding(case):
    """Whether levels, which are whole numbers, differ by 1 or by a rounding to float32 at most."""
    got, expected = _numbers(case)
    return abs(got - expected) <= max(1, 1e-6 * abs(expected))


def _pairs_saturate(case):
    """Whether a sum of two neighbouring products of bytes is beyond 16 bits."""
    data, weight = (a.reshape(len(a), -1).astype(int) for a in case["arrays"][:2])
    products = (data + 128)[:, None] * weight[None]
    even = products.shape[-1] // 2 * 2
    pairs = products[..., :even].reshape(*products.shape[:-1], -1, 2).sum(-1)
    return (abs(pairs) >= 2**15).any()


def _half_terms(case):
    """Whether gradients of a norm of float16 differ as by roundings of its largest terms."""
    data, attrs = case["arrays"][0], case["attrs"]
    if data.dtype != "float16":
        return False
    got, expected = _numbers(case)
    variance = data.astype(float).var(int(attrs.get("axis", -1))) + float(attrs.get("eps", 1e-5))
    return abs(got - expected) <= max(0.1, 0.1 * abs(got), 0.01 / np.sqrt(variance.min()))


def _quotient_of_itself(case):
    """Whether gradients of an array over itself, which cancel, differ by rounding."""
    data = case["arrays"][0]
    if not case["repeated"] or data.dtype.kind != "f":
        return False
    got, expected = _numbers(case)
    terms = 1 / abs(float(data[_position(case)]))
    return abs(got - expected) <= 4 * np.finfo(data.dtype).eps * terms


def _head_in_half(case):
    """Whether a softmax of float16 differs as by a float16 head, divided by the temperature."""
    got, expected = _numbers(case)
    sharp = abs(float(case["attrs"].get("temperature") or 1))
    return case["arrays"][0].dtype == "float16" and abs(got - expected) <= 5e-4 / sharp


def _flipped_count(case):
    """The number of rows or columns that a flip reverses; reshaped executors have a row more."""
    columns = "left" in case["op"]
    more = case["difference"].startswith("reshaped") and not columns
    return case["arrays"][0].shape[columns] + more


def _numbers(case):
    """The numbers of a difference: what modkit has, and what the reference has."""
    return [float(n) for n in re.findall(r"(?:got|expected) (\S+)", case["difference"])]


def _whole_steps(case):
    """Whether a range of float16 is that of its start and step cut off to whole numbers."""
    attrs, arrays = case["attrs"], case["arrays"]
    if "float16" not in (*(str(a.dtype) for a in arrays), attrs.get("dtype")):
        return False
    start, step = (int(float(attrs.get(n) or d)) for n, d in (("start", 0), ("step", 1)))
    if not arrays and attrs.get("stop") in (None, "None"):
        start = 0  # it is the end
    at = _position(case)
    flat = np.ravel_multi_index(at, arrays[0].shape) if len(at) > 1 else at[0]
    want = start + flat // int(attrs.get("repeat", 1)) * step
    return np.isclose(want, _numbers(case)[1], 1e-2)


def _range_of_int8(case):
    """Whether a range of uint8 is too wide by that factor, or sums hold the bias as it is."""
    if case["arrays"][0].dtype != "uint8":
        return False
    got, expected = _numbers(case)
    if np.isclose(expected / (got or 1), 255 / 127, 1e-3):
        return True
    at = _position(case)
    if len(at) != 4 or case["attrs"].get("no_bias") in (True, "True"):
        return False
    data, weight, bias = (np.abs(r).max() for r in np.reshape(case["arrays"][3:], (3, -1)))
    added = float(case["arrays"][2][at[1]])
    scaled = added * bias / (data / 255.5 * weight)
    return abs(expected - got - (added - scaled)) <= 1 + 1e-5 * abs(expected)


def _statistic_alone(case):
    """Whether the mean or the deviation of a norm is the only output."""
    shown = case["attrs"].get("output_mean_var") in (True, "True")
    return shown and (case["output"] or 0) % 3 > 0


def _second_without_gradients(case):
    """Whether outputs are those of the call after a recorded one without dense variables."""
    first = len(case["arrays"]) - case["aux"]
    sparse = len(case["storage"]) >= first and "default" not in case["storage"][:first]
    return case["manner"] == "recorded" and sparse and case["difference"].startswith("out:")


def _images_beyond_positions(case):
    """Whether an image of a proposal has more rows or columns of positions than the scores."""
    scores, _, images = case["arrays"]
    stride = int(case["attrs"].get("feature_stride", 16))
    return (images[:, :2] / stride > scores.shape[2:]).any()


def _square_overflows(case):
    """Whether the last input has a number whose square its type does not hold."""
    last = case["arrays"][-1]
    return (np.abs(last.astype(float)) > np.sqrt(float(np.finfo(last.dtype).max))).any()


def _fits_with_unknown(case):
    """Whether there are sizes of 0 and shapes agree with any size in their places."""
    shapes = [a.shape for a in case["arrays"] if a.ndim == case["arrays"][0].ndim]
    sizes = [set(each) for each in zip(*shapes, strict=True)]
    return any(0 in each for each in sizes) and all(len(each - {0}) <= 1 for each in sizes)


def _dilated_strides(case):
    """Whether kernels of one axis have both strides and dilations."""
    attrs = {n: np.reshape(case["attrs"].get(n) or 1, -1) for n in ("kernel", "stride", "dilate")}
    return len(attrs["kernel"]) == 1 and attrs["stride"].max() > 1 and attrs["dilate"].max() > 1


def _without_order(case):
    """Whether there are NaN, or equal elements among more than 16 along an axis."""
    data, axis = case["arrays"][0], str(case["attrs"].get("axis", -1))
    count = data.size if axis == "None" else data.shape[int(axis)]
    return np.isnan(data).any() or (count > 16 and np.unique(data).size < data.size)


def _may_crash(case):
    """Whether a case is one that may end the process: invalid, or of certain operators."""
    named = any(fnmatch.fnmatch(case["op"], name) for name in CRASHES)
    return named or bool(case["invalid"]) or case["np_shape"]


CRASHES = (
    "BatchNorm",
    "_contrib_BatchNormWithReLU",
    "_contrib_quantized_concat",
    "_contrib_quantized_conv",
    "*linalg_*",
    "*PSROIPooling",
    "*Convolution*",
    "*ROIAlign",
    "Deconvolution",
    "Correlation",
    "GroupNorm",
    "_contrib_dgl_*",
    "_contrib_hawkesll",
    "_contrib_index_copy",
    "_contrib_interleaved_*",
    "*_div_scalar",
    "broadcast_div",
    "*elemwise_div",
    "_image_resize",
    "_sample_*",
    "_sparse_retain",
    "_split_v2",
    "*unravel_index",
    "amp_multicast",
    "*gather_nd",
    "make_loss",
    "multi_all_finite",
    "multi_sum_sq",
    "softmax",
    "where",
)
"""Operators with which valid parameters end the process: by sizes of 0, by numbers that lie
outside of arrays, by divisions of whole numbers, or in calls of the algebra library."""


UNWRITTEN = (
    "*RegressionOutput",
    "SVMOutput",
    "Softmax",
    "SoftmaxOutput",
    "*[Cc][Tt][Cc]*",
    "Sequence*",
    "_cond",
    "*MultiBoxTarget",
)
"""Operators that do not write the gradient 0 of labels, masks and lengths."""

WRITE_FOR_ADD = (
    "SVMOutput",
    "Softmax",
    "SoftmaxOutput",
    "_cond",
    "Crop",
    "LRN",
    "SpatialTransformer",
    "*DeformableConvolution",
    "*MultiBox*",
    "*bipartite_matching",
    "*box_iou",
    "*box_n*",
    "*linalg_gemm*",
    "_split_v2",
    "clip",
    "cumsum",
    "mean",
    "moments",
    "flip",
    "reverse",
)
"""Operators whose added gradients are the written ones."""

ADD_OTHERWISE = (
    "*RegressionOutput",
    "_Plus",
    "_foreach",
    "_while_loop",
    "*DeformablePSROIPooling",
    "*boolean_mask",
    "*image_flip_*",
    "*index_copy",
    "gather_nd",
    "*linalg_gelqf",
    "*linalg_gemm*",
    "*linalg_tr[ms]m",
    "elemwise_add",
    "mean",
    "moments",
)
"""Operators whose added gradients are neither the written ones nor what was there with them."""


def _types_differ(case):
    """Whether inputs are of several types."""
    return len({str(a.dtype) for a in case["arrays"]}) > 1


def _other_types(case):
    """Whether a type is not float32, or several parameters or storage types are given."""
    types = {str(a.dtype) for a in case["arrays"]}
    types |= {str(case["attrs"].get(name, "float32")) for name in ("dtype", "out_dtype")}
    return types != {"float32"} or any(case["storage"])


def _whole_results(case):
    """Whether results are whole numbers: of whole numbers, by a cast, or positions."""
    kinds = [np.dtype(a.dtype).kind for a in case["arrays"]]
    return "float" not in str(case["attrs"].get("dtype", "int")) or bool(set(kinds) & set("iu"))


DEFECTS = [
    ("*", "the reference crashes", "it ends the process", _may_crash),
    (
        "*",
        "(outputs|gradient).*got nan at .*expected -?inf",
        "not the reference's: XLA takes subnormal numbers as 0, and infinity times 0 is NaN",
        _subnormal,
    ),
    *(
        (
            name,
            "only the reference runs: ",
            "of no elements it looks at no shape",
            _without_elements,
        )
        for name in ("LeakyReLU", "*linalg_potrf")
    ),
    (
        "slice",
        "only modkit runs: .*begin and end must have the",
        "not the reference's: None for begin is the beginning",
        lambda case: case["attrs"].get("begin") is None,
    ),
    (
        "Correlation",
        "only the reference runs: .*expected a floating",
        "kernels below 1 have no elements: it looks at no type",
        lambda case: int(case["attrs"].get("kernel_size", 1)) < 1,
    ),
    (
        "Pooling_v1",
        "only the reference runs: .*for a kernel of",
        "global pooling: it does not look at the window",
        _global,
    ),
    (
        "diag",
        "(gradient|the reference adds)",
        "diagonals outside of the matrix: it reads other memory",
        lambda case: case["chained"] == "shared" and int(case["attrs"].get("k", 0)) != 0,
    ),
    (
        "make_loss",
        "gradient",
        "of two losses with one input one counts",
        lambda case: case["chained"] == "twice",
    ),
    (
        "moments",
        "gradient.*expected -?nan",
        "deviations whose squares overflow: 0 times infinity",
        lambda case: _square_overflows({"arrays": case["arrays"][:1]}) or _not_finite(0)(case),
    ),
    (
        "BatchNorm_v1",
        "outputs.*expected -?nan",
        "infinities are scaled before the mean is taken off",
        _not_finite(0),
    ),
    (
        "cumsum",
        "only modkit runs: .*Type inconsistent, Provided = int64",
        "bool: its kernel for out= knows no such type",
        lambda case: case["arrays"][0].dtype == "bool",
    ),
    (
        "im2col",
        "only the reference runs: .*pad ",
        "negative padding reads other memory",
        lambda case: np.min(case["attrs"].get("pad", 0)) < 0,
    ),
    (
        "*quantized_pooling",
        "only the reference runs: .*pad: got",
        "numbers in excess are ignored",
        _excess("pad"),
    ),
    (
        "*MultiBoxTarget",
        "only the reference runs: .*got label",
        "it does not compare the number of samples of predictions with that of labels",
        lambda case: len(case["arrays"][1]) != len(case["arrays"][2]),
    ),
    (
        "Softmax*",
        "the reference adds",
        "one array as data and label: it adds a gradient of the label, which it does not write",
        lambda case: case["repeated"],
    ),
    (
        "*[Cc][Tt][Cc]*",
        "(outputs|gradient|the reference)",
        "of sparse arrays it leaves memory uninitialized",
        lambda case: any(case["storage"]),
    ),
    (
        "*[Cc][Tt][Cc]*",
        r"only modkit runs: .*Symbol\.ComposeKeyword",
        "lengths of labels alone, by position, are those of data",
        _has("use_label_lengths", "True"),
    ),
    (
        "_random_pdf_gamma",
        "gradient.*got nan",
        "not the reference's: the slope of a density at 0, which is 0 times infinity",
        lambda case: (case["arrays"][0] == 0).any(),
    ),
    (
        "*quantize*",
        "the reference crashes",
        "oneDNN reads sparse arrays as dense ones",
        lambda case: any(case["storage"]),
    ),
    (
        "broadcast_*",
        "the reference crashes",
        "csr arrays of other shapes, which most calls refuse: it writes other memory",
        lambda case: "csr" in case["storage"],
    ),
    *(
        (name, "the reference does not write a gradient of 0", "of a label, mask or length")
        for name in UNWRITTEN
    ),
    (
        "*quantized_batch_norm",
        "the reference does not write a gradient of 0",
        "oneDNN's kernel has no gradient",
    ),
    *(
        (name, "the reference writes where it is to add", "an added gradient is what is written")
        for name in WRITE_FOR_ADD
    ),
    (
        "*BilinearResize2D",
        "the reference writes where it is to add",
        "the gradient 0 of the array that gives the size",
        _has("mode", "like"),
    ),
    (
        "*BatchNormWithReLU",
        "the reference writes where it is to add",
        "the gradient 0 of a fixed gamma",
        lambda case: str(case["attrs"].get("fix_gamma", True)) == "True",
    ),
    *(
        (name, "the reference adds nothing where it is to add", "the array stays as it was")
        for name in (
            "*linalg_gelqf",
            "*linalg_inverse",
            "*linalg_syevd",
            "*linalg_tr[ms]m",
            "*boolean_mask",
        )
    ),
    *(
        (name, "the reference adds otherwise where it is to add", "terms are added twice, or lost")
        for name in ADD_OTHERWISE
    ),
    (
        "*",
        r"only modkit runs: .*(only supports? (floating|32-bit)|only support floating|"
        r"Only FP32 is supported on CPU|FP16 gemm on cpu|dot only supports|Not implmented!|"
        r"Unsupported (data )?type |Unknown type enum |Other DTypes are not supported|"
        r"TBlob\.get_with_shape|does not support float16|BatchNormWithReLU operator)",
        "it has kernels for fewer element types",
        _other_types,
    ),
    (
        "*",
        "only modkit runs: .*(Only default storage is supported|infer_stype_success|"
        "kDefaultStorage|not implemented for CPU|imperative_utils|built without MKLDNN|csr.shape|"
        "not supported for sparse ndarrays)",
        "it has kernels for fewer storage types",
        lambda case: any(case["storage"]),
    ),
    (
        "*",
        r"only modkit runs: .*(Incompatible attr in node (\w+ )?at 1-th input|"
        r"requires uniform type)",
        "labels of another type than the data's",
        _types_differ,
    ),
    (
        "repeat",
        "(inferred shapes|outputs|the reference does not write)",
        "no repetitions: the result has one axis, whatever the axis is",
        lambda case: int(case["attrs"]["repeats"]) == 0,
    ),
    (
        "*",
        r"only modkit runs: second gradient.*Operator \w+ is non-differentiable because",
        "its gradient has no gradient",
    ),
    (
        "*",
        r"only modkit runs: second gradient of zeros: .*(There are no inputs in computation graph|"
        r"not in a computational graph)",
        "a gradient that does not depend on inputs has none, zeros here",
    ),
    (
        "_image_random_*",
        "only modkit runs: second gradient.*There are no inputs in computation graph",
        "its gradient is the head gradient as it is",
    ),
    (
        "*",
        "only modkit runs: gradient .* of zeros: .*(FGradient|kNullOp|wrong req)",
        "it has no gradient there, zeros here",
    ),
    *(
        (
            name,
            "only modkit runs: .*(Cannot take gradient wrt label|kNullOp|kAddTo|wrong req)",
            "labels, indices and times have no gradient, or none that is added; zeros here",
        )
        for name in ("softmax_cross_entropy", "Embedding", "*hawkesll", "take")
    ),
    (
        "*",
        "only modkit runs: TypeError: (data type '(None|bfloat16)'|Cannot interpret '0')",
        "its Python does not know its own names and numbers of types",
        lambda case: bool({"dtype", "out_type", "ret_typ"} & set(case["attrs"])),
    ),
    (
        "*linalg_*",
        "only modkit runs: .*(lapack on cpu|non-convertible)",
        "not the reference's: graphs cannot raise: a singular matrix gives infinities and NaN",
    ),
    (
        "*count_sketch",
        "only the reference runs: .*[hs]: got shape",
        "shapes alone: it does not compare those of hashes and signs",
    ),
    (
        "_slice_assign*",
        "only the reference runs: .*at most 0 numbers",
        "numbers for axes that are not there are ignored",
        lambda case: case["arrays"][0].ndim == 0,
    ),
    ("[Pp]ad", "only modkit runs: .*first two axes", "it pads the last axes only"),
    (
        "*quantized_pooling",
        "only modkit runs: .*kernel size .* exceeds input",
        "compares the kernel, which global pooling does not read",
        lambda case: case["attrs"].get("global_pool"),
    ),
    ("*quantized_pooling", "only modkit runs: .*incorrect workspace", "oneDNN has no such window"),
    ("*quantized_fully_connected", "only modkit runs: .*MKL BLAS", "its build has no product"),
    (
        "*Proposal",
        "only modkit runs: .*height >= real_height",
        "images larger than their positions",
    ),
    ("*Proposal", "only the reference runs: .*numbers above 0", "boxes of no size"),
    (
        "*",
        r"only the reference runs: \w+: no parameter .*(axes|dim|kernal)",
        "operators without parameters take any",
        lambda case: case["invalid"] in ("parameter", "unknown"),
    ),
    (
        "_contrib_*quantize*",
        "only the reference runs: .*expected both or neither",
        "half of a calibrated range is not looked at",
    ),
    (
        "*oncat",
        "inferred from one",
        "inputs of unknown sizes count as empty: the output is too small",
    ),
    ("_split_v2", "only the reference runs: .*a multiple of", "parts are not equal in size"),
    ("_contrib_MultiBoxPrior", "only the reference runs: .*ratios", "sides are NaN"),
    ("[Pp]ad", "only the reference runs: .*pad_width: got", "negative padding reads other memory"),
    (
        "[Pp]ad",
        "(outputs|gradient|the reference adds)",
        "negative padding reads other memory",
        lambda case: min(np.ravel(case["attrs"]["pad_width"])) < 0,
    ),
    *(
        (
            name,
            "the reference does not write a gradient of 0",
            "of weights, from data without elements",
            lambda case: 0 in case["arrays"][0].shape,
        )
        for name in ("Convolution*", "Deconvolution", "*DeformableConvolution")
    ),
    *(
        (name, kind, reason, _without_elements)
        for name, kind, reason in (
            (
                "broadcast_*",
                "the reference does not write a gradient of 0",
                "of an array that meets one without elements",
            ),
            (
                "broadcast_*",
                r"only modkit runs: .*TBlob\.get_with_shape",
                "it makes no array without elements larger",
            ),
            ("BilinearSampler", "only modkit runs: .*incorrect grid_shape", "no points, or rows"),
            ("_image_resize", r"only modkit runs: .*total\(\) == 0", "no channels"),
            (
                "*quantized_fully_connected",
                "only modkit runs: .*could not create a descriptor",
                "oneDNN multiplies no arrays without elements",
            ),
            ("*group_adagrad_update", "only modkit runs: .*optimizer_op-inl", "no weights"),
            ("*linalg_syrk", "only modkit runs: .*Zero batch size", "no matrices"),
            (
                "_split_v2",
                "only the reference runs: .*a rising list",
                "parts of an axis without elements that are not there",
            ),
            (
                "_foreach",
                "(gradient|the reference adds nothing)",
                "no steps: it does not write the gradients",
            ),
        )
    ),
    (
        "RNN",
        "only modkit runs: .*delay_alloc",
        "oneDNN takes no arrays without elements",
        lambda case: 0 in case["arrays"][0].shape,
    ),
    ("*BilinearResize2D", "only the reference runs: .*got size", "it makes images without pixels"),
    (
        "*PSROIPooling",
        "only the reference runs: .*(channels of data|trans: got shape)",
        "it reads other memory",
    ),
    (
        "amp_multicast",
        "(inferred types|outputs|gradient)",
        "the widest type starts from that of the first input, which may be none that takes part",
        lambda case: case["arrays"][0].dtype not in ("float16", "float32"),
    ),
    (
        "_rpower_scalar",
        "gradient.*expected -?nan",
        "the logarithm of 0 times 0",
        lambda case: float(case["attrs"]["scalar"]) == 0,
    ),
    ("broadcast_like", "only the reference runs: .*expected as many", "one side's are ignored"),
    (
        "softmax_cross_entropy",
        "(outputs|gradient)",
        "labels that are no class: it reads other memory",
        lambda case: (case["arrays"][1] >= case["arrays"][0].shape[1]).any(),
    ),
    ("_image_crop", "only the reference runs: .*inside the image", "it reads other memory"),
    (
        "take",
        "only modkit runs: .*out of bound",
        "not the reference's: graphs cannot raise: NaN, as the docstring says",
        _has("mode", "raise"),
    ),
    ("*box_n*", "gradient", "of the formats, not of the conversion", _formats_differ),
    (
        "ftml_update",
        "(outputs|arrays)",
        "its parameters are float32, with weights of float64, too",
        lambda case: case["arrays"][0].dtype == "float64",
    ),
    ("*box_n*", "(outputs|gradient)", "with topk=0 nothing is removed", _has("topk", "0")),
    (
        "*sample_*",
        "only modkit runs: .*(non-zero|sshape|Size\\(\\) > 0)",
        "it draws no empty samples",
    ),
    *(
        (
            f"_contrib_interleaved_matmul_{name}",
            "(gradient|the reference adds nothing)",
            "the second input has none where the first is frozen: the array stays as it was",
            lambda case: case["frozen"] or case["storage"][:1] in (("csr",), ("row_sparse",)),
        )
        for name in ("encdec_qk", "selfatt_valatt")
    ),
    (
        "*BatchNorm*",
        "only the reference runs: .*(gamma|beta): got shape",
        "gamma and beta of any shape are taken: it reads other memory, or ignores numbers",
    ),
    ("ftml_update", "only modkit runs: .*exceed bound", "rates outside of [0, 1] are refused"),
    (
        "LeakyReLU",
        "gradient",
        "selu: not the derivative; -0.055 at -4, where it is 0.032",
        _has("act_type", "selu"),
    ),
    (
        "SoftmaxActivation",
        "(only modkit runs: )?gradient",
        "of one axis, or three and more: over other axes than the softmax",
        lambda case: case["arrays"][0].ndim != 2,
    ),
    ("LeakyReLU", "only modkit runs: .*kTempSpace", "rrelu draws from another resource"),
    ("_image_flip_*", "gradient", "the head gradient as it is, not mirrored"),
    (
        "_image_flip_*",
        "outputs",
        "the middle one of an odd number of rows or columns is not written",
        lambda case: _flipped_count(case) % 2,
    ),
    (
        "softmax",
        "only modkit runs: .*only support integer types",
        "not the reference's: lengths may be of any type",
        lambda case: str(case["attrs"].get("use_length")) == "True",
    ),
    (
        "scatter_nd",
        "(outputs|only modkit runs: gradient.*IndexError)",
        "indices outside of the shape: it writes other memory",
        _indices_outside,
    ),
    (
        "lamb_update_phase?",
        "(outputs|arrays)",
        "its parameters are float32, with weights of float64, too",
        lambda case: case["arrays"][0].dtype == "float64",
    ),
    (
        "*soft*",
        "gradient",
        "of outputs that the parameter dtype rounds",
        _has("dtype", "float16"),
    ),
    ("*BilinearResize2D", "only the reference runs: .*give both", "scale_width alone is ignored"),
    ("_image_random_*", "gradient", "the head gradient as it is"),
    ("Correlation", "only the reference runs: .*expected one shape", "it reads other memory"),
    (
        "*DeformablePSROIPooling",
        "only the reference runs: .*(sample_per_part|pooled_size): got '?[-0]",
        "means of no points, and results without bins",
    ),
    (
        "_image_resize",
        "(only modkit runs: )?(gradient|.*operator sum_grad: .*Incompatible attr)",
        "it has no gradient",
    ),
    *(
        (
            name,
            "gradient",
            "parts without elements: it does not write the gradient",
            _empty_part,
        )
        for name in ("slice", "crop")
    ),
    (
        "*",
        "outputs: got (2.14748e.09|255|127|-1) ",
        "infinity as a whole number: undefined in C++",
        _is_infinite,
    ),
    (
        "_image_normalize",
        "outputs: got (255|127|-128|0|-?2.14748e.09) ",
        "a deviation of 0: infinity and NaN as whole numbers are undefined in C++",
        lambda case: case["arrays"][0].dtype.kind in "iu" and 0 in np.ravel(case["attrs"]["std"]),
    ),
    (
        "*",
        r"outputs: got -?9\.22337e.18",
        "infinity as a whole number is undefined in C++",
        _whole_results,
    ),
    (
        "*[Cc][Tt][Cc]*",
        "(outputs|gradient|the reference crashes)",
        "labels that are no class: it reads other memory",
        _labels_of_no_class,
    ),
    (
        "*[Cc][Tt][Cc]*",
        "(gradient|the reference adds)",
        "labels that do not fit into the data's steps: it leaves memory uninitialized",
        _labels_without_room,
    ),
    (
        "norm",
        "outputs",
        "of whole numbers: (3, 6, 2) has 6, as its scaled sum is cut off",
        lambda case: case["arrays"][0].dtype.kind in "iu",
    ),
    (
        "cumsum",
        "gradient",
        "not rounded to the parameter dtype",
        lambda case: "dtype" in case["attrs"],
    ),
    (
        "_contrib_quantize_v2",
        "only the reference runs: .*(expected float32|got data of type u?int8,)",
        "8 bits stay unscaled",
    ),
    ("*DeformableConvolution", "only modkit runs: .*only implemented in GPU", "no kernel for CPUs"),
    (
        "Sequence[LR]*",
        "(outputs|gradient|the reference adds otherwise|the reference crashes)",
        "lengths outside of the array: it reads other memory",
        _lengths_outside,
    ),
    ("*index_array", "only the reference runs: .*axes: got", "it reads sizes that are not there"),
    *(
        (
            name,
            r"outputs: got 0 .*expected -(9\.22337e.18|2\.14748e.09)",
            "NaN as a whole number: undefined in C++",
        )
        for name in ("arc*", "log*")
    ),
    (
        "SpatialTransformer",
        "(outputs|gradient)",
        "an output of one row or column divides by 0",
        lambda case: 1 in case["attrs"].get("target_shape", ()),
    ),
    ("*_matmul_*", "only the reference runs: .*(a multiple of|got sh)", "it reads other memory"),
    ("where", "only the reference runs: .*got shape", "it does not compare shapes"),
    (
        "where",
        r"only modkit runs: gradient \(add\): .*kAddTo",
        "of a csr condition a gradient is not added",
        lambda case: case["storage"][:1] == ("csr",),
    ),
    (
        "*calibrate_entropy",
        "only modkit runs: .*(Type inconsistent|kFloat32)",
        "counts and edges of two types",
    ),
    ("Embedding", "only modkit runs: .*sparse_grad = 1", "executors with dense gradients"),
    ("LRN", "only modkit runs: .*local size", "windows of all channels"),
    *(
        (name, f"only modkit runs: .*{words}", "not the reference's: any number of spatial axes")
        for name, words in (
            ("LRN", "target dimension 4"),
            ("Pooling_v1", r"(3D kernel not implemented|dshape\.ndim\(\) >= 4)"),
        )
    ),
    ("[Rr]eshape", "only modkit runs: .*[Ss]hape dim size", "the old target_shape below -1"),
    ("*quantized_pooling", "only modkit runs: .*layout", "channels first only"),
    ("*quantized_pooling", "only the reference runs: .*layout", "it does not compare the layout"),
    (
        "*quantized_pooling",
        "only the reference runs: .*pooling_convention",
        "'same' with two axes, which Pooling refuses there, too",
    ),
    (
        "*negative_binomial*",
        "only the reference runs: .*expected k",
        "numbers of an infinite mean",
    ),
    (
        "*nag_mom_update",
        "(outputs|arrays)",
        "the velocity decays by the new weight only with out=weight",
        lambda case: case["attrs"].get("wd"),
    ),
    ("*arange_like", "only the reference runs: .*repeat: got", "it ends with a division by 0"),
    (
        "*arange_like",
        "the reference crashes",
        "no repetitions: a division by 0",
        lambda case: int(case["attrs"].get("repeat", 1)) == 0,
    ),
    (
        "*a*range*",
        "outputs",
        "of float16: start and step are cut off: nd.arange(0.5, 3, 0.5, dtype='float16') is 0s",
        _whole_steps,
    ),
    (
        "*adjust_lighting",
        "outputs",
        "grey images: the result is not written",
        lambda case: case["arrays"][0].shape[-1] == 1,
    ),
    ("*AdaptiveAvgPooling2D", "only the reference runs: .*output_size", "it makes no pixels"),
    *(
        (
            name,
            kind,
            "a size of 0 is an unknown one, which fits any other",
            _fits_with_unknown,
        )
        for name, kind in (
            ("*_update*", "only the reference runs: "),
            ("*", "only the reference runs: .*got shapes .*expected one shape"),
        )
    ),
    (
        "r[cs]*rt",
        "outputs",
        "infinity as a whole number is undefined in C++",
        lambda case: case["arrays"][0].dtype.kind in "iu" and (case["arrays"][0] == 0).any(),
    ),
    ("*MultiBoxPrior", "only modkit runs: .*offsets_", "centres outside of their cells"),
    ("*allclose", "only the reference runs: .*got shape", "it infers nothing from the second"),
    *(
        (name, "only the reference runs: .*as in kernel", "numbers in excess are ignored")
        for name in ("Convolution_v1", "*DeformableConvolution")
    ),
    *(
        (
            name,
            "only the reference runs: .*target_shape: got",
            "numbers in excess are ignored",
            lambda case: (
                len(case["attrs"]["target_shape"]) > len(case["attrs"].get("kernel", (1, 1)))
            ),
        )
        for name in ("Deconvolution", "GridGenerator", "SpatialTransformer")
    ),
    (
        "*",
        "only modkit runs: .*(inferring shapes failed|cannot be a negative value -1)",
        "eager calls take no arrays without elements",
        _without_elements,
    ),
    (
        "_image_random_hue",
        r"outputs: got \S+ at",
        "levels that hues keep are computed anew in float32: one less, of whole numbers",
        _by_one,
    ),
    (
        "gather_nd",
        "only modkit runs: IndexError: ",
        "not the reference's: graphs cannot raise: NaN, as the docstring says",
    ),
    (
        "*",
        "(outputs|inferred types): got .*, expected .*float64|"
        "only the reference runs: .*dtype: got 'None'",
        "of dtype=None, the default in its documentation, its Python makes float64",
        _none_by_default,
    ),
    (
        "_split_v2",
        "(outputs|gradient|the reference adds)",
        "a negative number of sections beside indices: it reads other memory",
        lambda case: int(case["attrs"].get("sections", 0)) < 0,
    ),
    (
        "*unravel_index",
        "(outputs|inferred)",
        "of data with several axes: the shape of the first alone",
        lambda case: case["arrays"][0].ndim > 1,
    ),
    (
        "*linalg_tr[ms]m",
        "gradient.*expected -?nan",
        "it divides by alpha=0",
        lambda case: float(case["attrs"].get("alpha", 1)) == 0,
    ),
    (
        "GridGenerator",
        "(outputs|gradient).*expected -?(inf|nan)",
        "an image of one row or column divides by 0",
        _one_position,
    ),
    ("transpose", "only the reference runs: .*each of 0", "an axis twice: other memory"),
    (
        "Pooling*",
        "only the reference runs: .*pad: got",
        "not the reference's: negative padding, which cuts cells off, is refused; slice does it",
    ),
    *(
        (
            name,
            r"gradient.*got nan at .*expected -?(inf|\d\.\d+e.30\d)",
            "not the reference's: the slope at a pole, which has no sign, is NaN here",
            lambda case: (case["arrays"][0] <= 0).any(),
        )
        for name in ("gamma", "gammaln")
    ),
    ("*soft*", "only modkit runs: .*bad optional access", "use_length=None ends in an exception"),
    (
        "*Output",
        "gradient",
        "one array as data and label: it adds a gradient of the label, which it does not write",
        lambda case: case["repeated"],
    ),
    (
        "*soft*",
        "outputs",
        "of float16 with another dtype: exponentials and their sums are rounded to float16: "
        "-8.578 of 5,173 classes, where it is -8.710",
        lambda case: (
            case["arrays"][0].dtype == "float16"
            and str(case["attrs"].get("dtype")) in ("float32", "float64")
        ),
    ),
    (
        "Deconvolution",
        "(outputs|gradient)",
        "of one axis: positions of kernels with strides and dilations are wrong",
        _dilated_strides,
    ),
    (
        "*_pdf_uniform",
        "gradient.*expected -?(inf|nan)",
        "not the reference's: an interval of no length has no density, nor a slope",
        lambda case: (case["arrays"][1] == case["arrays"][2]).any(),
    ),
    (
        "*_pdf_uniform",
        "outputs: got nan",
        "not the reference's: an interval that ends before its start has no density",
        lambda case: (case["arrays"][1] > case["arrays"][2]).any(),
    ),
    (
        "*count_sketch",
        "only modkit runs: .*(index = 1 must be in range|S should be 2D)",
        "not the reference's: a shape that is not known is no error",
    ),
    (
        "moments",
        "(outputs|gradient)",
        "rounding is carried on from sum to sum: infinities of one sign give NaN",
        _not_finite(0),
    ),
    *(
        (
            name,
            "(outputs|gradient)",
            "sums of many bytes wrap around in their own type",
            lambda case: case["arrays"][0].itemsize == 1 and case["arrays"][0].size > 2**7,
        )
        for name in ("mean", "moments")
    ),
    (
        "moments",
        "(outputs|gradient)",
        "the variance alone, of whole numbers: it reads a mean that it does not compute",
        lambda case: case["arrays"][0].dtype.kind in "iu" and (case["output"] or 0) % 2 == 1,
    ),
    (
        "*quantized_embedding",
        "outputs",
        "indices of NaN, infinity and beyond int32, as whole numbers: undefined in C++",
        lambda case: not (np.abs(case["arrays"][0].astype(float)) < 2**31).all(),
    ),
    (
        "*quantized_embedding",
        r"only modkit runs: .*req\[quantized_embedding",
        "its ranges alone cannot be computed",
    ),
    (
        "*hawkesll",
        "(outputs|gradient)",
        "the states alone: it reads what it does not compute",
        lambda case: (case["output"] or 0) % 2 == 1,
    ),
    (
        "*hawkesll",
        "(outputs|gradient)",
        "more events than there are: it reads other memory",
        lambda case: (case["arrays"][6] > case["arrays"][4].shape[1]).any(),
    ),
    (
        "_image_resize",
        "only modkit runs: .*(support fp16|Assertion failed. func)",
        "OpenCV has kernels for fewer element types",
    ),
    (
        "_image_random_hue",
        "outputs",
        "grey images: the result is not written",
        lambda case: case["arrays"][0].shape[-1] == 1,
    ),
    (
        "_sample_multinomial",
        "(outputs|gradient)",
        "half the probabilities, in a second pass, do not add up to 1: it draws a class that is "
        "not there",
        lambda case: case["difference"].startswith("second pass"),
    ),
    (
        "[Rr]eshape",
        r"only modkit runs: .*from\.Size\(\) == to\.Size\(\)",
        "-2 or -4 ahead of -1: the size that it finds leaves out axes that those make",
        lambda case: {-1} < set(np.ravel(case["attrs"].get("shape", ())).tolist()) & {-1, -2, -4},
    ),
    (
        "*BatchNormWithReLU",
        "gradient",
        "sums over many elements, of which one that is 0 but for rounding counts or does not",
        lambda case: case["arrays"][0].size > 10_000 and abs(np.subtract(*_numbers(case))) < 1,
    ),
    (
        "stack",
        "only the reference runs: .*got shape",
        "it compares numbers of elements, not shapes",
        lambda case: len({a.size for a in case["arrays"]}) == 1,
    ),
    (
        "GroupNorm",
        "only the reference runs: .*(gamma|beta): got shape",
        "it compares numbers of elements, not shapes",
        lambda case: {a.size for a in case["arrays"][1:]} == {int(case["attrs"]["num_groups"])},
    ),
    (
        "*lamb_update_phase2",
        "only the reference runs: .*r[12]: got shape",
        "of a norm's shape it looks at the first size alone",
        lambda case: all(a.size == a.shape[0] == 1 for a in case["arrays"][2:4]),
    ),
    (
        "*allclose",
        "only modkit runs: .*inferring shapes failed. input shapes: None",
        "its result has no axes, and so a shape that other eager calls do not know",
        lambda case: bool(case["chained"]),
    ),
    (
        "Custom",
        "only modkit runs: .*Shape inconsistent",
        "not the reference's: a size of 0 in an inferred shape is an unknown one",
        lambda case: case["np_shape"] and _fits_with_unknown(case),
    ),
    ("*BatchNorm*", r"only modkit runs: .*req\[(sync)?batchnorm", "moments alone are refused"),
    (
        "*prod",
        "gradient.*expected -?(inf|nan)",
        "it divides the product by each element, and so by 0 or infinity",
        lambda case: (
            (case["arrays"][0] == 0).any() or not np.isfinite(case["arrays"][0].astype(float)).all()
        ),
    ),
    (
        "[GL]*Norm",
        "(outputs|gradient|the reference adds)",
        "mean or deviation alone: not written where the first output is not computed",
        _statistic_alone,
    ),
    (
        "[GL]*Norm",
        "only the reference runs: .*((gamma|beta): got shape|expected a floating)",
        "mean or deviation alone: it looks at no type, nor at the first output's inputs",
        _statistic_alone,
    ),
    (
        "*quantized_pooling",
        "only the reference runs: .*(pad: got|got kernel|layout)",
        "global pooling: it does not look at the window",
        lambda case: case["attrs"].get("global_pool") in (True, "True"),
    ),
    (
        "*adamw_update",
        "only modkit runs: .*Incompatible attr in node",
        "the scale must have the weights' type",
        lambda case: case["arrays"][0].dtype != case["arrays"][-1].dtype,
    ),
    (
        "*adamw_update",
        "(outputs|arrays)",
        "its parameters are float32, with weights of float64, too",
        lambda case: case["arrays"][0].dtype == "float64",
    ),
    (
        "_adamw_update",
        "arrays",
        "it writes the scaled and clipped gradient over the gradient",
        lambda case: float(case["attrs"].get("clip_gradient", -1)) >= 0,
    ),
    ("mp_lamb_update_phase2", "arrays", "it documents a new float32 copy, and leaves the old one"),
    (
        "_scatter_set_nd",
        "only modkit runs: .*(Type inconsistent|dptr_)",
        "it works in place alone, and converts no elements",
    ),
    ("_backward_gather_nd", "only modkit runs: .*does not support int8", "bytes do not add up"),
    (
        "broadcast_like",
        "only modkit runs: .*cannot be broadcasted",
        "not the reference's: an axis that has the size already stays as it is",
    ),
    (
        "*_power",
        "gradient.*(got|expected) -?(inf|nan)",
        "not the reference's: slopes at a base of 0, as the docstring says",
        lambda case: (case["arrays"][0] == 0).any(),
    ),
    (
        "*_power",
        "outputs",
        "of whole numbers: computed in float32, which rounds from 2**24 on",
        _power_beyond_float32,
    ),
    (
        "_rpower_scalar",
        "outputs",
        "of whole numbers: computed in float32, which rounds from 2**24 on",
        _power_beyond_float32,
    ),
    (
        "*quantized_elemwise_mul",
        "outputs: got (127|-127|-128) ",
        "products outside of the calibrated range wrap around",
        lambda case: case["attrs"].get("min_calib_range") not in (None, "None"),
    ),
    (
        "_image_resize",
        "outputs",
        "images of int64 come out as other numbers: OpenCV has no such type",
        lambda case: case["arrays"][0].dtype == "int64",
    ),
    (
        "_image_resize",
        "outputs",
        "levels of int8 are interpolated as those of uint8",
        lambda case: case["arrays"][0].dtype == "int8",
    ),
    (
        "*SyncBatchNorm",
        r"outputs: .* at \(\d+,\)",
        "without batch moments the mean and variance that it shows are memory that it never wrote",
        lambda case: (
            case["attrs"].get("output_mean_var")
            and (
                case["attrs"].get("use_global_stats")
                or case["difference"].startswith(("inference", "out:"))
            )
        ),
    ),
    (
        "*SyncBatchNorm",
        "only modkit runs: .*bad_alloc",
        "it makes room for ndev devices",
        lambda case: int(case["attrs"].get("ndev", 1)) < 1,
    ),
    (
        "*linalg_gelqf",
        "gradient",
        "of a singular matrix: there is none",
        lambda case: (
            np.linalg.matrix_rank(case["arrays"][0]) < min(case["arrays"][0].shape[-2:])
        ).any(),
    ),
    (
        "dot",
        r"only modkit runs: .*dns\.shape_\.ndim\(\) == 2 \(\d vs",
        "not the reference's: a result of other axes, which is no csr array, stays dense",
        lambda case: case["attrs"].get("forward_stype") == "csr",
    ),
    (
        "dot",
        "only modkit runs: .*Cannot transpose vectors",
        "not the reference's: the transpose of a vector is the vector",
    ),
    (
        "IdentityAttachKLSparseReg",
        "only the reference runs: .*(moving_avg: got |got data of shape)",
        "it looks at no axes of the data, and at no size and type of the average",
    ),
    (
        "LeakyReLU",
        "gradient",
        "negative numbers are found by the sign of the output, which slope changes",
        lambda case: (
            case["attrs"].get("act_type", "leaky") in ("elu", "leaky")
            and float(case["attrs"].get("slope", 0.25)) < 0
        ),
    ),
    (
        "*MultiBoxPrior",
        "only modkit runs: .*Must specify both step",
        "not the reference's: one step alone is taken, the other follows from the size",
    ),
    (
        "_mp_adamw_update",
        "only the reference runs: .*got shape",
        "it does not look at the shapes of moments and copy",
        lambda case: any(a.shape != case["arrays"][0].shape for a in case["arrays"][2:5]),
    ),
    (
        "*box_n*",
        "(outputs|gradient)",
        "boxes of no area: an overlap of 0 / 0 exceeds no threshold; 0 exceeds one below 0",
        lambda case: float(case["attrs"].get("overlap_thresh", 0.5)) < 0,
    ),
    (
        "gamma",
        "outputs",
        "factorials from 10! on are a rounding below the whole number, and cut off",
        lambda case: case["arrays"][0].dtype.kind in "iu" and (case["arrays"][0] > 10).any(),
    ),
    (
        "*index_copy",
        "gradient",
        "indices outside of the array: it reads other memory",
        lambda case: (case["arrays"][1] >= case["arrays"][0].shape[0]).any(),
    ),
    (
        "UpSampling",
        "only modkit runs: .*eshape == dshape",
        "not the reference's: each axis grows by its own factor",
    ),
    (
        "softm*",
        "gradient",
        "of float16 with a dtype it rounds the head gradient, here the result alone",
        lambda case: (
            str(case["attrs"].get("dtype")) not in ("float16", "None") and _head_in_half(case)
        ),
    ),
    *(
        (
            name,
            "gradient.*expected -?inf",
            "a slope beyond float16 is infinite before the head gradient makes it smaller",
            lambda case: case["arrays"][0].dtype == "float16" and np.isfinite(_numbers(case)[0]),
        )
        for name in ("tan", "reciprocal")
    ),
    (
        "*elemwise_div",
        "gradient",
        "not the reference's: the terms of the gradient of x / x cancel, but for rounding",
        _quotient_of_itself,
    ),
    (
        "Pooling*",
        "only the reference runs: .*global_pool",
        "not the reference's: of no elements there is no largest, and no mean",
        lambda case: 0 in case["arrays"][0].shape,
    ),
    (
        "_image_adjust_lighting",
        "only the reference runs: .*alpha: got",
        "fewer than three numbers: it reads other memory",
        lambda case: len(case["attrs"]["alpha"]) < 3,
    ),
    (
        "_image_adjust_lighting",
        "only the reference runs: .*alpha: got",
        "numbers in excess are ignored",
        lambda case: len(case["attrs"]["alpha"]) > 3,
    ),
    (
        "LeakyReLU",
        "gradient",
        "prelu, one array as data and slope: it multiplies by the output in place of the data",
        lambda case: case["repeated"] and case["attrs"].get("act_type") == "prelu",
    ),
    (
        "*ooling*",
        r"only modkit runs: .*(for Parameter stride is invalid|index = 1 must be in range|"
        r"param\.stride\.ndim)",
        "not the reference's: global pooling reads neither stride nor pad",
        lambda case: case["attrs"].get("global_pool") in (True, "True"),
    ),
    ("*Proposal", r"only modkit runs: .*req\[proposal", "one output alone is refused"),
    (
        "*box_encode",
        "(outputs|gradient)",
        "matches outside of the references: it reads other memory",
        lambda case: (
            case["arrays"][0 if case["repeated"] else 1] >= case["arrays"][3].shape[1]
        ).any(),
    ),
    (
        "FullyConnected",
        "only modkit runs: .*only supported by CuDNN",
        "it has no kernel for float16 on CPUs",
        lambda case: "float16" in {str(a.dtype) for a in case["arrays"]},
    ),
    *(
        (name, "only modkit runs: .*index = -", "axes are not counted from the end")
        for name in ("cumsum", "Dropout", "flip", "reverse", "transpose")
    ),
    (
        "Softmax*",
        "gradient",
        "out_grad: it multiplies by the output, not by its gradient",
        lambda case: case["attrs"].get("out_grad") in (True, "True"),
    ),
    ("RNN", "only modkit runs: .*No training support", "projections in inference alone"),
    ("RNN", "only modkit runs: .*LSTM state clipping", "without oneDNN, states are not clipped"),
    ("RNN", r"only modkit runs: .*param_\.p >= 0", "without oneDNN it drops no whole layer"),
    (
        "RNN",
        "gradient",
        "three plain layers of float64: 4.16 for a weight whose finite differences are 0",
        lambda case: (
            case["arrays"][0].dtype == "float64"
            and str(case["attrs"]["mode"]).startswith("rnn_")
            and int(case["attrs"]["num_layers"]) > 2
        ),
    ),
    (
        "RNN",
        "only modkit runs: .*Shape inconsistent",
        "projection_size=0 is a projection to no elements, not none",
        lambda case: case["attrs"].get("projection_size") == 0,
    ),
    (
        "_histogram",
        "only the reference runs: .*expected two edges or more",
        "no bins: the width of a bin is a division by 0",
        lambda case: case["attrs"].get("bin_cnt") == 0,
    ),
    ("_histogram", r"only modkit runs: .*req\[[01]\]", "one output alone is refused"),
    ("_image_to_tensor", "gradient", "the head gradient as it is, not divided by 255"),
    (
        "Pooling*",
        "only the reference runs: .*kernel: got|only the reference runs: .*got kernel",
        "kernels below 0 make outputs larger than the data, of other memory",
    ),
    (
        "*negative_binomial*",
        "outputs",
        "with p=0 numbers of an infinite mean, as whole numbers: undefined in C++",
        lambda case: (
            float(case["attrs"].get("p", 1)) == 0 or any((a == 0).any() for a in case["arrays"])
        ),
    ),
    (
        "*quantized_conv",
        "outputs",
        "uint8: the range is that of int8 levels, 255 / 127 times too wide, and the bias is added "
        "as it is, without the ratio of its range to the sums'",
        _range_of_int8,
    ),
    ("*quantized_conv", "only modkit runs: .*only supports uint8", "no kernel for int8"),
    ("*quantized_conv", "only the reference runs: .*spatial axes", "does not compare the layout"),
    (
        "_image_resize",
        "outputs: ",
        "OpenCV's copies lose the fifth channel",
        lambda case: case["arrays"][0].shape[-1] == 5 and case["attrs"].get("interp") == 0,
    ),
    (
        "gather_nd",
        "gradient",
        "coordinates below 0, which its outputs count from the end: it writes other elements",
        lambda case: (case["arrays"][1] < 0).any(),
    ),
    (
        "*soft*",
        "(outputs|gradient)",
        "lengths beyond the axis: it reads other memory",
        _lengths_beyond_axis,
    ),
    (
        "Crop",
        "only the reference runs: .*expected one or two of",
        "it does not look at the axes of the second array",
        lambda case: case["arrays"][1].ndim != 4,
    ),
    (
        "*box_encode",
        "only the reference runs: .*got samples",
        "it compares numbers of elements, not shapes",
        lambda case: case["arrays"][1].size == case["arrays"][0].size,
    ),
    (
        "LayerNorm",
        "gradient",
        "of float16: sums of the gradient are rounded to float16 on the way, 5 % of the largest "
        "gradient of rows of two near numbers; those of modkit are within 0.02 % of float64's",
        _half_terms,
    ),
    (
        "_contrib_dgl_*",
        "only the reference runs: .*(got vertex|a weight that is negative or not finite)",
        "vertices outside of the graph, weights that are no probabilities: it reads other memory",
    ),
    (
        "_contrib_dgl_*",
        "only the reference runs: .*expected as many columns as rows",
        "a graph is square: it does not look at the number of columns",
        lambda case: len(set(case["arrays"][0].shape)) == 2,
    ),
    (
        "_contrib_boolean_mask",
        "only the reference runs: gradient.*not on the tape",
        "not the reference's: a mask is no variable, of which it is the gradient 0",
        lambda case: case["arrays"][0].dtype.kind != "f" or case["frozen"],
    ),
    (
        "*[Cc][Tt][Cc]*",
        "(outputs|gradient|second gradient)",
        "not the reference's: losses from 5e29 on count as those of labels that do not fit",
        lambda case: (np.abs(case["arrays"][0].astype(float)) > 1e29).any(),
    ),
    (
        "Softmax*",
        "gradient.*expected -?(inf|nan)",
        "smooth_alpha of one class: it divides by 0",
        lambda case: float(case["attrs"].get("smooth_alpha", 0)) != 0,
    ),
    *(
        (name, "outputs", "levels are rounded after another order of products", _by_rounding)
        for name in (
            "*quantized_fully_connected",
            "*quantized_batch_norm",
            "*quantized_elemwise_add",
        )
    ),
    (
        "*quantized_fully_connected",
        "(outputs|inference)",
        "oneDNN adds products of bytes in pairs of 16 bits, which saturate",
        _pairs_saturate,
    ),
    (
        "*quantize*",
        r"only modkit runs: .*(delay_alloc|dimension \(0\)|support 0 dimensions)",
        "oneDNN takes no arrays without elements or axes",
        lambda case: any(0 in (*a.shape, a.ndim) for a in case["arrays"]),
    ),
    (
        "*BatchNormWithReLU",
        "(outputs|gradient)",
        "oneDNN passes gradients on where the data, or the root of a variance below 0, is NaN, and "
        "keeps no such variance",
        lambda case: (
            not np.isfinite(case["arrays"][0].astype(float)).all()
            or float(case["attrs"].get("eps", 1)) < 0
        ),
    ),
    (
        "batch_take",
        "outputs",
        "of data with more than two axes: it reads other memory",
        lambda case: case["arrays"][0].ndim > 2,
    ),
    (
        "_linalg*det",
        r"(gradient|(outputs|out|inferred shapes): .*expected (float\d+\[\]|\[\(\)))",
        "not the reference's: under np_shape, too, one number has the shape (1,), as of its sums",
        lambda case: case["np_shape"] and case["arrays"][0].ndim == 2,
    ),
    (
        "*",
        "only the reference runs: .*(got bool|got data of type)",
        "of no elements it looks at no type",
        _without_elements,
    ),
    (
        "_scatter_elemwise_div",
        "gradient.*expected -?inf",
        "it squares the divisor first, to 0",
        lambda case: case["values"] == "special",
    ),
    (
        "Correlation",
        "(outputs|gradient)",
        "not the reference's: sums with infinities are NaN or infinite by the order of terms",
        lambda case: case["values"] == "special",
    ),
    (
        "FullyConnected",
        "only modkit runs: .*Shape inconsistent",
        "it differentiates no data of one axis",
        lambda case: case["arrays"][0].ndim == 1,
    ),
    (
        "_contrib_*fft",
        "only modkit runs: .*First input must have specified type",
        "not the reference's: a type that is not known is no error",
        lambda case: not case["arrays"],
    ),
    (
        "*quantized_pooling",
        "outputs",
        "means of windows over the edge: oneDNN divides by the whole window, Pooling does not",
        lambda case: case["attrs"].get("pool_type") == "avg",
    ),
    ("RNN", "only the reference runs: .*lstm_state_clip", "one of two ends alone is ignored"),
    (
        "*",
        "only modkit runs: .*cannot be a negative value -1",
        "not the reference's: a size that nothing gives is 0",
        lambda case: not case["arrays"],
    ),
    *(
        (
            name,
            "(outputs|gradient)",
            "not the reference's: NaN spreads to rows and columns, as the docstring says",
            lambda case: not np.isfinite(case["arrays"][0].astype(float)).all(),
        )
        for name in ("*BilinearResize2D", "*AdaptiveAvgPooling2D", "_image_resize")
    ),
    (
        "*_update*",
        "(outputs|arrays)",
        "infinite weights: infinite or NaN by the order of terms",
        lambda case: case["values"] == "special",
    ),
    (
        "*ftrl_update",
        "(outputs|arrays): got -?0 at .*expected -?nan",
        "with an infinite rate weights are divided by 0, times 0 where the threshold makes them 0",
        lambda case: not abs(float(case["attrs"]["lr"])) < 1e19,
    ),
    (
        "*linalg_gelqf",
        "(outputs|gradient)",
        "of a singular matrix, with a row twice: its sign is that of a rounding",
        lambda case: case["difference"].startswith("reshaped"),
    ),
    (
        "BatchNorm",
        r"outputs: got \S+ at .*expected inf",
        "the moving variance of equal elements without eps: 1 / 0",
        lambda case: (
            case["difference"].startswith("states") and float(case["attrs"].get("eps", 1)) == 0
        ),
    ),
    (
        "_foreach",
        "only the reference runs: stack: .*got shape",
        "a slice of a csr array has two axes; stack compares numbers of elements, not shapes",
        lambda case: case["storage"][:1] == ("csr",),
    ),
    (
        "*",
        r"only modkit runs: reshaped: .*(Shape is unknown|\(-1 vs\. )",
        "it infers fewer shapes from the first input's",
    ),
    (
        "_image_to_tensor",
        "only modkit runs: gradient.*Incompatible attr",
        "the gradient has the shape of the result",
    ),
    *(
        (
            name,
            "(outputs|gradient)",
            "not the reference's: NaN and infinities are compared otherwise, with no number right",
            lambda case: case["values"] == "special",
        )
        for name in ("ROIPooling", "*MultiBox*", "*[Pp]roposal", "*box_*", "*bipartite_matching")
    ),
    (
        "_contrib_*fft",
        "only the reference runs: .*expected 2 or 4 axes",
        "of other axes it leaves the shape unknown, without an error",
        lambda case: case["arrays"][0].ndim not in (2, 4),
    ),
    (
        "_contrib_group_adagrad_update",
        "only the reference runs: .*history: got shape",
        "it does not look at the shape of the history",
    ),
    (
        "*quantized_elemwise_mul",
        r"only modkit runs: .*out_shapes\.size",
        "eager calls end in an error of its own",
        lambda case: case["manner"] == "recorded",
    ),
    (
        "*DeformableConvolution",
        "(outputs|gradient)",
        "not the reference's: sums with infinities are NaN or infinite by the order of terms",
        lambda case: case["values"] == "special",
    ),
    (
        "clip",
        "outputs",
        "of uint8: bounds below 0 as whole numbers are undefined in C++",
        lambda case: (
            case["arrays"][0].dtype == "uint8"
            and min(float(case["attrs"][n]) for n in ("a_min", "a_max")) < 0
        ),
    ),
    *(
        (
            name,
            "(outputs|gradient).*(got|expected) -?(inf|nan)",
            "not the reference's: zeros between the data's elements are multiplied by weights, too",
            lambda case: case["values"] == "special",
        )
        for name in ("Deconvolution", "UpSampling", "Convolution*")
    ),
    (
        "*",
        "only modkit runs: .*Invalid context string cpu$",
        "not the reference's: cpu is cpu(0)",
        _has("ctx", "cpu"),
    ),
    (
        "*calibrate_entropy",
        "the reference crashes",
        "counts and edges that are no finite numbers, less than one bin: it reads other memory",
        lambda case: (
            case["values"] == "special" or int(case["attrs"].get("num_quantized_bins", 255)) < 1
        ),
    ),
    (
        "Correlation",
        "only modkit runs: .*Failed to allocate",
        "a displacement below 0: it makes room for -1 displacements",
        lambda case: int(case["attrs"].get("max_displacement", 1)) < 0,
    ),
    (
        "_image_resize",
        "outputs",
        "levels of OpenCV's vector instructions, which round cubic weights otherwise",
        _by_one,
    ),
    *(
        (
            name,
            "outputs: got -?inf .*expected -?nan",
            "the compensation of a sum that is infinite is NaN",
            lambda case: np.isinf(case["arrays"][0].astype(float)).any(),
        )
        for name in ("nansum", "norm", "LayerNorm")
    ),
    (
        "LayerNorm",
        "(outputs|gradient).*expected nan",
        "so it is where squares are infinite",
        lambda case: (np.abs(case["arrays"][0].astype(float)) > 1e19).any(),
    ),
    (
        "_cond",
        "only modkit runs: .*elemwise_op_common",
        "types do not go into its branches",
        _other_types,
    ),
    (
        "_while_loop",
        r"gradient.*at \(0,\), expected nan",
        "gradients of SequenceMask's lengths are memory that it never wrote, here times 0",
    ),
    (
        "_while_loop",
        r"only modkit runs: gradient.*in_array\.size",
        "it differentiates no loop with outputs that nothing reads",
    ),
    (
        "SequenceLast",
        "the reference crashes",
        "gradients of eager calls without lengths",
        lambda case: case["manner"] == "recorded" and not case["attrs"].get("use_sequence_length"),
    ),
    (
        "arctanh",
        "second gradient.*got nan .*expected -?inf",
        "not the reference's: at the poles the curvature is NaN, as the slope has no limit there",
        lambda case: (abs(case["arrays"][0]) == 1).any(),
    ),
    (
        "_contrib_dgl_csr_neighbor_non_uniform_sample",
        "only the reference runs: .*got weights of shape",
        "it does not compare the number of weights with the graph's vertices",
        lambda case: case["arrays"][1].shape != case["arrays"][0].shape[:1],
    ),
    (
        "_image_resize",
        "outputs",
        "OpenCV has 512 channels at most: the others are wrong",
        lambda case: case["arrays"][0].shape[-1] > 512,
    ),
    *(
        (
            name,
            "only modkit runs: .*(index = 0 must be in range|inferring shapes failed)",
            "it takes no array without axes",
            _without_axes,
        )
        for name in ("LeakyReLU", "SoftmaxActivation", "reset_arrays", "squeeze")
    ),
    (
        "SVMOutput",
        r"only the reference runs: .*got data \(\) ",
        "scores without axes have no classes",
    ),
    (
        "slice_like",
        "(outputs|gradient)",
        "of numbers without axes the result is memory that it never wrote",
        _without_axes,
    ),
    *(
        (
            "Crop",
            f"only the reference runs: .*{name}: got",
            "numbers in excess are ignored",
            _excess(name),
        )
        for name in ("h_w", "offset")
    ),
    (
        "Pooling*",
        "only the reference runs: .*stride: got",
        "numbers in excess are ignored",
        _excess("stride"),
    ),
    (
        "im2col",
        "only the reference runs: .*expected 1 to 3 axes, as many in each",
        "it does not compare the numbers of axes of image and kernel",
        lambda case: np.size(case["attrs"]["kernel"]) < case["arrays"][0].ndim - 2,
    ),
    (
        "*Proposal",
        "outputs.*expected -?nan",
        "scales of 0: boxes of no area",
        lambda case: 0 in np.ravel(case["attrs"]["scales"]),
    ),
    ("scatter_nd", "the reference crashes", "indices outside of the shape", _indices_outside),
    (
        "*[Cc][Tt][Cc]*",
        "gradient.*got nan",
        "not the reference's: all scores of a sample with NaN have the gradient NaN",
        _not_finite(0),
    ),
    *(
        (
            name,
            "(outputs|gradient)",
            "not the reference's: regions of NaN, with no number right",
            _not_finite(1),
        )
        for name in ("*PSROIPooling", "*ROIAlign")
    ),
    *(
        (name, "outputs", "ranges of NaN, and NaN as a level: undefined in C++", _not_finite())
        for name in ("*quantize", "*quantize_v2")
    ),
    ("*edge_id", "outputs", "numbers of vertices that are not finite", _not_finite(1, 2)),
    (
        "*ravel_multi_index",
        "outputs",
        "coordinates that are not finite, as whole numbers: undefined in C++",
        _not_finite(0),
    ),
    *(
        (
            name,
            "(outputs|gradient|the reference adds)",
            "not the reference's: NaN spreads over a matrix; which elements it reaches there "
            "depends on the library",
            _not_finite(),
        )
        for name in ("*linalg_*", "khatri_rao")
    ),
    *(
        (
            name,
            "gradient.*expected -?nan",
            "not the reference's: the gradient of NaN reaches no element, as none is equal to it; "
            "there it is 0 times NaN",
            _not_finite(0),
        )
        for name in ("max", "min", "max_axis", "min_axis")
    ),
    *(
        (
            name,
            "(gradient|the reference)",
            "gradients of two calls are added, where it writes or adds otherwise",
            lambda case: case["chained"] == "twice",
        )
        for name in (*WRITE_FOR_ADD, *ADD_OTHERWISE)
    ),
    *(
        (
            name,
            "(gradient|the reference)",
            "a gradient that it does not write is added to another",
            lambda case: case["chained"] in ("shared", "twice"),
        )
        for name in UNWRITTEN
    ),
    ("*quantized_flatten", "only the reference runs: .*got type", "it does not look at the type"),
    (
        "*quantized_flatten",
        "outputs",
        "of data without elements it does not write the range",
        lambda case: 0 in case["arrays"][0].shape,
    ),
    (
        "_while_loop",
        "gradient",
        "one output of a loop, or a state without a gradient: 22.7 where 3 s w**2 + 1 is 10.1",
        lambda case: case["output"] is not None or case["frozen"],
    ),
    (
        "_while_loop",
        "(gradient|(only )?the reference)",
        "no step: it does not write the gradients",
        _without_a_step,
    ),
    *(
        (
            name,
            "gradient",
            "not the reference's: of data without elements NaN, as BatchNorm's",
            lambda case: 0 in case["arrays"][0].shape,
        )
        for name in ("BatchNorm_v1", "*SyncBatchNorm")
    ),
    (
        "BatchNorm_v1",
        "only modkit runs: .*MapReduceKeepHighDim",
        "it sums no arrays without elements",
        lambda case: 0 in case["arrays"][0].shape,
    ),
    (
        "_while_loop",
        "only modkit runs: .*in operator sequencemask",
        "outputs of a loop without a step have no shape",
        _without_a_step,
    ),
    (
        "arc*h",
        "second gradient",
        "of the wrong sign: for arccosh 0.13 where -x / (x**2 - 1)**1.5 is -0.13",
        lambda case: np.isclose(*np.abs(_numbers(case)), 5e-3),
    ),
    (
        "*quantized_batch_norm",
        "outputs",
        "it reads gamma with fix_gamma, too",
        lambda case: str(case["attrs"].get("fix_gamma", True)) == "True",
    ),
    (
        "_contrib_ifft",
        "only the reference runs: .*an even count",
        "it leaves out the last of an odd count of numbers, which are pairs",
    ),
    (
        "_square_sum",
        "only modkit runs: .*infer_stype_success",
        "not the reference's: without an axis, too",
        _has("axis", "None"),
    ),
    (
        "_square_sum",
        "only modkit runs: .*only supports (2D|axis=)",
        "not the reference's: any number of axes",
    ),
    (
        "_square_sum",
        "(outputs|the reference crashes)",
        "of exclude: the result has its shape, and it sums the given axis, beyond its end",
        _has("exclude", "True"),
    ),
    (
        "*edge_id",
        "outputs",
        "rows outside of the matrix: it reads other memory",
        lambda case: (case["arrays"][1] >= case["arrays"][0].shape[0]).any(),
    ),
    ("*getnnz", "only modkit runs: .*axis = 0 is not supported", "no numbers of columns"),
    (
        "*SparseEmbedding",
        "only modkit runs: .*valid values are",
        "it knows fewer element types than Embedding",
    ),
    (
        "_sparse_retain",
        "only the reference runs: .*it has row",
        "it makes an array with a row outside of its shape",
    ),
    (
        "*PSROIPooling",
        "only the reference runs: .*((output_dim|pooled_size): got '?0|no pixels)",
        "results without channels or bins, or of no pixels, whatever the data have",
    ),
    (
        "BilinearSampler",
        "the reference crashes",
        "positions that are not finite, as whole numbers, are undefined in C++",
        lambda case: not np.isfinite(case["arrays"][1].astype(float)).all(),
    ),
    (
        "BilinearSampler",
        "gradient.*(got|expected) -?(inf|nan)",
        "not the reference's: sums with infinities are NaN or infinite by the order of terms",
        lambda case: case["values"] == "special",
    ),
    (
        "*",
        r"only modkit runs: .*(Shape size mismatch 0 v\.s\. |can not reduce over empty|"
        "Reduction input's size should > 0)",
        "it reduces no arrays without elements, along axes that have some; the operator sum does",
        _without_elements,
    ),
    (
        "*all_finite",
        "only the reference runs: .*init_output=False",
        "not the reference's: an older answer is no input, as the docstring says",
        lambda case: case["attrs"].get("init_output") in (False, "False"),
    ),
    (
        "*",
        "only modkit runs: .*(InferShape failed in operator|inferring shapes failed)",
        "not the reference's: the shape () is that of one number",
        lambda case: str(case["attrs"].get("shape")) == "()",
    ),
    *(
        (
            name,
            "only modkit runs: .*(InferShape failed in operator|inferring shapes failed|"
            "Shape is unknown)",
            "it infers no shapes without axes",
            _without_axes,
        )
        for name in ("*random_pdf_*", "*sample_*")
    ),
    *(
        (
            f"_image_random_{name}",
            "the reference crashes",
            "hues of NaN and infinities: it reads other memory",
            lambda case: not np.isfinite(case["arrays"][0].astype(float)).all(),
        )
        for name in ("color_jitter", "hue")
    ),
    (
        "*BatchNormWithReLU",
        "only modkit runs: .*only supports MKL-DNN Backend",
        "oneDNN's kernel takes no arrays without elements, and no axis but 1",
        lambda case: 0 in case["arrays"][0].shape or str(case["attrs"].get("axis", 1)) != "1",
    ),
    (
        "_random_pdf_normal",
        "gradient.*expected nan",
        "a deviation whose square overflows: 0 times infinity, where the slope goes to 0",
        _square_overflows,
    ),
    (
        "*ROIAlign",
        "outputs.*expected nan",
        "points outside of the image read the first pixel times 0, here no pixel",
        lambda case: case["values"] == "special",
    ),
    (
        "*count_sketch",
        "only the reference runs: .*out_dim: got '?0",
        "a result without columns: a size of 0 is not known",
    ),
    (
        "_random_randint",
        "the reference crashes",
        "no numbers between the ends: a division by 0",
        lambda case: int(case["attrs"]["low"]) == int(case["attrs"]["high"]),
    ),
    (
        "sort",
        "only modkit runs: .*for axis expect int or None but value='', in operator _backward_topk",
        "its gradient does not read the default axis",
        lambda case: "axis" not in case["attrs"],
    ),
    (
        "RNN",
        "only modkit runs: gradient .add.*AddTo is not supported",
        "of float64 it adds no gradients",
        lambda case: case["arrays"][0].dtype == "float64",
    ),
    (
        "*quantized_concat",
        "only modkit runs: .*primitive descriptor for a concat",
        "oneDNN counts axes from the first alone",
        lambda case: int(case["attrs"].get("dim", 1)) < 0,
    ),
    (
        "*SyncBatchNorm",
        "outputs",
        "not the reference's: moving statistics change in the forward pass, not in the backward "
        "pass, which a call without dense variables has not",
        _second_without_gradients,
    ),
    (
        "_foreach",
        "outputs",
        "no steps: the last states are memory that it never wrote",
        lambda case: len(case["arrays"][0]) == 0,
    ),
    (
        "MakeLoss",
        "only modkit runs: .*(MakeLoss inferring shapes failed|Check failed: InferShape)",
        "it takes no array without axes",
        lambda case: case["arrays"][0].ndim == 0,
    ),
    (
        "elemwise_div",
        "outputs: got -1 .*expected 0",
        "whole numbers over 0: rows that are not stored are 0; other calls end the process",
        lambda case: any(case["storage"]) and case["arrays"][0].dtype.kind in "iu",
    ),
    (
        "*ROIAlign",
        "(outputs|gradient)",
        "numbers of images that there are not: it reads other memory",
        lambda case: (case["arrays"][1][:, 0] >= len(case["arrays"][0])).any(),
    ),
    (
        "*MultiProposal",
        "the reference crashes",
        "images larger than their positions: its error is raised in a thread that catches none",
        _images_beyond_positions,
    ),
    (
        "Convolution_v1",
        "only modkit runs: (second )?gradient.*CroppingExp",
        "negative padding has no gradient",
        lambda case: min(case["attrs"].get("pad", (0,))) < 0,
    ),
    (
        "*SyncBatchNorm",
        "the reference crashes",
        "it makes room for ndev devices, and waits for them",
        lambda case: int(case["attrs"].get("ndev", 1)) != 1,
    ),
    (
        "*SyncBatchNorm",
        "only modkit runs: .*shape mismatch",
        "statistics of another call with the same key",
    ),
    (
        "*SyncBatchNorm",
        "(outputs|gradient).*(got|expected) -?(inf|nan)",
        "infinities are scaled before the mean is taken off",
        lambda case: _square_overflows({"arrays": case["arrays"][:1]}),
    ),
    (
        "softmax",
        "only modkit runs: .*index = 2 must be in range",
        "lengths with an axis counted from the end: it looks for the last axis in their shape",
        lambda case: int(case["attrs"].get("axis", -1)) < -1,
    ),
    (
        "*linalg_gemm*",
        "only modkit runs: .*Zero batch size",
        "it multiplies no matrices of an empty batch",
        _without_elements,
    ),
    (
        "*quantized_conv",
        "only the reference runs: .*weight: got shape",
        "numbers of the kernel in excess are ignored",
        lambda case: len(case["attrs"]["kernel"]) > case["arrays"][0].ndim - 2,
    ),
    (
        "*_pdf_normal",
        r"(outputs|gradient \(\w+\)): got nan",
        "not the reference's: a deviation below 0 has no density",
        lambda case: (case["arrays"][2] < 0).any(),
    ),
    (
        "*soft*",
        "only the reference runs: .*axis: got",
        "of no elements it looks at no axis",
        lambda case: 0 in case["arrays"][0].shape,
    ),
    *(
        (
            name,
            "(outputs|gradient).*expected -?nan",
            "data whose squares overflow are NaN, of InstanceNorm with such a gamma; others are 0, "
            "as here",
            lambda case: _square_overflows({"arrays": case["arrays"][:1]}),
        )
        for name in ("GroupNorm", "InstanceNorm")
    ),
    (
        "[Cc]ast",
        r"outputs: got \S+ at",
        "NaN, infinities and numbers outside of a type of whole numbers: undefined in C++",
        _outside_of_type,
    ),
    (
        "*quantized_pooling",
        "only the reference runs: .*for a kernel of",
        "numbers of the kernel in excess are ignored",
    ),
    (
        "*linalg_syrk",
        "outputs",
        "of matrices without columns: the result is memory that it never wrote",
        lambda case: 0 in case["arrays"][0].shape,
    ),
    (
        "_image_*",
        "the reference crashes",
        "of bool: its error is raised in a thread that catches none",
        lambda case: case["arrays"][0].dtype == "bool",
    ),
    *(
        (
            name,
            "(outputs|gradient)",
            "not the reference's: NaN is the largest number, and equal elements keep their order; "
            "its sort keeps no order of more than 16, nor one beside NaN",
            _without_order,
        )
        for name in ("topk", "sort", "argsort")
    ),
    (
        "_image_crop",
        "the reference crashes",
        "crops outside of the image: it reads other memory",
        lambda case: min(int(case["attrs"][n]) for n in ("x", "y")) < 0,
    ),
    (
        "Softmax*",
        "gradient",
        "labels of NaN, as whole numbers: undefined in C++",
        lambda case: np.isnan(case["arrays"][1].astype(float)).any(),
    ),
    (
        "cast_storage",
        "only modkit runs: .*index = 0 must be in range",
        "not the reference's: outputs of executors are dense, and may have no axes",
        lambda case: case["arrays"][0].ndim == 0,
    ),
    (
        "drawn_*",
        r"only modkit runs: .*identity\d+ at 0-th output: "
        "expected float(16|64)",
        "branches of other types than float32 have no types",
    ),
    (
        "drawn_*",
        r"only modkit runs: .*core/graph\.cc",
        "it does not bind gradients of plain graphs, those of all steps: it misses nodes",
        lambda case: case["attrs"]["unrolled"],
    ),
    (
        "drawn_while_loop",
        r"only modkit runs: .*_backward: .*core/graph\.cc",
        "it does not build the gradients of some bodies: it misses nodes",
        lambda case: not case["attrs"]["unrolled"],
    ),
    (
        "drawn_while_loop",
        "(gradient|the reference)",
        "gradients of states, from memory that it did not write: finite differences are modkit's",
        lambda case: not case["attrs"]["unrolled"],
    ),
    (
        "drawn_foreach",
        "(gradient|the reference|only modkit runs: .*InferShape failed)",
        "a loop or branch in a loop: finite differences are modkit's, and shapes can be inferred",
        lambda case: not case["attrs"]["unrolled"] and has_inner(case["attrs"]["seed"]),
    ),
    (
        "_image_random_lighting",
        "drawn",
        "it does not write images of one channel",
        lambda case: case["arrays"][0].shape[-1] == 1,
    ),
    (
        "*[Cc][Tt][Cc]*",
        "(outputs|gradient)",
        "lengths beyond the data: it reads other memory",
        _data_beyond_steps,
    ),
    (
        "*sample_multinomial",
        "(drawn|gradient drawn)",
        "of probabilities whose sum is below 1 it draws a class that there is not, their number",
        lambda case: (case["arrays"][0].sum(-1) < 0.99).any(),
    ),
    (
        "RNN",
        "drawn",
        "where no gradient is needed it runs oneDNN's networks, which do not drop",
        lambda case: case["attrs"].get("p", 0) > 0,
    ),
    (
        "*PSROIPooling",
        "outputs",
        "regions of images that there are not: it reads other memory",
        lambda case: (case["arrays"][1][:, 0] >= len(case["arrays"][0])).any(),
    ),
    (
        "rsqrt",
        "gradient.* expected -inf",
        "of float16: the derivative overflows before the head gradient makes it finite",
        lambda case: case["arrays"][0].dtype == "float16",
    ),
    (
        "log_softmax",
        "(outputs|gradient)",
        "of float16: it adds in float16, where a sum of 2,048 and more loses terms",
        lambda case: case["arrays"][0].dtype == "float16" and max(case["arrays"][0].shape) >= 2048,
    ),
    (
        "log_softmax",
        "(outputs|gradient)",
        "with a negative temperature it subtracts the least quotient, and exponentials overflow",
        lambda case: float(case["attrs"].get("temperature") or 1) < 0,
    ),
    (
        "softmax",
        "gradient",
        "a temperature of 0: 0 / 0 beyond the lengths, which MXNet leaves out",
        lambda case: case["attrs"].get("temperature") == 0,
    ),
    (
        "RNN",
        "only modkit runs: .*argument name state_cell not found",
        "graphs take a fourth array for a cell, which these networks do not have",
        lambda case: case["attrs"].get("mode") != "lstm",
    ),
    (
        "RNN",
        "gradient",
        "of two equal GRU nodes of float64: finite differences, its own too, are modkit's numbers",
        lambda case: case["chained"] == "twice" and case["attrs"].get("mode") == "gru",
    ),
    (
        "_image_random_hue",
        "outputs",
        "a pixel whose largest and least channels cancel: a division by 0, as a whole number",
        lambda case: (
            case["arrays"][0].astype(int).max(-1) == -case["arrays"][0].astype(int).min(-1)
        ).any(),
    ),
    (
        "slice",
        "(outputs|the reference crashes)",
        "rows before the first of a csr matrix: it reads other memory, or crashes",
        lambda case: (
            case["storage"][:1] == ("csr",)
            and (case["attrs"]["begin"][0] or 0) < -len(case["arrays"][0])
        ),
    ),
    (
        "_multi_mp_adamw_update",
        "(outputs|arrays)",
        "an infinite rate: it sums the same terms in another order, without NaN",
        lambda case: (
            not all(np.isfinite(float(case["attrs"].get(n, 0))) for n in ("beta1", "beta2"))
        ),
    ),
    (
        "arctanh",
        "second gradient: got -?0.*expected -?nan",
        "not the reference's: the limit at infinity, where it divides infinities",
        _not_finite(0),
    ),
    (
        "*RegressionOutput",
        "only modkit runs: .*Cannot find argument",
        "parameters that there are not are ignored, but by its gradient",
        lambda case: case["invalid"] in ("unknown", "parameter"),
    ),
    (
        "SequenceLast",
        "(gradient|the reference adds otherwise)",
        "of eager calls without lengths: it reads a length where there is none",
        lambda case: case["manner"] == "recorded" and not case["attrs"].get("use_sequence_length"),
    ),
    (
        "*allclose",
        "only modkit runs: reshaped.*Shape is unknown",
        "its result has no axes, and so a shape that an executor of other sizes does not know",
    ),
    (
        "*sample_multinomial",
        "(drawn|gradient drawn)",
        "of probabilities whose sum is above 1 it draws none behind a sum of 1",
        lambda case: (case["arrays"][0].sum(-1) > 1.01).any(),
    ),
    (
        "*negative_binomial",
        "drawn",
        "of whole numbers its quotients are whole, too",
        lambda case: any(a.dtype.kind in "iu" for a in case["arrays"]),
    ),
    (
        "softmax",
        "only modkit runs: .*index = 1 must be in range",
        "lengths with an axis counted from the end: it looks for the last axis in their shape",
        lambda case: int(case["attrs"].get("axis", -1)) < -1,
    ),
    (
        "softmax",
        "gradient",
        "of float64 with a result of float32: the gradient is of the rounded result",
        lambda case: (
            case["attrs"].get("dtype") == "float32"
            and case["arrays"][0].dtype == "float64"
            and np.isclose(*_numbers(case), rtol=1e-3)
        ),
    ),
    (
        "RNN",
        "(outputs|gradient|second gradient)",
        "rectifiers of float64 make 0 of NaN",
        lambda case: (
            case["attrs"].get("mode") == "rnn_relu"
            and case["arrays"][0].dtype == "float64"
            and any(not np.isfinite(a).all() for a in case["arrays"])
        ),
    ),
    (
        "drawn_foreach",
        "(gradient|the reference adds otherwise)",
        "eager calls and the graph of all steps have modkit's numbers in the reference, too",
        lambda case: not case["attrs"]["unrolled"],
    ),
    (
        "softmax",
        "only the reference runs: .*length: got shape",
        "it does not compare the lengths of a number without axes",
        lambda case: case["arrays"][0].ndim == 0,
    ),
    (
        "*SyncBatchNorm",
        "(outputs|gradient|the reference adds otherwise)",
        "gradients of a call without training, with moments that it never wrote, which it also "
        "adds to the moving statistics",
        lambda case: case["manner"] == "recorded" and case["predicting"],
    ),
    (
        "*BatchNormWithReLU",
        "the reference adds otherwise",
        "with NaN and infinities oneDNN passes gradients on that it does not add",
        _not_finite(0),
    ),
    (
        "*linalg_syevd",
        "only modkit runs: .*Zero batch size",
        "it decomposes no matrices of an empty batch",
        _without_elements,
    ),
    (
        "_image_to_tensor",
        "only modkit runs: .*Incompatible attr",
        "the gradient has the shape of the result, which is added to one of the image's",
        lambda case: bool(case["chained"]),
    ),
    (
        "*nag_mom_update",
        "(outputs|arrays)",
        "not the reference's: numbers beyond float32, in terms of another order",
        lambda case: abs(float(case["attrs"].get("momentum", 0))) > 1e19,
    ),
    (
        "*",
        "only modkit runs: .*index = 1 must be in range",
        "it adds no row-sparse arrays of one axis",
        lambda case: (
            case["op"] in ("ElementWiseSum", "add_n")
            and case["arrays"][0].ndim == 1
            and "row_sparse" in case["storage"]
        ),
    ),
    (
        "_split_v2",
        "only modkit runs: .*is no less than the size of the axis",
        "an axis counted from the end, where an index is at the end: it looks for its size ahead",
        lambda case: int(case["attrs"].get("axis", 0)) < 0,
    ),
    (
        "*linalg_det",
        "the reference adds otherwise",
        "now and then: another run of the same case adds what modkit adds",
    ),
    (
        "batch_dot",
        "the reference adds otherwise",
        "products without elements: it does not add their zeros",
        _without_elements,
    ),
    (
        "RNN",
        r"only modkit runs: .*in_data\.size\(\) == num_inputs",
        "lengths beside sparse arrays: it counts a cell, too, which these networks do not have",
        lambda case: bool(case["attrs"].get("use_sequence_length")) and any(case["storage"]),
    ),
    (
        "*negative_binomial",
        "drawn",
        "not the reference's: probabilities that are not above 0 and at most 1",
        lambda case: (
            case["op"].endswith("sample_negative_binomial")
            and not ((case["arrays"][1] > 0) & (case["arrays"][1] <= 1)).all()
        ),
    ),
    (
        "Pooling",
        "only the reference runs: .*(and the kernel|for a kernel of)",
        "global pooling by a kernel of other axes: it refuses that where there are pixels, too",
        lambda case: _global(case) and 0 in case["arrays"][0].shape,
    ),
    (
        "_image_resize",
        "only modkit runs: reshaped: .*from\\.Size",
        "a reshaped executor keeps the size that the first one computed",
    ),
]
"""Operator (a pattern of `fnmatch`), difference (a regular expression for its start), reason, and
perhaps a test of the case."""


def row_of(case, what):
    """The position of the row that a difference fits; None if it is no defect that is known."""
    plain = re.sub("^(second pass|reshaped) (?=gradient)", "", what)  # ways to the same numbers
    plain = re.sub(
        r"^(out|inference|states|in place|reshaped|second pass \(\w+\)):", "outputs:", plain
    )
    for at, (name, kind, _, *tests) in enumerate(DEFECTS):
        fits = fnmatch.fnmatch(case["op"], name) and re.match(kind, plain)
        if fits and all(test({**case, "difference": what}) for test in tests):
            return at
    return None
