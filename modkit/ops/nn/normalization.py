"""Normalisation within a sample: by layer, group, instance, neighbours or length."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import lax

from modkit.errors import ShapeError, expect
from modkit.ops.floating import accumulator, require_floating
from modkit.ops.nn.batch_norm import moments
from modkit.ops.parameters import Shape
from modkit.ops.partial_shapes import check_axis
from modkit.ops.registry import op

_with_statistics = functools.partial(
    op,
    precision="through",
    outputs=("output", "mean", "std"),
    visible=lambda attrs: 3 if attrs["output_mean_var"] else 1,
)


def _check_rank(data: Shape, least: int, operator: str) -> None:
    if len(data) < least:
        raise ShapeError(f"{operator}: got data of shape {data}, expected {least} axes or more")


def _layer_params(data: Shape, *, axis: int, **_: Any) -> Mapping[str, Shape]:
    return dict.fromkeys(("gamma", "beta"), (data[check_axis("LayerNorm", axis, len(data))],))


@_with_statistics("LayerNorm", params=_layer_params)
def layer_norm(
    data: jax.Array,
    gamma: jax.Array,
    beta: jax.Array,
    *,
    axis: int = -1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> tuple[jax.Array, ...]:
    """Normalise along one axis, then scale and shift: ``gamma (x - mean) / std + beta``.

    Args:
        eps: ``std = sqrt(var + eps)``.
        output_mean_var: show ``mean`` and ``std`` as second and third output, without gradient.

    Shapes:
        data: (..., C, ...), C at ``axis``.
        gamma, beta: (C,).
        returns: as data; with ``output_mean_var`` twice more with size 1 at ``axis``.
    """
    require_floating(data, "LayerNorm")
    _layer_params(data.shape, axis=axis)
    axis = axis % data.ndim
    wide = data.astype(accumulator(data))
    mean, var = moments(wide, (axis,))
    std = jnp.sqrt(var + eps)
    kept = [n if i == axis else 1 for i, n in enumerate(data.shape)]
    result = (wide - mean) / std * gamma.reshape(kept) + beta.reshape(kept)
    return tuple(x.astype(data.dtype) for x in (result, *lax.stop_gradient((mean, std))))


def _group_params(data: Shape, *, num_groups: int, **_: Any) -> Mapping[str, Shape]:
    _check_rank(data, 3, "GroupNorm")
    if data[1] % num_groups:
        raise ShapeError(
            f"GroupNorm: got {data[1]} channels, expected a multiple of num_groups={num_groups}"
        )
    return dict.fromkeys(("gamma", "beta"), (num_groups,))


@_with_statistics("GroupNorm", params=_group_params)
def group_norm(
    data: jax.Array,
    gamma: jax.Array,
    beta: jax.Array,
    *,
    num_groups: int = 1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> tuple[jax.Array, ...]:
    """Normalise each group of channels of each sample, then scale and shift the group.

    Args:
        gamma: one scale a group (not a channel).
        beta: one shift a group.
        eps: ``std = sqrt(var + eps)``.
        output_mean_var: show mean and ``std`` as second and third output, without gradient.

    Shapes:
        data: (N, C, *space).
        gamma, beta: (num_groups,).
        returns: as data; with ``output_mean_var`` (N, num_groups) twice more.
    """
    require_floating(data, "GroupNorm")
    _group_params(data.shape, num_groups=num_groups)
    each = math.prod(data.shape[1:]) // num_groups
    grouped = data.reshape(data.shape[0], num_groups, each).astype(accumulator(data))
    mean, var = moments(grouped, (2,))
    std = jnp.sqrt(var + eps)
    result = (grouped - mean) / std * gamma[None, :, None] + beta[None, :, None]
    shown = lax.stop_gradient((mean[..., 0], std[..., 0]))
    return tuple(x.astype(data.dtype) for x in (result.reshape(data.shape), *shown))


def _instance_params(data: Shape, **_: Any) -> Mapping[str, Shape]:
    _check_rank(data, 2, "InstanceNorm")
    return dict.fromkeys(("gamma", "beta"), (data[1],))


@op("InstanceNorm", precision="through", params=_instance_params)
def instance_norm(
    data: jax.Array, gamma: jax.Array, beta: jax.Array, *, eps: float = 1e-3
) -> jax.Array:
    """Normalise each channel of each sample over space, then scale and shift it.

    Args:
        gamma: one scale a channel.
        beta: one shift a channel.
        eps: added to the variance.

    Shapes:
        data: (N, C, *space).
        gamma, beta: (C,).
        returns: as data.
    """
    require_floating(data, "InstanceNorm")
    _check_rank(data.shape, 3, "InstanceNorm")
    wide = data.astype(accumulator(data))
    mean, var = moments(wide, tuple(range(2, data.ndim)))
    kept = (1, -1, *[1] * (data.ndim - 2))
    result = (wide - mean) * lax.rsqrt(var + eps) * gamma.reshape(kept) + beta.reshape(kept)
    return result.astype(data.dtype)


@op("LRN", precision="through", same_shape=True)
def lrn(
    data: jax.Array, *, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0, nsize: int
) -> jax.Array:
    """Local response normalisation: ``x (knorm + alpha / nsize * sum x²) ** -beta``.

    The sum goes over ``nsize`` neighbouring channels, half of them on each side.

    Args:
        alpha: weight of the sum.
        beta: the power.
        knorm: the constant.
        nsize: how many channels, an odd number.

    Shapes:
        data: (N, C, *space).
        returns: as data.
    """
    require_floating(data, "LRN")
    _check_rank(data.shape, 2, "LRN")
    expect(nsize % 2, "LRN: nsize", nsize, "an odd number")
    wide = data.astype(accumulator(data))
    window, margins = [1] * data.ndim, [(0, 0)] * data.ndim
    window[1], margins[1] = nsize, (nsize // 2, nsize // 2)
    zero = wide.dtype.type(0)
    total = lax.reduce_window(wide * wide, zero, lax.add, window, [1] * data.ndim, margins)
    return (wide * (knorm + alpha / nsize * total) ** -beta).astype(data.dtype)


@op("L2Normalization", precision="through", same_shape=True)
def l2_normalization(
    data: jax.Array,
    *,
    eps: float = 1e-10,
    mode: Literal["instance", "channel", "spatial"] = "instance",
) -> jax.Array:
    """Divide by the length, ``x / sqrt(sum x² + eps)``.

    Args:
        eps: added to the sum.
        mode: what one length is taken of: a sample (``instance``), the channels at one point
            (``channel``), or one channel of a sample (``spatial``).

    Shapes:
        data: (N, ...); (N, C, *space) unless by instance.
        returns: as data.
    """
    require_floating(data, "L2Normalization")
    _check_rank(data.shape, 1 if mode == "instance" else 3, f"L2Normalization with mode {mode!r}")
    axes = (1,) if mode == "channel" else tuple(range(1 + (mode == "spatial"), data.ndim))
    wide = data.astype(accumulator(data))
    return (wide / jnp.sqrt((wide * wide).sum(axes, keepdims=True) + eps)).astype(data.dtype)
