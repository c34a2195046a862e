"""``mx.nd``: eager arrays and every operator as a function of them.

Made by tools/make_stubs.py from the registry of operators; do not edit.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Literal

import jax
import numpy as np

from modkit.ndarray import random as random
from modkit.ndarray import sparse as sparse
from modkit.ndarray.creation import arange as arange
from modkit.ndarray.creation import array as array
from modkit.ndarray.creation import concatenate as concatenate
from modkit.ndarray.creation import empty as empty
from modkit.ndarray.creation import eye as eye
from modkit.ndarray.creation import from_dlpack as from_dlpack
from modkit.ndarray.creation import from_numpy as from_numpy
from modkit.ndarray.creation import full as full
from modkit.ndarray.creation import linspace as linspace
from modkit.ndarray.creation import moveaxis as moveaxis
from modkit.ndarray.creation import onehot_encode as onehot_encode
from modkit.ndarray.creation import ones as ones
from modkit.ndarray.creation import to_dlpack_for_read as to_dlpack_for_read
from modkit.ndarray.creation import to_dlpack_for_write as to_dlpack_for_write
from modkit.ndarray.creation import waitall as waitall
from modkit.ndarray.creation import zeros as zeros
from modkit.ndarray.custom import Custom as Custom
from modkit.ndarray.files import load as load
from modkit.ndarray.files import load_frombuffer as load_frombuffer
from modkit.ndarray.files import save as save
from modkit.ndarray.ndarray import NDArray as NDArray
from modkit.ndarray.ndarray import from_jax as from_jax
from modkit.ndarray.ndarray import invoke as invoke
from modkit.ndarray.pairs import add as add
from modkit.ndarray.pairs import divide as divide
from modkit.ndarray.pairs import equal as equal
from modkit.ndarray.pairs import greater as greater
from modkit.ndarray.pairs import greater_equal as greater_equal
from modkit.ndarray.pairs import histogram as histogram
from modkit.ndarray.pairs import lesser as lesser
from modkit.ndarray.pairs import lesser_equal as lesser_equal
from modkit.ndarray.pairs import logical_and as logical_and
from modkit.ndarray.pairs import logical_or as logical_or
from modkit.ndarray.pairs import logical_xor as logical_xor
from modkit.ndarray.pairs import maximum as maximum
from modkit.ndarray.pairs import minimum as minimum
from modkit.ndarray.pairs import modulo as modulo
from modkit.ndarray.pairs import multiply as multiply
from modkit.ndarray.pairs import not_equal as not_equal
from modkit.ndarray.pairs import power as power
from modkit.ndarray.pairs import split_v2 as split_v2
from modkit.ndarray.pairs import subtract as subtract
from modkit.ndarray.pairs import true_divide as true_divide
from modkit.ndarray.sparse import BaseSparseNDArray as BaseSparseNDArray
from modkit.ndarray.sparse import CSRNDArray as CSRNDArray
from modkit.ndarray.sparse import RowSparseNDArray as RowSparseNDArray
from modkit.ndarray.sparse import cast_storage as cast_storage
from modkit.ndarray.sparse import csr_matrix as csr_matrix
from modkit.ndarray.sparse import row_sparse_array as row_sparse_array

_Array = NDArray | np.ndarray | jax.Array

op: ModuleType
_internal: ModuleType

def Activation(
    data: _Array,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Apply the activation function ``act_type``, element by element."""

def BatchNorm(
    data: _Array,
    gamma: _Array,
    beta: _Array,
    moving_mean: _Array,
    moving_var: _Array,
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
    out: Any = None,
    name: str | None = None,
) -> Any:
    """Normalise each channel over batch and space, then scale and shift it."""

