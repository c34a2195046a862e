"""Defects of Apache MXNet 1.9.1 that random cases find, each with its reason.

`compare_ops.py` counts a difference that a row fits as the reference's.
"""

import fnmatch
import re

import numpy as np


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


def _lengths_outside(case):
    """Whether a length is not from 1 to the array's size."""
    if not case["attrs"].get("use_sequence_length"):
        return False
    data, lengths = case["arrays"]
    size = data.shape[int(case["attrs"].get("axis", 0))]
    return ((lengths < 1) | (lengths > size)).any()


def _indices_outside(case):
    """Whether an index of scatter_nd is beyond the shape of the result."""
    shape = np.reshape(case["attrs"]["shape"], -1)
    indices = case["arrays"][1].astype(int)
    return any(((row < 0) | (row >= n)).any() for row, n in zip(indices, shape, strict=False))


def _none_by_default(case):
    """Whether the dtype is None, as it is by default."""
    return case["attrs"].get("dtype", "") is None


def _one_position(case):
    """Whether an image has one row or column."""
    return 1 in case["arrays"][0].shape[2:]


def _is_infinite(case):
    """Whether a function of whole numbers has poles, or results beyond int32."""
    poles = ("gamma", "gammaln", "arctanh", "erfinv", "exp", "expm1", "log", "sinh", "cosh")
    named = case["op"] in poles or "power" in case["op"]
    return named and case["arrays"][0].dtype.kind in "iu"


def _by_one(case):
    """Whether whole numbers differ by 1 at most."""
    got, expected = _numbers(case)
    return case["arrays"][0].dtype.kind in "iu" and abs(got - expected) <= 1


def _numbers(case):
    """The numbers of a difference: what modkit has, and what the reference has."""
    return [float(n) for n in re.findall(r"(?:got|expected) (\S+)", case["difference"])]


def _whole_steps(case):
    """Whether a range of float16 is that of its start and step cut off to whole numbers."""
    attrs, arrays = case["attrs"], case["arrays"]
    if "float16" not in (*(str(a.dtype) for a in arrays), attrs.get("dtype")):
        return False
    start, step = (int(float(attrs.get(n) or d)) for n, d in (("start", 0), ("step", 1)))
    at = [int(n) for n in re.findall(r"\d+", case["difference"].split(" at ")[1].split(")")[0])]
    flat = np.ravel_multi_index(at, arrays[0].shape) if len(at) > 1 else at[0]
    want = start + flat // int(attrs.get("repeat", 1)) * step
    return np.isclose(want, _numbers(case)[1], 1e-2)


def _range_of_int8(case):
    """Whether the range of a product of uint8 is too wide by that factor, or there is a bias."""
    if case["arrays"][0].dtype != "uint8":
        return False
    got, expected = _numbers(case)
    return not case["attrs"].get("no_bias") or np.isclose(expected / got, 255 / 127, 1e-3)


def _dilated_strides(case):
    """Whether kernels of one axis have both strides and dilations."""
    attrs = {n: np.reshape(case["attrs"].get(n) or 1, -1) for n in ("kernel", "stride", "dilate")}
    return len(attrs["kernel"]) == 1 and attrs["stride"].max() > 1 and attrs["dilate"].max() > 1


