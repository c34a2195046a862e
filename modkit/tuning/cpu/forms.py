"""CPU forms of operators: functions of the same arguments that are faster on CPUs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from modkit.ops.nn.convolution import Geometry, add_bias, by_xla, convolution_by
from modkit.ops.nn.deconvolution import deconv_geometry, deconvolution_by, deconvolve
from modkit.ops.nn.pooling import pool
from modkit.ops.nn.upsampling import upsample_bilinear, upsampling
from modkit.ops.nn.windows import PLAIN
from modkit.ops.parameters import Shape
from modkit.tuning.cpu.convolution import convolve_last, covered_axes, deconvolve_last, for_layout
from modkit.tuning.cpu.platforms import on_cpus
from modkit.tuning.cpu.pooling import BY_CELL

ChannelsLast = Callable[[Mapping[str, Any]], Callable[..., Any] | None]


class CpuForm(NamedTuple):
    """Functions that compute an operator faster on CPUs.

    Attributes:
        anywhere: a function with the operator's signature, which compiles to the CPU form on CPUs
            and to the operator itself on other devices; ``None`` if the operator is as fast.
        channels_last: ``attrs -> function`` of images with channels last, for CPUs, or ``None``.
            It is fast enough to pay for the transposition of its inputs.
    """

    anywhere: Callable[..., Any] | None = None
    channels_last: ChannelsLast | None = None


FORMS: dict[str, CpuForm] = {}
"""CPU forms by the operator's name."""


def _images(form: Callable[..., Any]) -> ChannelsLast:
    """``form`` for operators over two spatial axes in layout NCHW; ``None`` for others."""

    def chosen(attrs: Mapping[str, Any]) -> Callable[..., Any] | None:
        return form if attrs["layout"] in (None, "NCHW") and len(attrs["kernel"]) == 2 else None

    return chosen


def _convolve(data: jax.Array, weight: jax.Array, geometry: Geometry, groups: int) -> jax.Array:
    """Cross-correlation in any layout: see `modkit.ops.nn.convolution.convolve`."""
    layout, moves = geometry.layout, geometry.moves()

    def plain(data: jax.Array, weight: jax.Array) -> jax.Array:
        return by_xla(data, weight, moves, groups, layout)

    if groups == 1 and data.ndim < 5 and not covered_axes(data, weight, layout, moves.pads):
        return plain(data, weight)

    def last(data: jax.Array, weight: jax.Array) -> jax.Array:
        return convolve_last(data, weight, moves, groups)

    return on_cpus(for_layout(last, layout), plain)(data, weight)


def _convolution_last(
    data: jax.Array, weight: jax.Array, bias: jax.Array | None = None, **attrs: Any
) -> jax.Array:
    """Convolution of (N, H, W, C) data with (num_filter, kh, kw, C / num_group) weights."""
    geometry = Geometry.of(data.shape, {**attrs, "layout": "NHWC"}, "Convolution")
    result = convolve_last(data, weight, geometry.moves(), attrs["num_group"])
    return add_bias(result, bias, geometry.layout)


FORMS["Convolution"] = CpuForm(
    functools.partial(convolution_by, _convolve), _images(_convolution_last)
)


def _deconvolve(
    data: jax.Array, weight: jax.Array, geometry: Geometry, adj: Shape, groups: int
) -> jax.Array:
    """The transpose in any layout: see `modkit.ops.nn.deconvolution.deconvolve`."""

    def plain(data: jax.Array, weight: jax.Array) -> jax.Array:
        return deconvolve(data, weight, geometry, adj, groups)

    if not jnp.issubdtype(data.dtype, jnp.floating):
        return plain(data, weight)  # `deconvolve_last` is a gradient; whole numbers have none

    def last(data: jax.Array, weight: jax.Array) -> jax.Array:
        return deconvolve_last(data, weight, geometry.moves(adj), groups)

    return on_cpus(for_layout(last, geometry.layout), plain)(data, weight)


def _deconvolution_last(
    data: jax.Array, weight: jax.Array, bias: jax.Array | None = None, **attrs: Any
) -> jax.Array:
    """Deconvolution of (N, H, W, C) data with (C, kh, kw, num_filter / num_group) weights."""
    geometry, adj = deconv_geometry(data.shape, {**attrs, "layout": "NHWC"})
    result = _deconvolve(data, weight, geometry, adj, attrs["num_group"])
    return add_bias(result, bias, geometry.layout)


def _upsampling(*args: jax.Array, **attrs: Any) -> jax.Array:
    if attrs["sample_type"] == "bilinear":
        return upsample_bilinear(_deconvolve, args, attrs["scale"], attrs["num_filter"])
    return upsampling(*args, **attrs)


FORMS["Deconvolution"] = CpuForm(
    functools.partial(deconvolution_by, _deconvolve), _images(_deconvolution_last)
)
FORMS["UpSampling"] = CpuForm(_upsampling)


def _pooling_last(attrs: Mapping[str, Any]) -> Callable[..., Any] | None:
    """Pooling with channels last; ``None`` for global pooling, which is as fast in any order."""
    if attrs["global_pool"] or attrs["layout"] not in (None, "NCHW"):
        return None
    return lambda data, **attrs: pool(data, BY_CELL, **{**attrs, "layout": "NHWC"})


def _pooling(data: jax.Array, **attrs: Any) -> jax.Array:
    by_cell, plain = (functools.partial(pool, form=form, **attrs) for form in (BY_CELL, PLAIN))
    return on_cpus(by_cell, plain)(data)


FORMS["Pooling"] = CpuForm(_pooling, _pooling_last)