def BatchNorm_v1(
    data: _Array,
    gamma: _Array,
    beta: _Array,
    moving_mean: _Array,
    moving_var: _Array,
    eps: float = 0.001,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """`BatchNorm` as early models have it: channels at axis 1, variance as third
    output.
    """

def BilinearSampler(
    data: _Array,
    grid: _Array,
    cudnn_off: bool | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Sample images at the places that a grid holds, with bilinear interpolation."""

def BlockGrad(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The array itself, through which no gradient flows back."""

def CTCLoss(
    data: _Array,
    label: _Array,
    data_lengths: _Array | None = None,
    label_lengths: _Array | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Connectionist temporal classification: minus the log probability of the labels."""

def Cast(data: _Array, dtype: Any, *, out: Any = None, name: str | None = None) -> NDArray:
    """``data`` as another element type; fractions are cut off towards zero."""

def Concat(
    *args: _Array | Sequence[_Array], dim: int = 1, out: Any = None, name: str | None = None
) -> NDArray:
    """Arrays one after the other along an axis."""

def Convolution(
    data: _Array,
    weight: _Array,
    bias: _Array | None = None,
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
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Convolution (cross-correlation) with ``num_filter`` kernels."""

def Convolution_v1(
    data: _Array,
    weight: _Array,
    bias: _Array | None = None,
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
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Convolution (cross-correlation) with ``num_filter`` kernels."""

def Correlation(
    data1: _Array,
    data2: _Array,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Compare each patch of one image with patches around the same place in another."""

def Crop(
    *args: _Array | Sequence[_Array],
    offset: int | Sequence[int] = (0, 0),
    h_w: int | Sequence[int] = (0, 0),
    center_crop: bool = False,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """A window of images."""

def Deconvolution(
    data: _Array,
    weight: _Array,
    bias: _Array | None = None,
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
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Transposed convolution: what the gradient of a `convolution` in its data
    computes.
    """

def Dropout(
    data: _Array,
    p: float = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: int | Sequence[int] = (),
    cudnn_off: bool | None = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Zero a random fraction ``p`` of the elements and scale the rest by 1 / (1 - p)."""

def ElementWiseSum(
    *args: _Array | Sequence[_Array], out: Any = None, name: str | None = None
) -> NDArray:
    """The sum of all inputs, which are of one shape and type."""

def Embedding(
    data: _Array,
    weight: _Array,
    input_dim: int,
    output_dim: int,
    dtype: Any = "float32",
    sparse_grad: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Rows of ``weight``, looked up by number."""

def Flatten(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """All axes but the first as one."""

def FullyConnected(
    data: _Array,
    weight: _Array,
    bias: _Array | None = None,
    num_hidden: int = ...,
    no_bias: bool = False,
    flatten: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Affine map, ``y = x Wᵀ + b``."""

def GridGenerator(
    data: _Array,
    transform_type: Literal["affine", "warp"],
    target_shape: int | Sequence[int] = (0, 0),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Places to sample images at, for `BilinearSampler`: -1 and 1 are the outermost
    pixels.
    """

def GroupNorm(
    data: _Array,
    gamma: _Array,
    beta: _Array,
    num_groups: int = 1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """Normalise each group of channels of each sample, then scale and shift the group."""

def IdentityAttachKLSparseReg(
    data: _Array,
    moving_avg: _Array,
    sparseness_target: float = 0.1,
    penalty: float = 0.001,
    momentum: float = 0.9,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Give the data; backward add the gradient of a penalty that keeps units seldom
    active.
    """

def InstanceNorm(
    data: _Array,
    gamma: _Array,
    beta: _Array,
    eps: float = 0.001,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Normalise each channel of each sample over space, then scale and shift it."""

def L2Normalization(
    data: _Array,
    eps: float = 1e-10,
    mode: Literal["instance", "channel", "spatial"] = "instance",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Divide by the length, ``x / sqrt(sum x² + eps)``."""

def LRN(
    data: _Array,
    alpha: float = 0.0001,
    beta: float = 0.75,
    knorm: float = 2.0,
    nsize: int = ...,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Local response normalisation: ``x (knorm + alpha / nsize * sum x²) ** -beta``."""

def LayerNorm(
    data: _Array,
    gamma: _Array,
    beta: _Array,
    axis: int = -1,
    eps: float = 1e-05,
    output_mean_var: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """Normalise along one axis, then scale and shift: ``gamma (x - mean) / std +
    beta``.
    """

def LeakyReLU(
    data: _Array,
    gamma: _Array | None = None,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.333999991,
    *,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """Apply a rectifier that lets negative numbers through, scaled or bent."""

def LinearRegressionOutput(
    data: _Array,
    label: _Array,
    grad_scale: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Give the data; backward ``(data - label) * grad_scale``, divided by the number
    of outputs of a sample.
    """

def LogisticRegressionOutput(
    data: _Array,
    label: _Array,
    grad_scale: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Give ``p = sigmoid(data)``; backward ``(p - label) * grad_scale``, divided by
    the number of outputs of a sample.
    """

def MAERegressionOutput(
    data: _Array,
    label: _Array,
    grad_scale: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Give the data; backward ``sign(data - label) * grad_scale``, divided by the
    number of outputs of a sample.
    """

def MakeLoss(
    data: _Array,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["batch", "null", "valid"] = "null",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Give the data; backward ``grad_scale`` for every element, whatever the head
    gradient.
    """

def Pad(
    data: _Array,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: int | Sequence[int],
    constant_value: float = 0.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """A border around the array."""

def Pooling(
    data: _Array,
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
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The largest, mean, sum or norm of each window."""

def Pooling_v1(
    data: _Array,
    kernel: int | Sequence[int] = (),
    pool_type: Literal["max", "avg", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["valid", "full"] = "valid",
    stride: int | Sequence[int] = (),
    pad: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Pooling as early models have it, channels first."""

def RNN(
    data: _Array,
    parameters: _Array,
    state: _Array,
    state_cell: _Array | None = None,
    sequence_length: _Array | None = None,
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
    out: Any = None,
    name: str | None = None,
) -> Any:
    """Run a recurrent network of ``num_layers`` layers over a batch of sequences."""

def ROIPooling(
    data: _Array,
    rois: _Array,
    pooled_size: int | Sequence[int],
    spatial_scale: float,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The largest value in each bin of regions of images. Regions have no gradient."""

def Reshape(
    data: _Array,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The same elements under another shape."""

def SVMOutput(
    data: _Array,
    label: _Array,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Give the data; backward the gradient of the hinge loss, squared unless
    ``use_linear``.
    """

def SequenceLast(
    data: _Array,
    sequence_length: _Array | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The last step of each sequence."""

def SequenceMask(
    data: _Array,
    sequence_length: _Array | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Every step at or after a sequence's length becomes ``value``."""

def SequenceReverse(
    data: _Array,
    sequence_length: _Array | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The steps of each sequence in the opposite order; those after its end stay."""

def SliceChannel(
    data: _Array,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """Cut an array into equal parts along an axis."""

def Softmax(
    data: _Array,
    label: _Array,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Softmax forward; backward the gradient of the cross entropy with ``label``, ``p
    - target``.
    """

def SoftmaxActivation(
    data: _Array,
    mode: Literal["channel", "instance"] = "instance",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Softmax over the last axis, or with ``mode="channel"`` over axis 1."""

def SoftmaxOutput(
    data: _Array,
    label: _Array,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Literal["batch", "null", "valid"] = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Softmax forward; backward the gradient of the cross entropy with ``label``, ``p
    - target``.
    """

def SpatialTransformer(
    data: _Array,
    loc: _Array,
    target_shape: int | Sequence[int] = (0, 0),
    transform_type: Literal["affine"] = ...,
    sampler_type: Literal["bilinear"] = ...,
    cudnn_off: bool | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Sample each image on a regular grid that its affine matrix moves."""

def SwapAxis(
    data: _Array, dim1: int = 0, dim2: int = 0, *, out: Any = None, name: str | None = None
) -> NDArray:
    """Exchange two axes."""

def UpSampling(
    *args: _Array | Sequence[_Array],
    scale: int,
    num_filter: int = 0,
    sample_type: Literal["nearest", "bilinear"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: int = 512,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Make images larger."""

def abs(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The magnitude."""

def adam_update(
    weight: _Array,
    grad: _Array,
    mean: _Array,
    var: _Array,
    lr: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``w ← w − lr·m / (√v + ε)``; the caller corrects ``lr`` for the bias."""

def add_n(*args: _Array | Sequence[_Array], out: Any = None, name: str | None = None) -> NDArray:
    """The sum of all inputs, which are of one shape and type."""

def all_finite(
    data: _Array, init_output: bool = True, *, out: Any = None, name: str | None = None
) -> NDArray:
    """1 if no element is infinite or NaN, else 0."""

def amp_cast(data: _Array, dtype: Any, *, out: Any = None, name: str | None = None) -> NDArray:
    """Floating-point ``data`` as another element type; whole numbers stay as they are."""

def amp_multicast(
    *args: _Array | Sequence[_Array],
    cast_narrow: bool = False,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """All floating-point inputs as one type: the widest among them, or the narrowest."""

def arccos(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The inverse cosine, in radians."""

def arccosh(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The inverse hyperbolic cosine."""

def arcsin(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The inverse sine, in radians."""

def arcsinh(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The inverse hyperbolic sine."""

def arctan(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The inverse tangent, in radians."""

def arctanh(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The inverse hyperbolic tangent."""

def argmax(
    data: _Array,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Where the largest element stands along ``axis``, or in the flat array; the first
    of equals.
    """

def argmax_channel(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """Where the largest element stands along axis 1."""

def argmin(
    data: _Array,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Where the smallest element stands along ``axis``, or in the flat array; the
    first of equals.
    """

def argsort(
    data: _Array,
    axis: int | None = -1,
    is_ascend: bool = True,
    dtype: Any = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Where the elements stand that ``sort`` would put in order."""

def batch_dot(
    lhs: _Array,
    rhs: _Array,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["csr", "default", "row_sparse"] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Matrix products, one for each place on the leading axes."""

def batch_take(a: _Array, indices: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """One element of each row: ``a[i, indices[i]]``; the nearest for an index outside."""

def broadcast_add(lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``lhs + rhs``, with dimensions of size 1 stretched."""

def broadcast_axes(
    data: _Array,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``data`` repeated ``size`` times along each ``axis``, where its size is 1."""

def broadcast_axis(
    data: _Array,
    axis: int | Sequence[int] = (),
    size: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``data`` repeated ``size`` times along each ``axis``, where its size is 1."""

def broadcast_div(lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``lhs / rhs``, with dimensions of size 1 stretched."""

def broadcast_equal(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """1 where ``lhs == rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_greater(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """1 where ``lhs > rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_greater_equal(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """1 where ``lhs >= rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_hypot(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """``sqrt(lhs² + rhs²)``, with dimensions of size 1 stretched."""

def broadcast_lesser(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """1 where ``lhs < rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_lesser_equal(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """1 where ``lhs <= rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_like(
    lhs: _Array,
    rhs: _Array,
    lhs_axes: int | Sequence[int] | None = None,
    rhs_axes: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``lhs`` repeated along dimensions of size 1 until it has the shape of ``rhs``."""

def broadcast_logical_and(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """1 where both are nonzero, else 0, with dimensions of size 1 stretched."""

def broadcast_logical_or(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """1 where any of them is nonzero, else 0, with dimensions of size 1 stretched."""

def broadcast_logical_xor(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """1 where just one of them is nonzero, else 0, with dimensions of size 1
    stretched.
    """

def broadcast_maximum(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """The larger of both, with dimensions of size 1 stretched."""

def broadcast_minimum(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """The smaller of both, with dimensions of size 1 stretched."""

def broadcast_minus(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """``lhs - rhs``, with dimensions of size 1 stretched."""

def broadcast_mod(lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The remainder of ``lhs / rhs``, with the sign of ``rhs``, with dimensions of
    size 1 stretched.
    """

def broadcast_mul(lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``lhs * rhs``, with dimensions of size 1 stretched."""

def broadcast_not_equal(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """1 where ``lhs != rhs``, else 0, with dimensions of size 1 stretched."""

def broadcast_plus(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """``lhs + rhs``, with dimensions of size 1 stretched."""

def broadcast_power(
    lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """``lhs`` to the power ``rhs``, with dimensions of size 1 stretched."""

def broadcast_sub(lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``lhs - rhs``, with dimensions of size 1 stretched."""

def broadcast_to(
    data: _Array, shape: int | Sequence[int] = (), *, out: Any = None, name: str | None = None
) -> NDArray:
    """``data`` repeated along dimensions of size 1 until it has ``shape``."""

def cast(data: _Array, dtype: Any, *, out: Any = None, name: str | None = None) -> NDArray:
    """``data`` as another element type; fractions are cut off towards zero."""

def cbrt(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The cube root."""

def ceil(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The next whole number up."""

def choose_element_0index(
    data: _Array,
    index: _Array,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """One element along an axis, for each place on the other axes."""

def clip(
    data: _Array, a_min: float, a_max: float, *, out: Any = None, name: str | None = None
) -> NDArray:
    """Values below ``a_min`` become ``a_min``, values above ``a_max`` become
    ``a_max``.
    """

def concat(
    *args: _Array | Sequence[_Array], dim: int = 1, out: Any = None, name: str | None = None
) -> NDArray:
    """Arrays one after the other along an axis."""

def cos(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The cosine, of radians."""

def cosh(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The hyperbolic cosine."""

def crop(
    data: _Array,
    begin: int | Sequence[int | None] | None,
    end: int | Sequence[int | None] | None,
    step: int | Sequence[int | None] | None = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...]``."""

def ctc_loss(
    data: _Array,
    label: _Array,
    data_lengths: _Array | None = None,
    label_lengths: _Array | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: Literal["first", "last"] = "first",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Connectionist temporal classification: minus the log probability of the labels."""

def cumsum(
    a: _Array,
    axis: int | None = None,
    dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Running sums along an axis."""

def degrees(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """Radians to degrees."""

def depth_to_space(
    data: _Array, block_size: int, *, out: Any = None, name: str | None = None
) -> NDArray:
    """Spread channels over blocks of pixels; the inverse of ``space_to_depth``."""

def diag(
    data: _Array,
    k: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """A diagonal of matrices, or the matrix with a given diagonal."""

def dot(
    lhs: _Array,
    rhs: _Array,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Literal["csr", "default", "row_sparse"] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Sum of products over the last axis of ``lhs`` and the first of ``rhs``."""

def elemwise_add(lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``lhs + rhs``."""

def elemwise_div(lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``lhs / rhs``."""

def elemwise_mul(lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``lhs * rhs``."""

def elemwise_sub(lhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``lhs - rhs``."""

def erf(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The error function."""

def erfinv(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The inverse of the error function."""

def exp(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """E to the power ``data``."""

def expand_dims(data: _Array, axis: int, *, out: Any = None, name: str | None = None) -> NDArray:
    """Put in a new axis of size 1."""

def expm1(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``exp(data) - 1``, exact near 0."""

def fill_element_0index(
    lhs: _Array, mhs: _Array, rhs: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """A copy of ``lhs`` with ``mhs[i]`` at column ``rhs[i]`` of row i."""

def fix(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The next whole number towards zero."""

def flatten(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """All axes but the first as one."""

def flip(
    data: _Array, axis: int | Sequence[int], *, out: Any = None, name: str | None = None
) -> NDArray:
    """The elements along some axes in the opposite order."""

def floor(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The next whole number down."""

def ftml_update(
    weight: _Array,
    grad: _Array,
    d: _Array,
    v: _Array,
    z: _Array,
    lr: float,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    t: float = ...,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Follow the moving leader; see `modkit.ops.update_rules.ftml`."""

def ftrl_update(
    weight: _Array,
    grad: _Array,
    z: _Array,
    n: _Array,
    lr: float,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Follow the regularised leader; see `modkit.ops.update_rules.ftrl`."""

def gamma(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The gamma function."""

def gammaln(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The logarithm of the gamma function's magnitude."""

def gather_nd(
    data: _Array, indices: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """Elements of ``data`` at coordinates: ``data[indices[0, i], ..., indices[M - 1,
    i]]``.
    """

def hard_sigmoid(
    data: _Array, alpha: float = 0.2, beta: float = 0.5, *, out: Any = None, name: str | None = None
) -> NDArray:
    """``alpha * data + beta``, clipped to [0, 1]. The derivative is 0 at both ends."""

def identity(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The array itself."""

def khatri_rao(
    *args: _Array | Sequence[_Array], out: Any = None, name: str | None = None
) -> NDArray:
    """The Kronecker product column by column."""

def lamb_update_phase1(
    weight: _Array,
    grad: _Array,
    mean: _Array,
    var: _Array,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: float = ...,
    bias_correction: bool = True,
    wd: float = ...,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The direction of LAMB's step: ``m̂ / (√v̂ + ε) + wd·w``."""

def lamb_update_phase2(
    weight: _Array,
    g: _Array,
    r1: _Array,
    r2: _Array,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``w ← w − lr·(r1/r2)·g``, with ``r1`` between the bounds; a bound below 0 is
    none.
    """

def linalg_det(A: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The determinant of each matrix."""

def linalg_extractdiag(
    A: _Array, offset: int = 0, *, out: Any = None, name: str | None = None
) -> NDArray:
    """A diagonal of matrices: above the main one where ``offset`` is positive."""

def linalg_extracttrian(
    A: _Array, offset: int = 0, lower: bool = True, *, out: Any = None, name: str | None = None
) -> NDArray:
    """A triangle of matrices as one row: a lower one row by row, an upper one column
    by column.
    """

def linalg_gelqf(A: _Array, *, out: Any = None, name: str | None = None) -> list[NDArray]:
    """LQ factors, ``A = L Q``: Q with orthonormal rows, L lower triangular."""

def linalg_gemm(
    A: _Array,
    B: _Array,
    C: _Array,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Matrix product and sum, ``alpha op(A) op(B) + beta C``."""

def linalg_gemm2(
    A: _Array,
    B: _Array,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Matrix product, ``alpha op(A) op(B)``."""

def linalg_inverse(A: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The inverse of each matrix."""

def linalg_makediag(
    A: _Array, offset: int = 0, *, out: Any = None, name: str | None = None
) -> NDArray:
    """Matrices with a given diagonal, zeros elsewhere."""

def linalg_maketrian(
    A: _Array, offset: int = 0, lower: bool = True, *, out: Any = None, name: str | None = None
) -> NDArray:
    """Matrices with a given triangle, zeros elsewhere; the inverse of
    ``extracttrian``.
    """

def linalg_potrf(A: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """Cholesky factor: the lower triangular L with ``L Lᵀ = A``."""

def linalg_potri(A: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The inverse of a matrix from its Cholesky factor, ``(A Aᵀ)⁻¹`` for a lower
    triangular A.
    """

def linalg_slogdet(A: _Array, *, out: Any = None, name: str | None = None) -> list[NDArray]:
    """Sign, and logarithm of the absolute value, of each determinant."""

def linalg_sumlogdiag(A: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """Sum of the logarithms of the diagonal."""

def linalg_syrk(
    A: _Array,
    transpose: bool = False,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """A matrix times its transpose, ``alpha A Aᵀ``, or ``alpha Aᵀ A`` with
    ``transpose``.
    """

def linalg_trmm(
    A: _Array,
    B: _Array,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Product with a triangular matrix, ``alpha op(A) B``, or ``alpha B op(A)``."""

def linalg_trsm(
    A: _Array,
    B: _Array,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Solution X of ``op(A) X = alpha B``, or of ``X op(A) = alpha B``, for a
    triangular ``A``.
    """

def log(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The natural logarithm."""

def log10(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The logarithm to base 10."""

def log1p(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``log(1 + data)``, exact near 0."""

def log2(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The logarithm to base 2."""

def log_softmax(
    data: _Array,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Logarithm of the softmax along an axis. Parameters as for `softmax`."""

def logical_not(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """1 where ``data`` is 0, else 0."""

def make_loss(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``data`` as a loss to be minimised: its gradient is 1, whatever follows it."""

def max(
    data: _Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The largest. Each of several largest ones gets the whole gradient."""

def max_axis(
    data: _Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The largest. Each of several largest ones gets the whole gradient."""

def mean(
    data: _Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The mean. Of whole numbers, cut off towards zero."""

def min(
    data: _Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The smallest. Each of several smallest ones gets the whole gradient."""

def min_axis(
    data: _Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The smallest. Each of several smallest ones gets the whole gradient."""

def moments(
    data: _Array,
    axes: int | Sequence[int] | None = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> list[NDArray]:
    """Mean and variance over ``axes``."""

def mp_lamb_update_phase1(
    weight: _Array,
    grad: _Array,
    mean: _Array,
    var: _Array,
    weight32: _Array,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-06,
    t: float = ...,
    bias_correction: bool = True,
    wd: float = ...,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """`lamb_update_phase1` on the float32 copy ``weight32`` of a 16-bit weight."""

def mp_lamb_update_phase2(
    weight: _Array,
    g: _Array,
    r1: _Array,
    r2: _Array,
    weight32: _Array,
    lr: float,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """`lamb_update_phase2` on the float32 copy ``weight32`` of a 16-bit weight."""

def mp_nag_mom_update(
    weight: _Array,
    grad: _Array,
    mom: _Array,
    weight32: _Array,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """`nag_mom_update` on the float32 copy ``weight32`` of a 16-bit weight."""

def mp_sgd_mom_update(
    weight: _Array,
    grad: _Array,
    mom: _Array,
    weight32: _Array,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """`sgd_mom_update` on the float32 copy ``weight32`` of a 16-bit weight."""

def mp_sgd_update(
    weight: _Array,
    grad: _Array,
    weight32: _Array,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """`sgd_update` on the float32 copy ``weight32`` of a 16-bit weight."""

def multi_all_finite(
    *args: _Array | Sequence[_Array],
    init_output: bool = True,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """1 if no element of any array is infinite or NaN, else 0."""

def multi_mp_sgd_mom_update(
    *args: _Array | Sequence[_Array],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """`mp_sgd_mom_update` of several weights; rates and decays are tuples."""

def multi_mp_sgd_update(
    *args: _Array | Sequence[_Array],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """`mp_sgd_update` of several weights; rates and decays are tuples."""

def multi_sgd_mom_update(
    *args: _Array | Sequence[_Array],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """`sgd_mom_update` of several weights; rates and decays are tuples."""

def multi_sgd_update(
    *args: _Array | Sequence[_Array],
    lrs: float | Sequence[float],
    wds: float | Sequence[float],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """`sgd_update` of several weights; rates and decays are tuples."""

def multi_sum_sq(
    *args: _Array | Sequence[_Array], out: Any = None, name: str | None = None
) -> NDArray:
    """The sum of squares of each array."""

def nag_mom_update(
    weight: _Array,
    grad: _Array,
    mom: _Array,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Nesterov's accelerated gradient; see `modkit.ops.update_rules.nag_mom`."""

def nanprod(
    data: _Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The product of those that are not NaN; see ``prod``."""

def nansum(
    data: _Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The sum of those that are not NaN."""

def negative(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``-data``."""

def norm(
    data: _Array,
    ord: int = 2,
    axis: int | Sequence[int] | None = None,
    out_dtype: Literal["float16", "float32", "float64", "int32", "int64", "int8"] | None = None,
    keepdims: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The sum of magnitudes (``ord=1``) or the root of the sum of squares (``ord=2``)."""

def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Normally distributed numbers, by mean and standard deviation."""

def one_hot(
    indices: _Array,
    depth: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: Any = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """A row for each index, ``on_value`` at its place and ``off_value`` elsewhere."""

def ones_like(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """Ones of the shape and type of ``data``."""

def pad(
    data: _Array,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: int | Sequence[int],
    constant_value: float = 0.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """A border around the array."""

def pick(
    data: _Array,
    index: _Array,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """One element along an axis, for each place on the other axes."""

def preloaded_multi_mp_sgd_mom_update(
    *args: _Array | Sequence[_Array],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """`mp_sgd_mom_update` of several weights; rates and decays are the last two
    inputs.
    """

def preloaded_multi_mp_sgd_update(
    *args: _Array | Sequence[_Array],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """`mp_sgd_update` of several weights; rates and decays are the last two inputs."""

def preloaded_multi_sgd_mom_update(
    *args: _Array | Sequence[_Array],
    momentum: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """`sgd_mom_update` of several weights; rates and decays are the last two inputs."""

def preloaded_multi_sgd_update(
    *args: _Array | Sequence[_Array],
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    num_weights: int = 1,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """`sgd_update` of several weights; rates and decays are the last two inputs."""

def prod(
    data: _Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The product."""

def radians(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """Degrees to radians."""

def random_exponential(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Exponentially distributed numbers of rate ``lam``."""

def random_gamma(
    alpha: float = 1.0,
    beta: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Gamma distributed numbers of shape ``alpha`` and scale ``beta``."""

def random_generalized_negative_binomial(
    mu: float = 1.0,
    alpha: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Negative binomial counts of mean ``mu`` and variance ``mu + alpha * mu²``."""

def random_negative_binomial(
    k: int = 1,
    p: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Counts of failures before ``k`` successes, each of probability ``p``."""

def random_normal(
    loc: float = 0.0,
    scale: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Normally distributed numbers, by mean and standard deviation."""

def random_pdf_dirichlet(
    sample: _Array, alpha: _Array, is_log: bool = False, *, out: Any = None, name: str | None = None
) -> NDArray:
    """The density (or probability) of each sample under the Dirichlet distribution;
    its last axis is a vector; its logarithm with ``is_log``.
    """

def random_pdf_exponential(
    sample: _Array, lam: _Array, is_log: bool = False, *, out: Any = None, name: str | None = None
) -> NDArray:
    """The density (or probability) of each sample under the exponential distribution
    of rate ``lam``; its logarithm with ``is_log``.
    """

def random_pdf_gamma(
    sample: _Array,
    alpha: _Array,
    beta: _Array,
    is_log: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The density (or probability) of each sample under the gamma distribution of rate
    ``beta``; its logarithm with ``is_log``.
    """

def random_pdf_generalized_negative_binomial(
    sample: _Array,
    mu: _Array,
    alpha: _Array,
    is_log: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The density (or probability) of each sample under counts of mean ``mu`` and
    variance ``mu + alpha * mu²``; its logarithm with ``is_log``.
    """

def random_pdf_negative_binomial(
    sample: _Array,
    k: _Array,
    p: _Array,
    is_log: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The density (or probability) of each sample under failures before ``k``
    successes of probability ``p``; its logarithm with ``is_log``.
    """

def random_pdf_normal(
    sample: _Array,
    mu: _Array,
    sigma: _Array,
    is_log: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The density (or probability) of each sample under the normal distribution of
    deviation ``sigma``; its logarithm with ``is_log``.
    """

def random_pdf_poisson(
    sample: _Array, lam: _Array, is_log: bool = False, *, out: Any = None, name: str | None = None
) -> NDArray:
    """The density (or probability) of each sample under the Poisson distribution of
    mean ``lam``; its logarithm with ``is_log``.
    """

def random_pdf_uniform(
    sample: _Array,
    low: _Array,
    high: _Array,
    is_log: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The density (or probability) of each sample under the uniform distribution from
    ``low`` to ``high``; its logarithm with ``is_log``.
    """

def random_poisson(
    lam: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Poisson distributed counts of mean ``lam``."""

def random_randint(
    low: int,
    high: int,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["int32", "int64"] | None = None,
    ctx: str = "",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Uniformly distributed whole numbers from ``low`` up to, not including, ``high``."""

def random_uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Uniformly distributed numbers from ``low`` up to ``high``."""

def ravel_multi_index(
    data: _Array, shape: int | Sequence[int] = (), *, out: Any = None, name: str | None = None
) -> NDArray:
    """Flat indices from coordinates."""

def rcbrt(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``1 / cbrt(data)``."""

def reciprocal(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``1 / data``."""

def relu(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``max(data, 0)``."""

def repeat(
    data: _Array, repeats: int, axis: int | None = None, *, out: Any = None, name: str | None = None
) -> NDArray:
    """Each element ``repeats`` times in a row."""

def reshape(
    data: _Array,
    shape: int | Sequence[int] = (),
    reverse: bool = False,
    target_shape: int | Sequence[int] = (),
    keep_highest: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The same elements under another shape."""

def reshape_like(
    lhs: _Array,
    rhs: _Array,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``lhs`` with the sizes of ``rhs``, or with some of its axes in place of some of
    its own.
    """

def reverse(
    data: _Array, axis: int | Sequence[int], *, out: Any = None, name: str | None = None
) -> NDArray:
    """The elements along some axes in the opposite order."""

def rint(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The nearest whole number, halves down."""

def rmsprop_update(
    weight: _Array,
    grad: _Array,
    n: _Array,
    lr: float,
    gamma1: float = 0.95,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``n ← γ·n + (1−γ)·g²``, ``w ← w − lr·g / √(n + ε)``."""

def rmspropalex_update(
    weight: _Array,
    grad: _Array,
    n: _Array,
    g: _Array,
    delta: _Array,
    lr: float,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-08,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """RMSProp centred on the mean gradient ``g``, with momentum; see `RMSProp`."""

def round(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The nearest whole number, halves away from zero."""

def rsqrt(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``1 / sqrt(data)``."""

def sample_exponential(
    lam: _Array,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Exponentially distributed numbers of rate ``lam``."""

def sample_gamma(
    alpha: _Array,
    beta: _Array,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Gamma distributed numbers of shape ``alpha`` and scale ``beta``."""

def sample_generalized_negative_binomial(
    mu: _Array,
    alpha: _Array,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Negative binomial counts of mean ``mu`` and variance ``mu + alpha * mu²``."""

def sample_multinomial(
    data: _Array,
    shape: int | Sequence[int] = (),
    get_prob: bool = False,
    dtype: Literal["uint8", "int32", "float16", "float32", "float64"] = "int32",
    *,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """Indices drawn with the probabilities in the last dimension of ``data``."""

def sample_negative_binomial(
    k: _Array,
    p: _Array,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Counts of failures before ``k`` successes, each of probability ``p``."""

def sample_normal(
    mu: _Array,
    sigma: _Array,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Normally distributed numbers, by mean and standard deviation."""

def sample_poisson(
    lam: _Array,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Poisson distributed counts of mean ``lam``."""

def sample_uniform(
    low: _Array,
    high: _Array,
    shape: int | Sequence[int] = (),
    dtype: Literal["float16", "float32", "float64"] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Uniformly distributed numbers from ``low`` up to ``high``."""

def scatter_nd(
    data: _Array,
    indices: _Array,
    shape: int | Sequence[int],
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """An array of zeros with elements put at coordinates; the inverse of
    ``gather_nd``.
    """

def sgd_mom_update(
    weight: _Array,
    grad: _Array,
    mom: _Array,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``v ← μ·v − lr·(clip(rescale·g) + wd·w)``, ``w ← w + v``."""

def sgd_update(
    weight: _Array,
    grad: _Array,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``w ← w − lr·(clip(rescale·g) + wd·w)``."""

def shape_array(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The shape of ``data``, as an array of int64."""

def shuffle(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The rows of ``data``, along its first dimension, in random order."""

def sigmoid(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``1 / (1 + exp(-data))``."""

def sign(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """-1, 0 or 1."""

def signsgd_update(
    weight: _Array,
    grad: _Array,
    lr: float,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``w ← (1 − lr·wd)·w − lr·sign(g)``; rescaling and clipping change no sign."""

def signum_update(
    weight: _Array,
    grad: _Array,
    mom: _Array,
    lr: float,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Steps of size ``lr`` along the sign of the running mean; see `Signum`."""

def sin(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The sine, of radians."""

def sinh(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The hyperbolic sine."""

def size_array(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The number of elements of ``data``, as an array of one int64."""

def slice(
    data: _Array,
    begin: int | Sequence[int | None] | None,
    end: int | Sequence[int | None] | None,
    step: int | Sequence[int | None] | None = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """``data[begin[0]:end[0]:step[0], begin[1]:end[1]:step[1], ...]``."""

def slice_axis(
    data: _Array,
    axis: int,
    begin: int,
    end: int | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """A part of one axis."""

def slice_like(
    data: _Array,
    shape_like: _Array,
    axes: int | Sequence[int] = (),
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The beginning of ``data``, as long as ``shape_like`` along some axes."""

def smooth_l1(
    data: _Array, scalar: float = 1.0, *, out: Any = None, name: str | None = None
) -> NDArray:
    """A parabola near 0 and a straight line outside, of one slope where they meet."""

def softmax(
    data: _Array,
    length: _Array | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Softmax along an axis, ``exp(x / temperature) / sum(exp(x / temperature))``."""

def softmax_cross_entropy(
    data: _Array, label: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """Sum over the batch of ``-log softmax(data)[label]``."""

def softmin(
    data: _Array,
    axis: int = -1,
    temperature: float | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    use_length: bool | None = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Softmax of ``-data`` along an axis. Parameters as for `softmax`."""

def softsign(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``data / (1 + |data|)``."""

def sort(
    data: _Array,
    axis: int | None = -1,
    is_ascend: bool = True,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The elements in order along ``axis``, or all in one row if it is ``None``."""

def space_to_depth(
    data: _Array, block_size: int, *, out: Any = None, name: str | None = None
) -> NDArray:
    """Gather blocks of pixels into channels; the inverse of ``depth_to_space``."""

def split(
    data: _Array,
    num_outputs: int,
    axis: int = 1,
    squeeze_axis: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """Cut an array into equal parts along an axis."""

def sqrt(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The square root."""

def square(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """``data * data``."""

def squeeze(
    data: _Array,
    axis: int | Sequence[int] | None = None,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Leave out axes of size 1: all of them, or those named."""

def stack(
    *args: _Array | Sequence[_Array], axis: int = 0, out: Any = None, name: str | None = None
) -> NDArray:
    """Arrays side by side along a new axis."""

def stop_gradient(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The array itself, through which no gradient flows back."""

def sum(
    data: _Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The sum."""

def sum_axis(
    data: _Array,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """The sum."""

def swapaxes(
    data: _Array, dim1: int = 0, dim2: int = 0, *, out: Any = None, name: str | None = None
) -> NDArray:
    """Exchange two axes."""

def take(
    a: _Array,
    indices: _Array,
    axis: int = 0,
    mode: Literal["clip", "raise", "wrap"] = "clip",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Slices of ``a`` along an axis, in the order of ``indices``."""

def tan(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The tangent, of radians."""

def tanh(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The hyperbolic tangent."""

def tile(
    data: _Array, reps: int | Sequence[int], *, out: Any = None, name: str | None = None
) -> NDArray:
    """The whole array again and again, ``reps[i]`` times along axis i."""

def topk(
    data: _Array,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: Literal["value", "indices", "mask", "both"] = "indices",
    is_ascend: bool = False,
    dtype: Any = "float32",
    *,
    out: Any = None,
    name: str | None = None,
) -> Any:
    """The ``k`` largest elements along ``axis``, largest first; all of them if ``k``
    is below 1.
    """

def transpose(
    data: _Array, axes: int | Sequence[int] = (), *, out: Any = None, name: str | None = None
) -> NDArray:
    """The axes in another order; reversed by default."""

def trunc(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """The next whole number towards zero."""

def uniform(
    low: float = 0.0,
    high: float = 1.0,
    shape: int | Sequence[int] | None = None,
    dtype: Literal["float16", "float32", "float64"] | None = None,
    ctx: str = "",
    *,
    out: Any = None,
    name: str | None = None,
) -> NDArray:
    """Uniformly distributed numbers from ``low`` up to ``high``."""

def unravel_index(
    data: _Array, shape: int | Sequence[int] = (), *, out: Any = None, name: str | None = None
) -> NDArray:
    """Coordinates from flat indices."""

def where(
    condition: _Array, x: _Array, y: _Array, *, out: Any = None, name: str | None = None
) -> NDArray:
    """``x`` where the condition is not 0, else ``y``."""

def zeros_like(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
    """Zeros of the shape and type of ``data``."""

class contrib:
    """Operators of ``contrib``."""

    @staticmethod
    def AdaptiveAvgPooling2D(
        data: _Array,
        output_size: int | Sequence[int] = (),
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Mean pooling to a given size."""
    @staticmethod
    def BilinearResize2D(
        data: _Array,
        like: _Array | None = None,
        height: int = 1,
        width: int = 1,
        scale_height: float | None = None,
        scale_width: float | None = None,
        mode: Literal[
            "size", "odd_scale", "like", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"
        ] = "size",
        align_corners: bool = True,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Resize images by interpolating between rows and columns."""
    @staticmethod
    def CTCLoss(
        data: _Array,
        label: _Array,
        data_lengths: _Array | None = None,
        label_lengths: _Array | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: Literal["first", "last"] = "first",
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Connectionist temporal classification: minus the log probability of the labels."""
    @staticmethod
    def MultiBoxDetection(
        cls_prob: _Array,
        loc_pred: _Array,
        anchor: _Array,
        clip: bool = True,
        threshold: float = 0.01,
        nms_threshold: float = 0.5,
        force_suppress: bool = False,
        variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
        nms_topk: int = -1,
        background_id: int = 0,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Detections from a single-shot detector's predictions. No gradient."""
    @staticmethod
    def MultiBoxPrior(
        data: _Array,
        sizes: float | Sequence[float] = (1.0,),
        ratios: float | Sequence[float] = (1.0,),
        clip: bool = False,
        steps: float | Sequence[float] = (-1.0, -1.0),
        offsets: float | Sequence[float] = (0.5, 0.5),
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Anchor boxes around every place of a feature map, in fractions of the image."""
    @staticmethod
    def MultiBoxTarget(
        anchor: _Array,
        label: _Array,
        cls_pred: _Array,
        overlap_threshold: float = 0.5,
        ignore_label: float = -1.0,
        negative_mining_ratio: float = -1.0,
        negative_mining_thresh: float = 0.5,
        variances: float | Sequence[float] = (0.1, 0.1, 0.2, 0.2),
        minimum_negative_samples: int = 0,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> list[NDArray]:
        """What a single-shot detector should predict for each anchor. No gradient."""
    @staticmethod
    def SparseEmbedding(
        data: _Array,
        weight: _Array,
        input_dim: int,
        output_dim: int,
        dtype: Any = "float32",
        sparse_grad: bool = False,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Rows of ``weight``, looked up by number."""
    @staticmethod
    def SyncBatchNorm(
        data: _Array,
        gamma: _Array,
        beta: _Array,
        moving_mean: _Array,
        moving_var: _Array,
        eps: float = 0.001,
        momentum: float = 0.9,
        fix_gamma: bool = True,
        use_global_stats: bool = False,
        output_mean_var: bool = False,
        ndev: int = 1,
        key: str = "",
        *,
        out: Any = None,
        name: str | None = None,
    ) -> Any:
        """`BatchNorm` with the statistics of the batches of all replicas together."""
    @staticmethod
    def arange_like(
        data: _Array,
        start: float = 0.0,
        step: float = 1.0,
        repeat: int = 1,
        axis: int | None = None,
        ctx: str = "",
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Evenly spaced numbers, as many as an array has elements."""
    @staticmethod
    def boolean_mask(
        data: _Array, index: _Array, axis: int = 0, *, out: Any = None, name: str | None = None
    ) -> NDArray:
        """The slices whose mask is not 0: not supported, since their number is not known
        beforehand.
        """
    @staticmethod
    def box_iou(
        lhs: _Array,
        rhs: _Array,
        format: Literal["center", "corner"] = "corner",
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Intersection over union of every box of ``lhs`` with every box of ``rhs``. No
        gradient.
        """
    @staticmethod
    def box_nms(
        data: _Array,
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
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Keep the boxes that overlap no better one by more than ``overlap_thresh``."""
    @staticmethod
    def box_non_maximum_suppression(
        data: _Array,
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
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Keep the boxes that overlap no better one by more than ``overlap_thresh``."""
    @staticmethod
    def ctc_loss(
        data: _Array,
        label: _Array,
        data_lengths: _Array | None = None,
        label_lengths: _Array | None = None,
        use_data_lengths: bool = False,
        use_label_lengths: bool = False,
        blank_label: Literal["first", "last"] = "first",
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Connectionist temporal classification: minus the log probability of the labels."""
    @staticmethod
    def div_sqrt_dim(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
        """Divided by the square root of the size of the last axis."""
    @staticmethod
    def gradientmultiplier(
        data: _Array,
        scalar: float = 1.0,
        is_int: bool = True,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """``data`` itself, with ``scalar`` times its gradient; a negative one reverses it."""
    @staticmethod
    def index_array(
        data: _Array,
        axes: int | Sequence[int] | None = None,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """The coordinates of every element."""
    @staticmethod
    def index_copy(
        old_tensor: _Array,
        index_vector: _Array,
        new_tensor: _Array,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """A copy of ``old_tensor`` with slices of ``new_tensor`` put at places on the
        first axis.
        """
    @staticmethod
    def quadratic(
        data: _Array,
        a: float = 0.0,
        b: float = 0.0,
        c: float = 0.0,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """``a * data² + b * data + c``."""
    @staticmethod
    def round_ste(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
        """The nearest whole number, halves away from zero, with the gradient of ``data``
        itself.
        """
    @staticmethod
    def sign_ste(data: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
        """-1, 0 or 1, with the gradient of ``data`` itself."""

class image:
    """Operators of ``image``."""

class linalg:
    """Operators of ``linalg``."""

    @staticmethod
    def det(A: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
        """The determinant of each matrix."""
    @staticmethod
    def extractdiag(
        A: _Array, offset: int = 0, *, out: Any = None, name: str | None = None
    ) -> NDArray:
        """A diagonal of matrices: above the main one where ``offset`` is positive."""
    @staticmethod
    def extracttrian(
        A: _Array, offset: int = 0, lower: bool = True, *, out: Any = None, name: str | None = None
    ) -> NDArray:
        """A triangle of matrices as one row: a lower one row by row, an upper one column
        by column.
        """
    @staticmethod
    def gelqf(A: _Array, *, out: Any = None, name: str | None = None) -> list[NDArray]:
        """LQ factors, ``A = L Q``: Q with orthonormal rows, L lower triangular."""
    @staticmethod
    def gemm(
        A: _Array,
        B: _Array,
        C: _Array,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        beta: float = 1.0,
        axis: int = -2,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Matrix product and sum, ``alpha op(A) op(B) + beta C``."""
    @staticmethod
    def gemm2(
        A: _Array,
        B: _Array,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
        axis: int = -2,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Matrix product, ``alpha op(A) op(B)``."""
    @staticmethod
    def inverse(A: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
        """The inverse of each matrix."""
    @staticmethod
    def makediag(
        A: _Array, offset: int = 0, *, out: Any = None, name: str | None = None
    ) -> NDArray:
        """Matrices with a given diagonal, zeros elsewhere."""
    @staticmethod
    def maketrian(
        A: _Array, offset: int = 0, lower: bool = True, *, out: Any = None, name: str | None = None
    ) -> NDArray:
        """Matrices with a given triangle, zeros elsewhere; the inverse of
        ``extracttrian``.
        """
    @staticmethod
    def potrf(A: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
        """Cholesky factor: the lower triangular L with ``L Lᵀ = A``."""
    @staticmethod
    def potri(A: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
        """The inverse of a matrix from its Cholesky factor, ``(A Aᵀ)⁻¹`` for a lower
        triangular A.
        """
    @staticmethod
    def slogdet(A: _Array, *, out: Any = None, name: str | None = None) -> list[NDArray]:
        """Sign, and logarithm of the absolute value, of each determinant."""
    @staticmethod
    def sumlogdiag(A: _Array, *, out: Any = None, name: str | None = None) -> NDArray:
        """Sum of the logarithms of the diagonal."""
    @staticmethod
    def syevd(A: _Array, *, out: Any = None, name: str | None = None) -> list[NDArray]:
        """Eigenvectors, as rows of U, and eigenvalues, rising: ``A = Uᵀ diag(values) U``."""
    @staticmethod
    def syrk(
        A: _Array,
        transpose: bool = False,
        alpha: float = 1.0,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """A matrix times its transpose, ``alpha A Aᵀ``, or ``alpha Aᵀ A`` with
        ``transpose``.
        """
    @staticmethod
    def trmm(
        A: _Array,
        B: _Array,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Product with a triangular matrix, ``alpha op(A) B``, or ``alpha B op(A)``."""
    @staticmethod
    def trsm(
        A: _Array,
        B: _Array,
        transpose: bool = False,
        rightside: bool = False,
        lower: bool = True,
        alpha: float = 1.0,
        *,
        out: Any = None,
        name: str | None = None,
    ) -> NDArray:
        """Solution X of ``op(A) X = alpha B``, or of ``X op(A) = alpha B``, for a
        triangular ``A``.
        """
