"""8-bit pooling, activation, batch normalization and embedding: results stay in 8 bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from modkit.errors import ParameterError, expect, wrong
from modkit.ops.array.reshape import flatten
from modkit.ops.dtype_inference import Inferred
from modkit.ops.nn.pooling import PoolingSettings, pool, sizes_of
from modkit.ops.parameters import Attrs, DType, Inert, Shape, Size
from modkit.ops.quantized.levels import (
    EIGHT_BITS,
    HALF,
    Quantized,
    check_types,
    ends,
    quantized,
    rounded,
    values,
    width,
    with_ranges,
)


def _same_type(ins: Sequence[str | None], _attrs: Attrs) -> Inferred:
    return with_ranges(ins, [ins[0]], ins[0])


def _range_params(data: Shape, **attrs: Any) -> dict[str, Shape]:
    return {"min_data": (1,), "max_data": (1,)}


@quantized(
    "quantized_pooling",
    like=PoolingSettings,
    params=_range_params,
    dtypes=_same_type,
    fits=sizes_of,
)
def quantized_pooling(
    data: jax.Array, min_data: jax.Array, max_data: jax.Array, **given: Any
) -> Quantized:
    """The largest level or the mean of each window, rounded; parameters are those of Pooling.

    Args:
        data: levels, int8 or uint8.
        min_data, max_data: ends of the data's range.
        pool_type: ``"max"`` or ``"avg"``.
        kernel, global_pool, pooling_convention, stride, pad, count_include_pad, layout: see
            `Pooling`.
        p_value: of ``lp``, which 8 bits do not have.

    Shapes:
        data: (N, C, *space), or as ``layout`` says.
        returns: the same with other spatial sizes, and the data's range.

    Raises:
        ParameterError: another ``pool_type``.
        DTypeError: ``data`` is of another type.
    """
    check_types("_contrib_quantized_pooling", {"data": data}, EIGHT_BITS)
    attrs = vars(PoolingSettings(**given))
    pool_type, pad, kernel = attrs["pool_type"], attrs["pad"], attrs["kernel"]
    if pool_type not in ("max", "avg"):
        expected = "'max' or 'avg'; exclude the layer from quantization"
        raise wrong("_contrib_quantized_pooling: pool_type", pool_type, expected)
    if any(p >= k for p, k in zip(pad, kernel, strict=False)) and not attrs["global_pool"]:
        raise wrong("_contrib_quantized_pooling: pad", pad, f"less than kernel={kernel}")
    found = pool(data.astype(jnp.float32), **attrs)
    return jnp.rint(found).astype(data.dtype), *jax.lax.stop_gradient((min_data, max_data))


@quantized("quantized_flatten", params=_range_params, dtypes=_same_type)
def quantized_flatten(data: jax.Array, min_data: jax.Array, max_data: jax.Array) -> Quantized:
    """All axes but the first as one, with the data's range.

    Args:
        data: levels, int8 or uint8.
        min_data, max_data: ends of the data's range.

    Shapes:
        data: (N, ...).
        returns: (N, the product of the others), and the range.

    Raises:
        DTypeError: ``data`` is of another type.
    """
    check_types("_contrib_quantized_flatten", {"data": data}, EIGHT_BITS)
    return flatten(data), *jax.lax.stop_gradient((min_data, max_data))


@quantized("quantized_act", params=_range_params, gradient="refused", dtypes=_same_type)
def quantized_act(
    data: jax.Array,
    min_data: jax.Array,
    max_data: jax.Array,
    *,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"],
) -> Quantized:
    """``max(q, 0)``, with the data's range.

    Args:
        data: levels, int8 or uint8.
        min_data, max_data: ends of the data's range.
        act_type: ``"relu"``.

    Shapes:
        data: any.
        returns: as ``data``, and the range.

    Raises:
        ParameterError: another ``act_type``.
        DTypeError: ``data`` is of another type.

    Differs: levels of uint8 stay uint8; MXNet 1.9.1 returns their bits as int8, 200 as -56.
    """
    check_types("_contrib_quantized_act", {"data": data}, EIGHT_BITS)
    expected = "'relu'; exclude the layer from quantization"
    expect(act_type == "relu", "_contrib_quantized_act: act_type", act_type, expected)
    return jnp.maximum(data, 0), *jax.lax.stop_gradient((min_data, max_data))


def _norm_params(data: Shape, *, axis: int, **attrs: Any) -> dict[str, Shape]:
    each = dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), (data[axis],))
    return {**each, "min_data": (1,), "max_data": (1,)}


@quantized(
    "quantized_batch_norm",
    params=_norm_params,
    aux=("moving_mean", "moving_var"),
    dtypes=lambda ins, _attrs: with_ranges(ins, [ins[0]], "int8"),
)
def quantized_batch_norm(
    data: jax.Array,
    gamma: jax.Array,
    beta: jax.Array,
    moving_mean: jax.Array,
    moving_var: jax.Array,
    min_data: jax.Array,
    max_data: jax.Array,
    *,
    eps: float = 1e-3,
    momentum: Inert[float] = 0.9,
    fix_gamma: bool = True,
    use_global_stats: Inert[bool] = False,
    output_mean_var: Inert[bool] = False,
    axis: int = 1,
    cudnn_off: Inert[bool] = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> tuple[Quantized, dict[str, jax.Array]]:
    """Batch normalization of levels by the moving statistics, as levels of int8.

    Args:
        data: levels, int8 or uint8.
        gamma: factor of each channel, in float32.
        beta: shift of each channel.
        min_data, max_data: ends of the data's range.
        eps: added to the variance.
        fix_gamma: gamma counts as 1.
        axis: of the channels.
        momentum, use_global_stats, output_mean_var, cudnn_off: no effect in inference.
        min_calib_range, max_calib_range: ends of the result's range.

    Shapes:
        data: channels at ``axis``.
        gamma, beta, moving_mean, moving_var: (channels,).
        returns: as ``data``, and the range, two of (1,).

    Raises:
        ParameterError: there is no calibrated range.
        DTypeError: ``data`` is of another type.

    Differs: with ``fix_gamma`` gamma counts as 1, as in `BatchNorm`; MXNet 1.9.1 multiplies by the
    stored gamma all the same.
    """
    check_types("_contrib_quantized_batch_norm", {"data": data}, EIGHT_BITS)
    if min_calib_range is None or max_calib_range is None:
        raise ParameterError(
            "_contrib_quantized_batch_norm: got no min_calib_range or max_calib_range, expected "
            "both: quantize with calib_mode='naive' or 'entropy', or exclude the layer"
        )
    wide = [1] * data.ndim
    wide[axis] = -1
    scale = jax.lax.rsqrt(moving_var + eps) * (1 if fix_gamma else gamma)
    shift = beta - moving_mean * scale
    normal = values(data, min_data, max_data) * scale.reshape(wide) + shift.reshape(wide)
    bound = width(min_calib_range, max_calib_range)
    levels = rounded(normal * (HALF["int8"] / bound), "int8")
    return (levels, *ends(min_calib_range, max_calib_range)), {}


def _embedding_params(data: Shape, **attrs: Any) -> dict[str, Shape]:
    table = (attrs["input_dim"], attrs["output_dim"])
    return {"weight": table, "min_weight": (1,), "max_weight": (1,)}


@quantized(
    "quantized_embedding",
    params=_embedding_params,
    dtypes=lambda ins, _attrs: with_ranges(ins, [ins[0], "int8"], "int8"),
)
def quantized_embedding(
    data: jax.Array,
    weight: jax.Array,
    min_weight: jax.Array,
    max_weight: jax.Array,
    *,
    input_dim: Size,
    output_dim: Size,
    dtype: Inert[DType] = "float32",
    sparse_grad: Inert[bool] = False,
) -> Quantized:
    """Rows of a table of levels, with the table's range. Indices are clipped to the table.

    Args:
        weight: levels, int8.
        min_weight, max_weight: ends of the table's range.
        input_dim: rows of the table.
        output_dim: columns of the table.
        dtype, sparse_grad: no effect in inference.

    Shapes:
        data: any.
        weight: (input_dim, output_dim).
        returns: (*data.shape, output_dim), and the range.

    Raises:
        DTypeError: ``weight`` is of another type.
    """
    check_types("_contrib_quantized_embedding", {"weight": weight}, ("int8",))
    rows = jnp.clip(data, 0, input_dim - 1).astype(jnp.int32)
    found = weight[rows].reshape(*data.shape, output_dim)
    return found, *jax.lax.stop_gradient((min_weight, max_weight))
