"""``mx.sym``: graphs of operators, and every operator as a function of them.

Made by tools/make_stubs.py from the registry of operators; do not edit.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Literal

from modkit.symbol import random as random
from modkit.symbol.construct import Group as Group
from modkit.symbol.construct import Variable as Variable
from modkit.symbol.construct import load as load
from modkit.symbol.construct import load_json as load_json
from modkit.symbol.construct import var as var
from modkit.symbol.creation import arange as arange
from modkit.symbol.creation import eye as eye
from modkit.symbol.creation import full as full
from modkit.symbol.creation import histogram as histogram
from modkit.symbol.creation import hypot as hypot
from modkit.symbol.creation import linspace as linspace
from modkit.symbol.creation import maximum as maximum
from modkit.symbol.creation import minimum as minimum
from modkit.symbol.creation import ones as ones
from modkit.symbol.creation import pow as pow
from modkit.symbol.creation import power as power
from modkit.symbol.creation import split_v2 as split_v2
from modkit.symbol.creation import zeros as zeros
from modkit.symbol.symbol import Symbol as Symbol
from modkit.symbol.symbol import invoke as invoke

op: ModuleType
_internal: ModuleType

def Activation(
    data: Symbol | None = None,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"] = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Apply the activation function ``act_type``, element by element."""

def BatchNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Normalise each channel over batch and space, then scale and shift it."""

def BatchNorm_v1(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`BatchNorm` as early models have it: channels at axis 1, variance as third
    output.
    """