DEFECTS = [
    ("*", "the reference crashes", "it ends the process"),
    (
        "*",
        "the reference does not add",
        "its added gradients are not its written ones and what was there",
    ),
    ("*", "the reference does not write", "it leaves the gradient of a label or length as it was"),
    (
        "*",
        r"only modkit runs: .*(only supports? (floating|32-bit)|only support floating|"
        r"Only FP32 is supported on CPU|FP16 gemm on cpu|dot only supports|Not implmented!|"
        r"Unsupported (data )?type |Other DTypes are not supported|TBlob\.get_with_shape)",
        "it has kernels for fewer element types",
    ),
    (
        "*",
        r"only modkit runs: .*(Incompatible attr in node \w+ at 1-th input|requires uniform type)",
        "labels of another type than the data's",
    ),
    (
        "*",
        r"only modkit runs: .*(FGradient|Cannot take gradient wrt label|kNullOp|kAddTo|wrong req|"
        r"_backward_topk)",
        "it has no gradient there, zeros here",
    ),
    (
        "*",
        "only modkit runs: TypeError: data type '(None|bfloat16)'",
        "its Python does not know its own names of types",
    ),
    ("[Pp]ad", "only modkit runs: .*first two axes", "it pads the last axes only"),
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
    ("Pooling*", "only the reference runs: .*stride: got", "negative strides read other memory"),
    ("*BilinearResize2D", "only the reference runs: .*got size", "it makes images without pixels"),
    ("*PSROIPooling", "only the reference runs: .*channels of data", "it reads other memory"),
    ("amp_multicast", "inferred types", "all outputs get the type of the first input"),
    (
        "amp_multicast",
        "(outputs|gradient)",
        "cast_narrow takes the first input's type",
        lambda case: case["attrs"].get("cast_narrow") in (True, "True"),
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
    ("_sample_*", "only modkit runs: .*(non-zero|sshape)", "it draws no empty samples"),
    ("BatchNorm", "only the reference runs: .*gamma: got shape", "axis=-2 takes gamma of any size"),
    ("ftml_update", "only modkit runs: .*exceed bound", "rates outside of [0, 1] are refused"),
    (
        "LeakyReLU",
        "gradient",
        "selu: not the derivative; -0.055 at -4, where it is 0.032",
        _has("act_type", "selu"),
    ),
    (
        "SoftmaxActivation",
        "gradient",
        "of three axes: over other axes than the softmax",
        lambda case: case["arrays"][0].ndim == 3,
    ),
    ("LeakyReLU", "only modkit runs: .*kTempSpace", "rrelu draws from another resource"),
    ("_image_flip_*", "gradient", "the head gradient as it is, not mirrored"),
    (
        "_image_flip_*",
        "outputs",
        "the middle one of an odd number of rows or columns is not written",
        lambda case: case["arrays"][0].shape["left" in case["op"]] % 2,
    ),
    (
        "scatter_nd",
        "outputs",
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
        "only the reference runs: .*sample_per_part: got '[-0]",
        "means of no points",
    ),
    ("RNN", r"gradient.*expected 0\.625$", "without oneDNN not all gradients are written"),
    ("RNN", "only modkit runs: gradient.*AddTo is not supported", "nor added"),
    (
        "[Cc]ast",
        "gradient",
        "not the reference's: no gradient through whole numbers, docs/design.md, section 11",
        lambda case: np.dtype(case["attrs"]["dtype"]).kind in "biu",
    ),
    ("_image_resize", "(only modkit runs: )?gradient", "it has no gradient"),
    (
        "*",
        "outputs: got (2.14748e.09|255|127|-1) ",
        "infinity as a whole number: undefined in C++",
        _is_infinite,
    ),
    ("*", r"outputs: got -?9\.22337e.18", "infinity as a whole number is undefined in C++"),
    (
        "*[Cc][Tt][Cc]*",
        "(outputs|gradient)",
        "labels that are no class: it reads other memory",
        _labels_of_no_class,
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
    ("_contrib_quantize_v2", "only the reference runs: .*expected float32", "8 bits stay unscaled"),
    ("*DeformableConvolution", "only modkit runs: .*only implemented in GPU", "no kernel for CPUs"),
    (
        "Sequence[LR]*",
        "(outputs|gradient)",
        "lengths outside of the array: it reads other memory",
        _lengths_outside,
    ),
    ("*index_array", "only the reference runs: .*axes: got", "it reads sizes that are not there"),
    ("*quantized_pooling", "only the reference runs: .*stride: got", "Pooling refuses it, too"),
    (
        "arc*",
        r"outputs: got 0 .*expected -(9\.22337e.18|2\.14748e.09)",
        "NaN as a whole number: undefined in C++",
    ),
    (
        "SpatialTransformer",
        "(outputs|gradient).*expected nan",
        "an output of one row or column divides by 0",
        lambda case: 1 in case["attrs"].get("target_shape", ()),
    ),
    ("*_matmul_*", "only the reference runs: .*(a multiple of|got sh)", "it reads other memory"),
    ("where", "only the reference runs: .*got shape", "it does not compare shapes"),
    (
        "*MultiBoxDetection",
        "outputs",
        "rows behind the first nms_topk are not sorted",
        lambda case: case["attrs"].get("nms_topk", -1) > 0,
    ),
    (
        "*calibrate_entropy",
        "only modkit runs: .*Type inconsistent",
        "counts and edges of two types",
    ),
    ("Embedding", "only modkit runs: .*sparse_grad = 1", "executors with dense gradients"),
    ("RNN", r"outputs: .*expected (-?[0-9.]+e\+[0-9]+|-?nan)", "it reads uninitialized memory"),
    ("LRN", "only modkit runs: .*local size", "windows of all channels"),
    ("Reshape", "only modkit runs: .*shape dim size", "the old target_shape below -1"),
    ("broadcast_like", "only modkit runs: .*Input axis -", "axes are not counted from the end"),
    ("reverse", "only modkit runs: .*index = -", "axes are not counted from the end"),
    ("*quantized_pooling", "only modkit runs: .*layout", "channels first only"),
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
    (
        "_m??imum_scalar",
        "gradient",
        "none for NaN",
        lambda case: np.isnan(case["arrays"][0].astype(float)).any(),
    ),
    ("*arange_like", "only the reference runs: .*repeat: got", "it ends with a division by 0"),
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
    (
        "*_update*",
        "only the reference runs: ",
        "sizes of 0 fit all others",
        lambda case: any(0 in a.shape for a in case["arrays"]),
    ),
    (
        "r[cs]*rt",
        "outputs",
        "infinity as a whole number is undefined in C++",
        lambda case: case["arrays"][0].dtype.kind in "iu" and (case["arrays"][0] == 0).any(),
    ),
    ("*MultiBoxPrior", "only modkit runs: .*offsets_", "centres outside of their cells"),
    ("*allclose", "only modkit runs: shapes cannot", "it fills no shape from the other input's"),
    ("Convolution_v1", "only the reference runs: .*as in kernel", "numbers in excess are ignored"),
    ("*", "only modkit runs: .*_copyto inferring shapes", "no copies of arrays without elements"),
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
        "(outputs|inferred types): got .*, expected .*float64",
        "of dtype=None, the default in its documentation, its Python makes float64",
        _none_by_default,
    ),
    (
        "_split_v2",
        "(outputs|gradient)",
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
    (
        "gammaln",
        "gradient.*got nan at .*expected -?inf",
        "not the reference's: the slope at a pole, which has no sign, is NaN here",
        lambda case: (case["arrays"][0] <= 0).any(),
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
        "of float16 with dtype=float64: exponentials are rounded to float16",
        lambda case: (
            case["arrays"][0].dtype == "float16" and str(case["attrs"].get("dtype")) == "float64"
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
        "moments",
        "(outputs|gradient)",
        "the variance alone, of whole numbers: it reads a mean that it does not compute",
        lambda case: case["arrays"][0].dtype.kind in "iu" and (case["output"] or 0) % 2 == 1,
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
    ("stack", "only the reference runs: .*got shape", "it does not compare numbers of axes"),
    ("RNN", r"only modkit runs: .*out_data.size\(\)", "one output alone is refused"),
    (
        "*prod",
        "gradient.*expected -?(inf|nan)",
        "it divides the product by each element, and so by 0",
        lambda case: (case["arrays"][0] == 0).any(),
    ),
    (
        "[GL]*Norm",
        "(outputs|gradient)",
        "mean or deviation alone: not written where the first output is not computed",
        lambda case: (case["output"] or 0) % 3 > 0,
    ),
    (
        "Softmax*",
        "gradient",
        "out_grad with a label a class: it multiplies by the output, not by its gradient",
        lambda case: (
            case["attrs"].get("out_grad") in (True, "True")
            and case["arrays"][0].shape == case["arrays"][1].shape
        ),
    ),
    ("RNN", "only modkit runs: .*No training support", "projections in inference alone"),
    ("_histogram", r"only modkit runs: .*req\[1\]", "one output alone is refused"),
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
        lambda case: float(case["attrs"].get("p", 1)) == 0,
    ),
    (
        "*quantized_conv",
        "outputs",
        "uint8: the range is that of int8 levels, 255 / 127 times too wide, and the bias is added "
        "as it is, without the ratio of its range to the sums'",
        _range_of_int8,
    ),
    ("*quantized_conv", "only modkit runs: .*only supports uint8", "no kernel for int8"),
    (
        "_image_resize",
        "outputs: ",
        "OpenCV's copies lose the fifth channel",
        lambda case: case["arrays"][0].shape[-1] == 5 and case["attrs"].get("interp") == 0,
    ),
    (
        "slice*",
        "only the reference runs: .*'NoneType'",
        "an empty result: a size of 0 is not known",
    ),
]
"""Operator (a pattern of `fnmatch`), difference (a regular expression for its start), reason, and
perhaps a test of the case."""


def excuse(case, what):
    """The reason why a difference is the reference's defect; ``""`` if it is none that is known."""
    for name, kind, reason, *tests in DEFECTS:
        fits = fnmatch.fnmatch(case["op"], name) and re.match(kind, what)
        if fits and all(test({**case, "difference": what}) for test in tests):
            return reason
    return ""