def BilinearSampler(
    data: Symbol | None = None,
    grid: Symbol | None = None,
    cudnn_off: bool | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Sample images at the places that a grid holds, with bilinear interpolation."""

def BlockGrad(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The array itself, through which no gradient flows back."""

def CTCLoss(
    data: Symbol | None = None,
    label: Symbol | None = None,
    data_lengths: Symbol | None = None,
    label_lengths: Symbol | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Connectionist temporal classification: minus the log probability of the labels."""

def Cast(
    data: Symbol | None = None,
    dtype: Any = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``data`` as another element type; fractions are cut off towards zero."""

def Concat(
    *args: Symbol | Sequence[Symbol],
    dim: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Arrays one after the other along an axis."""

def Convolution(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    no_bias: bool = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NHWC", "NDHWC"] | None = None,
    workspace: int = 1024,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Convolution (cross-correlation) with ``num_filter`` kernels."""

def Convolution_v1(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    no_bias: bool = False,
    layout: Literal["NCW", "NCHW", "NCDHW", "NHWC", "NDHWC"] | None = None,
    workspace: int = 1024,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Convolution (cross-correlation) with ``num_filter`` kernels."""

def Correlation(
    data1: Symbol | None = None,
    data2: Symbol | None = None,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Compare each patch of one image with patches around the same place in another."""

def Crop(
    *args: Symbol | Sequence[Symbol],
    offset: int | Sequence[int] = (0, 0),
    h_w: int | Sequence[int] = (0, 0),
    center_crop: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """A window of images."""

def Custom(
    op_type: str, *, name: str | None = None, attr: dict[str, str] | None = None, **kwargs: Any
) -> Symbol:
    """An operator written in Python: a `modkit.operator.CustomOp`."""

def Deconvolution(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    kernel: int | Sequence[int] = ...,
    stride: int | Sequence[int] = (),
    dilate: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    adj: int | Sequence[int] = (),
    target_shape: int | Sequence[int] = (),
    num_filter: int = ...,
    num_group: int = 1,
    no_bias: bool = True,
    layout: Literal["NCW", "NCHW", "NCDHW", "NHWC", "NDHWC"] | None = None,
    workspace: int = 512,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Transposed convolution: what the gradient of a `convolution` in its data
    computes.
    """

def Dropout(
    data: Symbol | None = None,
    p: float = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: int | Sequence[int] = (),
    cudnn_off: bool | None = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Zero a random fraction ``p`` of the elements and scale the rest by 1 / (1 - p)."""

def ElementWiseSum(
    *args: Symbol | Sequence[Symbol],
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The sum of all inputs, which are of one shape and type."""

def Embedding(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    input_dim: int = ...,
    output_dim: int = ...,
    dtype: Any = "float32",
    sparse_grad: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Rows of ``weight``, looked up by number."""

def Flatten(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """All axes but the first as one."""

def FullyConnected(
    data: Symbol | None = None,
    weight: Symbol | None = None,
    bias: Symbol | None = None,
    num_hidden: int = ...,
    no_bias: bool = False,
    flatten: bool = True,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Affine map, ``y = x Wᵀ + b``."""

def GridGenerator(
    data: Symbol | None = None,
    transform_type: Literal["affine", "warp"] = ...,
    target_shape: int | Sequence[int] = (0, 0),
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Places to sample images at, for `BilinearSampler`: -1 and 1 are the outermost
    pixels.
    """

def GroupNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    num_groups: int = 1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Normalise each group of channels of each sample, then scale and shift the group."""

def IdentityAttachKLSparseReg(
    data: Symbol | None = None,
    moving_avg: Symbol | None = None,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Give the data; backward add the gradient of a penalty that keeps units seldom
    active.
    """

def InstanceNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    eps: float = 0.001,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Normalise each channel of each sample over space, then scale and shift it."""

def L2Normalization(
    data: Symbol | None = None,
    eps: float = 1e-10,
    mode: Literal["instance", "channel", "spatial"] = "instance",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Divide by the length, ``x / sqrt(sum x² + eps)``."""

def LRN(
    data: Symbol | None = None,
    alpha: float = 0.0001,
    beta: float = 0.75,
    knorm: float = 2.0,
    nsize: int = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Local response normalisation: ``x (knorm + alpha / nsize * sum x²) ** -beta``."""

def LayerNorm(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    beta: Symbol | None = None,
    axis: int = -1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Normalise along one axis, then scale and shift: ``gamma (x - mean) / std +
    beta``.
    """

def LeakyReLU(
    data: Symbol | None = None,
    gamma: Symbol | None = None,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.333999991,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Apply a rectifier that lets negative numbers through, scaled or bent."""

def LinearRegressionOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Give the data; backward ``(data - label) * grad_scale``, divided by the number
    of outputs of a sample.
    """

def LogisticRegressionOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Give ``p = sigmoid(data)``; backward ``(p - label) * grad_scale``, divided by
    the number of outputs of a sample.
    """

def MAERegressionOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Give the data; backward ``sign(data - label) * grad_scale``, divided by the
    number of outputs of a sample.
    """

def MakeLoss(
    data: Symbol | None = None,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["batch", "null", "valid"] = "null",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Give the data; backward ``grad_scale`` for every element, whatever the head
    gradient.
    """

def Pad(
    data: Symbol | None = None,
    mode: Literal["constant", "edge", "reflect"] = ...,
    pad_width: int | Sequence[int] = ...,
    constant_value: float = 0.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """A border around the array."""

def Pooling(
    data: Symbol | None = None,
    kernel: int | Sequence[int] = (),
    pool_type: Literal["max", "avg", "sum", "lp"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["valid", "full", "same"] = "valid",
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Literal["NCW", "NWC", "NCHW", "NHWC", "NCDHW", "NDHWC"] | None = None,
    cudnn_off: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The largest, mean, sum or norm of each window."""

def Pooling_v1(
    data: Symbol | None = None,
    kernel: int | Sequence[int] = (),
    pool_type: Literal["max", "avg", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["valid", "full"] = "valid",
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Pooling as early models have it, channels first."""

def RNN(
    data: Symbol | None = None,
    parameters: Symbol | None = None,
    state: Symbol | None = None,
    state_cell: Symbol | None = None,
    sequence_length: Symbol | None = None,
    state_size: int = ...,
    num_layers: int = ...,
    bidirectional: bool = False,
    mode: Literal["gru", "lstm", "rnn_relu", "rnn_tanh"] = ...,
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Run a recurrent network of ``num_layers`` layers over a batch of sequences."""

def ROIPooling(
    data: Symbol | None = None,
    rois: Symbol | None = None,
    pooled_size: int | Sequence[int] = ...,
    spatial_scale: float = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The largest value in each bin of regions of images. Regions have no gradient."""

def Reshape(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The same elements under another shape."""

def SVMOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Give the data; backward the gradient of the hinge loss, squared unless
    ``use_linear``.
    """

def SequenceLast(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The last step of each sequence."""

def SequenceMask(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Every step at or after a sequence's length becomes ``value``."""

def SequenceReverse(
    data: Symbol | None = None,
    sequence_length: Symbol | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The steps of each sequence in the opposite order; those after its end stay."""

def SliceChannel(
    data: Symbol | None = None,
    num_outputs: int = ...,
    axis: int = 1,
    squeeze_axis: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Cut an array into equal parts along an axis."""

def Softmax(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Softmax forward; backward the gradient of the cross entropy with ``label``, ``p
    - target``.
    """

def SoftmaxActivation(
    data: Symbol | None = None,
    mode: Literal["channel", "instance"] = "instance",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Softmax over the last axis, or with ``mode="channel"`` over axis 1."""

def SoftmaxOutput(
    data: Symbol | None = None,
    label: Symbol | None = None,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Softmax forward; backward the gradient of the cross entropy with ``label``, ``p
    - target``.
    """

def SpatialTransformer(
    data: Symbol | None = None,
    loc: Symbol | None = None,
    target_shape: int | Sequence[int] = (0, 0),
    transform_type: Literal["affine"] = ...,
    sampler_type: Literal["bilinear"] = ...,
    cudnn_off: bool | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Sample each image on a regular grid that its affine matrix moves."""

def SwapAxis(
    data: Symbol | None = None,
    dim1: int = 0,
    dim2: int = 0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Exchange two axes."""

def UpSampling(
    *args: Symbol | Sequence[Symbol],
    scale: int,
    num_filter: int = 0,
    sample_type: Literal["nearest", "bilinear"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: int = 512,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Make images larger."""

def abs(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The magnitude."""

def adam_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mean: Symbol | None = None,
    var: Symbol | None = None,
    lr: float = ...,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``w ← w − lr·m / (√v + ε)``; the caller corrects ``lr`` for the bias."""

def add_n(
    *args: Symbol | Sequence[Symbol],
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The sum of all inputs, which are of one shape and type."""

def all_finite(
    data: Symbol | None = None,
    init_output: bool = True,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 if no element is infinite or NaN, else 0."""

def amp_cast(
    data: Symbol | None = None,
    dtype: Any = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Floating-point ``data`` as another element type; whole numbers stay as they are."""

def amp_multicast(
    *args: Symbol | Sequence[Symbol],
    cast_narrow: bool = False,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """All floating-point inputs as one type: the widest among them, or the narrowest."""

def arccos(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The inverse cosine, in radians."""

def arccosh(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The inverse hyperbolic cosine."""

def arcsin(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The inverse sine, in radians."""

def arcsinh(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The inverse hyperbolic sine."""

def arctan(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The inverse tangent, in radians."""

def arctanh(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The inverse hyperbolic tangent."""

def argmax(
    data: Symbol | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Where the largest element stands along ``axis``, or in the flat array; the first
    of equals.
    """

def argmax_channel(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Where the largest element stands along axis 1."""

def argmin(
    data: Symbol | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Where the smallest element stands along ``axis``, or in the flat array; the
    first of equals.
    """

def argsort(
    data: Symbol | None = None,
    axis: int | None = -1,
    is_ascend: bool = True,
    dtype: Any = "float32",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Where the elements stand that ``sort`` would put in order."""

def batch_dot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["csr", "default", "row_sparse"] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Matrix products, one for each place on the leading axes."""

def batch_take(
    a: Symbol | None = None,
    indices: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """One element of each row: ``a[i, indices[i]]``; the nearest for an index outside."""

def broadcast_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs + rhs``, with dimensions of size 1 stretched."""

def broadcast_axes(
    data: Symbol | None = None,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``data`` repeated ``size`` times along each ``axis``, where its size is 1."""

def broadcast_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``data`` repeated ``size`` times along each ``axis``, where its size is 1."""

def broadcast_div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs / rhs``, with dimensions of size 1 stretched."""

def broadcast_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 where ``lhs == rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_greater(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 where ``lhs > rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_greater_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 where ``lhs >= rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_hypot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``sqrt(lhs² + rhs²)``, with dimensions of size 1 stretched."""

def broadcast_lesser(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 where ``lhs < rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_lesser_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 where ``lhs <= rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_like(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    lhs_axes: int | Sequence[int] | None = None,
    rhs_axes: int | Sequence[int] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs`` repeated along dimensions of size 1 until it has the shape of ``rhs``."""

def broadcast_logical_and(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 where both are nonzero, else 0, with dimensions of size 1 stretched."""

def broadcast_logical_or(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 where any of them is nonzero, else 0, with dimensions of size 1 stretched."""

def broadcast_logical_xor(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 where just one of them is nonzero, else 0, with dimensions of size 1
    stretched.
    """

def broadcast_maximum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The larger of both, with dimensions of size 1 stretched."""

def broadcast_minimum(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The smaller of both, with dimensions of size 1 stretched."""

def broadcast_minus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs - rhs``, with dimensions of size 1 stretched."""

def broadcast_mod(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The remainder of ``lhs / rhs``, with the sign of ``rhs``, with dimensions of
    size 1 stretched.
    """

def broadcast_mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs * rhs``, with dimensions of size 1 stretched."""

def broadcast_not_equal(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 where ``lhs != rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_plus(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs + rhs``, with dimensions of size 1 stretched."""

def broadcast_power(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs`` to the power ``rhs``, with dimensions of size 1 stretched."""

def broadcast_sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs - rhs``, with dimensions of size 1 stretched."""

def broadcast_to(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``data`` repeated along dimensions of size 1 until it has ``shape``."""

def cast(
    data: Symbol | None = None,
    dtype: Any = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``data`` as another element type; fractions are cut off towards zero."""

def cbrt(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The cube root."""

def ceil(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The next whole number up."""

def choose_element_0index(
    data: Symbol | None = None,
    index: Symbol | None = None,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """One element along an axis, for each place on the other axes."""

def clip(
    data: Symbol | None = None,
    a_min: float = ...,
    a_max: float = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Values below ``a_min`` become ``a_min``, values above ``a_max`` become
    ``a_max``.
    """

def concat(
    *args: Symbol | Sequence[Symbol],
    dim: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Arrays one after the other along an axis."""

def cos(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The cosine, of radians."""

def cosh(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The hyperbolic cosine."""

def crop(
    data: Symbol | None = None,
    begin: int | Sequence[int | None] | None = ...,
    end: int | Sequence[int | None] | None = ...,
    step: int | Sequence[int | None] | None = (),
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...]``."""

def ctc_loss(
    data: Symbol | None = None,
    label: Symbol | None = None,
    data_lengths: Symbol | None = None,
    label_lengths: Symbol | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Connectionist temporal classification: minus the log probability of the labels."""

def cumsum(
    a: Symbol | None = None,
    axis: int | None = None,
    dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Running sums along an axis."""

def degrees(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Radians to degrees."""

def depth_to_space(
    data: Symbol | None = None,
    block_size: int = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Spread channels over blocks of pixels; the inverse of ``space_to_depth``."""

def diag(
    data: Symbol | None = None,
    k: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """A diagonal of matrices, or the matrix with a given diagonal."""

def dot(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["csr", "default", "row_sparse"] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Sum of products over the last axis of ``lhs`` and the first of ``rhs``."""

def elemwise_add(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs + rhs``."""

def elemwise_div(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs / rhs``."""

def elemwise_mul(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs * rhs``."""

def elemwise_sub(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs - rhs``."""

def erf(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The error function."""

def erfinv(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The inverse of the error function."""

def exp(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """E to the power ``data``."""

def expand_dims(
    data: Symbol | None = None,
    axis: int = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Put in a new axis of size 1."""

def expm1(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``exp(data) - 1``, exact near 0."""

def fill_element_0index(
    lhs: Symbol | None = None,
    mhs: Symbol | None = None,
    rhs: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """A copy of ``lhs`` with ``mhs[i]`` at column ``rhs[i]`` of row i."""

def fix(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The next whole number towards zero."""

def flatten(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """All axes but the first as one."""

def flip(
    data: Symbol | None = None,
    axis: int | Sequence[int] = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The elements along some axes in the opposite order."""

def floor(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The next whole number down."""

def ftml_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    d: Symbol | None = None,
    v: Symbol | None = None,
    z: Symbol | None = None,
    lr: float = ...,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    t: float = ...,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Follow the moving leader; see `modkit.ops.update_rules.ftml`."""

def ftrl_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    z: Symbol | None = None,
    n: Symbol | None = None,
    lr: float = ...,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Follow the regularised leader; see `modkit.ops.update_rules.ftrl`."""

def gamma(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The gamma function."""

def gammaln(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The logarithm of the gamma function's magnitude."""

def gather_nd(
    data: Symbol | None = None,
    indices: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Elements of ``data`` at coordinates: ``data[indices[0, i], ..., indices[M - 1,
    i]]``.
    """

def hard_sigmoid(
    data: Symbol | None = None,
    alpha: float = 0.2,
    beta: float = 0.5,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``alpha * data + beta``, clipped to [0, 1]. The derivative is 0 at both ends."""

def identity(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The array itself."""

def khatri_rao(
    *args: Symbol | Sequence[Symbol],
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The Kronecker product column by column."""

def lamb_update_phase1(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mean: Symbol | None = None,
    var: Symbol | None = None,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: float = ...,
    bias_correction: bool = True,
    wd: float = ...,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The direction of LAMB's step: ``m̂ / (√v̂ + ε) + wd·w``."""

def lamb_update_phase2(
    weight: Symbol | None = None,
    g: Symbol | None = None,
    r1: Symbol | None = None,
    r2: Symbol | None = None,
    lr: float = ...,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``w ← w − lr·(r1/r2)·g``, with ``r1`` between the bounds; a bound below 0 is
    none.
    """

def linalg_det(
    A: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The determinant of each matrix."""

def linalg_extractdiag(
    A: Symbol | None = None,
    offset: int = 0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """A diagonal of matrices: above the main one where ``offset`` is positive."""

def linalg_extracttrian(
    A: Symbol | None = None,
    offset: int = 0,
    lower: bool = True,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """A triangle of matrices as one row: a lower one row by row, an upper one column
    by column.
    """

def linalg_gelqf(
    A: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """LQ factors, ``A = L Q``: Q with orthonormal rows, L lower triangular."""

def linalg_gemm(
    A: Symbol | None = None,
    B: Symbol | None = None,
    C: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Matrix product and sum, ``alpha op(A) op(B) + beta C``."""

def linalg_gemm2(
    A: Symbol | None = None,
    B: Symbol | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Matrix product, ``alpha op(A) op(B)``."""

def linalg_inverse(
    A: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The inverse of each matrix."""

def linalg_makediag(
    A: Symbol | None = None,
    offset: int = 0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Matrices with a given diagonal, zeros elsewhere."""

def linalg_maketrian(
    A: Symbol | None = None,
    offset: int = 0,
    lower: bool = True,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Matrices with a given triangle, zeros elsewhere; the inverse of
    ``extracttrian``.
    """

def linalg_potrf(
    A: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Cholesky factor: the lower triangular L with ``L Lᵀ = A``."""

def linalg_potri(
    A: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The inverse of a matrix from its Cholesky factor, ``(A Aᵀ)⁻¹`` for a lower
    triangular A.
    """

def linalg_slogdet(
    A: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Sign, and logarithm of the absolute value, of each determinant."""

def linalg_sumlogdiag(
    A: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Sum of the logarithms of the diagonal."""

def linalg_syrk(
    A: Symbol | None = None,
    transpose: bool = False,
    alpha: float = 1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """A matrix times its transpose, ``alpha A Aᵀ``, or ``alpha Aᵀ A`` with
    ``transpose``.
    """

def linalg_trmm(
    A: Symbol | None = None,
    B: Symbol | None = None,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Product with a triangular matrix, ``alpha op(A) B``, or ``alpha B op(A)``."""

def linalg_trsm(
    A: Symbol | None = None,
    B: Symbol | None = None,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Solution X of ``op(A) X = alpha B``, or of ``X op(A) = alpha B``, for a
    triangular ``A``.
    """

def log(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The natural logarithm."""

def log10(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The logarithm to base 10."""

def log1p(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``log(1 + data)``, exact near 0."""

def log2(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The logarithm to base 2."""

def log_softmax(
    data: Symbol | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Logarithm of the softmax along an axis. Parameters as for `softmax`."""

def logical_not(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 where ``data`` is 0, else 0."""

def make_loss(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``data`` as a loss to be minimised: its gradient is 1, whatever follows it."""

def max(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The largest. Each of several largest ones gets the whole gradient."""

def max_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The largest. Each of several largest ones gets the whole gradient."""

def mean(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The mean. Of whole numbers, cut off towards zero."""

def min(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The smallest. Each of several smallest ones gets the whole gradient."""

def min_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The smallest. Each of several smallest ones gets the whole gradient."""

def moments(
    data: Symbol | None = None,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Mean and variance over ``axes``."""

def mp_lamb_update_phase1(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mean: Symbol | None = None,
    var: Symbol | None = None,
    weight32: Symbol | None = None,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: float = ...,
    bias_correction: bool = True,
    wd: float = ...,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`lamb_update_phase1` on the float32 copy ``weight32`` of a 16-bit weight."""

def mp_lamb_update_phase2(
    weight: Symbol | None = None,
    g: Symbol | None = None,
    r1: Symbol | None = None,
    r2: Symbol | None = None,
    weight32: Symbol | None = None,
    lr: float = ...,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`lamb_update_phase2` on the float32 copy ``weight32`` of a 16-bit weight."""

def mp_nag_mom_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mom: Symbol | None = None,
    weight32: Symbol | None = None,
    lr: float = ...,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`nag_mom_update` on the float32 copy ``weight32`` of a 16-bit weight."""

def mp_sgd_mom_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mom: Symbol | None = None,
    weight32: Symbol | None = None,
    lr: float = ...,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`sgd_mom_update` on the float32 copy ``weight32`` of a 16-bit weight."""

def mp_sgd_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    weight32: Symbol | None = None,
    lr: float = ...,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`sgd_update` on the float32 copy ``weight32`` of a 16-bit weight."""

def multi_all_finite(
    *args: Symbol | Sequence[Symbol],
    init_output: bool = True,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """1 if no element of any array is infinite or NaN, else 0."""

def multi_mp_sgd_mom_update(
    *args: Symbol | Sequence[Symbol],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`mp_sgd_mom_update` of several weights; rates and decays are tuples."""

def multi_mp_sgd_update(
    *args: Symbol | Sequence[Symbol],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`mp_sgd_update` of several weights; rates and decays are tuples."""

def multi_sgd_mom_update(
    *args: Symbol | Sequence[Symbol],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`sgd_mom_update` of several weights; rates and decays are tuples."""

def multi_sgd_update(
    *args: Symbol | Sequence[Symbol],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`sgd_update` of several weights; rates and decays are tuples."""

def multi_sum_sq(
    *args: Symbol | Sequence[Symbol],
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The sum of squares of each array."""

def nag_mom_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mom: Symbol | None = None,
    lr: float = ...,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Nesterov's accelerated gradient; see `modkit.ops.update_rules.nag_mom`."""

def nanprod(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The product of those that are not NaN; see ``prod``."""

def nansum(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The sum of those that are not NaN."""

def negative(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``-data``."""

def norm(
    data: Symbol | None = None,
    ord: int = 2,
    axis: int | Sequence[int] | None = None,
    out_dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
    keepdims: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The sum of magnitudes (``ord=1``) or the root of the sum of squares (``ord=2``)."""

def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Normally distributed numbers, by mean and standard deviation."""

def one_hot(
    indices: Symbol | None = None,
    depth: int = ...,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: Any = "float32",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """A row for each index, ``on_value`` at its place and ``off_value`` elsewhere."""

def ones_like(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Ones of the shape and type of ``data``."""

def pad(
    data: Symbol | None = None,
    mode: Literal["constant", "edge", "reflect"] = ...,
    pad_width: int | Sequence[int] = ...,
    constant_value: float = 0.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """A border around the array."""

def pick(
    data: Symbol | None = None,
    index: Symbol | None = None,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """One element along an axis, for each place on the other axes."""

def preloaded_multi_mp_sgd_mom_update(
    *args: Symbol | Sequence[Symbol],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`mp_sgd_mom_update` of several weights; rates and decays are the last two
    inputs.
    """

def preloaded_multi_mp_sgd_update(
    *args: Symbol | Sequence[Symbol],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`mp_sgd_update` of several weights; rates and decays are the last two inputs."""

def preloaded_multi_sgd_mom_update(
    *args: Symbol | Sequence[Symbol],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`sgd_mom_update` of several weights; rates and decays are the last two inputs."""

def preloaded_multi_sgd_update(
    *args: Symbol | Sequence[Symbol],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """`sgd_update` of several weights; rates and decays are the last two inputs."""

def prod(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The product."""

def radians(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Degrees to radians."""

def random_exponential(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Exponentially distributed numbers of rate ``lam``."""

def random_gamma(
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Gamma distributed numbers of shape ``alpha`` and scale ``beta``."""

def random_generalized_negative_binomial(
    mu: float = 1.0,
    alpha: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Negative binomial counts of mean ``mu`` and variance ``mu + alpha * mu²``."""

def random_negative_binomial(
    k: int = 1,
    p: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Counts of failures before ``k`` successes, each of probability ``p``."""

def random_normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Normally distributed numbers, by mean and standard deviation."""

def random_pdf_dirichlet(
    sample: Symbol | None = None,
    alpha: Symbol | None = None,
    is_log: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The density (or probability) of each sample under the Dirichlet distribution;
    its last axis is a vector; its logarithm with ``is_log``.
    """

def random_pdf_exponential(
    sample: Symbol | None = None,
    lam: Symbol | None = None,
    is_log: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The density (or probability) of each sample under the exponential distribution
    of rate ``lam``; its logarithm with ``is_log``.
    """

def random_pdf_gamma(
    sample: Symbol | None = None,
    alpha: Symbol | None = None,
    beta: Symbol | None = None,
    is_log: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The density (or probability) of each sample under the gamma distribution of rate
    ``beta``; its logarithm with ``is_log``.
    """

def random_pdf_generalized_negative_binomial(
    sample: Symbol | None = None,
    mu: Symbol | None = None,
    alpha: Symbol | None = None,
    is_log: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The density (or probability) of each sample under counts of mean ``mu`` and
    variance ``mu + alpha * mu²``; its logarithm with ``is_log``.
    """

def random_pdf_negative_binomial(
    sample: Symbol | None = None,
    k: Symbol | None = None,
    p: Symbol | None = None,
    is_log: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The density (or probability) of each sample under failures before ``k``
    successes of probability ``p``; its logarithm with ``is_log``.
    """

def random_pdf_normal(
    sample: Symbol | None = None,
    mu: Symbol | None = None,
    sigma: Symbol | None = None,
    is_log: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The density (or probability) of each sample under the normal distribution of
    deviation ``sigma``; its logarithm with ``is_log``.
    """

def random_pdf_poisson(
    sample: Symbol | None = None,
    lam: Symbol | None = None,
    is_log: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The density (or probability) of each sample under the Poisson distribution of
    mean ``lam``; its logarithm with ``is_log``.
    """

def random_pdf_uniform(
    sample: Symbol | None = None,
    low: Symbol | None = None,
    high: Symbol | None = None,
    is_log: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The density (or probability) of each sample under the uniform distribution from
    ``low`` to ``high``; its logarithm with ``is_log``.
    """

def random_poisson(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Poisson distributed counts of mean ``lam``."""

def random_randint(
    low: int,
    high: int,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["int32", "int64"] | None = None,
    ctx: str = "",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Uniformly distributed whole numbers from ``low`` up to, not including, ``high``."""

def random_uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Uniformly distributed numbers from ``low`` up to ``high``."""

def ravel_multi_index(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Flat indices from coordinates."""

def rcbrt(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``1 / cbrt(data)``."""

def reciprocal(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``1 / data``."""

def relu(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``max(data, 0)``."""

def repeat(
    data: Symbol | None = None,
    repeats: int = ...,
    axis: int | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Each element ``repeats`` times in a row."""

def reshape(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The same elements under another shape."""

def reshape_like(
    lhs: Symbol | None = None,
    rhs: Symbol | None = None,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``lhs`` with the sizes of ``rhs``, or with some of its axes in place of some of
    its own.
    """

def reverse(
    data: Symbol | None = None,
    axis: int | Sequence[int] = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The elements along some axes in the opposite order."""

def rint(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The nearest whole number, halves down."""

def rmsprop_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    n: Symbol | None = None,
    lr: float = ...,
    gamma1: float = 0.95,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``n ← γ·n + (1−γ)·g²``, ``w ← w − lr·g / √(n + ε)``."""

def rmspropalex_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    n: Symbol | None = None,
    g: Symbol | None = None,
    delta: Symbol | None = None,
    lr: float = ...,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """RMSProp centred on the mean gradient ``g``, with momentum; see `RMSProp`."""

def round(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The nearest whole number, halves away from zero."""

def rsqrt(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``1 / sqrt(data)``."""

def sample_exponential(
    lam: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Exponentially distributed numbers of rate ``lam``."""

def sample_gamma(
    alpha: Symbol | None = None,
    beta: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Gamma distributed numbers of shape ``alpha`` and scale ``beta``."""

def sample_generalized_negative_binomial(
    mu: Symbol | None = None,
    alpha: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Negative binomial counts of mean ``mu`` and variance ``mu + alpha * mu²``."""

def sample_multinomial(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: Literal["uint8", "int32", "float16", "float32", "float64"] = "int32",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Indices drawn with the probabilities in the last dimension of ``data``."""

def sample_negative_binomial(
    k: Symbol | None = None,
    p: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Counts of failures before ``k`` successes, each of probability ``p``."""

def sample_normal(
    mu: Symbol | None = None,
    sigma: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Normally distributed numbers, by mean and standard deviation."""

def sample_poisson(
    lam: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Poisson distributed counts of mean ``lam``."""

def sample_uniform(
    low: Symbol | None = None,
    high: Symbol | None = None,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Uniformly distributed numbers from ``low`` up to ``high``."""

def scatter_nd(
    data: Symbol | None = None,
    indices: Symbol | None = None,
    shape: int | Sequence[int] = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """An array of zeros with elements put at coordinates; the inverse of
    ``gather_nd``.
    """

def sgd_mom_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mom: Symbol | None = None,
    lr: float = ...,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``v ← μ·v − lr·(clip(rescale·g) + wd·w)``, ``w ← w + v``."""

def sgd_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    lr: float = ...,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``w ← w − lr·(clip(rescale·g) + wd·w)``."""

def shape_array(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The shape of ``data``, as an array of int64."""

def shuffle(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The rows of ``data``, along its first dimension, in random order."""

def sigmoid(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``1 / (1 + exp(-data))``."""

def sign(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """-1, 0 or 1."""

def signsgd_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    lr: float = ...,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``w ← (1 − lr·wd)·w − lr·sign(g)``; rescaling and clipping change no sign."""

def signum_update(
    weight: Symbol | None = None,
    grad: Symbol | None = None,
    mom: Symbol | None = None,
    lr: float = ...,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Steps of size ``lr`` along the sign of the running mean; see `Signum`."""

def sin(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The sine, of radians."""

def sinh(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The hyperbolic sine."""

def size_array(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The number of elements of ``data``, as an array of one int64."""

def slice(
    data: Symbol | None = None,
    begin: int | Sequence[int | None] | None = ...,
    end: int | Sequence[int | None] | None = ...,
    step: int | Sequence[int | None] | None = (),
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...]``."""

def slice_axis(
    data: Symbol | None = None,
    axis: int = ...,
    begin: int = ...,
    end: int | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """A part of one axis."""

def slice_like(
    data: Symbol | None = None,
    shape_like: Symbol | None = None,
    axes: int | Sequence[int] = (),
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The beginning of ``data``, as long as ``shape_like`` along some axes."""

def smooth_l1(
    data: Symbol | None = None,
    scalar: float = 1.0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """A parabola near 0 and a straight line outside, of one slope where they meet."""

def softmax(
    data: Symbol | None = None,
    length: Symbol | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Softmax along an axis, ``exp(x / temperature) / sum(exp(x / temperature))``."""

def softmax_cross_entropy(
    data: Symbol | None = None,
    label: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Sum over the batch of ``-log softmax(data)[label]``."""

def softmin(
    data: Symbol | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Softmax of ``-data`` along an axis. Parameters as for `softmax`."""

def softsign(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``data / (1 + |data|)``."""

def sort(
    data: Symbol | None = None,
    axis: int | None = -1,
    is_ascend: bool = True,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The elements in order along ``axis``, or all in one row if it is ``None``."""

def space_to_depth(
    data: Symbol | None = None,
    block_size: int = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Gather blocks of pixels into channels; the inverse of ``depth_to_space``."""

def split(
    data: Symbol | None = None,
    num_outputs: int = ...,
    axis: int = 1,
    squeeze_axis: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Cut an array into equal parts along an axis."""

def sqrt(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The square root."""

def square(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``data * data``."""

def squeeze(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Leave out axes of size 1: all of them, or those named."""

def stack(
    *args: Symbol | Sequence[Symbol],
    axis: int = 0,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Arrays side by side along a new axis."""

def stop_gradient(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The array itself, through which no gradient flows back."""

def sum(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The sum."""

def sum_axis(
    data: Symbol | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The sum."""

def swapaxes(
    data: Symbol | None = None,
    dim1: int = 0,
    dim2: int = 0,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Exchange two axes."""

def take(
    a: Symbol | None = None,
    indices: Symbol | None = None,
    axis: int = 0,
    mode: Literal["clip", "raise", "wrap"] = "clip",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Slices of ``a`` along an axis, in the order of ``indices``."""

def tan(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The tangent, of radians."""

def tanh(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The hyperbolic tangent."""

def tile(
    data: Symbol | None = None,
    reps: int | Sequence[int] = ...,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The whole array again and again, ``reps[i]`` times along axis i."""

def topk(
    data: Symbol | None = None,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["value", "indices", "mask", "both"] = "indices",
    is_ascend: bool = False,
    dtype: Any = "float32",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The ``k`` largest elements along ``axis``, largest first; all of them if ``k``
    is below 1.
    """

def transpose(
    data: Symbol | None = None,
    axes: int | Sequence[int] = (),
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The axes in another order; reversed by default."""

def trunc(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """The next whole number towards zero."""

def uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Uniformly distributed numbers from ``low`` up to ``high``."""

def unravel_index(
    data: Symbol | None = None,
    shape: int | Sequence[int] = (),
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Coordinates from flat indices."""

def where(
    condition: Symbol | None = None,
    x: Symbol | None = None,
    y: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """``x`` where the condition is not 0, else ``y``."""

def zeros_like(
    data: Symbol | None = None,
    *,
    name: str | None = None,
    attr: dict[str, str] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Zeros of the shape and type of ``data``."""

class contrib:
    """Operators of ``contrib``."""

    @staticmethod
    def AdaptiveAvgPooling2D(
        data: Symbol | None = None,
        output_size: int | Sequence[int] = (),
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Mean pooling to a given size."""
    @staticmethod
    def BilinearResize2D(
        data: Symbol | None = None,
        like: Symbol | None = None,
        height: int = 1,
        width: int = 1,
        scale_height: float | None = None,
        scale_width: float | None = None,
        mode: Literal[
            "size", "odd_scale", "like", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"
        ] = "size",
        align_corners: bool = True,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Resize images by interpolating between rows and columns."""
    @staticmethod
    def CTCLoss(
        data: Symbol | None = None,
        label: Symbol | None = None,
        data_lengths: Symbol | None = None,
        label_lengths: Symbol | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: Literal["first", "last"] = "first",
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Connectionist temporal classification: minus the log probability of the labels."""
    @staticmethod
    def MultiBoxDetection(
        cls_prob: Symbol | None = None,
        loc_pred: Symbol | None = None,
        anchor: Symbol | None = None,
        clip: bool = True,
        threshold: float = 0.01,
        nms_threshold: float = 0.5,
        force_suppress: bool = False,
        variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
        nms_topk: int = -1,
        background_id: int = 0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Detections from a single-shot detector's predictions. No gradient."""
    @staticmethod
    def MultiBoxPrior(
        data: Symbol | None = None,
        sizes: float | Sequence[float] = (1.0,),
        ratios: float | Sequence[float] = (1.0,),
        clip: bool = False,
        steps: float | Sequence[float] = (-1.0, -1.0),
        offsets: float | Sequence[float] = (0.5, 0.5),
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Anchor boxes around every place of a feature map, in fractions of the image."""
    @staticmethod
    def MultiBoxTarget(
        anchor: Symbol | None = None,
        label: Symbol | None = None,
        cls_pred: Symbol | None = None,
        overlap_threshold: float = 0.5,
        ignore_label: float = -1.0,
        negative_mining_ratio: float = -1.0,
        negative_mining_thresh: float = 0.5,
        variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
        minimum_negative_samples: int = 0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """What a single-shot detector should predict for each anchor. No gradient."""
    @staticmethod
    def SparseEmbedding(
        data: Symbol | None = None,
        weight: Symbol | None = None,
        input_dim: int = ...,
        output_dim: int = ...,
        dtype: Any = "float32",
        sparse_grad: bool = False,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Rows of ``weight``, looked up by number."""
    @staticmethod
    def SyncBatchNorm(
        data: Symbol | None = None,
        gamma: Symbol | None = None,
        beta: Symbol | None = None,
        moving_mean: Symbol | None = None,
        moving_var: Symbol | None = None,
        eps: float = 0.001,
        momentum: float = 0.9,
        fix_gamma: bool = True,
        use_global_stats: bool = False,
        output_mean_var: bool = False,
        ndev: int = 1,
        key: str = "",
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """`BatchNorm` with the statistics of the batches of all replicas together."""
    @staticmethod
    def arange_like(
        data: Symbol | None = None,
        start: float = 0.0,
        step: float = 1.0,
        repeat: int = 1,
        axis: int | None = None,
        ctx: str = "",
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Evenly spaced numbers, as many as an array has elements."""
    @staticmethod
    def boolean_mask(
        data: Symbol | None = None,
        index: Symbol | None = None,
        axis: int = 0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The slices whose mask is not 0: not supported, since their number is not known
        beforehand.
        """
    @staticmethod
    def box_iou(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        format: Literal["center", "corner"] = "corner",
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Intersection over union of every box of ``lhs`` with every box of ``rhs``. No
        gradient.
        """
    @staticmethod
    def box_nms(
        data: Symbol | None = None,
        overlap_thresh: float = 0.5,
        valid_thresh: float = 0.0,
        topk: int = -1,
        coord_start: int = 2,
        score_index: int = 1,
        id_index: int = -1,
        background_id: int = -1,
        force_suppress: bool = False,
        in_format: Literal["center", "corner"] = "corner",
        out_format: Literal["center", "corner"] = "corner",
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Keep the boxes that overlap no better one by more than ``overlap_thresh``."""
    @staticmethod
    def box_non_maximum_suppression(
        data: Symbol | None = None,
        overlap_thresh: float = 0.5,
        valid_thresh: float = 0.0,
        topk: int = -1,
        coord_start: int = 2,
        score_index: int = 1,
        id_index: int = -1,
        background_id: int = -1,
        force_suppress: bool = False,
        in_format: Literal["center", "corner"] = "corner",
        out_format: Literal["center", "corner"] = "corner",
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Keep the boxes that overlap no better one by more than ``overlap_thresh``."""
    @staticmethod
    def ctc_loss(
        data: Symbol | None = None,
        label: Symbol | None = None,
        data_lengths: Symbol | None = None,
        label_lengths: Symbol | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: Literal["first", "last"] = "first",
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Connectionist temporal classification: minus the log probability of the labels."""
    @staticmethod
    def div_sqrt_dim(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Divided by the square root of the size of the last axis."""
    @staticmethod
    def gradientmultiplier(
        data: Symbol | None = None,
        scalar: float = 1.0,
        is_int: bool = True,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``data`` itself, with ``scalar`` times its gradient; a negative one reverses it."""
    @staticmethod
    def index_array(
        data: Symbol | None = None,
        axes: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The coordinates of every element."""
    @staticmethod
    def index_copy(
        old_tensor: Symbol | None = None,
        index_vector: Symbol | None = None,
        new_tensor: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """A copy of ``old_tensor`` with slices of ``new_tensor`` put at places on the
        first axis.
        """
    @staticmethod
    def quadratic(
        data: Symbol | None = None,
        a: float = 0.0,
        b: float = 0.0,
        c: float = 0.0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``a * data² + b * data + c``."""
    @staticmethod
    def round_ste(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The nearest whole number, halves away from zero, with the gradient of ``data``
        itself.
        """
    @staticmethod
    def sign_ste(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """-1, 0 or 1, with the gradient of ``data`` itself."""

class image:
    """Operators of ``image``."""

class linalg:
    """Operators of ``linalg``."""

    @staticmethod
    def det(
        A: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The determinant of each matrix."""
    @staticmethod
    def extractdiag(
        A: Symbol | None = None,
        offset: int = 0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """A diagonal of matrices: above the main one where ``offset`` is positive."""
    @staticmethod
    def extracttrian(
        A: Symbol | None = None,
        offset: int = 0,
        lower: bool = True,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """A triangle of matrices as one row: a lower one row by row, an upper one column
        by column.
        """
    @staticmethod
    def gelqf(
        A: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """LQ factors, ``A = L Q``: Q with orthonormal rows, L lower triangular."""
    @staticmethod
    def gemm(
        A: Symbol | None = None,
        B: Symbol | None = None,
        C: Symbol | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 1.0,
        axis: int = -2,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Matrix product and sum, ``alpha op(A) op(B) + beta C``."""
    @staticmethod
    def gemm2(
        A: Symbol | None = None,
        B: Symbol | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        axis: int = -2,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Matrix product, ``alpha op(A) op(B)``."""
    @staticmethod
    def inverse(
        A: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The inverse of each matrix."""
    @staticmethod
    def makediag(
        A: Symbol | None = None,
        offset: int = 0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Matrices with a given diagonal, zeros elsewhere."""
    @staticmethod
    def maketrian(
        A: Symbol | None = None,
        offset: int = 0,
        lower: bool = True,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Matrices with a given triangle, zeros elsewhere; the inverse of
        ``extracttrian``.
        """
    @staticmethod
    def potrf(
        A: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Cholesky factor: the lower triangular L with ``L Lᵀ = A``."""
    @staticmethod
    def potri(
        A: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The inverse of a matrix from its Cholesky factor, ``(A Aᵀ)⁻¹`` for a lower
        triangular A.
        """
    @staticmethod
    def slogdet(
        A: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Sign, and logarithm of the absolute value, of each determinant."""
    @staticmethod
    def sumlogdiag(
        A: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Sum of the logarithms of the diagonal."""
    @staticmethod
    def syevd(
        A: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Eigenvectors, as rows of U, and eigenvalues, rising: ``A = Uᵀ diag(values) U``."""
    @staticmethod
    def syrk(
        A: Symbol | None = None,
        transpose: bool = False,
        alpha: float = 1.0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """A matrix times its transpose, ``alpha A Aᵀ``, or ``alpha Aᵀ A`` with
        ``transpose``.
        """
    @staticmethod
    def trmm(
        A: Symbol | None = None,
        B: Symbol | None = None,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Product with a triangular matrix, ``alpha op(A) B``, or ``alpha B op(A)``."""
    @staticmethod
    def trsm(
        A: Symbol | None = None,
        B: Symbol | None = None,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Solution X of ``op(A) X = alpha B``, or of ``X op(A) = alpha B``, for a
        triangular ``A``.
        """

class sparse:
    """Operators of ``sparse``."""

    @staticmethod
    def ElementWiseSum(
        *args: Symbol | Sequence[Symbol],
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The sum of all inputs, which are of one shape and type."""
    @staticmethod
    def Embedding(
        data: Symbol | None = None,
        weight: Symbol | None = None,
        input_dim: int = ...,
        output_dim: int = ...,
        dtype: Any = "float32",
        sparse_grad: bool = False,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Rows of ``weight``, looked up by number."""
    @staticmethod
    def FullyConnected(
        data: Symbol | None = None,
        weight: Symbol | None = None,
        bias: Symbol | None = None,
        num_hidden: int = ...,
        no_bias: bool = False,
        flatten: bool = True,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Affine map, ``y = x Wᵀ + b``."""
    @staticmethod
    def LinearRegressionOutput(
        data: Symbol | None = None,
        label: Symbol | None = None,
        grad_scale: float = 1.0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Give the data; backward ``(data - label) * grad_scale``, divided by the number
        of outputs of a sample.
        """
    @staticmethod
    def LogisticRegressionOutput(
        data: Symbol | None = None,
        label: Symbol | None = None,
        grad_scale: float = 1.0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Give ``p = sigmoid(data)``; backward ``(p - label) * grad_scale``, divided by
        the number of outputs of a sample.
        """
    @staticmethod
    def MAERegressionOutput(
        data: Symbol | None = None,
        label: Symbol | None = None,
        grad_scale: float = 1.0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Give the data; backward ``sign(data - label) * grad_scale``, divided by the
        number of outputs of a sample.
        """
    @staticmethod
    def _contrib_round_ste(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The nearest whole number, halves away from zero, with the gradient of ``data``
        itself.
        """
    @staticmethod
    def _contrib_sign_ste(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """-1, 0 or 1, with the gradient of ``data`` itself."""
    @staticmethod
    def abs(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The magnitude."""
    @staticmethod
    def adam_update(
        weight: Symbol | None = None,
        grad: Symbol | None = None,
        mean: Symbol | None = None,
        var: Symbol | None = None,
        lr: float = ...,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-08,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``w ← w − lr·m / (√v + ε)``; the caller corrects ``lr`` for the bias."""
    @staticmethod
    def add_n(
        *args: Symbol | Sequence[Symbol],
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The sum of all inputs, which are of one shape and type."""
    @staticmethod
    def arccos(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The inverse cosine, in radians."""
    @staticmethod
    def arccosh(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The inverse hyperbolic cosine."""
    @staticmethod
    def arcsin(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The inverse sine, in radians."""
    @staticmethod
    def arcsinh(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The inverse hyperbolic sine."""
    @staticmethod
    def arctan(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The inverse tangent, in radians."""
    @staticmethod
    def arctanh(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The inverse hyperbolic tangent."""
    @staticmethod
    def broadcast_add(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``lhs + rhs``, with dimensions of size 1 stretched."""
    @staticmethod
    def broadcast_div(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``lhs / rhs``, with dimensions of size 1 stretched."""
    @staticmethod
    def broadcast_minus(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``lhs - rhs``, with dimensions of size 1 stretched."""
    @staticmethod
    def broadcast_mul(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``lhs * rhs``, with dimensions of size 1 stretched."""
    @staticmethod
    def broadcast_plus(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``lhs + rhs``, with dimensions of size 1 stretched."""
    @staticmethod
    def broadcast_sub(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``lhs - rhs``, with dimensions of size 1 stretched."""
    @staticmethod
    def cbrt(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The cube root."""
    @staticmethod
    def ceil(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The next whole number up."""
    @staticmethod
    def clip(
        data: Symbol | None = None,
        a_min: float = ...,
        a_max: float = ...,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Values below ``a_min`` become ``a_min``, values above ``a_max`` become
        ``a_max``.
        """
    @staticmethod
    def concat(
        *args: Symbol | Sequence[Symbol],
        dim: int = 1,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Arrays one after the other along an axis."""
    @staticmethod
    def cos(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The cosine, of radians."""
    @staticmethod
    def cosh(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The hyperbolic cosine."""
    @staticmethod
    def degrees(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Radians to degrees."""
    @staticmethod
    def dot(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        transpose_a: bool = False,
        transpose_b: bool = False,
        forward_stype: Literal["csr", "default", "row_sparse"] | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Sum of products over the last axis of ``lhs`` and the first of ``rhs``."""
    @staticmethod
    def elemwise_add(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``lhs + rhs``."""
    @staticmethod
    def elemwise_div(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``lhs / rhs``."""
    @staticmethod
    def elemwise_mul(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``lhs * rhs``."""
    @staticmethod
    def elemwise_sub(
        lhs: Symbol | None = None,
        rhs: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``lhs - rhs``."""
    @staticmethod
    def exp(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """E to the power ``data``."""
    @staticmethod
    def expm1(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``exp(data) - 1``, exact near 0."""
    @staticmethod
    def fix(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The next whole number towards zero."""
    @staticmethod
    def floor(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The next whole number down."""
    @staticmethod
    def ftrl_update(
        weight: Symbol | None = None,
        grad: Symbol | None = None,
        z: Symbol | None = None,
        n: Symbol | None = None,
        lr: float = ...,
        lamda1: float = 0.01,
        beta: float = 1.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Follow the regularised leader; see `modkit.ops.update_rules.ftrl`."""
    @staticmethod
    def gamma(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The gamma function."""
    @staticmethod
    def gammaln(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The logarithm of the gamma function's magnitude."""
    @staticmethod
    def log(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The natural logarithm."""
    @staticmethod
    def log10(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The logarithm to base 10."""
    @staticmethod
    def log1p(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``log(1 + data)``, exact near 0."""
    @staticmethod
    def log2(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The logarithm to base 2."""
    @staticmethod
    def make_loss(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``data`` as a loss to be minimised: its gradient is 1, whatever follows it."""
    @staticmethod
    def mean(
        data: Symbol | None = None,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The mean. Of whole numbers, cut off towards zero."""
    @staticmethod
    def negative(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``-data``."""
    @staticmethod
    def norm(
        data: Symbol | None = None,
        ord: int = 2,
        axis: int | Sequence[int] | None = None,
        out_dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
        keepdims: bool = False,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The sum of magnitudes (``ord=1``) or the root of the sum of squares (``ord=2``)."""
    @staticmethod
    def radians(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Degrees to radians."""
    @staticmethod
    def relu(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``max(data, 0)``."""
    @staticmethod
    def rint(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The nearest whole number, halves down."""
    @staticmethod
    def round(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The nearest whole number, halves away from zero."""
    @staticmethod
    def rsqrt(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``1 / sqrt(data)``."""
    @staticmethod
    def sgd_mom_update(
        weight: Symbol | None = None,
        grad: Symbol | None = None,
        mom: Symbol | None = None,
        lr: float = ...,
        momentum: float = 0.0,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``v ← μ·v − lr·(clip(rescale·g) + wd·w)``, ``w ← w + v``."""
    @staticmethod
    def sgd_update(
        weight: Symbol | None = None,
        grad: Symbol | None = None,
        lr: float = ...,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float = -1.0,
        lazy_update: bool = True,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``w ← w − lr·(clip(rescale·g) + wd·w)``."""
    @staticmethod
    def sigmoid(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``1 / (1 + exp(-data))``."""
    @staticmethod
    def sign(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """-1, 0 or 1."""
    @staticmethod
    def sin(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The sine, of radians."""
    @staticmethod
    def sinh(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The hyperbolic sine."""
    @staticmethod
    def slice(
        data: Symbol | None = None,
        begin: int | Sequence[int | None] | None = ...,
        end: int | Sequence[int | None] | None = ...,
        step: int | Sequence[int | None] | None = (),
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...]``."""
    @staticmethod
    def sqrt(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The square root."""
    @staticmethod
    def square(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``data * data``."""
    @staticmethod
    def stop_gradient(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The array itself, through which no gradient flows back."""
    @staticmethod
    def sum(
        data: Symbol | None = None,
        axis: int | Sequence[int] | None = None,
        keepdims: bool = False,
        exclude: bool = False,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The sum."""
    @staticmethod
    def tan(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The tangent, of radians."""
    @staticmethod
    def tanh(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The hyperbolic tangent."""
    @staticmethod
    def trunc(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """The next whole number towards zero."""
    @staticmethod
    def where(
        condition: Symbol | None = None,
        x: Symbol | None = None,
        y: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """``x`` where the condition is not 0, else ``y``."""
    @staticmethod
    def zeros_like(
        data: Symbol | None = None,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Symbol:
        """Zeros of the shape and type of ``data``."""
